import type { ControlReport } from '../domain/control-state.ts';
import type { DispatchPlan } from '../domain/dispatch-plan.ts';
import type { FailedTry } from '../domain/failed-try.ts';
import type { FailureType } from '../domain/failure.ts';
import type { ReadGroup } from '../domain/failure-group.ts';
import type {
  ItemInput,
  ItemRecord,
  ItemStatus,
  NewItem,
  RecoveredItem,
  RepeatedItem,
  SourcePage,
} from '../domain/item.ts';
import type { JobEvent, JobRecord, NewJob, Refusal } from '../domain/job.ts';
import type { JobStatus } from '../domain/job-steps.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Usage } from '../domain/usage.ts';
import type { WorkOrder } from '../domain/work-order.ts';
import type { ReleaseCause, ReturnCause } from './return-cause.ts';
import type { BatchRef } from './work-queue.ts';

/**
 * The truth about jobs and items, in three books. Every method is one atomic step that takes effect completely or not at
 * all; the counters of a job change in the same step as its items. Any method that writes may throw StorageTrouble: then
 * nothing was promised, and the call may be repeated. A call whose answer was lost may be repeated too: nothing is done
 * twice. `now` is always the caller's clock, which may be behind another caller's.
 */
export interface Ledger extends JobBook, ItemBook, LeaseBook {
  /**
   * Calls `listener` after each change made through this object, until it is unsubscribed. This is only a hint: changes
   * made elsewhere are not reported, so a listener must also look from time to time.
   */
  subscribe(listener: (change: LedgerChange) => void): () => void;
}

export type LedgerChange =
  | {
      readonly kind: 'job';
      readonly job: JobRecord;
      readonly because: JobEvent['kind'] | 'created' | 'items' | 'retry' | 'recover';
    }
  | { readonly kind: 'dispatched'; readonly jobId: string; readonly batches: number; readonly items: number }
  | { readonly kind: 'claimed'; readonly jobId: string; readonly batches: number }
  /** `usage`: what these attempts used together; absent for nothing. */
  | {
      readonly kind: 'settled';
      readonly jobId: string;
      readonly items: readonly SettledItem[];
      readonly usage?: Usage;
    }
  | { readonly kind: 'fenced'; readonly jobId: string; readonly batchId: string }
  | {
      readonly kind: 'returned';
      readonly jobId: string;
      readonly batchId: string;
      readonly because: ReturnCause;
      readonly items: number;
    };

export interface SettledItem {
  readonly seq: number;
  readonly itemId: string;
  /** Duration of the attempt, as measured by its worker. */
  readonly durationMs: number;
  readonly status: 'success' | 'failed' | 'skipped';
  readonly errorType: FailureType | null;
  /** Number of files it kept, so that a listener interested only in files need not read the item. */
  readonly artifacts: number;
}

/** Jobs are created as a whole, changed by events, and read at a cost that does not depend on their size. */
export interface JobBook {
  /** Creates the job with all these items, or nothing. `exists`: a job has that id, and it is left unchanged. */
  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer>;
  /**
   * Begins a job that has more items than fit into one step. A draft is invisible and none of its items run until it is
   * committed. If the process that began it dies, the ledger removes what is left: when it is opened again or, where
   * another process may still be writing the draft, once nothing has been added for an hour.
   */
  draftJob(): Promise<JobDraft>;
  /** Null if there is no such job. */
  job(jobId: string): Promise<JobRecord | null>;
  /** Newest first. */
  jobs(query: { readonly status: JobStatus | null; readonly page: PageRequest }): Promise<Page<JobRecord>>;
  /**
   * Jobs that the engine has work for (`isActive`): pending, in progress, paused with nothing left or until a probe,
   * cancelled while a worker is still busy, over but without a manifest, with failed items to be recovered, or the sample
   * of a plan, which the engine removes. The order gives every job its turn, oldest first.
   */
  activeJobs(page: PageRequest): Promise<Page<JobRecord>>;
  /**
   * Applies the event as `applyJobEvent` says, if the job's state allows it at that moment; otherwise returns why not.
   * `cancel` also takes back every queued batch and cuts each batch in progress down to its first unsettled item.
   */
  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'>;
  /**
   * Deletes the job and all its items, if `incarnation` matches and its removal is certain (`remove-for-good`); its id
   * can then be reused. Otherwise returns false and changes nothing: the job is already gone, another job has its id,
   * or it is not to be deleted. Artifacts are left to the result store.
   */
  removeJob(jobId: string, incarnation: string): Promise<boolean>;
}

