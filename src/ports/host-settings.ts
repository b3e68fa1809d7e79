import type { HostSettings } from '../domain/host-settings.ts';

/**
 * What operators have set for hosts. It is kept until it is cleared, across restarts of everything. Workers learn of a
 * change at their next look: within a second where one process owns the ledger, within five on AWS.
 *
 * This is the part that workers use.
 */
export interface WorkerHostSettings {
  /** Hosts that have settings, by name. What `set` and `clear` resolved is in it. */
  list(): Promise<readonly HostSettings[]>;
}

export interface HostSettingsBook extends WorkerHostSettings {
  /** Null if the host has no settings. */
  get(host: string): Promise<HostSettings | null>;
  /**
   * Replaces all that was set for the host. With `ifVersion`, only if that is still the version of its settings
   * (NO_SETTINGS if it must have none); otherwise the last writer wins. The caller gives every change a version of its
   * own; setting the same settings again answers as the first time.
   */
  set(settings: HostSettings, ifVersion?: string): Promise<'set' | 'other-version'>;
  /** False if the host had no settings. */
  clear(host: string): Promise<boolean>;
}
