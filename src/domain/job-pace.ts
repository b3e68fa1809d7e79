import type { Estimate } from './estimate.ts';

/** Items per second of a running job, and the probable range of its pace over the rest of the job. */
export interface JobPace {
  readonly perSecond: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The pace over some time, from the number of items in equally long stretches of it. Even a job whose stretches are all
 * alike may change its pace later; few items say little, however evenly they came.
 */
export function measurePace(items: number, seconds: number, stretches: readonly number[] = []): JobPace {
  const perSecond = items / seconds;
  const spread = Math.max(
    stretches.length < LEAST_STRETCHES ? SPREAD.unknown : SPREAD.least,
    items === 0 ? 0 : Z95 / Math.sqrt(items),
    Z95 * meanError(stretches),
  );
  return { perSecond, low: perSecond / (1 + spread), high: perSecond * (1 + spread) };
}

const Z95 = 1.6449;
const SPREAD = { least: 0.1, unknown: 0.3 };
const LEAST_STRETCHES = 4;

/** Standard error of the mean of the stretches, as a share of the mean. */
function meanError(stretches: readonly number[]): number {
  const n = stretches.length;
  const mean = stretches.reduce((sum, items) => sum + items, 0) / n;
  if (n < 2 || mean === 0) return 0;
  const squares = stretches.reduce((sum, items) => sum + (items - mean) ** 2, 0);
  return Math.sqrt(squares / (n - 1) / n) / mean;
}

/** How long this many items take; null while nothing moves. */
export function secondsFor(items: number, pace: JobPace | null): Estimate | null {
  if (pace === null || pace.perSecond <= 0) return null;
  return { expected: items / pace.perSecond, low: items / pace.high, high: items / pace.low };
}
