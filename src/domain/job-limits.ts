import type { Policy } from './policy.ts';

/** How fast a job may be, in all processes together. */
export interface JobLimits {
  /** Its share of a host is in proportion to it. */
  readonly weight: number;
  /** Over all hosts; null for any number. */
  readonly requestsPerSecond: number | null;
  /** Between the beginnings of two items. */
  readonly itemDelayMs: number;
}

export function jobLimits({ throttling }: Pick<Policy, 'throttling'>): JobLimits {
  return {
    weight: throttling.weight,
    requestsPerSecond: throttling.max_requests_per_second,
    itemDelayMs: throttling.min_delay_between_items_seconds * 1000,
  };
}
