/**
 * Whether a wait that ends at `at` is over, where such waits last `longestMs` at most. By the wall clock, which may have
 * been set back since: what lies further ahead than it can have been set is over too, or it would last as long as the
 * clock was set back. Up to twice as far ahead is believed, because the clock that set it may be ahead of this one.
 */
export function isDue(at: number, now: number, longestMs: number): boolean {
  return at <= now || at > latest(now, longestMs);
}

/** The furthest that a wait of `longestMs` may end from now, see `isDue`. */
export function latest(now: number, longestMs: number): number {
  return now + 2 * longestMs;
}
