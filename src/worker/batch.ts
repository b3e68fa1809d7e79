import { FAILURES } from '../domain/failure.ts';
import type { HeldBack } from '../domain/job-wait.ts';
import { ownErrorFailure } from '../domain/own-error.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { HostGate } from '../ports/host-gate.ts';
import type { Lease, LeasedItem, Settlement } from '../ports/ledger.ts';
import { StorageTrouble } from '../ports/storage-trouble.ts';
import { within } from '../ports/within.ts';
import { BatchScope } from '../scraping/batch-scope.ts';
import { RecordingUnreachable } from '../scraping/recording-scrapers.ts';
import { UsageMeter } from '../scraping/usage-meter.ts';
import { type AttemptDeps, runAttempt, usageOf } from './attempt.ts';
import { type BatchEnd, type BatchEndDeps, giveBack } from './batch-end.ts';
import { DoneItems, type OwnTrouble } from './done-items.ts';
import { type FindScraperDeps, findScraper } from './find-scraper.ts';
import { BEATS_PER_LEASE, NotAnswered } from './heartbeat.ts';
import type { Place } from './slots.ts';

export interface BatchDeps extends AttemptDeps, BatchEndDeps, FindScraperDeps {
  readonly settings: { readonly settleEveryMs: number; readonly leaseMs: number };
  /** Waits until the next item of the job may begin; null if it may begin now. */
  readonly paceItem: (jobId: string, place: Place, signal: AbortSignal) => Promise<unknown> | null;
  /** The gate as lent to one batch. */
  readonly gateOf: (jobId: string, place: Place) => HostGate;
  /** The job's work order, at most some seconds old; null if the job is gone. Not a promise if it is already known. */
  readonly latestOrder: (lease: Lease, begunAt: number) => Promise<WorkOrder | null> | WorkOrder;
  /** Whether a host must still not be visited, as far as all processes together know. */
  readonly isStillHeld: (held: HeldBack) => Promise<boolean>;
}

/**
 * Processes the items of one lease, one after another. Finished items that are not settled when the batch is cut short
 * are settled before the rest is given back. It does not throw: after an error of our own the rest goes back uncharged,
 * because an expired lease counts against its items as if one of them had killed its worker.
 */
export async function runBatch(deps: BatchDeps, lease: Lease, place: Place, signal: AbortSignal): Promise<BatchEnd> {
  const scope = new BatchScope(lease.items);
  try {
    return await runItems(deps, { lease, place, scope, wanted: new Wanted(deps, lease) }, signal);
  } finally {
    const ending = scope.end();
    if (ending !== null) await ending;
  }
}

async function runItems(deps: BatchDeps, batch: RunningBatch, signal: AbortSignal): Promise<BatchEnd> {
  const { lease } = batch;
  const done = new DoneItems(deps, lease, signal);
  for (const [index, item] of lease.items.entries()) {
    const meter = new UsageMeter();
    const result = await runItem(deps, batch, item, meter, signal);
    if (result === 'lost' || result === 'gone') {
      await done.stop();
      return result === 'lost' ? 'lost' : 'over';
    }
    if (result === 'not-ours') return settleLast(deps, lease, done, signal);
    if (result === 'drained' || result === 'storage') return giveBack(deps, lease, done, result, signal, meter.read());
    if ('error' in result || 'host' in result) return giveBack(deps, lease, done, result, signal, meter.read());

    done.add(result);
    const isLast = index === lease.items.length - 1;
    const answer = isLast || isUrgent(result) || done.isBehind ? await done.settleAll() : done.answer;
    if (answer === 'fenced') return 'lost';
    if (answer !== 'recorded') return giveBack(deps, lease, done, answer, signal);
    done.settleBeside();
  }
  return 'over';
}

function isHeld(result: Settlement | HeldBack | 'aborted'): result is HeldBack {
  return typeof result === 'object' && 'host' in result;
}

/** Failures held against the site are settled at once: the breaker must not learn of them hundreds of items later. */
function isUrgent({ outcome }: Settlement): boolean {
  if (outcome.kind !== 'failed') return false;
  const { breaker, retry } = FAILURES[outcome.failure.type];
  return breaker || retry === 'stops-the-job';
}

/**
 * A hundred items may take a quarter of an hour, and a user may have paused the job meanwhile, or lowered its limit.
 * The first item is processed anyway: it has counted as in progress since the claim. Only the pace of the job can delay
 * it so long that this is checked again.
 */
class Wanted {
  readonly #deps: BatchDeps;
  readonly #lease: Lease;
  readonly #begunAt: number;
  #last: WorkOrder | null = null;

  constructor(deps: BatchDeps, lease: Lease) {
    this.#deps = deps;
    this.#lease = lease;
    this.#begunAt = deps.clock.elapsed();
  }

