import { excessOf } from './allowance.ts';
import { judgeBudget } from './budget.ts';
import { isDispatchable, type JobRecord } from './job.ts';
import type { Policy } from './policy.ts';
import type { JobRecording } from './recording/kept-recording.ts';

/** What a worker must know about a job to work on it. */
export interface WorkOrder {
  /** The job is paused, failed or cancelled, or its budget is used up: finish what has begun, and return what has not. */
  readonly isHalted: boolean;
  /** The share of batches in flight that exceeds the limit: each worker returns the rest of its batch with this probability. */
  readonly excess: number;
  readonly jobCreatedAt: number;
  readonly scraperId: string;
  /** Set only for a job with a recording of its own, which takes the place of the scraper with that id. */
  readonly recording?: Pick<JobRecording, 'key' | 'digest'>;
  readonly policy: Policy;
  readonly policyRevision: number;
}

export function workOrderOf(job: JobRecord): WorkOrder {
  const { scraperId, recording, policy, policyRevision, createdAt: jobCreatedAt } = job;
  return {
    isHalted: !isDispatchable(job) || judgeBudget(job).kind === 'reached',
    excess: excessOf(job),
    jobCreatedAt,
    scraperId,
    ...(recording === undefined ? {} : { recording: { key: recording.key, digest: recording.digest } }),
    policy,
    policyRevision,
  };
}
