import type { Digest } from './artifact.ts';
import { inFlightOf } from './counts.ts';
import type { FailureType } from './failure.ts';
import { type ItemRecord, skipReasonOf } from './item.ts';
import type { DistributionStrategy, ScrapeRunItem } from './items-to-sessions.ts';
import type { JobRecord } from './job.ts';
import type { Policy } from './policy.ts';

/**
 * What this installation was told to do: to carry out a scrape run. It exists until the run is finalized, or its job is
 * cancelled or deleted. The run itself is in an ETL API, and what becomes of its items is in the ledger: a run is carried
 * out in rounds, each of them a job with the items that are pending in the run when the round begins.
 */
export interface RunOrder {
  /** Distinguishes it from earlier orders of the same run. */
  readonly id: string;
  readonly domain: string;
  readonly runId: string;
  /** From 1; it names the job. */
  readonly round: number;
  /** Whether the job of this round was created: if there is none any more, a user has deleted it. */
  readonly isFilled: boolean;
  /** Items that this round takes in addition to pending ones. */
  readonly again: readonly RunRetry[];
  readonly scraperId: string;
  /** The field of the scraper's input that takes the URL. */
  readonly field: string;
  /** Groups of items that are processed at the same time. */
  readonly sessions: number;
  readonly strategy: DistributionStrategy;
  readonly maxItemsPerSession: number;
  readonly policy: Policy;
  readonly startedAt: number;
}

/** Items that have ended without a result, and can be tried again. */
export type RunRetry = 'failed' | 'invalid';

/** The job of a round. Its id is the lock: of two that begin the same round, only one creates it. */
export function runJobId({ runId, round }: Pick<RunOrder, 'runId' | 'round'>, digest: Digest): string {
  const name = /^[\w.-]{1,100}$/.test(runId) ? runId : digest(runId).slice(0, 32);
  return `run-${name}-${round}`;
}

const RUN_LABELS = { runId: 'run_id', domain: 'domain', round: 'run_round' } as const;

export function runLabels({ runId, domain, round }: Pick<RunOrder, 'runId' | 'domain' | 'round'>) {
  return {
    [RUN_LABELS.runId]: runId.slice(0, 500),
    [RUN_LABELS.domain]: domain.slice(0, 500),
    [RUN_LABELS.round]: String(round),
  };
}

/** The run and the round that a job was created for; null for any other job. */
export function runOfJob({ labels }: Pick<JobRecord, 'labels'>): Pick<RunOrder, 'runId' | 'domain' | 'round'> | null {
  const [runId, domain, round] = [labels[RUN_LABELS.runId], labels[RUN_LABELS.domain], labels[RUN_LABELS.round]];
  if (runId === undefined || domain === undefined || round === undefined) return null;
  return { runId, domain, round: Number(round) };
}

/** What to do about a run next. */
export type RunStep =
  /** The round has no job yet. */
  | 'fill'
  /** Its job has something left to do, or waits for a user: report what has ended so far. */
  | 'follow'
  /** Every item of the job has ended: report all of them, then begin another round or finalize the run. */
  | 'close'
  /** A user has cancelled or deleted the job: report what has ended, and leave the run open. */
  | 'leave';

export function nextRunStep({ isFilled }: RunOrder, job: JobRecord | null): RunStep {
  if (job === null) return isFilled ? 'leave' : 'fill';
  if (job.removing) return 'leave';
  if (job.status === 'cancelled') return inFlightOf(job.counts) > 0 ? 'follow' : 'leave';
  return job.status === 'completed' ? 'close' : 'follow';
}

/** How an item of a run has ended. */
export type RunItemEnd = { readonly kind: 'done' } | { readonly kind: 'failed' | 'invalid'; readonly reason: string };

/** Failures that are the fault of the input: the URL leads to nothing. */
const INVALID: readonly FailureType[] = ['no_results', 'not_found', 'invalid_input'];

/** Null if it has not ended, or was cancelled: then it is still pending in the run. */
export function runItemEnd(item: Pick<ItemRecord, 'status' | 'attempts'>): RunItemEnd | null {
  switch (item.status) {
    case 'success':
      return { kind: 'done' };
    case 'skipped': {
      const why = skipReasonOf(item);
      // There is no need to scrape it: what is known of the page is recent enough.
      return why === 'cached' ? { kind: 'done' } : { kind: 'failed', reason: `skipped: ${why ?? 'nothing to do'}` };
    }
    case 'failed': {
      const failure = item.attempts.at(-1)?.failure ?? null;
      if (failure === null) return { kind: 'failed', reason: 'failed' };
      const { type, message } = failure;
      return { kind: INVALID.includes(type) ? 'invalid' : 'failed', reason: `${type}: ${message}` };
    }
    default:
      return null;
  }
}

/** The change that reports it. `isRepeated`: the item may have been reported otherwise before. */
export function changesFor(end: RunItemEnd, isRepeated: boolean) {
  if (end.kind === 'done') {
    return { done: true, ...(isRepeated && { failed: false, invalid: false, failedReason: null }) };
  }
  const { kind, reason: failedReason } = end;
  if (kind === 'failed') return { failed: true, ...(isRepeated && { invalid: false }), failedReason };
  return { invalid: true, ...(isRepeated && { failed: false }), failedReason };
}

/**
 * Whether the run says the same. An item that another program has done stays done. A server may have cut the reason.
 */
export function isReported({ done, failed, invalid, failedReason }: ScrapeRunItem, end: RunItemEnd): boolean {
  if (end.kind === 'done') return done && failed !== true && invalid !== true;
  if (done) return true;
  const isOfKind = end.kind === 'failed' ? failed === true && invalid !== true : invalid === true && failed !== true;
  return isOfKind && end.reason.startsWith(failedReason || end.reason);
}
