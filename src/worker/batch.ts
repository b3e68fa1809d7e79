import { FAILURES } from '../domain/failure.ts';
import type { Lease, LeasedItem, Settlement, WorkerLeases, WorkOrder } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import type { ScraperRegistry } from '../scraping/registry.ts';
import { type AttemptJob, type AttemptParts, runAttempt } from './attempt.ts';
import type { Settler } from './settle.ts';

/** `over`: the ledger knows how every item ended, or has the rest back. `lost`: it is no longer ours to say. */
export type BatchEnd = 'over' | 'lost';

export interface BatchParts extends AttemptParts {
  readonly leases: WorkerLeases;
  readonly scrapers: Pick<ScraperRegistry, 'find'>;
  readonly settler: Settler;
  readonly settings: { readonly settleEveryMs: number };
  /** What the job wants now, or did some seconds ago; null when it is gone. */
  readonly latestOrder: (lease: Lease) => Promise<WorkOrder | null>;
  /** Whether the batch was cut off because its lease is lost, and not because the worker stops. */
  readonly isLost: (signal: AbortSignal) => boolean;
}

/**
 * Carries out the items of one lease, one after another. Items done but not yet settled when the batch is cut short are
 * settled before the rest is given back.
 */
export async function runBatch(parts: BatchParts, lease: Lease, signal: AbortSignal): Promise<BatchEnd> {
  const done: Settlement[] = [];
  const wanted = new Wanted(parts, lease);
  let settledAt = parts.clock.elapsed();
  for (const [index, item] of lease.items.entries()) {
    const result = await runItem(parts, lease, wanted, item, signal);
    if (result === 'lost') return 'lost';
    if (result === 'gone') return 'over';
    if (result === 'not-ours') return settleLast(parts, lease, done, signal);
    if (result === 'drained' || result === 'storage') return giveBack(parts, lease, done, result, signal);

    done.push(result);
    const isLast = index === lease.items.length - 1;
    const isDue = parts.clock.elapsed() - settledAt >= parts.settings.settleEveryMs;
    if (!isLast && !isDue && !isUrgent(result)) continue;
    if ((await settle(parts, lease, done, signal)) === 'fenced') return 'lost';
    settledAt = parts.clock.elapsed();
  }
  return 'over';
}

/** What speaks against the site is told at once: the breaker must not hear of it when hundreds more have been tried. */
function isUrgent({ outcome }: Settlement): boolean {
  if (outcome.kind !== 'failed') return false;
  const { breaker, retry } = FAILURES[outcome.failure.type];
  return breaker || retry === 'stops-the-job';
}

/**
 * A hundred items may take a quarter of an hour, and somebody may have paused the job meanwhile, or lowered its limit. The
 * first item is carried out all the same: it counts as in progress since the claim.
 */
class Wanted {
  readonly #parts: BatchParts;
  readonly #lease: Lease;
  #last: WorkOrder | null = null;

  constructor(parts: BatchParts, lease: Lease) {
    this.#parts = parts;
    this.#lease = lease;
  }

  /** What is wanted of this item now. */
  async orderFor(item: LeasedItem): Promise<WorkOrder | 'gone' | 'not-now'> {
    const order = await this.#parts.latestOrder(this.#lease);
    if (order === null) return 'gone';
    const isNews = order !== this.#last;
    this.#last = order;
    if (item === this.#lease.items[0]) return order;
    // Once per answer: whoever drew again for every item would give back in the end, however little is too much.
    const isTooMuch = isNews && order.excess > 0 && this.#parts.clock.chance() < order.excess;
    return order.isHalted || isTooMuch ? 'not-now' : order;
  }
}

async function runItem(
  parts: BatchParts,
  lease: Lease,
  wanted: Wanted,
  item: LeasedItem,
  signal: AbortSignal,
): Promise<Settlement | 'lost' | 'not-ours' | 'gone' | 'drained' | 'storage'> {
  const isCut = () => (parts.isLost(signal) ? 'lost' : 'drained');
  if (signal.aborted) return isCut();
  try {
    const order = await wanted.orderFor(item);
    if (order === 'gone') return 'gone';
    if (order === 'not-now') return 'drained';
    const job = { jobId: lease.ref.jobId, order, scraper: await findScraper(parts.scrapers, order.scraperId) };
    if (lease.suspect && !(await parts.leases.begin(lease.token, item.seq))) return 'not-ours';
    await parts.faults.at('after-claim-before-work');
    const result = await runAttempt(parts, job, item, signal);
    return result === 'aborted' ? isCut() : result;
  } catch (error) {
    if (error instanceof StorageTrouble) return 'storage';
    throw error;
  }
}

/** A file that cannot be loaded, or two of one id, are no reason to lose the lease. */
async function findScraper(scrapers: Pick<ScraperRegistry, 'find'>, id: string): Promise<AttemptJob['scraper']> {
  try {
    return (await scrapers.find(id)) ?? { unusable: `this worker has no scraper ${id}` };
  } catch (error) {
    return { unusable: error instanceof Error ? error.message : String(error) };
  }
}

/** A worker that stops waits for room, too: what it leaves unsettled would count against its items. */
async function settle(parts: BatchParts, lease: Lease, done: Settlement[], signal: AbortSignal) {
  await parts.faults.at('after-bytes-before-settle');
  const part = { token: lease.token, jobId: lease.ref.jobId, items: done.splice(0) };
  for (;;) {
    try {
      return await parts.settler.settle(part, signal);
    } catch (error) {
      if (!(error instanceof StorageTrouble) || parts.isLost(signal)) throw error;
    }
  }
}

/** The lease is lost, or its job was cancelled and the rest of the batch with it; then what was done still counts. */
async function settleLast(parts: BatchParts, lease: Lease, done: Settlement[], signal: AbortSignal): Promise<BatchEnd> {
  if (done.length === 0) return 'lost';
  return (await settle(parts, lease, done, signal)) === 'fenced' ? 'lost' : 'over';
}

/** Asked again for as long as the lease is ours: a lease left to run out would count against its items. */
async function giveBack(
  parts: BatchParts,
  lease: Lease,
  done: Settlement[],
  because: 'drained' | 'storage',
  signal: AbortSignal,
): Promise<BatchEnd> {
  const isSettled = done.length > 0;
  if (isSettled && (await settle(parts, lease, done, signal)) === 'fenced') return 'lost';
  for (;;) {
    try {
      const isReleased = await parts.leases.release(lease.token, because, parts.clock.now());
      // What was settled may have been all that was left, because the others were cancelled with their job.
      return isReleased || isSettled ? 'over' : 'lost';
    } catch (error) {
      if (!(error instanceof StorageTrouble) || parts.isLost(signal)) throw error;
      await parts.clock.sleep(RELEASE_AGAIN_MS);
    }
  }
}

const RELEASE_AGAIN_MS = 500;
