/**
 * The pace at which a host is visited after it refused requests because there were too many. It is unlimited until the
 * first refusal. Then it is a little below what the host accepted, rises quickly back towards the pace that was refused,
 * lingers there, and goes beyond it only slowly (the curve of TCP CUBIC). Each refusal near the known limit doubles the
 * time until the next try beyond it, so that a limit that does not move is touched rarely; a refusal far below it means
 * that the limit has moved, and the search begins again.
 */
export interface HostRate {
  /** Requests per second at which the last refusal came. */
  readonly refusedPerSecond: number;
  /** When that was, by a clock that never goes back. */
  readonly cutAt: number;
  /** How long the pace takes to come back to it. */
  readonly returnMs: number;
}

/** What was seen when a refusal came. */
export interface RefusalSeen {
  readonly now: number;
  /** Good answers per second in the last seconds. */
  readonly acceptedPerSecond: number;
  /** How long a request to this host takes. */
  readonly latencyMs: number;
}

/** With a fifth less, three quarters of the time are spent within 5 % of the limit; with half, the job takes a third longer. */
const CUT = 0.8;

const FIRST_RETURN_MS = 60_000;
const LONGEST_RETURN_MS = 960_000;

/** Requests that were on their way when the pace was cut may be refused, too. */
const LEAST_GUARD_MS = 2000;

/** One request in 100 s: slower is a matter of pauses. */
const LEAST_PER_SECOND = 0.01;

/** Faster than timers can pace, and than a host that refuses will ever be visited. */
const UNPACED_PER_SECOND = 200;

export function afterRefusal(rate: HostRate | null, { now, acceptedPerSecond, latencyMs }: RefusalSeen): HostRate {
  const accepted = Math.max(LEAST_PER_SECOND, acceptedPerSecond);
  if (rate === null) return { refusedPerSecond: accepted, cutAt: now, returnMs: FIRST_RETURN_MS };
  const sinceMs = now - rate.cutAt;
  if (sinceMs < Math.max(LEAST_GUARD_MS, 2 * latencyMs)) return rate;
  const pace = pacePerSecond(rate, now) ?? accepted;
  const isNearLimit = sinceMs >= rate.returnMs / 2 && sinceMs <= rate.returnMs * 2;
  const returnMs = isNearLimit ? Math.min(LONGEST_RETURN_MS, rate.returnMs * 2) : FIRST_RETURN_MS;
  return { refusedPerSecond: Math.max(LEAST_PER_SECOND, pace), cutAt: now, returnMs };
}

/** Requests per second that may be sent now; null for any number. */
export function pacePerSecond({ refusedPerSecond, cutAt, returnMs }: HostRate, now: number): number | null {
  const distance = Math.max(0, now - cutAt) / returnMs - 1;
  const pace = refusedPerSecond * (1 + (1 - CUT) * distance ** 3);
  return pace > UNPACED_PER_SECOND ? null : Math.max(LEAST_PER_SECOND, pace);
}
