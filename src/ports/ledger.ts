import { excessOf } from '../domain/allowance.ts';
import type { DispatchPlan } from '../domain/dispatch-plan.ts';
import type { FailureType } from '../domain/failure.ts';
import type { FailureGroup } from '../domain/failure-group.ts';
import type {
  ItemInput,
  ItemRecord,
  ItemStatus,
  NewItem,
  RecoveredItem,
  RepeatedItem,
  SourcePage,
} from '../domain/item.ts';
import { isDispatchable, type JobEvent, type JobRecord, type NewJob, type Refusal } from '../domain/job.ts';
import type { JobStatus } from '../domain/job-steps.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Policy } from '../domain/policy.ts';
import type { BatchRef } from './work-queue.ts';

/**
 * The truth about jobs and items, in three books. Every method is one atomic step: all of it took effect, or none; the
 * counters of a job change in the same step as its items. Any method that writes may throw StorageTrouble: then nothing
 * was promised, and the call may be repeated. A call whose answer was lost may be repeated too: what it did is not done
 * twice. `now` is always the caller's clock, and one caller's clock may be behind another's.
 */
export interface Ledger extends JobBook, ItemBook, LeaseBook {
  /**
   * Calls `listener` after a change made through this object took effect, for as long as it is not unsubscribed. A
   * hint: changes made elsewhere are not heard, so that whoever listens also looks from time to time.
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
  | { readonly kind: 'settled'; readonly jobId: string; readonly items: readonly SettledItem[] }
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
  /** Of the attempt, in its worker. */
  readonly durationMs: number;
  readonly status: 'success' | 'failed' | 'skipped';
  readonly errorType: FailureType | null;
  /** How many files it kept: a listener that only cares for files need not read the item. */
  readonly artifacts: number;
}

/** Jobs: made whole, changed by events, read at a cost that does not depend on their size. */
export interface JobBook {
  /** The job and all these items, or nothing. `exists`: there is a job of that id, and it is left as it is. */
  createJob(job: NewJob, items: readonly NewItem[], now: number): Promise<CreateAnswer>;
  /**
   * Begins a job that has more items than fit into one step. A draft is seen nowhere and nothing of it runs until it is
   * committed. Where the process that began it dies, the ledger removes what is left of it: when it is opened again, or,
   * where others may still be at it, once nothing has been added for an hour.
   */
  draftJob(): Promise<JobDraft>;
  /** Null when there is no such job. */
  job(jobId: string): Promise<JobRecord | null>;
  /** Newest first. */
  jobs(query: { readonly status: JobStatus | null; readonly page: PageRequest }): Promise<Page<JobRecord>>;
  /**
   * Jobs that the engine has something to do for (`isActive`): pending, in progress, paused with nothing left or until a
   * probe, cancelled with a worker still at it, over and without a manifest, or with failed items to be recovered. In an order that gives every one its
   * turn, oldest first.
   */
  activeJobs(page: PageRequest): Promise<Page<JobRecord>>;
  /**
   * Applies the event as `applyJobEvent` says, if the job's state allows it at that moment; otherwise answers why not.
   * `cancel` also takes back every queued batch and cuts each batch in progress down to its first unsettled item.
   */
  changeJob(jobId: string, event: JobEvent, now: number): Promise<JobRecord | Refusal | 'missing'>;
  /**
   * Deletes the job and all its items, if it is the one that `incarnation` names and its removal is certain
   * (`remove-for-good`); its id is free then. False otherwise, and nothing is changed: it is gone already, another job
   * has its id, or it is not to be deleted. Artifacts are the result store's.
   */
  removeJob(jobId: string, incarnation: string): Promise<boolean>;
}

export type CreateAnswer =
  | { readonly kind: 'created'; readonly job: JobRecord }
  | { readonly kind: 'exists'; readonly job: JobRecord }
  /** Items whose id occurs earlier in the list, and where. Nothing was made. */
  | { readonly kind: 'duplicates'; readonly repeated: readonly RepeatedItem[] };

/**
 * A job in the making. It belongs to one caller, which makes one call at a time; after a call that threw, only `drop` is
 * of use. A job that was committed takes the place in lists that it had when its draft was begun.
 */
export interface JobDraft {
  /**
   * Appends items. `place` is how many the draft has by now, so that a call that is repeated appends nothing twice. Items
   * whose id the draft has already are left out and named, `first` being a place in the draft.
   */
  add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]>;
  /** Items by their places, from `first` on, at most `limit`; fewer if they are large, but one where there is one. */
  items(first: number, limit: number): Promise<readonly NewItem[]>;
  /**
   * The job with all items of the draft, in one step, or nothing. `exists`: there is a job of that id, which is left as
   * it is, and so is the draft.
   */
  commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>>;
  /** Removes the draft and its items, at once or soon. Does nothing to a job that was committed. May be repeated. */
  drop(): Promise<void>;
}

