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
  if (end === 'proxy_config') return { ...tally, stopper: end };
  const finished = tally.finished + 1;
  if (end === 'success' || !SPEAKS_AGAINST_THE_SITE.has(end)) return { ...tally, finished, streak: 0 };
  return { ...tally, finished, failed: tally.failed + 1, streak: tally.streak + 1 };
}

/** Whether the breaker must have stopped the job. */
export function mustTrip({ circuit, tally, policy }: ModelJob): boolean {
  if (tally.stopper !== null) return true;
  if (circuit === 'probing') return tally.failed > 0;
  const { min_requests, failure_threshold_percentage, consecutive_failures } = policy.circuit_breaker;
  if (tally.streak >= (consecutive_failures ?? Math.max(20, min_requests))) return true;
  return tally.finished >= min_requests && tally.failed / tally.finished >= failure_threshold_percentage;
}

/** How many items may be finished or at risk after a dispatch. */
export function riskBound({ circuit, tally, policy }: ModelJob): number {
  if (circuit === 'probing') return 1;
  const { min_requests } = policy.circuit_breaker;
  return tally.finished >= min_requests ? Number.POSITIVE_INFINITY : min_requests;
}
