/** An expected value, and the range that contains nine of ten such values. */
export interface Estimate {
  readonly expected: number;
  readonly low: number;
  readonly high: number;
}

export interface MeanOptions {
  /** How many further values the mean is predicted for: few of them scatter more than many. */
  readonly total: number;
  /** In [0, 1). */
  readonly chance: () => number;
  /**
   * The range is at least from the mean divided by 1 + s to the mean times 1 + s, where s is this value divided by the
   * square root of the sample size. A sample of identical values does not prove that all others are the same.
   */
  readonly leastSpread: number;
}

/**
 * The mean of `total` further values, from a sample of at least one. A t-interval alone is too narrow at the top for
 * values with a long tail (page times, retries), because a small sample has rarely seen the worst. So the range also
 * covers a bootstrap, and its upper end includes one more value that is twice the largest.
 */
export function estimateMean(sample: readonly number[], { total, chance, leastSpread }: MeanOptions): Estimate {
  const n = sample.length;
  const mean = meanOf(sample);
  if (n < 2) return { expected: mean, low: mean / UNKNOWN_FACTOR, high: mean * UNKNOWN_FACTOR };
  // The error of the sample's mean, and the scatter of the further values around the true one.
  const scatter = Math.sqrt(1 / n + 1 / Math.max(1, total));
  const half = studentT95(n - 1) * deviationOf(sample, mean) * scatter;
  const least = 1 + leastSpread / Math.sqrt(n);
  const means = resampledMeans(sample, chance);
  const widened = (value: number) => mean + (value - mean) * scatter * Math.sqrt(n);
  const largest = Math.max(...sample);
  const withOneMore = (mean * n + 2 * largest) / (n + 1);
  return {
    expected: mean,
    low: Math.max(0, Math.min(mean / least, Math.max(mean - half, Math.min(...sample)), widened(means.low))),
    high: Math.max(mean * least, withOneMore + half, widened(means.high)),
  };
}

/** One value shows the order of magnitude, but nothing about the variation. */
const UNKNOWN_FACTOR = 4;

/** The share of hits among all, from a sample (Wilson's interval, which also works for none or all). */
export function estimateShare(hits: number, sample: number): Estimate {
  if (sample === 0) return { expected: 0, low: 0, high: 1 };
  const share = hits / sample;
  const square = Z95 ** 2;
  const centre = (share + square / (2 * sample)) / (1 + square / sample);
  const half = (Z95 / (1 + square / sample)) * Math.sqrt((share * (1 - share)) / sample + square / (4 * sample ** 2));
  return {
    expected: share,
    low: hits === 0 ? 0 : Math.max(0, centre - half),
    high: hits === sample ? 1 : Math.min(1, centre + half),
  };
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviationOf(values: readonly number[], mean: number): number {
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

/** Enough for percentiles whose second digit does not matter. */
const RESAMPLES = 400;

function resampledMeans(
  sample: readonly number[],
  chance: () => number,
): { readonly low: number; readonly high: number } {
  const means = new Float64Array(RESAMPLES);
  for (let round = 0; round < RESAMPLES; round += 1) {
    let sum = 0;
    for (let drawn = 0; drawn < sample.length; drawn += 1) sum += sample[Math.floor(chance() * sample.length)] ?? 0;
    means[round] = sum / sample.length;
  }
  means.sort();
  return { low: means[Math.floor(RESAMPLES * 0.05)] ?? 0, high: means[Math.ceil(RESAMPLES * 0.95) - 1] ?? 0 };
}

const Z95 = 1.6449;

/**
 * The 95th percentile of Student's t by degrees of freedom, from the tables; values in between use the next smaller
 * entry.
 */
const T95: readonly (readonly [number, number])[] = [
  [120, 1.658],
  [60, 1.671],
  [40, 1.684],
  [30, 1.697],
  [25, 1.708],
  [20, 1.725],
  [15, 1.753],
  [12, 1.782],
  [10, 1.812],
  [8, 1.86],
  [7, 1.895],
  [6, 1.943],
  [5, 2.015],
  [4, 2.132],
  [3, 2.353],
  [2, 2.92],
  [1, 6.314],
];

function studentT95(degrees: number): number {
  return T95.find(([from]) => degrees >= from)?.[1] ?? 6.314;
}
