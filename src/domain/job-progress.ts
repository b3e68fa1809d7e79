import { tallyOutcome } from './breaker.ts';
import { type FailedTry, lastFailureType } from './failed-try.ts';
import { FAILURES } from './failure.ts';
import { type ItemEvent, NEXT_ITEM_STATUS } from './item.ts';
import type { JobRecord } from './job.ts';
import { NEXT_JOB_STATUS } from './job-steps.ts';
import { type HeldBack, isWaitPast, waitAfter, withoutWait } from './job-wait.ts';
import { statusWhenBack } from './open-status.ts';
import type { Outcome } from './outcome.ts';
import type { Throttle } from './throttle.ts';
import { addUsage, type Usage } from './usage.ts';

/** The fields of a job that change with its items. */
export type Progress = Pick<
  JobRecord,
  'status' | 'counts' | 'itemsInFlight' | 'tally' | 'refusals' | 'usage' | 'discovery'
>;

/** How a job changes when its work is dispatched, claimed, ended and returned: counters, and what depends on them. */

export function whenDispatched(
  job: JobRecord,
  went: { batches: number; items: number; throttle: Throttle },
  now: number,
): JobRecord {
  return {
    ...(isWaitPast(job, now) ? withoutWait(job) : job),
    status: NEXT_JOB_STATUS[job.status === 'pending' ? 'pending' : 'in_progress'].dispatch,
    startedAt: job.startedAt ?? now,
    counts: { ...job.counts, queued: job.counts.queued + went.batches },
    itemsInFlight: job.itemsInFlight + went.items,
    throttle: went.throttle,
  };
}

export function whenClaimed<Job extends Progress>(job: Job): Job {
  const { counts } = job;
  return { ...job, counts: { ...counts, queued: counts.queued - 1, inProgress: counts.inProgress + 1 } };
}

/** A batch was handed out without its last items: they are pending again, and the batch still counts as one. */
export function whenCut<Job extends Progress>(job: Job, items: number): Job {
  return { ...job, itemsInFlight: job.itemsInFlight - items };
}

/** One item ended; the caller says whether its batch did, too. */
export function whenSettled<Job extends Progress>(job: Job, ended: Ended, endsBatch: boolean): Job {
  const { counts } = job;
  const { outcome, failedTries } = ended;
  const status = finalStatusOf(outcome);
  const refused = outcome.kind === 'failed' && FAILURES[lastFailureType(outcome.failure, failedTries)].refusal;
  return {
    ...job,
    counts: {
      ...counts,
      inProgress: counts.inProgress - (endsBatch ? 1 : 0),
      [status]: counts[status] + 1,
    },
    itemsInFlight: job.itemsInFlight - 1,
    tally: tallyOutcome(job.tally, outcome),
    refusals: job.refusals + (refused ? 1 : 0),
    usage: addUsage(job.usage, ended.usage),
  };
}

interface Ended {
  readonly outcome: Outcome;
  readonly failedTries?: readonly FailedTry[];
  readonly usage?: Usage;
}

/** An attempt did not end, but used something. */
export function whenUsed<Job extends Progress>(job: Job, usage: Usage | undefined): Job {
  const sum = addUsage(job.usage, usage);
  return sum === job.usage ? job : { ...job, usage: sum };
}

/**
 * A batch came back with this many unsettled items. They are pending again, or cancelled if the job was cancelled
 * meanwhile (then it is one item: see `cancelWaiting`), because they are no longer dispatched.
 */
export function whenReturned<Job extends Progress>(job: Job, from: 'queued' | 'in_progress', items: number): Job {
  const { counts } = job;
  const isCancelled = statusWhenBack(from, job.status === 'cancelled') === 'cancelled';
  return {
    ...job,
    counts: {
      ...counts,
      queued: counts.queued - (from === 'queued' ? 1 : 0),
      inProgress: counts.inProgress - (from === 'in_progress' ? 1 : 0),
      cancelled: counts.cancelled + (isCancelled ? items : 0),
    },
    itemsInFlight: job.itemsInFlight - items,
  };
}

/** Items came back because their host must not be visited before some time: until then, they or the whole job wait. */
export function whenHeldBack(job: JobRecord, held: HeldBack, now: number): JobRecord {
  const waitingFor = waitAfter(job, held, now);
  return waitingFor === job.waitingFor ? job : { ...job, waitingFor };
}

const EVENT_OF = { scraped: 'succeed', skipped: 'skip', failed: 'giveUp' } as const satisfies Record<
  Outcome['kind'],
  ItemEvent
>;

export function finalStatusOf(outcome: Outcome): 'success' | 'skipped' | 'failed' {
  return NEXT_ITEM_STATUS.in_progress[EVENT_OF[outcome.kind]];
}
