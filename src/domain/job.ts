import { ceilingOf } from './allowance.ts';
import type { Batching } from './batching.ts';
import { type Circuit, CLOSED, EMPTY_TALLY, judge, type Tally, tripMessage } from './breaker.ts';
import { budgetUsedUp } from './budget.ts';
import type { BulkList } from './bulk-list.ts';
import type { ControlState } from './control-state.ts';
import { type Counts, cancelWaiting, finishedOf, inFlightOf, NO_COUNTS } from './counts.ts';
import type { Discovery } from './discovery-counts.ts';
import { isDue } from './due.ts';
import type { AttemptRecord } from './item.ts';
import { applyControl, awaitsControls, controlsAgain } from './job-controls.ts';
import type { JobEvent, JobReason } from './job-event.ts';
import { isToBeRemoved, type SampledList } from './job-plan.ts';
import { applyRemoval, BEING_DELETED, isRemoval, OTHER_INCARNATION } from './job-removal.ts';
import { applyReplacement } from './job-replacement.ts';
import { isFinishing, newRound } from './job-round.ts';
import { type JobStatus, type JobStep, NEXT_JOB_STATUS } from './job-steps.ts';
import { hasWaitedTooLong, mayWaitFor, type WaitingFor, withoutWait } from './job-wait.ts';
import type { Lane } from './lane.ts';
import type { ManifestSummary } from './manifest.ts';
import { statusWhenBack } from './open-status.ts';
import type { Policy } from './policy.ts';
import type { Prices } from './prices.ts';
import type { JobRecording } from './recording/kept-recording.ts';
import type { Refusal } from './refusal.ts';
import { FRESH_THROTTLE, type Throttle } from './throttle.ts';
import { NO_USAGE, type Usage } from './usage.ts';

export type { JobEvent, JobReason } from './job-event.ts';
export type { Refusal } from './refusal.ts';

export interface NewJob {
  readonly jobId: string;
  readonly name: string | null;
  readonly scraperId: string;
  /** The version when the job was submitted. */
  readonly scraperVersion: string;
  readonly lane: Lane;
  readonly policy: Policy;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Prices of proxies when the job was created or its budget was last changed: the cost so far must not change with
   * them.
   */
  readonly prices?: Prices;
  /** A held job accepts items, and waits for `start`. */
  readonly held: boolean;
  /** How its items are put into batches; if absent, the backend decides. */
  readonly batching?: Batching;
  /** Set only for a bulk job: the list it was created with. */
  readonly bulk?: BulkList;
  /** Set only for a job whose scraper is a recording that is not a file: its own copy, kept for as long as the job is. */
  readonly recording?: JobRecording;
  /** Set only for a re-extraction: the job whose pages it reads. */
  readonly extracts?: string;
  /** When that job was created: another may have its id by now. */
  readonly sourceCreatedAt?: number;
  /** Set only for the sample of a plan: the list that it was drawn from. */
  readonly plan?: SampledList;
  /** Set only for a job that a request waits for: the engine removes it. */
  readonly errand?: true;
  /** Digest of the request that created it, so that a repeated request is recognised. */
  readonly submission?: string;
}

export interface JobRecord extends NewJob {
  /**
   * Distinguishes this job from every other that had or will have its id. Two of them may be created in the same
   * millisecond, but no two have the same incarnation; the ledger assigns it.
   */
  readonly incarnation: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** When its last item became final, or the job failed or was cancelled; null while there is something left to do. */
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
  /** Present once a control item was sent. */
  readonly controls?: ControlState;
  readonly refusals: number;
  /** What all its attempts sent and received, retries included. */
  readonly usage: Usage;
  /** Present once an attempt found something. */
  readonly discovery?: Discovery;
  /** Writes refused because the worker had lost its lease. */
  readonly fenced: number;
  /** More items may arrive until then: the job is not completed before. */
  readonly openUntil: number;
  /** Absent unless a host keeps the job waiting, or did and no item has succeeded since. */
  readonly waitingFor?: WaitingFor;
  /** Starts at 1 and grows whenever a finished job is reopened or its results are to be indexed again. */
  readonly round: number;
  /** The index of this round's results, once it is written. */
  readonly manifest: ManifestSummary | null;
  /** The re-extraction whose data replace this job's own, for the items it has data for. */
  readonly replacedBy?: string;
  /** The round of that re-extraction whose data they are, if it is not the first. */
  readonly replacedRound?: number;
  /** Failed items whose pages that re-extraction could read are being turned into successes. */
  readonly recovering?: true;
  /**
   * Every re-extraction that turned items into successes: their data are stored there, for as long as this job exists.
   */
  readonly recoveredFrom?: readonly string[];
  /**
   * It is being deleted: nothing more is done with it, and its id is free once nothing of it is left. `asked` until it
   * is certain that no other job needs it; until then it may still be kept. True once results may be gone.
   */
  readonly removing?: 'asked' | true;
}

