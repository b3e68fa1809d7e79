import { type Circuit, CLOSED, EMPTY_TALLY, type Tally, type Trip } from './breaker.ts';
import { type Counts, finishedOf, inFlightOf, NO_COUNTS, pendingOf } from './counts.ts';
import type { FailureGroup } from './failure-group.ts';
import type { Lane } from './lane.ts';
import type { ManifestSummary } from './manifest.ts';
import type { Policy } from './policy.ts';
import { FRESH_THROTTLE, type Throttle } from './throttle.ts';

/**
 * The life of a job. `pending` until the first batch goes out; a held job waits there for `start`. `failed` is what a
 * tripped breaker makes of it: nothing is lost, and `resume` goes on. `completed` once every item is final; a retry of
 * failed items, or more items, open a new round. `cancelled` is for good.
 */
export type JobStatus = 'pending' | 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

export const NEXT_JOB_STATUS = {
  pending: { start: 'pending', add: 'pending', dispatch: 'in_progress', pause: 'paused', cancel: 'cancelled' },
  in_progress: {
    add: 'in_progress',
    dispatch: 'in_progress',
    pause: 'paused',
    fail: 'failed',
    cancel: 'cancelled',
    complete: 'completed',
    close: 'in_progress',
    retry: 'in_progress',
  },
  paused: {
    add: 'paused',
    pause: 'paused',
    resume: 'in_progress',
    probe: 'in_progress',
    cancel: 'cancelled',
    complete: 'completed',
    retry: 'paused',
  },
  failed: { add: 'failed', resume: 'in_progress', cancel: 'cancelled', retry: 'in_progress' },
  completed: { add: 'in_progress', retry: 'in_progress' },
  cancelled: {},
} as const satisfies Record<JobStatus, Partial<Record<JobStep, JobStatus>>>;

export type JobStep =
  | 'start'
  | 'add'
  | 'dispatch'
  | 'pause'
  | 'resume'
  | 'fail'
  | 'probe'
  | 'close'
  | 'cancel'
  | 'complete'
  | 'retry';

export const JOB_STATUSES = Object.keys(NEXT_JOB_STATUS) as JobStatus[];

/** Why a job is paused or failed, in words for its user and with what was seen. */
export interface JobReason {
  readonly code: 'user' | 'breaker' | 'storage';
  readonly message: string;
  readonly evidence: readonly FailureGroup[];
}

export interface NewJob {
  readonly jobId: string;
  readonly name: string | null;
  readonly scraperId: string;
  /** As it was when the job was submitted. */
  readonly scraperVersion: string;
  readonly lane: Lane;
  readonly policy: Policy;
  readonly labels: Readonly<Record<string, string>>;
  /** A held job takes items, and waits for `start`. */
  readonly held: boolean;
  /** Only of a re-extraction: the job whose pages it reads. */
  readonly extracts?: string;
  /** … and when that one was made: another may have its id by now. */
  readonly sourceCreatedAt?: number;
  /** Digest of the request that made it, so that the same request sent twice is known again. */
  readonly submission?: string;
}

export interface JobRecord extends NewJob {
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly status: JobStatus;
  readonly reason: JobReason | null;
  /** Changes with the policy, so that workers know when to ask for it again. */
  readonly policyRevision: number;
  readonly counts: Counts;
  /** Unsettled items of all batches in flight. */
  readonly itemsInFlight: number;
  readonly tally: Tally;
  readonly circuit: Circuit;
  readonly throttle: Throttle;
  readonly refusals: number;
  /** Writes of workers that had lost their lease: refused, and counted. */
  readonly fenced: number;
  /** The pace: no item goes out before. */
  readonly readyAt: number;
  /** More items may be on their way until then: the job is not completed before. */
  readonly openUntil: number;
  /** 1, and one more whenever a finished job is taken up again or its results are to be indexed anew. */
  readonly round: number;
  /** The index of this round's results, once it is written. */
  readonly manifest: ManifestSummary | null;
  /** The re-extraction whose data stand in the place of this job's own, where it has some of an item. */
  readonly replacedBy?: string;
  /** … and the round of it whose data they are, where it is not the first. */
  readonly replacedRound?: number;
  /** It is being deleted: nothing more is done with it, and its id is free when nothing of it is left. */
  readonly removing?: true;
}

