import type { DueTimes } from '../../src/ports/ledger.ts';

/** For `expire`, where the time stands still during the call. */
export function dueBy(now: number, queuedBefore: number): () => DueTimes {
  return () => ({ now, queuedBefore });
}
