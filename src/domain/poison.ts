import { failure } from './failure.ts';
import type { Outcome } from './outcome.ts';

/** The end that the ledger itself records for an item whose workers died too often, in the form a worker would use. */
export function poisonEnd(
  item: { readonly seq: number; readonly deliveries: number; readonly strikes: number },
  claimedAt: number,
  now: number,
) {
  const message = `its worker died or went silent ${item.strikes} times while processing this item`;
  const outcome: Outcome = { kind: 'failed', failure: failure('poison', message) };
  const durationMs = Math.max(0, now - claimedAt);
  return { seq: item.seq, attempt: item.deliveries, outcome, tries: 1, startedAt: claimedAt, durationMs };
}