export function newJobRecord(job: NewJob, total: number, now: number): JobRecord {
  return {
    ...job,
    createdAt: now,
    startedAt: null,
    finishedAt: null,
    status: 'pending',
    reason: null,
    policyRevision: 1,
    counts: { ...NO_COUNTS, total },
    itemsInFlight: 0,
    tally: EMPTY_TALLY,
    circuit: CLOSED,
    throttle: FRESH_THROTTLE,
    refusals: 0,
    fenced: 0,
    readyAt: 0,
    openUntil: 0,
    round: 1,
    manifest: null,
  };
}

/** What a user or the engine wants of a job. The ledger applies it in one guarded write. */
export type JobEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'pause'; readonly reason: JobReason }
  /** With `ifPausedFor`, only a job that is paused for that: a user may have paused it for another reason meanwhile. */
  | { readonly kind: 'resume'; readonly ifPausedFor?: JobReason['code'] }
  | { readonly kind: 'trip'; readonly trip: Trip; readonly evidence: readonly FailureGroup[] }
  | { readonly kind: 'probe' }
  | { readonly kind: 'close-circuit' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'complete' }
  /** With `ifRevision`, only while that is the job's: somebody else may have changed another field meanwhile. */
  | { readonly kind: 'policy'; readonly policy: Policy; readonly ifRevision?: number }
  /** It is to be deleted. Workers must have let go of it. */
  | { readonly kind: 'remove' }
  /** The data of the re-extraction `by` stand for the job's own from now on, and the index is made anew. */
  | {
      readonly kind: 'replace-results';
      readonly by: string;
      readonly ofRound?: number;
      readonly sourceCreatedAt?: number;
    }
  /** With `policyRevision`, only while that is the job's: the index tells of the policy, too. */
  | {
      readonly kind: 'manifest';
      readonly round: number;
      readonly policyRevision?: number;
      readonly manifest: ManifestSummary;
    };

const CLOSED_AGAIN: Pick<JobRecord, 'circuit' | 'tally'> = { circuit: CLOSED, tally: EMPTY_TALLY };

const TAKEN_UP_AGAIN: Partial<JobRecord> = { ...CLOSED_AGAIN, reason: null, finishedAt: null };

/** What index there is, or is being written, is void: the next one is of another round. */
function newRound(job: JobRecord): Pick<JobRecord, 'round' | 'manifest'> {
  return { round: job.round + 1, manifest: null };
}

function isOpen(job: JobRecord): boolean {
  return job.circuit.state === 'open';
}

/** Whoever hears this looks again, and says it again. */
export const OTHER_REVISION: Refusal = { refused: 'the policy was changed meanwhile' };

const BEING_DELETED: Refusal = { refused: 'the job is being deleted' };

/** Said instead of a change, and not an error: the event came too late, twice, or does not fit the state. */
export interface Refusal {
  readonly refused: string;
}

export function isRefusal(result: JobRecord | Refusal): result is Refusal {
  return 'refused' in result;
}

