/** How long to wait after `times` earlier waits: `firstMs`, then twice as long each time, up to `longestMs`. */
export function backoffMs(times: number, firstMs: number, longestMs = Number.POSITIVE_INFINITY): number {
  return Math.min(longestMs, firstMs * 2 ** times);
}

/**
 * Randomises the upper half of a wait, so that things that failed together are not repeated together. `chance`: 0 to 1.
 */
export function spreadMs(ms: number, chance: number): number {
  return ms * (0.5 + chance / 2);
}
