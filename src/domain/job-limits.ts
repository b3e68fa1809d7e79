import type { Policy } from './policy.ts';

/** The maximum pace of a job, in all processes together. */
export interface JobLimits {
  /** Its share of a host is proportional to this. */
  readonly weight: number;
  /** Over all hosts; null for no limit. */
  readonly requestsPerSecond: number | null;
  /** Minimum time between the starts of two items. */
  readonly itemDelayMs: number;
}

export function jobLimits({ throttling }: Pick<Policy, 'throttling'>): JobLimits {
  return {
    weight: throttling.weight,
    requestsPerSecond: throttling.max_requests_per_second,
    itemDelayMs: throttling.min_delay_between_items_seconds * 1000,
  };
}
