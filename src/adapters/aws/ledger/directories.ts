import type { JobRecord } from '../../../domain/job.ts';
import { isToBeRemoved } from '../../../domain/job-plan.ts';
import { text } from '../dynamo/attributes.ts';
import type { Action } from '../dynamo/table.ts';
import { ACTIVE_JOBS, ALL_JOBS, jobsOfStatus } from './keys.ts';

/**
 * The lists that a job is in. They are rows of the table itself and change in the same transaction as the job, so that
 * a list is never outdated, unlike an index of DynamoDB.
 */
function directoriesOf(job: JobRecord): readonly string[] {
  return [ALL_JOBS, jobsOfStatus(job.status), ...(mayBeActive(job) ? [ACTIVE_JOBS] : [])];
}

/** Like `isActive`, as far as it does not depend on counters; readers of the list ask `isActive` again. */
function mayBeActive(job: JobRecord): boolean {
  if (job.removing || isToBeRemoved(job)) return true;
  switch (job.status) {
    case 'pending':
    case 'in_progress':
    case 'paused':
      return true;
    case 'failed':
      return false;
    case 'completed':
    case 'cancelled':
      return job.manifest === null;
  }
}

/** From the lists of `before` into those of `after`; null for a job that is not there. */
export function directoryActions(
  inc: string,
  jobId: string,
  before: JobRecord | null,
  after: JobRecord | null,
): Action[] {
  const old = before === null ? [] : directoriesOf(before);
  const next = after === null ? [] : directoriesOf(after);
  return [
    ...old.filter((pk) => !next.includes(pk)).map((pk): Action => ({ remove: { pk, sk: inc } })),
    ...next
      .filter((pk) => !old.includes(pk))
      .map((pk): Action => ({ put: { pk: text(pk), sk: text(inc), job: text(jobId) } })),
  ];
}