export function newJobRecord(job: NewJob, total: number, now: number, incarnation: string): JobRecord {
  // The list of a bulk job is complete: without pages there is nothing to wait for.
  const isOver = job.bulk !== undefined && total === 0;
  return {
    ...job,
    incarnation,
    createdAt: now,
    startedAt: null,
    finishedAt: isOver ? now : null,
    status: isOver ? 'completed' : 'pending',
    reason: null,
    policyRevision: 1,
    counts: { ...NO_COUNTS, total },
    itemsInFlight: 0,
    tally: EMPTY_TALLY,
    circuit: CLOSED,
    throttle: FRESH_THROTTLE,
    refusals: 0,
    usage: NO_USAGE,
    fenced: 0,
    openUntil: 0,
    round: 1,
    manifest: null,
  };
}

function closedAgain(job: JobRecord): Partial<JobRecord> {
  return { circuit: CLOSED, tally: EMPTY_TALLY, ...controlsAgain(job) };
}

function takenUpAgain(job: JobRecord): Partial<JobRecord> {
  return { ...closedAgain(job), reason: null, finishedAt: null };
}

function isOpen(job: JobRecord): boolean {
  return job.circuit.state === 'open';
}

/** The caller reads the job again and repeats the change. */
const OTHER_REVISION: Refusal = { refused: 'the policy was changed meanwhile', code: 'other_revision' };

export function isRefusal(result: JobRecord | Refusal): result is Refusal {
  return 'refused' in result;
}

export function applyJobEvent(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
  if (job.removing && !isRemoval(event)) return BEING_DELETED;
  switch (event.kind) {
    case 'remove':
    case 'remove-for-good':
    case 'keep':
      return applyRemoval(job, event);
    case 'start':
      if (job.status === 'pending' && !job.held) return { refused: 'the job was already started' };
      return step(job, 'start', { held: false });
    case 'pause':
      // The engine ends its own pauses, so it must not take over one that the user or the breaker made.
      if (job.status === 'paused' && event.reason.code === 'storage') return { refused: 'the job is already paused' };
      if (event.reason.code === 'host' && !hasWaitedTooLong(job, now)) return NOT_TOO_LONG;
      return step(job, 'pause', { reason: event.reason });
    case 'resume':
      if (event.ifPausedFor !== undefined && job.reason?.code !== event.ifPausedFor) {
        return { refused: `the job is not paused for ${event.ifPausedFor}` };
      }
      // The engine's own resumes proceed: a used-up budget pauses the job again, with the reason.
      if (event.ifPausedFor === undefined && !hasNothingLeft(job)) {
        const refused = budgetUsedUp(job);
        if (refused !== null) return { refused };
      }
      // A user who resumes a held job that was paused wants it to run.
      return step(withoutWait(job), 'resume', {
        held: false,
        reason: null,
        finishedAt: isFinishing(job) ? job.finishedAt : null,
        ...(isOpen(job) ? closedAgain(job) : controlsAgain(job)),
      });
    case 'exhaust': {
      const message = budgetUsedUp(job);
      if (message === null || !isDispatchable(job)) return { refused: 'there is something left of the budget' };
      return step(job, 'pause', { reason: { code: 'budget', message, evidence: [] } });
    }
    case 'trip':
      return applyTrip(job, event, now);
    case 'probe':
      if (!isOpen(job)) return { refused: 'the circuit is not open' };
      // A user who paused the job meanwhile does not want it probed.
      if (job.reason?.code !== 'breaker') return { refused: 'the job was not stopped by the breaker' };
      if (judge(job, now).kind !== 'probe') return { refused: 'the cooldown is not over' };
      return step(job, 'probe', { ...closedAgain(job), reason: null, circuit: { state: 'probing', since: now } });
    case 'close-circuit':
      if (job.circuit.state !== 'probing') return { refused: 'the circuit is not probing' };
      if (judge(job, now).kind !== 'close') return { refused: 'no probe has succeeded' };
      return step(job, 'close', closedAgain(job));
    case 'stop-waiting':
      if (!mayWaitFor(job, event.host)) return { refused: `the job is not waiting for ${event.host}` };
      return withoutWait(job);
    case 'cancel':
      // The index being written would describe a completed job.
      return step(job, 'cancel', {
        reason: null,
        finishedAt: now,
        ...(isFinishing(job) ? newRound(job) : {}),
        ...cancelWaiting(job.counts),
      });
    case 'finish':
      if (!isExhausted(job, now)) return { refused: 'not every item is final' };
      if (awaitsControls(job)) return { refused: 'a control item must be tried first' };
      return isFinishing(job) ? job : step(job, 'finish', { finishedAt: now });
    case 'complete': {
      const completed = step(job, 'complete', { reason: null, manifest: event.manifest });
      if (isRefusal(completed)) return completed;
      if (!isFinishing(job) || !hasNothingLeft(job)) return { refused: 'not every item is final' };
      return whenIndexed(job, event, completed);
    }
    case 'policy':
      if (job.status === 'cancelled') return { refused: 'the job is cancelled' };
      if ((event.ifRevision ?? job.policyRevision) !== job.policyRevision) return OTHER_REVISION;
      return { ...job, ...pricesOf(event), policy: event.policy, policyRevision: job.policyRevision + 1 };
    case 'replace-results':
    case 'withdraw-results':
    case 'recovered':
      return applyReplacement(job, event);
    case 'send-control':
    case 'control':
    case 'negatives-reopened':
      return applyControl(job, event, ceilingOf(job), now);
    case 'manifest':
      if (isFinishing(job)) return { refused: 'the job is not over' };
      return whenIndexed(job, event, { ...job, manifest: event.manifest });
  }
}

