import type { Tally } from '../../../src/domain/breaker.ts';
import type { FailureType } from '../../../src/domain/failure.ts';
import type { ModelJob } from './model.ts';

/**
 * The circuit breaker once more, written from its description (docs/failures-and-retries.md) and not from the engine's code,
 * so that the two can be compared.
 */

const SPEAKS_AGAINST_THE_SITE: ReadonlySet<FailureType> = new Set([
  'timeout',
  'network_error',
  'server_error',
  'blocked',
  'rate_limited',
  'maintenance',
  'structure_changed',
  'navigation_failed',
  'invalid_output',
  'poison',
  'unexpected',
]);

/** `end` is the type of a failure, or how else the item ended. */
export function tallyAfter(tally: Tally, end: FailureType | 'success' | 'skipped'): Tally {
  if (end === 'skipped' || end === 'proxy_error') return tally;
  // The message is not the oracle's: it compares the type.
  if (end === 'proxy_config') return { ...tally, stopper: end };
  const finished = tally.finished + 1;
  if (end === 'success') return { ...tally, finished, streak: 0, dry: 0 };
  const dry = tally.dry + 1;
  if (!SPEAKS_AGAINST_THE_SITE.has(end)) return { ...tally, finished, streak: 0, missed: tally.missed + 1, dry };
  return { ...tally, finished, failed: tally.failed + 1, streak: tally.streak + 1, dry };
}

/** Whether the breaker must have stopped the job. */
export function mustTrip(job: ModelJob): boolean {
  const { circuit, tally, policy } = job;
  if (tally.stopper !== null) return true;
  if (circuit === 'probing') return tally.failed > 0;
  const { min_requests, failure_threshold_percentage, consecutive_failures, count_all_failures } =
    policy.circuit_breaker;
  const [failed, streak] = count_all_failures ? [tally.failed + tally.missed, tally.dry] : [tally.failed, tally.streak];
  if (streak >= (consecutive_failures ?? Math.max(20, min_requests))) return true;
  if (tally.finished < min_requests) return false;
  return failed / tally.finished >= failure_threshold_percentage || nothingWorks(job);
}

/** No item of the job has ever succeeded, and not only because of the proxy. Re-extractions are exempt. */
function nothingWorks({ items, tally, isExtraction }: ModelJob): boolean {
  if (isExtraction || tally.dry < tally.finished) return false;
  return items.every(({ final }) => final !== 'success');
}

/** How many items may be finished or at risk after a dispatch. */
export function riskBound({ circuit, tally, policy }: ModelJob): number {
  if (circuit === 'probing') return 1;
  const { min_requests } = policy.circuit_breaker;
  return tally.finished >= min_requests ? Number.POSITIVE_INFINITY : min_requests;
}
