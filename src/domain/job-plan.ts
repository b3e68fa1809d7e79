/**
 * A plan runs a sample of a list as its own job, so that everything that applies to a job applies to it: the policy,
 * the breaker, retries, host limits. The job is removed with the plan.
 */
export interface SampledList {
  /** Items that a job of the whole list would have. */
  readonly items: number;
  readonly received: number;
  readonly bad: number;
  readonly duplicates: number;
  readonly conflicts: number;
  /** Whether its job and results stay until a user deletes them. */
  readonly isKept: boolean;
}

/** The sample of an abandoned plan is removed after a day, with its results. */
export const PLAN_LIFE_MS = 24 * 3600 * 1000;

/**
 * An errand is removed by the request that it runs for; after this time the process of that request is known to have died.
 * Longer than any request waits.
 */
export const ERRAND_LIFE_MS = 15 * 60_000;

/** The fields of a job that matter here. */
interface PlanJob {
  readonly status: string;
  readonly createdAt: number;
  readonly itemsInFlight: number;
  readonly plan?: SampledList;
  readonly errand?: true;
}

/** Whether the engine removes the job by itself, now or later. */
export function isToBeRemoved({ plan, errand }: Pick<PlanJob, 'plan' | 'errand'>): boolean {
  return errand === true || (plan !== undefined && !plan.isKept);
}

/** What the engine does with such a job: nothing, end it, or remove it once no worker is processing it. */
export function passingStep(job: PlanJob, now: number): 'none' | 'cancel' | 'remove' {
  if (!isToBeRemoved(job)) return 'none';
  const isDue =
    job.status === 'cancelled' || now >= job.createdAt + (job.errand === true ? ERRAND_LIFE_MS : PLAN_LIFE_MS);
  if (!isDue) return 'none';
  if (job.status === 'pending' || job.status === 'in_progress' || job.status === 'paused') return 'cancel';
  return job.itemsInFlight > 0 ? 'none' : 'remove';
}

const LEAST_SAMPLE = 20;
export const MAX_SAMPLE = 200;

/** Items beyond the first of each slot show the rate: a few for each, and enough to say something about failures. */
export function defaultSampleSize({ max_concurrent_workers: concurrency }: { max_concurrent_workers: number }): number {
  return Math.min(MAX_SAMPLE, Math.max(LEAST_SAMPLE, 3 * concurrency));
}
