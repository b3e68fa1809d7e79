import type { HostPause } from './host-pause.ts';

/** The load that all jobs together may put on a host. Null means the configured default for all hosts. */
export interface HostLimits {
  readonly maxConcurrent: number | null;
  readonly requestsPerSecond: number | null;
  /** Minimum time between the starts of two requests. */
  readonly minDelayMs: number | null;
}

/** What an operator has set for a host. */
export interface HostSettings extends HostLimits {
  /** As in an address: see `parseHost`. */
  readonly host: string;
  /** Why it is set, for people. */
  readonly note: string | null;
  /** No request is sent before this time; null if the operator has not paused the host. */
  readonly pausedUntil: number | null;
  readonly changedAt: number;
  /** A new one after every change. */
  readonly version: string;
}

export const NO_LIMITS: HostLimits = { maxConcurrent: null, requestsPerSecond: null, minDelayMs: null };

/** The version that means that there are no settings. */
export const NO_SETTINGS = 'none';

export const MAX_NOTE_LENGTH = 500;

/** Workers read all of them every few seconds. */
export const MAX_HOSTS_WITH_SETTINGS = 5000;

export function limitsOf({ maxConcurrent, requestsPerSecond, minDelayMs }: HostLimits): HostLimits {
  return { maxConcurrent, requestsPerSecond, minDelayMs };
}

/**
 * The operator's pause of a host; null if there is none now. Unlike other pauses, its end is not limited to guard
 * against a wrong clock.
 */
function operatorPause({ host, pausedUntil, note }: HostSettings, now: number): HostPause | null {
  if (pausedUntil === null || pausedUntil <= now) return null;
  return { host, until: pausedUntil, reason: note ?? 'paused by an operator', reportedBy: 0 };
}

/** Pauses requested by hosts combined with those of operators; if a host has both, the one that ends later. By host. */
export function withOperatorPauses(
  asked: readonly HostPause[],
  settings: readonly HostSettings[],
  now: number,
): readonly HostPause[] {
  const pauses = new Map(asked.map((pause) => [pause.host, pause]));
  for (const each of settings) {
    const pause = operatorPause(each, now);
    if (pause !== null && pause.until > (pauses.get(each.host)?.until ?? 0)) pauses.set(each.host, pause);
  }
  return [...pauses.values()].sort((a, b) => (a.host < b.host ? -1 : 1));
}
