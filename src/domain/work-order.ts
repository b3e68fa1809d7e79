import { excessOf } from './allowance.ts';
import { judgeBudget } from './budget.ts';
import { isDispatchable, type JobRecord } from './job.ts';
import type { Policy } from './policy.ts';

/** What a worker must know about a job to work on it. */
export interface WorkOrder {
  /** The job is paused, failed or cancelled, or its budget is used up: finish what has begun, and return what has not. */
  readonly isHalted: boolean;
  /** The share of batches in flight that exceeds the limit: each worker returns the rest of its batch with this probability. */
  readonly excess: number;
  readonly jobCreatedAt: number;
  readonly scraperId: string;
  readonly policy: Policy;
  readonly policyRevision: number;
}

export function workOrderOf(job: JobRecord): WorkOrder {
  const { scraperId, policy, policyRevision, createdAt: jobCreatedAt } = job;
  return {
    isHalted: !isDispatchable(job) || judgeBudget(job).kind === 'reached',
    excess: excessOf(job),
    jobCreatedAt,
    scraperId,
    policy,
    policyRevision,
  };
}