export function applyJobEvent(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
  if (job.removing && event.kind !== 'remove') return BEING_DELETED;
  switch (event.kind) {
    case 'start':
      if (job.status === 'pending' && !job.held) return { refused: 'the job is started already' };
      return step(job, 'start', { held: false });
    case 'pause':
      // The engine ends its own pauses: it must not take over one that the user or the breaker made.
      if (job.status === 'paused' && event.reason.code === 'storage') return { refused: 'the job is paused already' };
      return step(job, 'pause', { reason: event.reason });
    case 'resume':
      if (event.ifPausedFor !== undefined && job.reason?.code !== event.ifPausedFor) {
        return { refused: `the job is not paused for ${event.ifPausedFor}` };
      }
      // Whoever resumes a held job that was paused means it to run.
      return step(job, 'resume', { held: false, reason: null, finishedAt: null, ...(isOpen(job) ? CLOSED_AGAIN : {}) });
    case 'trip':
      return applyTrip(job, event, now);
    case 'probe':
      if (!isOpen(job)) return { refused: 'the circuit is not open' };
      // A user who paused the job meanwhile does not want it probed.
      if (job.reason?.code !== 'breaker') return { refused: 'it is not the breaker that holds the job' };
      return step(job, 'probe', { reason: null, circuit: { state: 'probing', since: now }, tally: EMPTY_TALLY });
    case 'close-circuit':
      if (job.circuit.state !== 'probing') return { refused: 'the circuit is not probing' };
      return step(job, 'close', CLOSED_AGAIN);
    case 'cancel':
      return step(job, 'cancel', { reason: null, finishedAt: now, ...cancelWaiting(job.counts) });
    case 'complete':
      if (!isExhausted(job, now)) return { refused: 'not every item is final' };
      return step(job, 'complete', { reason: null, finishedAt: now });
    case 'policy':
      if (job.status === 'cancelled') return { refused: 'the job is cancelled' };
      if ((event.ifRevision ?? job.policyRevision) !== job.policyRevision) return OTHER_REVISION;
      return { ...job, policy: event.policy, policyRevision: job.policyRevision + 1 };
    case 'remove':
      if (job.status === 'in_progress' || job.itemsInFlight > 0) return { refused: stillAtIt(job) };
      return job.removing ? job : { ...job, removing: true };
    case 'replace-results':
      return replaceResults(job, event);
    case 'manifest':
      if (!needsManifest(job) || job.round !== event.round) return { refused: 'no manifest of that round is awaited' };
      if ((event.policyRevision ?? job.policyRevision) !== job.policyRevision) {
        return { refused: 'the policy has changed since the manifest was written' };
      }
      return { ...job, manifest: event.manifest };
  }
}

function stillAtIt({ status }: JobRecord): string {
  if (status === 'in_progress') return 'the job is in progress: cancel it first, or pause it';
  return `the job is ${status}, and workers are still at its last items: try again in a moment`;
}

function applyTrip(job: JobRecord, event: Extract<JobEvent, { kind: 'trip' }>, now: number): JobRecord | Refusal {
  if (isOpen(job)) return { refused: 'the circuit is open already' };
  // A user paused it meanwhile. The tally stays, so that it trips after the resume if there is still reason to.
  if (job.status !== 'in_progress') return { refused: `a job that is ${job.status} cannot trip` };
  const { cooldown_seconds: cooldown, on_trip: onTrip } = job.policy.circuit_breaker;
  const reason: JobReason = { code: 'breaker', message: event.trip.message, evidence: event.evidence };
  const probeAt = cooldown === null || event.trip.cause === 'stopper' ? null : now + cooldown * 1000;
  const circuit: Circuit = { state: 'open', since: now, probeAt };
  if (probeAt !== null || onTrip === 'pause') return step(job, 'pause', { reason, circuit });
  return step(job, 'fail', { reason, circuit, finishedAt: now });
}

/** Allowed at any time: whatever became of the job, its results are there. Said twice, it is done once. */
function replaceResults(
  job: JobRecord,
  { by, ofRound = 1, sourceCreatedAt = job.createdAt }: Extract<JobEvent, { kind: 'replace-results' }>,
): JobRecord | Refusal {
  if (sourceCreatedAt !== job.createdAt)
    return { refused: 'the job whose pages were read is gone: another has its id' };
  if (by === job.jobId) return { refused: 'a job cannot stand for itself' };
  const { replacedRound = 1, ...rest } = job;
  if (job.replacedBy === by && replacedRound === ofRound) return job;
  const isOver = job.status === 'completed' || job.status === 'cancelled';
  const round = ofRound === 1 ? {} : { replacedRound: ofRound };
  return { ...rest, replacedBy: by, ...round, ...(isOver ? newRound(job) : {}) };
}