/** Items: added in order, found by id, listed in pages, reopened on demand. */
export interface ItemBook {
  /**
   * Adds the items whose id the job does not have yet; the others are left alone and named by index, so that the same
   * chunk sent twice is added once. A duplicate with another input is named as such: the first input stays. Sets how long the job is to wait for more before it may be completed. A completed
   * job begins a new round with the first item added; one that failed keeps them until it is resumed.
   */
  addItems(jobId: string, items: readonly NewItem[], openUntil: number, now: number): Promise<AddAnswer>;
  item(jobId: string, itemId: string): Promise<ItemRecord | null>;
  /**
   * Items in the order in which they were added. A page may hold fewer than asked for, even none, and still have a
   * next one: no call looks at more than a bounded number of items.
   */
  items(jobId: string, filter: ItemFilter, page: PageRequest): Promise<Page<ItemRecord>>;
  /**
   * Items by their places, from `first` on, at most `limit`: for parts of the results while there is no manifest. They
   * may be fewer if they are large, but one at least where there is one.
   */
  itemsAt(jobId: string, first: number, limit: number): Promise<readonly ItemRecord[]>;
  /**
   * Reopens failed items, a page at a time: those that `filter` names, or only counts them. A completed job begins a new
   * round with the first item reopened. Sets `openUntil`, so that the job is not completed between two pages.
   */
  reopen(jobId: string, filter: RetryFilter, page: PageRequest, openUntil: number, now: number): Promise<ReopenAnswer>;
  /**
   * Makes successes of failed items, while their results are being replaced by `by` (`whenRecovered`): each with these
   * artifacts, and the reading as its last attempt. An item that is not failed, or was tried again after the attempt
   * named, is left as it is. Of a long list only as many may be taken as go into one step, one at least: `taken`.
   */
  recover(jobId: string, by: string, items: readonly RecoveredItem[], now: number): Promise<RecoverAnswer>;
  /** The job's failures by type, pattern and page, commonest first. */
  failureGroups(jobId: string, max: number): Promise<readonly FailureGroup[]>;
}

export type AddAnswer =
  | {
      readonly kind: 'added';
      readonly added: number;
      readonly duplicates: readonly number[];
      /** Those of the duplicates whose input is not the one that the job has under that id. */
      readonly differing: readonly number[];
    }
  | { readonly kind: 'missing' }
  /** The job is cancelled, and takes no more. */
  | { readonly kind: 'closed'; readonly status: JobStatus };

export interface ItemFilter {
  readonly status: ItemStatus | null;
  readonly errorType: FailureType | null;
}

