/**
 * A plan runs a sample of a list as a job of its own, so that everything that applies to a job applies to it: the policy,
 * the breaker, retries, host limits. The job is removed with the plan.
 */
export interface SampledList {
  /** Items that a job of the whole list would have. */
  readonly items: number;
  readonly received: number;
  readonly bad: number;
  readonly duplicates: number;
  readonly conflicts: number;
  /** Its job and results stay until a user deletes them. */
  readonly isKept: boolean;
}

/** The sample of a plan nobody asked for again is removed after a day, with its results. */
export const PLAN_LIFE_MS = 24 * 3600 * 1000;

/** What of a job matters here. */
interface PlanJob {
  readonly status: string;
  readonly createdAt: number;
  readonly itemsInFlight: number;
  readonly plan?: SampledList;
}

/** Whether the engine removes the job by itself, now or later. */
export function isToBeRemoved({ plan }: Pick<PlanJob, 'plan'>): boolean {
  return plan !== undefined && !plan.isKept;
}

/** What the engine does about the sample of a plan: nothing, end it, or remove it once no worker is at it. */
export function planStep(job: PlanJob, now: number): 'none' | 'cancel' | 'remove' {
  if (!isToBeRemoved(job)) return 'none';
  const isDue = job.status === 'cancelled' || now >= job.createdAt + PLAN_LIFE_MS;
  if (!isDue) return 'none';
  if (job.status === 'pending' || job.status === 'in_progress' || job.status === 'paused') return 'cancel';
  return job.itemsInFlight > 0 ? 'none' : 'remove';
}

const LEAST_SAMPLE = 20;
export const MAX_SAMPLE = 200;

/** Items beyond the first of each slot tell the rate: so many for each, and no fewer than say something of failures. */
export function defaultSampleSize({ max_concurrent_workers: concurrency }: { max_concurrent_workers: number }): number {
  return Math.min(MAX_SAMPLE, Math.max(LEAST_SAMPLE, 3 * concurrency));
}