  /** The order that applies to this item now. */
  orderFor(item: LeasedItem, hasWaited = false): Promise<Answer> | Answer {
    const latest = this.#deps.latestOrder(this.#lease, this.#begunAt);
    if (latest instanceof Promise) return latest.then((order) => this.#judge(order, item, hasWaited));
    return this.#judge(latest, item, hasWaited);
  }

  #judge(order: WorkOrder | null, item: LeasedItem, hasWaited: boolean): Answer {
    if (order === null) return 'gone';
    const isNews = order !== this.#last;
    this.#last = order;
    if (item === this.#lease.items[0] && !hasWaited) return order;
    // Drawn once per answer: drawing again for every item would eventually return the batch, however small the excess.
    const isTooMuch = isNews && order.excess > 0 && this.#deps.clock.chance() < order.excess;
    return order.isHalted || isTooMuch ? 'not-now' : order;
  }
}

type Answer = WorkOrder | 'gone' | 'not-now';

interface RunningBatch {
  readonly lease: Lease;
  readonly place: Place;
  readonly scope: BatchScope;
  readonly wanted: Wanted;
}

async function runItem(
  deps: BatchDeps,
  { lease, place, scope, wanted }: RunningBatch,
  item: LeasedItem,
  meter: UsageMeter,
  signal: AbortSignal,
): Promise<Settlement | OwnTrouble | HeldBack | 'lost' | 'not-ours' | 'gone' | 'drained' | 'storage'> {
  const isCut = () => (deps.isLost(signal) ? 'lost' : 'drained');
  if (signal.aborted) return isCut();
  const startedAt = deps.clock.now();
  const begunAt = deps.clock.elapsed();
  try {
    if (item === lease.items[0] && !isFresh(deps, lease) && !(await isStillOurs(deps, lease))) return 'lost';
    const { jobId } = lease.ref;
    const asked = wanted.orderFor(item);
    let order = asked instanceof Promise ? await asked : asked;
    const pacing = typeof order === 'string' ? null : deps.paceItem(jobId, place, signal);
    if (pacing !== null) {
      await pacing.catch(() => {});
      if (signal.aborted) return isCut();
      order = await wanted.orderFor(item, true);
    }
    if (order === 'gone') return 'gone';
    if (order === 'not-now') return 'drained';
    const scraper = await findScraper(deps, order);
    const job = { jobId, order, scraper, gate: () => deps.gateOf(jobId, place), batch: scope };
    if (lease.suspect && !(await deps.leases.begin(lease.token, item.seq))) return 'not-ours';
    await deps.faults.at('after-claim-before-work');
    let result = await runAttempt(deps, job, item, signal, meter);
    // The pause may have been lifted, or be over: only a pause still in force is worth a trip through the queue.
    if (isHeld(result) && !(await deps.isStillHeld(result))) result = await runAttempt(deps, job, item, signal, meter);
    return result === 'aborted' ? isCut() : result;
  } catch (error) {
    if (error instanceof StorageTrouble) return 'storage';
    if (deps.isLost(signal)) return 'lost';
    deps.onError(`item ${item.itemId} of job ${lease.ref.jobId}`, error);
    // However long it takes: the items had no chance, and another worker may reach it.
    if (error instanceof RecordingUnreachable) return { error, delayMs: ASK_AGAIN_MS };
    const next = deps.ownErrors.note(lease, item);
    if (next.kind === 'give-back') return { error, delayMs: next.delayMs };
    const outcome = { kind: 'failed', failure: ownErrorFailure(error) } as const;
    const durationMs = Math.max(0, Math.round(deps.clock.elapsed() - begunAt));
    return { seq: item.seq, attempt: item.attempt, outcome, tries: 1, startedAt, durationMs, ...usageOf(meter) };
  }
}

/** Between two tries to get the recording of a job. */
const ASK_AGAIN_MS = 5000;

/**
 * A claim may have been delayed, and most of its lease may be over before any work is done; the first heartbeat might
 * then come too late. By the wall clock, like the lease itself.
 */
function isFresh({ clock, settings: { leaseMs } }: BatchDeps, lease: Lease): boolean {
  return lease.until - clock.now() >= FRESH_SHARE * leaseMs;
}

/** Renews a lease that is not fresh. */
async function isStillOurs({ clock, leases, settings: { leaseMs } }: BatchDeps, lease: Lease): Promise<boolean> {
  const deadlineMs = leaseMs / BEATS_PER_LEASE;
  const lost = await within(clock, deadlineMs, leases.renew([lease.token], clock.now() + leaseMs), () => null);
  if (lost === null) throw new NotAnswered(deadlineMs);
  return lost.length === 0;
}

/** With less than this, a failed heartbeat may be the last before the end. */
const FRESH_SHARE = 0.75;

/** The lease is lost, or its job was cancelled with the rest of the batch; then finished items still count. */
async function settleLast(deps: BatchDeps, lease: Lease, done: DoneItems, signal: AbortSignal): Promise<BatchEnd> {
  if (!done.isWaiting) return 'lost';
  const answer = await done.settleAll();
  if (answer === 'fenced') return 'lost';
  return answer === 'recorded' ? 'over' : giveBack(deps, lease, done, answer, signal);
}
