/** How long a main thread with work has not responded. */
export interface Watch {
  readonly ticks: number;
  readonly lookedAt: number;
  readonly silentMs: number;
}

export const FRESH_WATCH: Watch = { ticks: -1, lookedAt: 0, silentMs: 0 };

export function watch(
  before: Watch,
  seen: { readonly ticks: number; readonly isHolding: boolean; readonly at: number },
  everyMs: number,
): Watch {
  const { ticks, at } = seen;
  if (ticks !== before.ticks || !seen.isHolding) return { ticks, lookedAt: at, silentMs: 0 };
  // The main thread cannot have been silent for longer than the time between two looks: if more has passed, the whole
  // process was stopped, or the machine slept.
  const silentMs = before.silentMs + Math.min(at - before.lookedAt, 2 * everyMs);
  return { ticks, lookedAt: at, silentMs };
}
