import { isDue } from './due.ts';
import { FAILURES, type FailureType } from './failure.ts';
import type { Outcome } from './outcome.ts';
import { type BreakerPolicy, consecutiveFailureLimit } from './policy.ts';

/**
 * The circuit breaker of a job. The ledger keeps a tally beside the counters, in the same transaction; these functions
 * say what the tally means. The circuit is
 *
 *   closed   items are dispatched; too many failures trip it
 *   open     nothing is dispatched until `probeAt`, or until a user resumes the job
 *   probing  one item is dispatched; its outcome closes the circuit or opens it again
 */
export type Circuit =
  | { readonly state: 'closed' }
  | { readonly state: 'open'; readonly since: number; readonly probeAt: number | null }
  | { readonly state: 'probing'; readonly since: number };

export const CLOSED: Circuit = { state: 'closed' };

/** What finished since the circuit was last closed. */
export interface Tally {
  readonly finished: number;
  /** Failures that speak against the site. */
  readonly failed: number;
  /** … of them in a row. */
  readonly streak: number;
  /** A failure after which no item can succeed. */
  readonly stopper: FailureType | null;
}

export const EMPTY_TALLY: Tally = { finished: 0, failed: 0, streak: 0, stopper: null };

/**
 * A success and a "there is no such property" both show that the site works, so they end a streak. A proxy's failure
 * and a skipped item say nothing of the site either way, and leave the tally as it was.
 */
export function tallyOutcome(tally: Tally, outcome: Outcome): Tally {
  if (outcome.kind === 'skipped') return tally;
  if (outcome.kind === 'scraped') return { ...tally, finished: tally.finished + 1, streak: 0 };
  const { type } = outcome.failure;
  const rule = FAILURES[type];
  if (rule.retry === 'stops-the-job') return { ...tally, stopper: type };
  if (rule.breaker) {
    return { ...tally, finished: tally.finished + 1, failed: tally.failed + 1, streak: tally.streak + 1 };
  }
  return rule.blame === 'proxy' ? tally : { ...tally, finished: tally.finished + 1, streak: 0 };
}

interface Trip {
  readonly cause: 'stopper' | 'streak' | 'share' | 'probe';
  readonly message: string;
  readonly tally: Tally;
}

export type Verdict =
  | { readonly kind: 'stay' }
  | { readonly kind: 'trip'; readonly trip: Trip }
  | { readonly kind: 'probe' }
  | { readonly kind: 'close' };

const STAY: Verdict = { kind: 'stay' };

export function judge(circuit: Circuit, tally: Tally, policy: BreakerPolicy, now: number): Verdict {
  if (circuit.state === 'open') {
    const { probeAt, since } = circuit;
    return probeAt !== null && isDue(probeAt, now, probeAt - since) ? { kind: 'probe' } : STAY;
  }
  // Before the probe's own failure: a later probe would do no better.
  if (tally.stopper !== null) {
    return trip('stopper', `${tally.stopper}: no item can succeed until that is repaired`, tally);
  }
  return circuit.state === 'probing' ? judgeProbe(tally) : judgeClosed(tally, policy);
}

function judgeProbe(tally: Tally): Verdict {
  if (tally.failed > 0) return trip('probe', 'the probe failed', tally);
  return tally.finished > 0 ? { kind: 'close' } : STAY;
}

function judgeClosed(tally: Tally, policy: BreakerPolicy): Verdict {
  const streakLimit = consecutiveFailureLimit(policy);
  if (tally.streak >= streakLimit) {
    return trip('streak', `${tally.streak} failures in a row (limit ${streakLimit})`, tally);
  }
  const share = tally.failed / tally.finished;
  if (tally.finished >= policy.min_requests && share >= policy.failure_threshold_percentage) {
    const limit = percent(policy.failure_threshold_percentage);
    return trip('share', `${tally.failed} of ${tally.finished} failed (${percent(share)}, limit ${limit})`, tally);
  }
  return STAY;
}

function trip(cause: Trip['cause'], message: string, tally: Tally): Verdict {
  return { kind: 'trip', trip: { cause, message, tally } };
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}