export type CreateAnswer =
  | { readonly kind: 'created'; readonly job: JobRecord }
  | { readonly kind: 'exists'; readonly job: JobRecord }
  /** Items whose id occurs earlier in the list, and where. Nothing was created. */
  | { readonly kind: 'duplicates'; readonly repeated: readonly RepeatedItem[] };

/**
 * A job being created. It belongs to one caller, which makes one call at a time; after a call that threw, only `drop`
 * may be used. In lists, a committed job has the position of the moment at which its draft was begun.
 */
export interface JobDraft {
  /**
   * Appends items. `place` is how many the draft has so far, so that a repeated call appends nothing twice. Items whose id
   * the draft already has are left out and named, `first` being a place in the draft.
   */
  add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]>;
  /** Items by place, from `first` on, at most `limit`. There may be fewer if they are large, but at least one if any exist. */
  items(first: number, limit: number): Promise<readonly NewItem[]>;
  /**
   * Creates the job with all items of the draft in one step, or nothing. `exists`: a job has that id; both it and the
   * draft are left unchanged.
   */
  commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>>;
  /** Removes the draft and its items, now or soon. Does nothing to a job that was committed. May be repeated. */
  drop(): Promise<void>;
}

/** Items are added in order, found by id, listed in pages, and reopened on demand. */
export interface ItemBook {
  /**
   * Adds the items whose id the job does not have yet; the others are named by index, so that a chunk sent twice is
   * added once. A duplicate with another input replaces input and group of a failed item, which becomes pending as
   * after a retry; an item in any other state keeps its own, and the duplicate is reported as differing. If two items
   * of the list have the same id, the first counts. Sets how long the job waits for more items before it may be
   * completed. A completed job begins a new round with the first item added or replaced; a failed one keeps them until
   * it is resumed.
   */
  addItems(jobId: string, items: readonly NewItem[], openUntil: number, now: number): Promise<AddAnswer>;
  item(jobId: string, itemId: string): Promise<ItemRecord | null>;
  /**
   * Items in the order in which they were added. A page may have fewer than requested, even none, and still have a next
   * one: no call looks at more than a bounded number of items.
   */
  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>>;
  /**
   * Items by place, from `first` on, at most `limit`, for parts of the results while there is no manifest. There may be
   * fewer if they are large, but at least one if any exist.
   */
  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]>;
  /**
   * Reopens the failed items that `filter` selects, a page at a time, or only counts them. A page may have fewer than
   * requested, even none, and still have a next one. A completed job begins a new round with the first item reopened. Sets
   * `openUntil`, so that the job is not completed between two pages.
   */
  reopen(jobId: string, filter: RetryFilter, page: PageRequest, openUntil: number, now: number): Promise<ReopenAnswer>;
  /**
   * Turns failed items into successes while their results are being replaced by `by` (`whenRecovered`). Each gets these
   * artifacts, and the re-extraction as its last attempt. An item that is not failed, or was tried again after the attempt
   * named, is left unchanged. A step may take only the beginning of a long list, but at least one item: see `taken`.
   */
  recover(jobId: string, by: string, items: readonly RecoveredItem[], now: number): Promise<RecoverAnswer>;
  /**
   * The job's failures by type, pattern, address and page, most frequent first. An item is in one group for as long as it
   * has failed: a retry takes it out, and when it fails again it may be in another.
   */
  failureGroups(jobId: string, max: number): Promise<readonly ReadGroup[]>;
}

export type AddAnswer =
  | {
      readonly kind: 'added';
      readonly added: number;
      /** All items whose id the job, or an earlier item of the list, already had. */
      readonly duplicates: readonly number[];
      /** The duplicates whose input a failed item has taken over. */
      readonly replaced: readonly number[];
      /** The duplicates whose input differs from the one that the job has under that id. */
      readonly differing: readonly number[];
    }
  | { readonly kind: 'missing' }
  /** The job is cancelled and accepts no more items. */
  | { readonly kind: 'closed'; readonly status: JobStatus };

export interface ItemFilter {
  readonly status: ItemStatus | null;
  readonly errorType: FailureType | null;
}

