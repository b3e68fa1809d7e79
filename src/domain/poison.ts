import { failure } from './failure.ts';
import type { Outcome } from './outcome.ts';

/** How the ledger itself ends an item that was in the hands of too many workers that died; shaped as a worker would. */
export function poisonEnd(
  item: { readonly seq: number; readonly deliveries: number; readonly strikes: number },
  claimedAt: number,
  now: number,
) {
  const message = `its worker died or went silent ${item.strikes} times with this item in its hands`;
  const outcome: Outcome = { kind: 'failed', failure: failure('poison', message) };
  const durationMs = Math.max(0, now - claimedAt);
  return { seq: item.seq, attempt: item.deliveries, outcome, tries: 1, startedAt: claimedAt, durationMs };
}