/** The index describes one job, one round and one policy: it counts only while all three are still the job's. */
function whenIndexed(
  job: JobRecord,
  event: Extract<JobEvent, { kind: 'complete' | 'manifest' }>,
  indexed: JobRecord,
): JobRecord | Refusal {
  if ((event.incarnation ?? job.incarnation) !== job.incarnation) return OTHER_INCARNATION;
  if (!needsManifest(job) || job.round !== event.round) return { refused: 'no manifest of that round is awaited' };
  if ((event.policyRevision ?? job.policyRevision) !== job.policyRevision) {
    return { refused: 'the policy has changed since the manifest was written' };
  }
  return indexed;
}

function applyTrip(job: JobRecord, event: Extract<JobEvent, { kind: 'trip' }>, now: number): JobRecord | Refusal {
  if (isOpen(job)) return { refused: 'the circuit is already open' };
  // A user paused it meanwhile. The tally stays, so that it trips after the resume if there is still reason to.
  if (job.status !== 'in_progress') return { refused: `a job that is ${job.status} cannot trip` };
  if (isFinishing(job)) return { refused: 'every item is final: there is nothing left to stop' };
  const verdict = judge(job, now);
  if (verdict.kind !== 'trip') return { refused: 'the breaker has counted nothing that would stop the job' };
  const { cooldown_seconds: cooldown, on_trip: onTrip } = job.policy.circuit_breaker;
  const message = tripMessage(verdict.trip, event.evidence);
  const reason: JobReason = { code: 'breaker', message, evidence: event.evidence };
  const probeAt = cooldown === null || verdict.trip.cause === 'stopper' ? null : now + cooldown * 1000;
  const circuit: Circuit = { state: 'open', since: now, probeAt };
  if (probeAt !== null || onTrip === 'pause') return step(job, 'pause', { reason, circuit });
  return step(job, 'fail', { reason, circuit, finishedAt: now });
}

const NOT_TOO_LONG: Refusal = { refused: 'no host has kept the job waiting for too long' };

function pricesOf({ prices }: Extract<JobEvent, { kind: 'policy' }>): Pick<NewJob, 'prices'> {
  return prices === undefined ? {} : { prices };
}

function step(job: JobRecord, name: JobStep, changes: Partial<JobRecord>): JobRecord | Refusal {
  const next: Partial<Record<JobStep, JobStatus>> = NEXT_JOB_STATUS[job.status];
  const status = next[name];
  if (status === undefined) return { refused: `a job that is ${job.status} cannot ${name}` };
  return { ...job, ...changes, status };
}