/** An item must meet every condition that is not null. */
export interface RetryFilter {
  readonly errorType: FailureType | null;
  readonly itemIds: readonly string[] | null;
  /** Items whose failure is counted in a group with one of these keys (`ReadGroup`). */
  readonly groupKeys: readonly string[] | null;
  /** Only those whose last attempt ended at this time or later, by the clock of its worker. */
  readonly endedSince?: number;
  readonly preview: boolean;
}

export type ReopenAnswer =
  | { readonly kind: 'reopened'; readonly items: number; readonly next: string | null }
  | { readonly kind: 'missing' }
  | Refusal;

export type RecoverAnswer =
  /** `items` of the first `taken` became successes. */
  | { readonly kind: 'recovered'; readonly taken: number; readonly items: number }
  | { readonly kind: 'missing' }
  | Refusal;

/** `after` is the `next` of an earlier page, or null for the first page. */
export interface PageRequest {
  readonly after: string | null;
  readonly limit: number;
}

export interface Page<T> {
  readonly entries: readonly T[];
  readonly next: string | null;
}

/**
 * Leases: how work goes out and comes back. A lease is a worker's temporary right to a batch; its token is the fence. A
 * write whose token is no longer the batch's changes nothing but the job's `fenced` counter.
 */
export interface LeaseBook {
  /**
   * Asks `planDispatch` what may go out at this moment and, if the answer is `go`, takes that many pending items, forms
   * batches and records them as queued; all in one step, so that two callers together cannot exceed a limit. Returned
   * items go first. Items with a strike only share a batch with each other, and such a batch is `suspect`. Fewer refs than
   * the plan allows are not an error. Null if there is no such job.
   *
   * In a job with `batching`, a batch is a run of neighbouring pending items of one group (or of none), in the order in
   * which they were added, at most `maxItems` of them; `itemsPerBatch` does not matter. Groups are not gathered: the
   * submitter puts the items of a group next to each other. A limit of the job or of the backend may cut a run. In a job
   * without `batching`, groups do not matter.
   */
  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null>;
  /**
   * Gives queued batches to a worker until `until`, and counts the delivery, before any work is done. Returns one per
   * ref, in order. `gone`: the batch no longer exists, forget the message. `held`: another worker has it. A worker that
   * claims a batch it already holds gets the same lease. The name of a control item (`controlBatchId`) is answered by
   * `claimControl`, and changes nothing. A worker may get only the first items of a batch with large
   * inputs; the others are pending again, and no delivery of them is counted.
   */
  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]>;
  /** What a worker must know about a job to work on it. Null if the job is gone. */
  workOrder(jobId: string): Promise<WorkOrder | null>;
  /** Marks which item of its batch a worker is about to begin. False when the lease is lost. */
  begin(token: string, seq: number): Promise<boolean>;
  /**
   * Extends leases; a renewal that arrives after a later one does not shorten them. Returns the tokens of lost leases,
   * whose work need not continue.
   */
  renew(tokens: readonly string[], until: number): Promise<readonly string[]>;
  /**
   * Records how items ended, possibly of several batches or only some items of one. Returns one answer per entry, in
   * order. A batch ends with its last item. What an attempt kept is listed with the item, whether it succeeded or
   * failed. `recorded` is also the answer if the same outcome was recorded before; its usage is not added again.
   * `fenced`: the lease was lost, and nothing changed, so the job does not know what that attempt used.
   * What an attempt found becomes items of the job in the same step (`wantedFinds`, `admitFinds`), after its existing
   * items: each id once, no matter who found or submitted it first, and the first input is kept. So neither a repeated
   * nor a fenced settle adds anything, and a job is never exhausted while finds are on their way into it.
   */
  settle(parts: readonly SettlePart[], now: number): Promise<readonly SettleAnswer[]>;
  /**
   * Returns what a worker has not done, without charging an attempt. In a cancelled job the items are cancelled. The
   * cause is part of the change that listeners get. If it is a host, the job waits for it (`whenHeldBack`), or only these
   * items do (`holdAfter`). `usage` is what attempts used that did not come to an end; it is added to the job's. False if
   * the lease is lost, and then nothing is added.
   */
  release(token: string, because: ReleaseCause, now: number, usage?: Usage): Promise<boolean>;
  /** Records what a control item returned (`applyControl`). Does nothing if its report is not awaited, or was recorded before. */
  reportControl(jobId: string, report: ControlReport, now: number): Promise<void>;
  /** Takes back batches whose message was not sent or not delivered: their items are pending again. */
  recall(refs: readonly BatchRef[], now: number): Promise<number>;
  /**
   * Ends what is overdue, oldest first over all jobs, at most `limit` batches: leases that ran out, and batches that
   * have been queued since before `queuedBefore`. The unsettled items of a lost lease get a strike, because one of them
   * may have killed the worker; in a suspect batch, only the item that was marked as begun gets one. The third strike
   * fails an item as `poison`. The others are pending again.
   *
   * `readTimes` is called after a lease was read and before it is judged; where reading and writing are separate, for
   * every batch again. An older time would end leases that were granted after the clock was set back. Null ends the call.
   */
  expire(
    readTimes: () => DueTimes | null,
    limit: number,
  ): Promise<{ readonly leases: number; readonly queued: number }>;
  /**
   * Corrects times that are further ahead than they can have been set, because a clock was set back: leases that end
   * after `until` end then, and batches that were queued after `queuedAt` count as queued then. Returns how many were
   * corrected. A lease that was only renewed to such a time may keep it until it has been due once. A worker that is alive
   * renews its lease as before. `readLatest` is called like `readTimes` of `expire`: a delayed call would otherwise
   * shorten leases that were granted since.
   */
  clampTimes(readLatest: () => LatestTimes | null): Promise<number>;
  /** A worker is known to be dead: its leases expire now. Returns how many. */
  abandon(worker: string, now: number): Promise<number>;
}