export interface RetryFilter {
  readonly errorType: FailureType | null;
  readonly itemIds: readonly string[] | null;
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

/** `after` is a `next` of an earlier page, or null for the first. */
export interface PageRequest {
  readonly after: string | null;
  readonly limit: number;
}

export interface Page<T> {
  readonly entries: readonly T[];
  readonly next: string | null;
}

/**
 * Leases: how work goes out and comes back. A lease is a worker's right to a batch, for a time; its token is the fence.
 * Whoever writes with a token that is no longer the batch's changes nothing but the job's `fenced` counter.
 */
export interface LeaseBook {
  /**
   * Asks `planDispatch` what may go out at this moment and, if the answer is `go`, takes that many pending items, makes
   * batches of them and records them as queued; all in one step, so that two callers together cannot exceed a limit.
   * Items that came back go first. Items with a strike travel only with their like, in batches that are `suspect`.
   * Fewer refs than the plan allows are no error. Null when there is no such job.
   */
  dispatch(jobId: string, itemsPerBatch: number, now: number): Promise<Dispatched | null>;
  /**
   * Gives queued batches to a worker until `until`, and counts the delivery, before any work is done. One answer per
   * ref, in order. `gone`: there is no such batch any more, forget the message. `held`: somebody else has it. A worker
   * that asks again for what it holds gets the same lease.
   */
  claim(refs: readonly BatchRef[], worker: string, until: number, now: number): Promise<readonly ClaimAnswer[]>;
  /** What a worker must know of a job to work on it. Null when the job is gone. */
  workOrder(jobId: string): Promise<WorkOrder | null>;
  /** Marks which item of its batch a worker is about to begin. False when the lease is lost. */
  begin(token: string, seq: number): Promise<boolean>;
  /**
   * Extends leases; a renewal that arrives after a later one does not shorten them. Answers the tokens that are lost,
   * whose work need not go on.
   */
  renew(tokens: readonly string[], until: number): Promise<readonly string[]>;
  /**
   * Records how items ended: of several batches, or a part of one. One answer per part, in order. A batch ends with its
   * last item. What an attempt kept is listed with the item, whether it succeeded or failed. `recorded` is also the answer to a repetition of what was recorded before. `fenced`: the lease was lost,
   * and nothing was changed.
   */
  settle(parts: readonly SettlePart[], now: number): Promise<readonly SettleAnswer[]>;
  /**
   * A worker gives back what it has not done, and no attempt is charged. In a cancelled job the items are cancelled.
   * The cause is told with the change. False when the lease is lost.
   */
  release(token: string, because: ReleaseCause, now: number): Promise<boolean>;
  /** Takes back batches whose message was not sent, or not delivered: their items are pending again. */
  recall(refs: readonly BatchRef[], now: number): Promise<number>;
  /**
   * Ends what is overdue, oldest first over all jobs, at most `limit` batches: leases that ran out, and batches that
   * have been queued since before `queuedBefore`. The unsettled items of a lost lease get a strike, because one of them
   * may have killed the worker; of a suspect batch only the one that was marked as begun gets it. The third strike fails
   * an item as `poison`. The others are pending again.
   *
   * `readTimes` is called after a lease was read and before it is judged, for every batch anew where reading and writing
   * are apart: a time from before would end leases that were granted after the clock was set back. Null ends the call.
   */
  expire(
    readTimes: () => DueTimes | null,
    limit: number,
  ): Promise<{ readonly leases: number; readonly queued: number }>;
  /**
   * Corrects times that lie further ahead than they can have been set, because a clock was set back: leases that end
   * after `until` end then, and batches that were queued after `queuedAt` count as queued then. Answers how many of both.
   * A lease that was only renewed to such a time may be left until it has been due once. A worker that lives renews its
   * lease as before. `readLatest` is called as `readTimes` of `expire` is: a call that was long on its way would cut short
   * leases that were granted since.
   */
  clampTimes(readLatest: () => LatestTimes | null): Promise<number>;
  /** A worker is known to be dead: its leases run out now. Answers how many. */
  abandon(worker: string, now: number): Promise<number>;
}

/** What a worker needs of it: all that passes between a worker process and the owner of the ledger. */
export type WorkerLeases = Pick<LeaseBook, 'claim' | 'workOrder' | 'begin' | 'renew' | 'settle' | 'release'>;

/** By which times it is judged what is overdue. */
export interface DueTimes {
  /** Leases that end at or before it ran out. */
  readonly now: number;
  /** Batches queued before it have lost their message. */
  readonly queuedBefore: number;
}

/** The furthest that times may lie ahead. */
export interface LatestTimes {
  readonly until: number;
  readonly queuedAt: number;
}

export interface Dispatched {
  /** To be sent; empty unless the plan is `go`. */
  readonly refs: readonly BatchRef[];
  readonly plan: DispatchPlan;
}

export type ReturnCause = ReleaseCause | 'recalled' | 'expired' | 'lost';

/** Why a worker gives work back: it stops, it could not store results, or our own code failed. */
export type ReleaseCause = 'drained' | 'storage' | { readonly error: string };

export type ClaimAnswer = Lease | 'gone' | 'held';

export interface Lease {
  readonly token: string;
  readonly ref: BatchRef;
  readonly until: number;
  /** Its items have a strike: mark each as it begins, so that only that one can get another. */
  readonly suspect: boolean;
  /** The next strike would be the last of one of them (`mustRunAlone`): run it while nothing else runs in the process. */
  readonly alone: boolean;
  /** Tells two jobs of one id apart, of which the first was deleted. */
  readonly jobCreatedAt: number;
  readonly policyRevision: number;
  /** In the order in which they are to be carried out. */
  readonly items: readonly LeasedItem[];
}

export interface LeasedItem {
  readonly seq: number;
  readonly itemId: string;
  readonly input: ItemInput;
  /** Only of a re-extraction. */
  readonly source?: SourcePage;
  /** 1 for the first delivery. Names the keys of this attempt's artifacts. */
  readonly attempt: number;
}

export interface WorkOrder {
  /** Paused, failed or cancelled: what is begun is finished, and what is not begun is to be given back. */
  readonly isHalted: boolean;
  /** Of all batches in flight this share is too much: whoever is at one gives the rest of it back with this chance. */
  readonly excess: number;
  readonly jobCreatedAt: number;
  readonly scraperId: string;
  readonly policy: Policy;
  readonly policyRevision: number;
}

export function workOrderOf(job: JobRecord): WorkOrder {
  const { scraperId, policy, policyRevision, createdAt: jobCreatedAt } = job;
  return { isHalted: !isDispatchable(job), excess: excessOf(job), jobCreatedAt, scraperId, policy, policyRevision };
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
  readonly startedAt: number;
  readonly durationMs: number;
  /** Of the scraper that was run, at most MAX_VERSION_LENGTH; none where it could not be run, or is not known. */
  readonly scraperVersion?: string;
}

export type SettleAnswer = 'recorded' | 'fenced';