/** Whether work of this job may go out at all; `dispatchAllowance` says how much. */
export function isDispatchable(job: JobRecord): boolean {
  if (job.removing) return false;
  return (job.status === 'pending' && !job.held) || job.status === 'in_progress';
}

/**
 * How long a job stays open for further items that are on their way: long enough for a slow sender's next chunk, short
 * enough that a sender that died does not hold the job up.
 */
export const OPEN_MS = 60_000;

export function isExhausted(job: JobRecord, now: number): boolean {
  return hasNothingLeft(job) && isDue(job.openUntil, now, OPEN_MS);
}

function hasNothingLeft({ counts }: JobRecord): boolean {
  return counts.total > 0 && finishedOf(counts) === counts.total && inFlightOf(counts) === 0;
}

/** Whether all items of the job are final and will stay so, and its results have no index yet. */
export function needsManifest(job: JobRecord): boolean {
  const isOver = job.status === 'completed' || (job.status === 'cancelled' && job.counts.inProgress === 0);
  return (isOver || isFinishing(job)) && job.manifest === null && !job.recovering && !job.removing;
}

/** A job that had nothing left has something to do again: an existing index, or one being written, becomes void. */
function whenBegunAgain(job: JobRecord): JobRecord {
  return isFinishing(job) ? { ...job, finishedAt: null, ...newRound(job) } : job;
}

/** Whether the engine has something to do for the job. */
export function isActive(job: JobRecord): boolean {
  if (job.removing || job.recovering || isToBeRemoved(job)) return true;
  if (job.status === 'pending' || job.status === 'in_progress' || needsManifest(job)) return true;
  if (job.status === 'paused')
    return hasNothingLeft(job) || (job.circuit.state === 'open' && job.circuit.probeAt !== null);
  return job.status === 'cancelled' && job.counts.inProgress > 0;
}

export function acceptsItems(job: JobRecord): job is AcceptingJob {
  return 'add' in NEXT_JOB_STATUS[job.status] && !job.removing;
}

type AcceptingJob = JobRecord & { readonly status: Exclude<JobStatus, 'cancelled'> };

/**
 * This many items were added, this many failed ones are pending again with another input, and more may come until
 * `openUntil`. A completed or finishing job begins a new round with the first of them; if there was none, it is left
 * unchanged: its last chunk may have been sent twice.
 */
export function whenItemsAdded(
  job: AcceptingJob,
  { added, replaced }: { readonly added: number; readonly replaced: number },
  openUntil: number,
): JobRecord {
  const isCompleted = job.status === 'completed';
  if ((isCompleted || isFinishing(job)) && added + replaced === 0) return job;
  return {
    ...whenBegunAgain(job),
    ...(isCompleted ? { ...takenUpAgain(job), ...newRound(job) } : {}),
    status: NEXT_JOB_STATUS[job.status].add,
    counts: { ...job.counts, total: job.counts.total + added, failed: job.counts.failed - replaced },
    openUntil,
  };
}

/** Failed items were reopened. A job with nothing left begins a new round; an open circuit is closed. */
export function whenReopened(job: JobRecord, items: number): JobRecord | Refusal {
  if (job.removing) return BEING_DELETED;
  const isOver = job.status === 'completed' || job.status === 'failed';
  return step(whenBegunAgain(job), 'retry', {
    counts: { ...job.counts, failed: job.counts.failed - items },
    ...(isOver ? takenUpAgain(job) : {}),
    ...(job.status === 'completed' ? newRound(job) : {}),
  });
}

/**
 * The end of an item was undone. A completed job is resumed, with its circuit closed as after a retry; a manifest that
 * listed the item becomes void.
 */
export function whenUndone(job: JobRecord, end: AttemptRecord['end']): JobRecord {
  const { counts } = job;
  const isCancelled = statusWhenBack(end, job.status === 'cancelled') === 'cancelled';
  const cancelled = counts.cancelled + (isCancelled ? 1 : 0);
  const undone = { ...whenBegunAgain(job), counts: { ...counts, [end]: counts[end] - 1, cancelled } };
  if (job.status === 'completed') return { ...undone, ...takenUpAgain(job), ...newRound(job), status: 'in_progress' };
  return isCancelled && job.manifest !== null ? { ...undone, ...newRound(job) } : undone;
}
