import type { BudgetPolicy } from './budget-policy.ts';
import { type Counts, finishedOf } from './counts.ts';
import { formatBytes } from './format-bytes.ts';
import { costOf, NO_PRICES, type Prices } from './prices.ts';
import { totalUsage, type Usage } from './usage.ts';

/** The fields of a job that the decision depends on. */
export interface BudgetState {
  readonly policy: { readonly budget: BudgetPolicy };
  readonly usage: Usage;
  readonly prices?: Prices;
  readonly counts: Counts;
  /** Unsettled items of all batches in flight: their usage is still unknown. */
  readonly itemsInFlight: number;
}

export type LimitName = keyof BudgetPolicy;

export interface ReachedLimit {
  readonly limit: LimitName;
  readonly used: number;
  readonly max: number;
}

/** How many more items may be dispatched. */
export interface BudgetRoom {
  readonly kind: 'room';
  readonly items: number;
  /** In one batch. */
  readonly perBatch: number;
}

export type BudgetVerdict = BudgetRoom | ({ readonly kind: 'reached' } & ReachedLimit);

const UNLIMITED: BudgetRoom = {
  kind: 'room',
  items: Number.POSITIVE_INFINITY,
  perBatch: Number.POSITIVE_INFINITY,
};

/**
 * The rest of a budget is divided by the average usage of an item, so that fewer and fewer items are in flight as the
 * budget runs out. Before the first item has ended, their usage is unknown: then they go out one at a time.
 */
export function judgeBudget(state: BudgetState): BudgetVerdict {
  const limits = limitsOf(state);
  if (limits.length === 0) return UNLIMITED;
  const reached = limits.find(({ used, max }) => used >= max);
  if (reached !== undefined) return { kind: 'reached', ...reached };
  const { itemsInFlight, counts } = state;
  const finished = finishedOf(counts) - counts.cancelled;
  const fitting = Math.min(...limits.map((limit) => itemsWithin(limit, finished)));
  // With nothing in flight, one more item is the minimum: fewer would stop the job before its budget is used up.
  const items = Math.max(itemsInFlight === 0 ? 1 : 0, fitting - itemsInFlight);
  return { kind: 'room', items, perBatch: finished === 0 ? 1 : Number.POSITIVE_INFINITY };
}

function itemsWithin({ limit, used, max }: ReachedLimit, finished: number): number {
  const left = max - used;
  // Few items need less than one request; the first ones will show what else they need.
  if (finished === 0) return limit === 'max_requests' ? left : Number.POSITIVE_INFINITY;
  return used === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / (used / finished));
}

/** The limits that are set, and how much of each is used. */
function limitsOf({ policy: { budget }, usage, prices = NO_PRICES }: BudgetState): readonly ReachedLimit[] {
  const { max_requests, max_bytes, max_proxy_bytes, max_cost } = budget;
  if (max_requests === null && max_bytes === null && max_proxy_bytes === null && max_cost === null) return [];
  const { requests, bytesUp, bytesDown, proxyBytes } = totalUsage(usage);
  const limits: [LimitName, number, number | null][] = [
    ['max_requests', requests, max_requests],
    ['max_bytes', bytesUp + bytesDown, max_bytes],
    ['max_proxy_bytes', proxyBytes, max_proxy_bytes],
    // A missing price is noticed when the budget is set.
    ['max_cost', max_cost === null ? 0 : (costOf(usage, prices) ?? 0), max_cost],
  ];
  return limits.flatMap(([limit, used, max]) => (max === null ? [] : [{ limit, used, max }]));
}

/** What is left of each limit; null for no limit. */
export function budgetLeft(state: BudgetState): Readonly<Record<LimitName, number | null>> {
  const left: Record<LimitName, number | null> = {
    max_requests: null,
    max_bytes: null,
    max_proxy_bytes: null,
    max_cost: null,
  };
  for (const { limit, used, max } of limitsOf(state)) left[limit] = Number(Math.max(0, max - used).toPrecision(12));
  return left;
}

/** `the budget is used up: 1,003 of 1,000 requests` */
export function describeReached({ limit, used, max }: ReachedLimit): string {
  return `the budget is used up: ${AMOUNTS[limit](used)} of ${AMOUNTS[limit](max)} ${WHAT[limit]}`;
}

/** The message for the user, with what to do; null while something is left. */
export function budgetUsedUp(state: BudgetState): string | null {
  const verdict = judgeBudget(state);
  if (verdict.kind !== 'reached') return null;
  return `${describeReached(verdict)}; raise budget.${verdict.limit}, then resume the job`;
}

const WHAT: Readonly<Record<LimitName, string>> = {
  max_requests: 'requests',
  max_bytes: 'sent and received',
  max_proxy_bytes: 'sent and received through proxies',
  max_cost: 'for proxies',
};

const AMOUNTS: Readonly<Record<LimitName, (amount: number) => string>> = {
  max_requests: withCommas,
  max_bytes: formatBytes,
  max_proxy_bytes: formatBytes,
  max_cost: (cost) => String(Number(cost.toPrecision(4))),
};

function withCommas(count: number): string {
  return count.toLocaleString('en-US');
}
