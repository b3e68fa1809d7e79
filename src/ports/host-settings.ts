import type { HostSettings } from '../domain/host-settings.ts';

/**
 * What operators have set for hosts. Settings are kept until they are cleared, across restarts of everything. Workers
 * learn of a change at their next look: within a second if one process owns the ledger, within five on AWS.
 * This is the part that workers use.
 */
export interface WorkerHostSettings {
  /** Hosts that have settings, by name. Includes every `set` and `clear` that has resolved. */
  list(): Promise<readonly HostSettings[]>;
}

export interface HostSettingsBook extends WorkerHostSettings {
  /** Null if the host has no settings. */
  get(host: string): Promise<HostSettings | null>;
  /**
   * Replaces all settings of the host. With `ifVersion`, only if that is still their version (NO_SETTINGS if there must
   * be none); otherwise the last writer wins. The caller gives every change its own version; repeating a call gets the
   * same answer.
   */
  set(settings: HostSettings, ifVersion?: string): Promise<'set' | 'other-version'>;
  /** False if the host had no settings. */
  clear(host: string): Promise<boolean>;
}
