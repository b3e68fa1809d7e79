import type { BulkFields } from '../../../contract/bulk-request.ts';
import { MAX_BATCH_ITEMS } from '../../../domain/batching.ts';
import { isRecord } from '../../../domain/is-record.ts';
import type { Policy } from '../../../domain/policy.ts';
import { pieceOrder, type SiteBatches, windowsOf } from '../../../domain/site-batches.ts';

const MOST_REQUESTS = 1_000_000;

/**
 * The policy of a bulk job: `max_containers` concurrent batches, unless the policy allows fewer, and a breaker that
 * lets all of them begin. By default it would risk at most fifty pages until it knows whether the job works; all other
 * batches would wait for the slowest of them.
 */
export function bulkPolicy(fields: DocsFields, given: unknown, sites: readonly SiteBatches[]): Policy {
  const policy = docsPolicy(fields, given);
  const { circuit_breaker: breaker } = policy;
  const workers = policy.throttling.max_concurrent_workers;
  const hasOwnMinimum = isGiven(given, 'circuit_breaker', 'min_requests');
  const minimum = hasOwnMinimum ? breaker.min_requests : Math.max(breaker.min_requests, firstWave(sites, workers));
  return { ...policy, circuit_breaker: { ...breaker, min_requests: Math.min(MOST_REQUESTS, minimum) } };
}

type DocsFields = Pick<BulkFields, 'execution_policy' | 'max_containers'>;

/**
 * The policy of every job that pulls documentation: no more batches at a time than `max_containers`, and robots.txt is
 * respected unless the request says otherwise. Item manifests are written only if they are asked for: a page is one small
 * file, and a second one to describe it costs as much again. `given` is the policy as it was sent.
 */
export function docsPolicy(
  { execution_policy: policy, max_containers: containers }: DocsFields,
  given: unknown,
): Policy {
  const { throttling, results } = policy;
  const hasOwnLimit = isGiven(given, 'throttling', 'max_concurrent_workers');
  const workers = hasOwnLimit ? Math.min(containers, throttling.max_concurrent_workers) : containers;
  const saysRobots = isRecord(given) && given['robots'] !== undefined;
  return {
    ...policy,
    throttling: { ...throttling, max_concurrent_workers: workers },
    robots: saysRobots ? policy.robots : 'respect',
    results: { ...results, item_manifests: results.item_manifests ?? false },
  };
}

/** Pages that may be in flight before the first batch is over. */
function firstWave(sites: readonly SiteBatches[], workers: number): number {
  let pages = 0;
  let left = workers;
  for (const window of windowsOf(sites)) {
    for (const piece of pieceOrder(window, MAX_BATCH_ITEMS)) {
      if (left <= 0) return pages;
      pages += piece.pages;
      left -= 1;
    }
  }
  return pages;
}

export function isGiven(policy: unknown, section: string, field: string): boolean {
  if (!isRecord(policy)) return false;
  const within = policy[section];
  return isRecord(within) && within[field] !== undefined;
}
