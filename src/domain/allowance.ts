import type { Batching } from './batching.ts';
import type { Circuit, Tally } from './breaker.ts';
import { type Counts, finishedOf, inFlightOf } from './counts.ts';
import { latest } from './due.ts';
import type { Policy } from './policy.ts';
import type { Throttle } from './throttle.ts';

/** How much of a job may go out now, given its limits, what is in flight, the breaker and the pace. */
export interface Allowance {
  /** In flight after the dispatch there may be no more than this: the ledger holds to it in the same transaction. */
  readonly ceiling: number;
  readonly batches: number;
  readonly itemsPerBatch: number;
  /** In all of these batches together. */
  readonly items: number;
  /** The next item may go out at `from` + items dispatched × `spacingMs`. */
  readonly pace: Pace;
  /** When it is only the pace that forbids more: when to look again. */
  readonly wakeAt: number | null;
}

interface Pace {
  readonly from: number;
  readonly spacingMs: number;
}

export interface DispatchState {
  readonly policy: Policy;
  readonly counts: Counts;
  /** Unsettled items of all batches in flight; `counts` tells only of the batches. */
  readonly itemsInFlight: number;
  readonly tally: Tally;
  readonly circuit: Circuit;
  readonly throttle: Throttle;
  readonly readyAt: number;
  readonly batching?: Batching;
}

/** A rate of many per second is kept in small bursts, because timers cannot fire every tenth of a millisecond. */
const BURST_SECONDS = 0.05;

/** How many batches of the job may be in flight now. */
export function ceilingOf({ policy, throttle }: Pick<DispatchState, 'policy' | 'throttle'>): number {
  return Math.min(policy.throttling.max_concurrent_workers, Math.max(1, Math.floor(throttle.ceiling)));
}

/** Which share of what is in flight exceeds the limit, because a user lowered it or the site asked us to slow down. */
export function excessOf(state: Pick<DispatchState, 'policy' | 'throttle' | 'counts'>): number {
  const inFlight = inFlightOf(state.counts);
  return inFlight === 0 ? 0 : Math.max(0, inFlight - ceilingOf(state)) / inFlight;
}

/** `kept`: what the control items of the job leave: so many items, and one slot less while one is out. */
export function dispatchAllowance(
  state: DispatchState,
  itemsPerBatch: number,
  now: number,
  kept: { readonly items: number; readonly slots: number } = NOTHING_KEPT,
): Allowance {
  const { policy, counts } = state;
  const ceiling = ceilingOf(state) - kept.slots;
  const slots = Math.max(0, ceiling - inFlightOf(counts));
  // Not `pendingOf`: that counts the items behind another in a batch, and those cannot go out a second time.
  const waiting = counts.total - finishedOf(counts) - state.itemsInFlight;
  const items = Math.max(0, Math.min(waiting, itemsUnderBreaker(state), kept.items));
  const paced = pacing(policy, state.readyAt, now);

  const batches = Math.min(slots, items, paced.items);
  const perBatch = Math.max(1, paced.spacingMs > 0 ? 1 : batchSize(state, items, batches, ceiling, itemsPerBatch));
  return {
    ceiling,
    batches,
    itemsPerBatch: perBatch,
    items: Math.min(items, batches * perBatch),
    pace: { from: paced.from, spacingMs: paced.spacingMs },
    wakeAt: paced.items < Math.min(slots, items) ? paced.nextAt : null,
  };
}

const NOTHING_KEPT = { items: Number.POSITIVE_INFINITY, slots: 0 };

/** A job that says how large its batches are gets them so, also where that leaves slots without work. */
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
 * How many items go into a batch when one slot of many is free: no more than its share of what is left, so that towards
 * the end of a job no worker goes through a hundred slow items while all others are idle. It is not much less than a full
 * batch either, because every batch has a cost.
 */
function fairShare(items: number, batches: number, ceiling: number, itemsPerBatch: number): number {
  const least = Math.ceil(itemsPerBatch / LEAST_SHARE);
  return Math.min(itemsPerBatch, Math.floor(items / batches), Math.max(least, Math.floor(items / ceiling)));
}

/** A batch is cut down to a tenth at most. */
const LEAST_SHARE = 10;

/**
 * Until `min_requests` have finished there is no telling whether the job works, so no more than that many are risked; a
 * probe risks one.
 */
function itemsUnderBreaker({ circuit, tally, policy, itemsInFlight }: DispatchState): number {
  const risked = tally.finished + itemsInFlight;
  if (circuit.state === 'open') return 0;
  if (circuit.state === 'probing') return 1 - risked;
  const min = policy.circuit_breaker.min_requests;
  return tally.finished >= min ? Number.POSITIVE_INFINITY : min - risked;
}

function pacing(policy: Policy, readyAt: number, now: number) {
  const { min_delay_between_items_seconds: delay, max_requests_per_second: rate } = policy.throttling;
  const spacingMs = Math.max(delay * 1000, rate === null ? 0 : 1000 / rate);
  if (spacingMs === 0) return { items: Number.POSITIVE_INFINITY, spacingMs, from: now, nextAt: now };

  // A delay between items allows no burst; a rate allows a short one.
  const burst = delay > 0 || rate === null ? 1 : Math.max(1, Math.ceil(rate * BURST_SECONDS));
  // A clock that was set back must not stop the job for as long. An item sets `readyAt` at most one spacing ahead, so a
  // time more than two spacings ahead is from another clock; a smaller step back is waited out, because hurrying is worse.
  const ready = readyAt > latest(now, spacingMs) ? now : readyAt;
  const from = Math.max(ready, now - (burst - 1) * spacingMs);
  const items = now < ready ? 0 : 1 + Math.floor((now - from) / spacingMs);
  return { items, spacingMs, from, nextAt: from + items * spacingMs };
}
