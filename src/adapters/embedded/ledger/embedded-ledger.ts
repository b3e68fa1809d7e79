import type { FailureGroup } from '../../../domain/failure-group.ts';
import type { ItemRecord, NewItem, RecoveredItem } from '../../../domain/item.ts';
import type { JobEvent, JobRecord, NewJob, Refusal } from '../../../domain/job.ts';
import type { JobStatus } from '../../../domain/job-steps.ts';
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
} from '../../../ports/ledger.ts';
import type { BatchRef } from '../../../ports/work-queue.ts';
import { Books, type BooksDeps } from './books.ts';
import { EmbeddedItemBook } from './item-book.ts';
import { EmbeddedJobBook } from './job-book.ts';
import { EmbeddedLeaseBook } from './lease-book.ts';
import { Returns } from './returns.ts';

/** The ledger on SQLite: `schema.ts` says what is where, and each of its parts does one thing. */
export class EmbeddedLedger implements Ledger {
  readonly #books: Books;
  readonly #jobs: EmbeddedJobBook;
  readonly #items: EmbeddedItemBook;
  readonly #leases: EmbeddedLeaseBook;
  readonly #returns: Returns;

  constructor(deps: BooksDeps) {
    const books = new Books(deps);
    this.#books = books;
    this.#jobs = new EmbeddedJobBook(books);
    this.#items = new EmbeddedItemBook(books);
    this.#leases = new EmbeddedLeaseBook(books);
    this.#returns = new Returns(books);
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    return this.#books.subscribe(listener);
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
