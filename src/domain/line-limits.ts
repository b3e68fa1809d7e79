/**
 * The limits of a *line*: a host, the requests of one job, or the items that one job begins. All processes of the
 * installation observe them together.
 */
export interface LineLimits {
  /** Concurrent requests; null for no limit. */
  readonly maxConcurrent: number | null;
  /** Null for no limit. */
  readonly requestsPerSecond: number | null;
  /** Minimum time between the starts of two requests. */
  readonly minDelayMs: number;
}

export const NO_LIMITS: LineLimits = { maxConcurrent: null, requestsPerSecond: null, minDelayMs: 0 };

/** How requests follow one another on a line: in slots, each of which lets `each` requests start. */
export interface LinePace {
  readonly spacingMs: number;
  readonly each: number;
  /** A slot can be used up to this much after its time, but no later: the next one may belong to another process. */
  readonly lateMs: number;
}

/** Closer slots would cost more timers than requests; below this, several requests share a slot. */
const MIN_SPACING_MS = 20;

/** A rate allows a short burst: timers of a busy process are some tens of milliseconds late. */
const LATE_MS = 100;

/** A minimum delay allows no burst, so its slots are spaced wider by as much as a timer may be late. */
function slackMs(minDelayMs: number): number {
  return Math.min(50, Math.max(10, minDelayMs / 20));
}

/** Null if there is no limit. */
export function linePace({ requestsPerSecond, minDelayMs }: LineLimits): LinePace | null {
  // Starts closer than this cannot be distinguished from simultaneous ones: such a delay is kept on average.
  const isTiny = minDelayMs < MIN_SPACING_MS;
  const byRate = Math.max(requestsPerSecond === null ? 0 : 1000 / requestsPerSecond, isTiny ? minDelayMs : 0);
  if (!isTiny) {
    const spacingMs = Math.max(byRate, minDelayMs + slackMs(minDelayMs));
    return { spacingMs, each: 1, lateMs: Math.min(LATE_MS, spacingMs - minDelayMs) };
  }
  if (byRate === 0) return null;
  const each = Math.max(1, Math.ceil(MIN_SPACING_MS / byRate));
  return { spacingMs: byRate * each, each, lateMs: LATE_MS };
}

/** The stricter of both applies. */
export function stricterLimits(a: LineLimits, b: LineLimits): LineLimits {
  return {
    maxConcurrent: least(a.maxConcurrent, b.maxConcurrent),
    requestsPerSecond: least(a.requestsPerSecond, b.requestsPerSecond),
    minDelayMs: Math.max(a.minDelayMs, b.minDelayMs),
  };
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

export function isUnlimited(limits: LineLimits): boolean {
  return limits.maxConcurrent === null && linePace(limits) === null;
}
