import type { Batching } from './batching.ts';
import type { Circuit, Tally } from './breaker.ts';
import type { BudgetRoom } from './budget.ts';
import { type Counts, finishedOf, inFlightOf } from './counts.ts';
import type { Policy } from './policy.ts';
import type { Throttle } from './throttle.ts';

/** How much of a job may be dispatched now, given its limits, what is in flight and the breaker. */
export interface Allowance {
  /** No more than this may be in flight after the dispatch: the ledger enforces it in the same transaction. */
  readonly ceiling: number;
  readonly batches: number;
  readonly itemsPerBatch: number;
  /** In all these batches together. */
  readonly items: number;
}

export interface DispatchState {
  readonly policy: Policy;
  readonly counts: Counts;
  /** Unsettled items of all batches in flight; `counts` only counts the batches. */
  readonly itemsInFlight: number;
  readonly tally: Tally;
  readonly circuit: Circuit;
  readonly throttle: Throttle;
  readonly batching?: Batching;
}

/** How many batches of the job may be in flight now. */
export function ceilingOf({ policy, throttle }: Pick<DispatchState, 'policy' | 'throttle'>): number {
  return Math.min(policy.throttling.max_concurrent_workers, Math.max(1, Math.floor(throttle.ceiling)));
}

/**
 * The share of the work in flight that exceeds the limit, because a user lowered it or the site asked us to slow down.
 */
export function excessOf(state: Pick<DispatchState, 'policy' | 'throttle' | 'counts'>): number {
  const inFlight = inFlightOf(state.counts);
  return inFlight === 0 ? 0 : Math.max(0, inFlight - ceilingOf(state)) / inFlight;
}

/**
 * `kept` is the room that the job's control items leave: a number of items, and one slot fewer while a control is out.
 */
export function dispatchAllowance(
  state: DispatchState,
  itemsPerBatch: number,
  kept: { readonly items: number; readonly slots: number } = NOTHING_KEPT,
  budget: Pick<BudgetRoom, 'items' | 'perBatch'> = UNLIMITED,
): Allowance {
  const { policy, counts } = state;
  const ceiling = ceilingOf(state) - kept.slots;
  const slots = Math.max(0, ceiling - inFlightOf(counts));
  // Not `pendingOf`: that includes the later items of batches in flight, which cannot be dispatched a second time.
  const waiting = counts.total - finishedOf(counts) - state.itemsInFlight;
  const items = Math.max(0, Math.min(waiting, itemsUnderBreaker(state), kept.items, budget.items));
  const batches = Math.min(slots, items);
  const most = Math.min(itemsPerBatch, itemsAtPace(policy));
  const perBatch = Math.max(1, Math.min(batchSize(state, items, batches, ceiling, most), budget.perBatch));
  return {
    ceiling,
    batches,
    itemsPerBatch: perBatch,
    items: Math.min(items, batches * perBatch),
  };
}

const NOTHING_KEPT = { items: Number.POSITIVE_INFINITY, slots: 0 };
const UNLIMITED = { items: Number.POSITIVE_INFINITY, perBatch: Number.POSITIVE_INFINITY };

/** A job that sets its batch size gets exactly that, even if it leaves slots idle. */
function batchSize(
  { batching }: DispatchState,
  items: number,
  batches: number,
  ceiling: number,
  itemsPerBatch: number,
): number {
  return batching === undefined
    ? fairShare(items, Math.max(1, batches), Math.max(1, ceiling), itemsPerBatch)
    : batching.maxItems;
}

/**
 * How many items go into a batch when one of many slots is free: no more than its share of the remaining items, so that
 * towards the end of a job no worker goes through a hundred slow items while all others are idle. It is not much
 * smaller than a full batch either, because every batch has a cost.
 */
function fairShare(items: number, batches: number, ceiling: number, itemsPerBatch: number): number {
  const least = Math.ceil(itemsPerBatch / LEAST_SHARE);
  return Math.min(itemsPerBatch, Math.floor(items / batches), Math.max(least, Math.floor(items / ceiling)));
}

/** A batch is never cut below a tenth. */
const LEAST_SHARE = 10;

/**
 * Until `min_requests` items have finished, it is unknown whether the job works, so no more than that many are risked;
 * a probe risks one.
 */
function itemsUnderBreaker({ circuit, tally, policy, itemsInFlight }: DispatchState): number {
  const risked = tally.finished + itemsInFlight;
  if (circuit.state === 'open') return 0;
  if (circuit.state === 'probing') return 1 - risked;
  const min = policy.circuit_breaker.min_requests;
  return tally.finished >= min ? Number.POSITIVE_INFINITY : min - risked;
}

/** A worker paces its own batch. At that pace a batch should not take longer than this. */
const PACED_BATCH_MS = 60_000;

function itemsAtPace({ throttling }: Policy): number {
  const { min_delay_between_items_seconds: delay, max_requests_per_second: rate } = throttling;
  const itemMs = Math.max(delay * 1000, rate === null ? 0 : 1000 / rate);
  return itemMs === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(PACED_BATCH_MS / itemMs));
}