/**
 * Pending and queued items are cancelled with their job, those behind the one a worker is at included; that one ends by
 * itself. So each batch in progress shrinks to its first unsettled item: the ledger does that in the same write.
 */
function cancelWaiting(counts: Counts): Pick<JobRecord, 'counts' | 'itemsInFlight'> {
  const cancelled = counts.cancelled + pendingOf(counts) + counts.queued;
  return { counts: { ...counts, queued: 0, cancelled }, itemsInFlight: counts.inProgress };
}

function step(job: JobRecord, name: JobStep, changes: Partial<JobRecord>): JobRecord | Refusal {
  const next: Partial<Record<JobStep, JobStatus>> = NEXT_JOB_STATUS[job.status];
  const status = next[name];
  if (status === undefined) return { refused: `a job that is ${job.status} cannot ${name}` };
  return { ...job, ...changes, status };
}

/** Whether work of this job may go out at all; how much, `dispatchAllowance` says. */
export function isDispatchable(job: JobRecord): boolean {
  if (job.removing) return false;
  return (job.status === 'pending' && !job.held) || job.status === 'in_progress';
}

export function isExhausted(job: JobRecord, now: number): boolean {
  return hasNothingLeft(job) && now >= job.openUntil;
}

function hasNothingLeft({ counts }: JobRecord): boolean {
  return counts.total > 0 && finishedOf(counts) === counts.total && inFlightOf(counts) === 0;
}

/** A job whose items are all final and whose results have no index yet. */
export function needsManifest(job: JobRecord): boolean {
  const isOver = job.status === 'completed' || (job.status === 'cancelled' && job.counts.inProgress === 0);
  return isOver && job.manifest === null && !job.removing;
}

/** Whether the engine has something to do for the job. */
export function isActive(job: JobRecord): boolean {
  if (job.removing) return true;
  if (job.status === 'pending' || job.status === 'in_progress' || needsManifest(job)) return true;
  if (job.status === 'paused')
    return hasNothingLeft(job) || (job.circuit.state === 'open' && job.circuit.probeAt !== null);
  return job.status === 'cancelled' && job.counts.inProgress > 0;
}

export function acceptsItems(job: JobRecord): job is AcceptingJob {
  return 'add' in NEXT_JOB_STATUS[job.status] && !job.removing;
}

export type AcceptingJob = JobRecord & { readonly status: Exclude<JobStatus, 'cancelled'> };

/**
 * This many new items are in the job, and more may come until `openUntil`. A completed job begins a new round with the
 * first of them; if there was none, it is left as it is: the chunk that was its last one may have been sent twice.
 */
export function whenItemsAdded(job: AcceptingJob, added: number, openUntil: number): JobRecord {
  const isCompleted = job.status === 'completed';
  if (isCompleted && added === 0) return job;
  return {
    ...job,
    ...(isCompleted ? { ...TAKEN_UP_AGAIN, ...newRound(job) } : {}),
    status: NEXT_JOB_STATUS[job.status].add,
    counts: { ...job.counts, total: job.counts.total + added },
    openUntil,
  };
}

/** Failed items were reopened. A finished job begins a new round; a circuit that was open is closed. */
export function whenReopened(job: JobRecord, items: number): JobRecord | Refusal {
  if (job.removing) return BEING_DELETED;
  const isOver = job.status === 'completed' || job.status === 'failed';
  return step(job, 'retry', {
    counts: { ...job.counts, failed: job.counts.failed - items },
    ...(isOver ? TAKEN_UP_AGAIN : {}),
    ...(job.status === 'completed' ? newRound(job) : {}),
  });
}
