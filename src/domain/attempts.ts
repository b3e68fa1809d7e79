import type { FailedTry } from './failed-try.ts';
import type { Failure } from './failure.ts';
import { type AttemptRecord, type ItemStatus, MAX_HISTORY, nextStatus, otherVersion } from './item.ts';
import { finalStatusOf } from './job-progress.ts';
import type { Outcome } from './outcome.ts';
import { attemptUsage, type Usage } from './usage.ts';

/** The end of an attempt, as reported by a worker or by the ledger itself. */
interface EndedAttempt {
  readonly attempt: number;
  readonly outcome: Outcome;
  readonly tries: number;
  readonly failedTries?: readonly FailedTry[];
  readonly startedAt: number;
  readonly durationMs: number;
  readonly scraperVersion?: string;
  readonly usage?: Usage;
}

/** The attempt as an entry of the item's history. */
export function attemptRecord(ended: EndedAttempt, job: { readonly scraperVersion: string }): AttemptRecord {
  const { attempt, outcome, tries, startedAt, durationMs, failedTries } = ended;
  const failure = outcome.kind === 'failed' ? outcome.failure : null;
  return {
    ...{ attempt, tries, startedAt, durationMs, end: finalStatusOf(outcome), failure },
    ...(outcome.kind === 'skipped' ? { skipReason: outcome.reason } : {}),
    ...(failedTries === undefined ? {} : { failedTries }),
    ...otherVersion(ended, job),
    ...attemptUsage(ended.usage),
  };
}

/** The attempts of an item that are listed, oldest first. */
export function listedAttempts<T>(attempts: readonly T[]): readonly T[] {
  return attempts.slice(-MAX_HISTORY);
}

/** The earlier attempts that are still listed when one more has ended. */
export function earlierAttempts<T>(attempts: readonly T[]): readonly T[] {
  return attempts.slice(1 - MAX_HISTORY);
}

/**
 * Whether the end of this attempt has already been recorded, even if the item was reopened since. `poison` is recorded
 * by the ledger itself: a worker that reports its end after that is too late.
 */
export function isRecorded(
  attempts: readonly { readonly attempt: number; readonly failure?: Failure | null }[],
  attempt: number,
): boolean {
  return attempts.some((one) => one.attempt === attempt && one.failure?.type !== 'poison');
}

/**
 * Whether a re-extraction may turn the item into a success: it failed, and was not tried again after the attempt that
 * was read.
 */
export function isRecoverable(
  item: { readonly status: ItemStatus; readonly lastAttempt: number | undefined },
  recovered: { readonly attempt: number },
): boolean {
  return nextStatus(item.status, 'recover') !== null && item.lastAttempt === recovered.attempt;
}

/** Whether a retry reopens the item. */
export function isReopenable(status: ItemStatus): boolean {
  return nextStatus(status, 'retry') !== null;
}

/** Whether the attempt ended at that time or later; always true without a time. */
export function endedSince(
  attempt: Pick<AttemptRecord, 'startedAt' | 'durationMs'> | undefined,
  since: number | undefined,
): boolean {
  return since === undefined || (attempt !== undefined && attempt.startedAt + attempt.durationMs >= since);
}
