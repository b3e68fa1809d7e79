/**
 * Durations in a form that can be added up: how many there were of each size. A size is √2 times the one before, so that a
 * median is exact to about a fifth, and the record of a step that takes between 1 ms and 5 minutes has at most 38 numbers.
 */
export interface Spans {
  readonly count: number;
  readonly totalMs: number;
  readonly longestMs: number;
  /** How many there were by size: size n is up to √2^n milliseconds. */
  readonly sizes: ReadonlyMap<number, number>;
}

export const NO_SPANS: Spans = { count: 0, totalMs: 0, longestMs: 0, sizes: new Map() };

/** More than 5 minutes, the longest that a step may take. Whatever takes longer counts as this. */
export const MAX_SIZE = 40;

export function addSpan({ count, totalMs, longestMs, sizes }: Spans, ms: number): Spans {
  const size = sizeOf(ms);
  return {
    count: count + 1,
    totalMs: totalMs + Math.round(ms),
    longestMs: Math.max(longestMs, Math.round(ms)),
    sizes: new Map(sizes).set(size, (sizes.get(size) ?? 0) + 1),
  };
}

export function mergeSpans(one: Spans, other: Spans): Spans {
  const sizes = new Map(one.sizes);
  for (const [size, count] of other.sizes) sizes.set(size, (sizes.get(size) ?? 0) + count);
  return {
    count: one.count + other.count,
    totalMs: one.totalMs + other.totalMs,
    longestMs: Math.max(one.longestMs, other.longestMs),
    sizes,
  };
}

/** The duration that this share of them did not exceed, in the middle of its size; null if there were none. */
export function quantileMs({ count, longestMs, sizes }: Spans, share: number): number | null {
  if (count === 0) return null;
  const wanted = Math.max(1, Math.ceil(count * share));
  let seen = 0;
  for (const [size, some] of [...sizes].sort(([a], [b]) => a - b)) {
    seen += some;
    if (seen >= wanted) return Math.min(longestMs, size === 0 ? 1 : Math.round(2 ** ((size - 0.5) / 2)));
  }
  return longestMs;
}

function sizeOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(MAX_SIZE, Math.ceil(2 * Math.log2(ms)));
}
