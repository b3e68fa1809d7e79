import { MAX_BATCH_ITEMS } from './batching.ts';
import { isRecord } from './is-record.ts';
import type { DistributionStrategy } from './items-to-sessions.ts';
import type { Policy } from './policy.ts';

/** How a run is carried out, unless its user says otherwise. */
export const DEFAULT_SESSIONS = 3;
export const MAX_SESSIONS = 256;
export const DEFAULT_STRATEGY: DistributionStrategy = 'domain-affinity';
export const STRATEGIES = ['round-robin', 'domain-affinity', 'least-loaded'] as const satisfies DistributionStrategy[];
export const DEFAULT_ITEMS_PER_SESSION = 50;
/** What a session gets at a time is a batch. */
export const MAX_ITEMS_PER_SESSION = MAX_BATCH_ITEMS;

const MOST_REQUESTS = 1_000_000;

/**
 * The policy of a run's jobs: as many batches at a time as there are sessions, and a breaker that lets all of them begin.
 * By default it would risk at most fifty items until it knows whether the job works; the other sessions would wait for
 * the first. `given` is the policy as it was sent.
 */
export function runPolicy(policy: Policy, given: unknown, sessions: number, maxItemsPerSession: number): Policy {
  const { circuit_breaker: breaker, throttling } = policy;
  const own = isRecord(given) && isRecord(given['circuit_breaker']) ? given['circuit_breaker'] : {};
  const firstWave = Math.min(MOST_REQUESTS, sessions * maxItemsPerSession);
  const hasOwn = own['min_requests'] !== undefined;
  return {
    ...policy,
    throttling: { ...throttling, max_concurrent_workers: sessions },
    circuit_breaker: { ...breaker, ...(!hasOwn && { min_requests: Math.max(breaker.min_requests, firstWave) }) },
  };
}