/** The methods that a worker needs: everything that passes between a worker process and the owner of the ledger. */
export type WorkerLeases = Pick<
  LeaseBook,
  'claim' | 'workOrder' | 'begin' | 'renew' | 'settle' | 'release' | 'reportControl'
>;

/** The times that decide what is overdue. */
export interface DueTimes {
  /** Leases that end at or before it have expired. */
  readonly now: number;
  /** Batches queued before it have lost their message. */
  readonly queuedBefore: number;
}

/** How far ahead times may be. */
export interface LatestTimes {
  readonly until: number;
  readonly queuedAt: number;
}

export interface Dispatched {
  /** The refs to send; empty unless the plan is `go`. */
  readonly refs: readonly BatchRef[];
  readonly plan: DispatchPlan;
}

export type ClaimAnswer = Lease | 'gone' | 'held';

export interface Lease {
  readonly token: string;
  readonly ref: BatchRef;
  readonly until: number;
  /** Its items have a strike: mark each as it begins, so that only that one can get another strike. */
  readonly suspect: boolean;
  /** For one of them the next strike would be the last (`mustRunAlone`): run it while nothing else runs in the process. */
  readonly alone: boolean;
  /** Distinguishes two jobs with the same id, the first of which was deleted. */
  readonly jobCreatedAt: number;
  readonly policyRevision: number;
  /** In the order in which to process them. */
  readonly items: readonly LeasedItem[];
  /** Set only for a control item (`claimControl`): its number. There are no items then, and no lease. */
  readonly control?: number;
}

export interface LeasedItem {
  readonly seq: number;
  readonly itemId: string;
  readonly input: ItemInput;
  /** Present only in a re-extraction. */
  readonly source?: SourcePage;
  /** Present only for an item that another found. */
  readonly depth?: number;
  /** 1 for the first delivery. It is part of the keys of this attempt's artifacts. */
  readonly attempt: number;
}

export interface SettlePart {
  readonly token: string;
  readonly jobId: string;
  readonly items: readonly Settlement[];
}

/** How one item ended. */
export interface Settlement {
  readonly seq: number;
  readonly attempt: number;
  readonly outcome: Outcome;
  readonly tries: number;
  /**
   * The last failed tries, at most MAX_FAILED_TRIES; absent if there was only one try. They are listed with the
   * attempt, and the last of them shows whether the site refused us.
   */
  readonly failedTries?: readonly FailedTry[];
  readonly startedAt: number;
  readonly durationMs: number;
  /** Version of the scraper that ran, at most MAX_VERSION_LENGTH; absent if it could not run or its version is unknown. */
  readonly scraperVersion?: string;
  /**
   * What the attempt sent and received in all its tries; absent if nothing. Added to the job's usage with the counters.
   */
  readonly usage?: Usage;
}

export type SettleAnswer = 'recorded' | 'fenced';
