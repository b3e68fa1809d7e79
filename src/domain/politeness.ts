/** How we behave towards a host: how many requests at once, and how far apart. */
export interface Politeness {
  readonly maxConcurrent: number;
  readonly minDelayMs: number;
}

/** Our requests at a host. Times are those of a clock's `elapsed()`. */
export interface HostState {
  readonly inside: number;
  /** When the last request entered; null if none has. */
  readonly startedAt: number | null;
  /** The end of the pause that the host asked for. */
  readonly heldUntil: number;
}

/** When the next request may enter: in that many milliseconds (0 for now), or only after another one has left. */
export function waitToEnter(state: HostState, politeness: Politeness, now: number): number | 'until-one-leaves' {
  const delayedUntil = state.startedAt === null ? 0 : state.startedAt + politeness.minDelayMs;
  if (state.inside >= politeness.maxConcurrent) return 'until-one-leaves';
  return Math.max(0, state.heldUntil - now, delayedUntil - now);
}

/** Whether a host without requests, inside or waiting, can be forgotten, because a new host would be treated the same. */
export function isForgettable(state: HostState, politeness: Politeness, now: number): boolean {
  return state.inside === 0 && waitToEnter(state, politeness, now) === 0;
}
