import type { StoredArtifact } from '../../../domain/artifact.ts';
import { earlierAttempts } from '../../../domain/attempts.ts';
import type { FailedTry } from '../../../domain/failed-try.ts';
import type { Failure, FailureType } from '../../../domain/failure.ts';
import { type AttemptRecord, otherVersion } from '../../../domain/item.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { finalStatusOf } from '../../../domain/job-progress.ts';
import { keptOf } from '../../../domain/outcome.ts';
import type { SkipReason } from '../../../domain/skip-reason.ts';
import { type AttemptUsage, attemptUsage } from '../../../domain/usage.ts';
import type { Settlement } from '../../../ports/ledger.ts';
import type { BatchItem } from './batches.ts';
import type { Statements } from './statements.ts';

/** How an item ended. One row, written once; an ordinary success without artifacts has no detail. */
export interface OutcomeRow {
  readonly key: number;
  readonly status: number;
  readonly error_type: FailureType | null;
  readonly attempt: number;
  readonly tries: number;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly detail: string | null;
}

/** What only some outcomes have. A missing field means that there is nothing. */
export interface OutcomeDetail {
  readonly failure?: Failure;
  readonly skipReason?: SkipReason;
  /** Set only for an attempt with more than one try. */
  readonly failedTries?: readonly FailedTry[];
  readonly artifacts?: readonly StoredArtifact[];
  readonly earlier?: readonly AttemptRecord[];
  readonly strikes?: number;
  /** Set if it is not the job's. */
  readonly scraperVersion?: string;
  /** Set only for a recovery by a scraper other than the job's. */
  readonly scraperId?: string;
  readonly usage?: AttemptUsage;
  /** The failure was counted in the collective group of its type. */
  readonly isOther?: true;
}

export type End = AttemptRecord['end'];
const ENDS: readonly End[] = ['success', 'failed', 'skipped'];

/** As stored in a row. Success is 0: the indexes leave it out. */
export function statusCode(end: End): number {
  return ENDS.indexOf(end);
}

export function endOf(row: Pick<OutcomeRow, 'status'>): End {
  return ENDS[row.status] ?? 'failed';
}

const NO_DETAIL: OutcomeDetail = {};

export function detailOf(row: Pick<OutcomeRow, 'detail'>): OutcomeDetail {
  return row.detail === null ? NO_DETAIL : JSON.parse(row.detail);
}

export function historyOf(history: string | null): readonly AttemptRecord[] {
  return history === null ? [] : JSON.parse(history);
}

/** Every finished attempt, the one in the row last. */
export function attemptsOf(
  row: Omit<OutcomeRow, 'key' | 'error_type'>,
  detail: OutcomeDetail,
): readonly AttemptRecord[] {
  const last: AttemptRecord = {
    attempt: row.attempt,
    tries: row.tries,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    end: endOf(row),
    failure: detail.failure ?? null,
  };
  // Most items have no detail, and an object or list made of nothing costs as much as one made of something.
  if (detail === NO_DETAIL) return [last];
  const { skipReason, failedTries, scraperVersion, scraperId, usage, earlier = [] } = detail;
  const more = {
    ...(skipReason === undefined ? {} : { skipReason }),
    ...(failedTries === undefined ? {} : { failedTries }),
    ...(scraperVersion === undefined ? {} : { scraperVersion }),
    ...(scraperId === undefined ? {} : { scraperId }),
    ...(usage === undefined ? {} : { usage }),
  };
  return [...earlier, { ...last, ...more }];
}

export function insertOutcome(
  sql: Statements,
  key: number,
  job: Pick<JobRecord, 'scraperVersion'>,
  item: Pick<BatchItem, 'history' | 'strikes'>,
  settlement: Settlement,
  isOther: boolean,
): void {
  const { outcome } = settlement;
  const failed = outcome.kind === 'failed' ? outcome.failure : null;
  sql.insertOutcome.run(
    key,
    statusCode(finalStatusOf(outcome)),
    failed?.type ?? null,
    settlement.attempt,
    settlement.tries,
    settlement.startedAt,
    settlement.durationMs,
    encodeDetail(settlement, job, item, isOther),
  );
}

function encodeDetail(
  settlement: Settlement,
  job: Pick<JobRecord, 'scraperVersion'>,
  { history, strikes }: Pick<BatchItem, 'history' | 'strikes'>,
  isOther: boolean,
): string | null {
  const { outcome, failedTries } = settlement;
  const { scraperVersion } = otherVersion(settlement, job);
  const kept = keptOf(outcome);
  const artifacts = kept.length > 0 ? kept : null;
  const used = attemptUsage(settlement.usage);
  const isPlain =
    history === null &&
    strikes === 0 &&
    scraperVersion === undefined &&
    failedTries === undefined &&
    used.usage === undefined;
  if (outcome.kind === 'scraped' && artifacts === null && isPlain) return null;
  const detail: OutcomeDetail = {
    ...(outcome.kind === 'failed' ? { failure: outcome.failure } : {}),
    ...(outcome.kind === 'skipped' ? { skipReason: outcome.reason } : {}),
    ...(failedTries === undefined ? {} : { failedTries }),
    ...(artifacts === null ? {} : { artifacts }),
    ...(history === null ? {} : { earlier: earlierAttempts(historyOf(history)) }),
    ...(strikes === 0 ? {} : { strikes }),
    ...(scraperVersion === undefined ? {} : { scraperVersion }),
    ...(isOther ? { isOther } : {}),
    ...used,
  };
  return JSON.stringify(detail);
}
