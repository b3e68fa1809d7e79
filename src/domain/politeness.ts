/** How we behave towards a host: how many of us at once, and how far apart. */
export interface Politeness {
  readonly maxConcurrent: number;
  readonly minDelayMs: number;
}

/** What there is of us at a host. Times are durations since some moment, as a clock's `elapsed`. */
export interface HostState {
  readonly inside: number;
  /** When the last one went in; null for never. */
  readonly startedAt: number | null;
  /** Until then the host wants to see nobody. */
  readonly heldUntil: number;
}

/** When the next one may enter: in so many milliseconds, 0 for now, or not before somebody leaves. */
export function waitToEnter(state: HostState, politeness: Politeness, now: number): number | 'until-one-leaves' {
  const delayedUntil = state.startedAt === null ? 0 : state.startedAt + politeness.minDelayMs;
  if (state.inside >= politeness.maxConcurrent) return 'until-one-leaves';
  return Math.max(0, state.heldUntil - now, delayedUntil - now);
}

/** Whether a host that nobody is at, or waits for, can be forgotten: one that is new to us would be treated the same. */
export function isForgettable(state: HostState, politeness: Politeness, now: number): boolean {
  return state.inside === 0 && waitToEnter(state, politeness, now) === 0;
}
