import type { DueTimes } from '../../src/ports/ledger.ts';

/** For `expire`, where no time passes during the call. */
export function dueBy(now: number, queuedBefore: number): () => DueTimes {
  return () => ({ now, queuedBefore });
}
