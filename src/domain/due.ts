/**
 * Whether a wait that ends at `at` is over, if such waits last at most `longestMs`. The wall clock may have been set
 * back since: a time further ahead than it can have been set also counts as over; otherwise the wait would last as long
 * as the clock was set back. Up to twice as far ahead is accepted, because the clock that set it may be ahead of this
 * one.
 */
export function isDue(at: number, now: number, longestMs: number): boolean {
  return at <= now || at > latest(now, longestMs);
}

/** The latest time at which a wait of `longestMs` may end: see `isDue`. */
export function latest(now: number, longestMs: number): number {
  return now + 2 * longestMs;
}
