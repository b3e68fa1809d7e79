import type { PaceLimits } from './forecast.ts';
import type { HostSettings } from './host-settings.ts';
import type { ThrottlingPolicy } from './policy.ts';
import { totalUsage, type Usage } from './usage.ts';

/** What limits the pace of a job with this usage so far: its policy, and what operators have set for its hosts. */
export function paceLimits(throttling: ThrottlingPolicy, usage: Usage, settings: readonly HostSettings[]): PaceLimits {
  const { max_requests_per_second: own } = throttling;
  const rates = [...(own === null ? [] : [own]), ...settings.flatMap((host) => requestRate(host, usage) ?? [])];
  return {
    concurrency: throttling.max_concurrent_workers,
    delayMs: throttling.min_delay_between_items_seconds * 1000,
    requestsPerSecond: rates.length === 0 ? null : Math.min(...rates),
  };
}

/** The total request rate at which this host gets as many requests as it allows; null if it has no limit. */
function requestRate({ host, requestsPerSecond, minDelayMs }: HostSettings, usage: Usage): number | null {
  const requests = totalUsage(usage.filter((row) => row.host === host)).requests;
  const allowed = Math.min(
    requestsPerSecond ?? Number.POSITIVE_INFINITY,
    minDelayMs === null || minDelayMs === 0 ? Number.POSITIVE_INFINITY : 1000 / minDelayMs,
  );
  return requests === 0 || allowed === Number.POSITIVE_INFINITY
    ? null
    : allowed * (totalUsage(usage).requests / requests);
}
