import { isDue } from './due.ts';
import { FAILURES } from './failure.ts';
import type { ReadGroup } from './failure-group.ts';
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
  /** Failures held against the site. */
  readonly failed: number;
  /** How many of those in a row. */
  readonly streak: number;
  /** Failures of the input, such as `not_found`. They show that the site works, unless nothing else ever happens. */
  readonly missed: number;
  /** Failures of either kind in a row: items finished since the last success. */
  readonly dry: number;
  /** A failure after which no item can succeed: its type and message, shortened. */
  readonly stopper: string | null;
}

export const EMPTY_TALLY: Tally = { finished: 0, failed: 0, streak: 0, missed: 0, dry: 0, stopper: null };

/** Completes a tally stored by an earlier version: what it did not count is taken as successes. */
export function completeTally(stored: Partial<Tally>): Tally {
  return { ...EMPTY_TALLY, ...stored };
}

/**
 * A success and a "no such property" both show that the site works, so they end a streak. A proxy failure and a skipped
 * item say nothing about the site, and leave the tally unchanged.
 */
export function tallyOutcome(tally: Tally, outcome: Outcome): Tally {
  if (outcome.kind === 'skipped') return tally;
  const finished = tally.finished + 1;
  if (outcome.kind === 'scraped') return { ...tally, finished, streak: 0, dry: 0 };
  const { type, message } = outcome.failure;
  const rule = FAILURES[type];
  if (rule.retry === 'stops-the-job') {
    return { ...tally, stopper: `${type}: ${message}`.slice(0, MAX_STOPPER_LENGTH) };
  }
  const dry = tally.dry + 1;
  if (rule.breaker) return { ...tally, finished, failed: tally.failed + 1, streak: tally.streak + 1, dry };
  return rule.blame === 'proxy' ? tally : { ...tally, finished, streak: 0, missed: tally.missed + 1, dry };
}

/** Enough for a proxy's code and what to do about it. It is stored in the row that every settle writes. */
const MAX_STOPPER_LENGTH = 300;

interface Trip {
  readonly cause: 'stopper' | 'streak' | 'share' | 'nothing-works' | 'probe';
  readonly message: string;
  readonly tally: Tally;
}

export type Verdict =
  | { readonly kind: 'stay' }
  | { readonly kind: 'trip'; readonly trip: Trip }
  | { readonly kind: 'probe' }
  | { readonly kind: 'close' };

const STAY: Verdict = { kind: 'stay' };

/** The fields of a job that the breaker judges. */
export interface Judged {
  readonly circuit: Circuit;
  readonly tally: Tally;
  readonly policy: { readonly circuit_breaker: BreakerPolicy };
  readonly counts: { readonly success: number; readonly failed: number };
  /** Set only for a re-extraction, which sends no requests. */
  readonly extracts?: string;
}

export function judge(job: Judged, now: number): Verdict {
  const { circuit, tally } = job;
  if (circuit.state === 'open') {
    const { probeAt, since } = circuit;
    return probeAt !== null && isDue(probeAt, now, probeAt - since) ? { kind: 'probe' } : STAY;
  }
  // Checked before the probe's own failure: a later probe would do no better.
  if (tally.stopper !== null) return trip('stopper', tally.stopper, tally);
  return circuit.state === 'probing' ? judgeProbe(tally) : judgeClosed(job);
}

function judgeProbe(tally: Tally): Verdict {
  if (tally.failed > 0) return trip('probe', 'the probe failed', tally);
  return tally.finished > 0 ? { kind: 'close' } : STAY;
}

function judgeClosed(job: Judged): Verdict {
  const { tally } = job;
  const policy = job.policy.circuit_breaker;
  const { failed, streak } = policy.count_all_failures
    ? { failed: tally.failed + tally.missed, streak: tally.dry }
    : tally;
  const streakLimit = consecutiveFailureLimit(policy);
  if (streak >= streakLimit) return trip('streak', `${streak} failures in a row (limit ${streakLimit})`, tally);
  if (tally.finished < policy.min_requests) return STAY;
  const share = failed / tally.finished;
  if (share >= policy.failure_threshold_percentage) {
    const limit = percent(policy.failure_threshold_percentage);
    return trip('share', `${failed} of ${tally.finished} failed (${percent(share)}, limit ${limit})`, tally);
  }
  if (!nothingWorks(job)) return STAY;
  return trip('nothing-works', `none of the first ${job.counts.failed} items succeeded`, tally);
}

/**
 * Each input failure is believable on its own; but if no item has ever succeeded, it is more likely that the site's
 * addresses have changed, or that its search finds nothing for anyone. A job that has had a success is not judged by
 * this, so that failed items can be retried even if all of them may fail again.
 */
function nothingWorks({ tally, counts, extracts }: Judged): boolean {
  return counts.success === 0 && tally.failed + tally.missed === tally.finished && extracts === undefined;
}

function trip(cause: Trip['cause'], message: string, tally: Tally): Verdict {
  return { kind: 'trip', trip: { cause, message, tally } };
}

/** The reason of a trip in words. If nothing works, the reason is the list of failures. */
export function tripMessage({ cause, message }: Trip, evidence: readonly ReadGroup[]): string {
  if (cause !== 'nothing-works' || evidence.length === 0) return message;
  const byType = Map.groupBy(evidence, ({ type }) => type);
  const counted = [...byType].map(([type, groups]) => `${groups.reduce((sum, { count }) => sum + count, 0)} ${type}`);
  return `${message}: ${counted.join(', ')}`;
}

/** How many groups of failures are kept with the reason. */
const MAX_EVIDENCE = 3;

/** The failures that explain it: those that stopped the job first, then the most frequent. */
export function pickEvidence({ cause, message }: Trip, groups: readonly ReadGroup[]): readonly ReadGroup[] {
  const isTold = ({ type }: ReadGroup) => cause === 'stopper' && message.startsWith(type);
  return [...groups.filter(isTold), ...groups.filter((group) => !isTold(group))].slice(0, MAX_EVIDENCE);
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}
