import type { BulkFields } from '../../../contract/bulk-request.ts';
import { MAX_BATCH_ITEMS } from '../../../domain/batching.ts';
import { isRecord } from '../../../domain/is-record.ts';
import type { Policy } from '../../../domain/policy.ts';
import { batchSizes, type SiteBatches } from '../../../domain/site-batches.ts';

const MOST_REQUESTS = 1_000_000;

/**
 * The policy of a bulk job: `max_containers` concurrent batches, unless the policy allows fewer, and a breaker that
 * lets all of them begin. By default it would risk at most fifty pages until it knows whether the job works; all other
 * batches would wait for the slowest of them.
 */
export function bulkPolicy(
  { execution_policy: policy, max_containers: containers }: BulkFields,
  given: unknown,
  sites: readonly SiteBatches[],
): Policy {
  const { throttling, circuit_breaker: breaker } = policy;
  const hasOwnLimit = isGiven(given, 'throttling', 'max_concurrent_workers');
  const workers = hasOwnLimit ? Math.min(containers, throttling.max_concurrent_workers) : containers;
  const hasOwnMinimum = isGiven(given, 'circuit_breaker', 'min_requests');
  const minimum = hasOwnMinimum ? breaker.min_requests : Math.max(breaker.min_requests, firstWave(sites, workers));
  return {
    ...policy,
    throttling: { ...throttling, max_concurrent_workers: workers },
    circuit_breaker: { ...breaker, min_requests: Math.min(MOST_REQUESTS, minimum) },
  };
}

/** Pages that may be in flight before the first batch is over. */
function firstWave(sites: readonly SiteBatches[], workers: number): number {
  let pages = 0;
  let left = workers;
  for (const site of sites) {
    for (const size of batchSizes(site).slice(0, left)) {
      const pieces = Math.min(left, Math.ceil(size / MAX_BATCH_ITEMS));
      pages += Math.min(size, pieces * MAX_BATCH_ITEMS);
      left -= pieces;
    }
    if (left <= 0) break;
  }
  return pages;
}

function isGiven(policy: unknown, section: string, field: string): boolean {
  if (!isRecord(policy)) return false;
  const within = policy[section];
  return isRecord(within) && within[field] !== undefined;
}
