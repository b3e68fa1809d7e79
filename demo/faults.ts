import type { Random } from './random.ts';

/** What can be asked of the county to do wrong. Latency goes with any of the others; of those, the first that hits counts. */
export const FAULT_KINDS = [
  'timeout', // the answer never comes
  'reset', // the connection is torn
  'rateLimit', // 429 with Retry-After
  'challenge', // 403, as Cloudflare does it
  'block', // 200, as Imperva does it
  'maintenance', // 503 or 200
  'serverError', // 500
  'notFound', // 404
  'layout', // ids and fields have other names
  'wrongParcel', // the page of the parcel next door
  'drip', // a few bytes at a time
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export const PAGE_KINDS = [
  ...(['home', 'disclaimer', 'search', 'results', 'select', 'detail', 'parcel', 'bill', 'json', 'other'] as const),
  ...(['app', 'api'] as const),
] as const;
export type PageKind = (typeof PAGE_KINDS)[number];

/** When a fault happens: everything that is said must hold. */
export interface When {
  /** The share of requests, from 0 to 1. */
  readonly rate: number;
  /** Numbers of requests since the plan was set, from 0; `to` is the first that is spared again. */
  readonly from: number;
  readonly to: number;
  /** The same in milliseconds since the plan was set. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Null for all. */
  readonly pages: readonly PageKind[] | null;
}

export interface Latency extends When {
  readonly kind: 'latency';
  readonly minMs: number;
  readonly maxMs: number;
}

export type Fault =
  | (When & { readonly kind: Exclude<FaultKind, 'rateLimit' | 'maintenance' | 'drip'> })
  | (When & { readonly kind: 'rateLimit'; readonly retryAfterSeconds: number })
  | (When & { readonly kind: 'maintenance'; readonly status: 200 | 503 })
  | (When & { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number });

export interface FaultPlan {
  readonly latency: Latency | null;
  /** In the order in which they were named. */
  readonly faults: readonly Fault[];
}

export const NO_FAULTS: FaultPlan = { latency: null, faults: [] };

export interface Moment {
  /** Requests since the plan was set, before this one. */
  readonly request: number;
  readonly elapsedMs: number;
  readonly page: PageKind;
}

/** What happens to a request. Chance is drawn only where a rate leaves it open, so that a plan without rates needs none. */
export function faultFor(plan: FaultPlan, at: Moment, random: Random): { delayMs: number; fault: Fault | null } {
  const { latency } = plan;
  const isLate = latency !== null && hits(latency, at, random);
  const delayMs = isLate ? latency.minMs + random() * (latency.maxMs - latency.minMs) : 0;
  return { delayMs, fault: plan.faults.find((fault) => isPossible(fault, at) && hits(fault, at, random)) ?? null };
}

function hits(when: When, at: Moment, random: Random): boolean {
  if (at.request < when.from || at.request >= when.to) return false;
  if (at.elapsedMs < when.fromMs || at.elapsedMs >= when.toMs) return false;
  if (when.pages !== null && !when.pages.includes(at.page)) return false;
  return when.rate >= 1 || random() < when.rate;
}

/** Only the page of a parcel can be that of another parcel. */
function isPossible(fault: Fault, { page }: Moment): boolean {
  return fault.kind !== 'wrongParcel' || ['detail', 'parcel', 'bill', 'api'].includes(page);
}
