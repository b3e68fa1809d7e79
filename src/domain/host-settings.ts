import type { HostPause } from './host-pause.ts';

/** What a host may be asked to bear, by all jobs together. Null: what is configured for all hosts. */
export interface HostLimits {
  readonly maxConcurrent: number | null;
  readonly requestsPerSecond: number | null;
  /** Between the starts of two requests. */
  readonly minDelayMs: number | null;
}

/** What an operator has set for a host. */
export interface HostSettings extends HostLimits {
  /** As in an address: see `parseHost`. */
  readonly host: string;
  /** For people: why it is so. */
  readonly note: string | null;
  /** No request is sent there before; null if the operator has not paused it. */
  readonly pausedUntil: number | null;
  readonly changedAt: number;
  /** Another one after every change. */
  readonly version: string;
}

export const NO_LIMITS: HostLimits = { maxConcurrent: null, requestsPerSecond: null, minDelayMs: null };

/** As a version: there are no settings. */
export const NO_SETTINGS = 'none';

export const MAX_NOTE_LENGTH = 500;

/** Workers read all of them every few seconds. */
export const MAX_HOSTS_WITH_SETTINGS = 5000;

export function limitsOf({ maxConcurrent, requestsPerSecond, minDelayMs }: HostLimits): HostLimits {
  return { maxConcurrent, requestsPerSecond, minDelayMs };
}

/** The operator's pause of a host; null if there is none now. It has no end that a wrong clock could have set. */
export function operatorPause({ host, pausedUntil, note }: HostSettings, now: number): HostPause | null {
  if (pausedUntil === null || pausedUntil <= now) return null;
  return { host, until: pausedUntil, reason: note ?? 'paused by an operator', reportedBy: 0 };
}

/** Pauses that hosts asked for and those of operators; where a host has both, the one that ends later. By host. */
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
