import type { FailureGroup } from '../../../src/domain/failure-group.ts';
import type { ItemRecord, NewItem, RecoveredItem } from '../../../src/domain/item.ts';
import type { JobEvent, JobRecord, NewJob, Refusal } from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type {
  AddAnswer,
  ClaimAnswer,
  CreateAnswer,
  Dispatched,
  DueTimes,
  ItemFilter,
  JobDraft,
  LatestTimes,
  Ledger,
  LedgerChange,
  Page,
  PageRequest,
  RecoverAnswer,
  ReleaseCause,
  ReopenAnswer,
  RetryFilter,
  SettleAnswer,
  SettlePart,
  WorkOrder,
} from '../../../src/ports/ledger.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { MemoryCore } from './core.ts';
import { MemoryItemBook } from './item-book.ts';
import { MemoryJobBook } from './job-book.ts';
import { MemoryLeaseBook } from './lease-book.ts';
import { MemoryReturns } from './returns.ts';

/** What the ledger is made of. A test puts a part of its own in the place of one, to see what a mistake in it does. */
export interface MemoryParts {
  readonly core: new () => MemoryCore;
  readonly jobs: new (core: MemoryCore) => MemoryJobBook;
  readonly items: new (core: MemoryCore) => MemoryItemBook;
  readonly leases: new (core: MemoryCore) => MemoryLeaseBook;
  readonly returns: new (core: MemoryCore) => MemoryReturns;
}

const PARTS: MemoryParts = {
  core: MemoryCore,
  jobs: MemoryJobBook,
  items: MemoryItemBook,
  leases: MemoryLeaseBook,
  returns: MemoryReturns,
};

/**
 * The ledger as plain as it can be: the reference that every other adapter is compared with, and the store of most
 * simulations.
 */
export class MemoryLedger implements Ledger {
  readonly core: MemoryCore;
  readonly #jobs: MemoryJobBook;
  readonly #items: MemoryItemBook;
  readonly #leases: MemoryLeaseBook;
  readonly #returns: MemoryReturns;

  constructor(parts: Partial<MemoryParts> = {}) {
    const { core: Core, jobs: Jobs, items: Items, leases: Leases, returns: Returns } = { ...PARTS, ...parts };
    this.core = new Core();
    this.#jobs = new Jobs(this.core);
    this.#items = new Items(this.core);
    this.#leases = new Leases(this.core);
    this.#returns = new Returns(this.core);
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    return this.core.subscribe(listener);
  }

  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer> {
    return this.#jobs.createJob(job, items, now);
  }

  draftJob(): Promise<JobDraft> {
    return this.#jobs.draftJob();
  }

  job(jobId: string): Promise<JobRecord | null> {
    return this.#jobs.job(jobId);
  }

  jobs(query: { readonly status: JobStatus | null; readonly page: PageRequest }): Promise<Page<JobRecord>> {
    return this.#jobs.jobs(query);
  }

  activeJobs(page: PageRequest): Promise<Page<JobRecord>> {
    return this.#jobs.activeJobs(page);
  }

  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'> {
    return this.#jobs.changeJob(jobId, event, now);
  }

  removeJob(jobId: string, incarnation: string): Promise<boolean> {
    return this.#jobs.removeJob(jobId, incarnation);
  }

  addItems(jobId: string, items: readonly NewItem[], openUntil: number, now: number): Promise<AddAnswer> {
    return this.#items.addItems(jobId, items, openUntil, now);
  }

  item(jobId: string, itemId: string): Promise<ItemRecord | null> {
    return this.#items.item(jobId, itemId);
  }

  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>> {
    return this.#items.items(jobId, filter, page);
  }

  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]> {
    return this.#items.itemsAt(jobId, first, limit);
  }

  reopen(jobId: string, filter: RetryFilter, page: PageRequest, openUntil: number, now: number): Promise<ReopenAnswer> {
    return this.#items.reopen(jobId, filter, page, openUntil, now);
  }

  recover(jobId: string, by: string, items: readonly RecoveredItem[], now: number): Promise<RecoverAnswer> {
    return this.#items.recover(jobId, by, items, now);
  }

  failureGroups(jobId: string, max: number): Promise<readonly FailureGroup[]> {
    return this.#items.failureGroups(jobId, max);
  }

  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null> {
    return this.#leases.dispatch(jobId, itemsPerBatch, now);
  }

  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]> {
    return this.#leases.claim(refs, worker, until, now);
  }

  workOrder(jobId: string): Promise<WorkOrder | null> {
    return this.#leases.workOrder(jobId);
  }

  begin(token: string, seq: number): Promise<boolean> {
    return this.#leases.begin(token, seq);
  }

  renew(tokens: readonly string[], until: number): Promise<readonly string[]> {
    return this.#leases.renew(tokens, until);
  }

  settle(parts: readonly SettlePart[], now: number): Promise<readonly SettleAnswer[]> {
    return this.#returns.settle(parts, now);
  }

  release(token: string, because: ReleaseCause, now: number): Promise<boolean> {
    return this.#returns.release(token, because, now);
  }

  recall(refs: readonly BatchRef[], now: number): Promise<number> {
    return this.#returns.recall(refs, now);
  }

  expire(readTimes: () => DueTimes | null, limit: number): Promise<{ leases: number; queued: number }> {
    return this.#returns.expire(readTimes, limit);
  }

  clampTimes(readLatest: () => LatestTimes | null): Promise<number> {
    return this.#leases.clampTimes(readLatest);
  }

  abandon(worker: string, now: number): Promise<number> {
    return this.#leases.abandon(worker, now);
  }
}

export function openMemoryLedger(): MemoryLedger {
  return new MemoryLedger();
}
