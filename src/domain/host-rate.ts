/**
 * The pace at which a host is visited after it refused requests because there were too many. It is unlimited until the
 * first refusal. Then it is a little below what the host accepted, rises quickly back towards the pace that was
 * refused, lingers there, and goes beyond it only slowly (the curve of TCP CUBIC). Each refusal near the known limit
 * doubles the way to the next try beyond it, so that a fixed limit is rarely touched.
 * The way is measured in good answers, not in time: a host that was not visited for an hour, or only slowly, has not
 * shown that it can take more.
 */
export interface HostRate {
  /** Requests per second at which the last refusal came. */
  readonly refusedPerSecond: number;
  /** When that was, by a clock that never goes back. */
  readonly cutAt: number;
  /** Good answers since then. */
  readonly good: number;
  /** How long the pace takes to return to it, if it is used all the time. */
  readonly returnMs: number;
}

/** What was observed when a refusal came. */
export interface RefusalSeen {
  readonly now: number;
  /** Good answers per second in the last seconds. */
  readonly acceptedPerSecond: number;
  /** How long a request to this host takes. */
  readonly latencyMs: number;
  /** How long after a cut requests may still be sent at the former pace. */
  readonly settleMs: number;
}

/** With a cut of a fifth, the pace is within 3 % of the limit half of the time; with a half, a quarter of the time. */
const CUT = 0.8;

const FIRST_RETURN_MS = 60_000;
const LONGEST_RETURN_MS = 240_000;

/** Requests under way when the pace was cut may also be refused. */
const LEAST_GUARD_MS = 2000;

/** One request in 100 s: anything slower is done by pauses. */
const LEAST_PER_SECOND = 0.01;

/** A host that allows very little must give this many good answers before it is asked for more. */
const LEAST_GOOD = 20;

/** Faster than timers can pace, and than a refusing host will ever be visited. */
const UNPACED_PER_SECOND = 200;

export function afterRefusal(rate: HostRate | null, seen: RefusalSeen): HostRate {
  const { now, acceptedPerSecond, latencyMs, settleMs } = seen;
  const accepted = Math.max(LEAST_PER_SECOND, acceptedPerSecond);
  if (rate === null) return { refusedPerSecond: accepted, cutAt: now, good: 0, returnMs: FIRST_RETURN_MS };
  if (now - rate.cutAt < Math.max(LEAST_GUARD_MS, 2 * latencyMs, settleMs + latencyMs)) return rate;
  const pace = pacePerSecond(rate) ?? accepted;
  const way = wayBack(rate);
  // Refused again at once, with the limit still unknown: the limit is far below and should be found with few refusals.
  // If the limit is known, it only means that another process went beyond it.
  const isFar = way < AT_ONCE && rate.returnMs === FIRST_RETURN_MS;
  const refusedPerSecond = Math.max(LEAST_PER_SECOND, isFar ? pace * FAR_BELOW : pace);
  return { refusedPerSecond, cutAt: now, good: 0, returnMs: nextReturnMs(way, rate.returnMs) };
}

/** Longer if the limit was found where it was known to be; from the beginning if it has risen. */
function nextReturnMs(way: number, before: number): number {
  if (way > 2) return FIRST_RETURN_MS;
  return way < 0.5 ? before : Math.min(LONGEST_RETURN_MS, before * 2);
}

/** Fractions of the way back. */
const AT_ONCE = 0.1;
const FAR_BELOW = 0.6;

export function afterAccepted(rate: HostRate): HostRate {
  return { ...rate, good: rate.good + 1 };
}

/** Requests per second that may be sent now; null for any number. */
export function pacePerSecond(rate: HostRate): number | null {
  const pace = rate.refusedPerSecond * (1 + (1 - CUT) * (wayBack(rate) - 1) ** 3);
  return pace > UNPACED_PER_SECOND ? null : Math.max(LEAST_PER_SECOND, pace);
}

/** 0 right after a refusal, 1 when the pace is back to what it was then. */
function wayBack({ good, refusedPerSecond, returnMs }: HostRate): number {
  return good / Math.max(LEAST_GOOD, (refusedPerSecond * returnMs) / 1000);
}
