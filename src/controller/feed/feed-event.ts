import type { JobEvent, ResetReason } from '../../contract/events.ts';
import type { WarningAnswer } from '../../contract/problem-answer.ts';
import { inFlightOf } from '../../domain/counts.ts';
import type { JobWait } from '../../domain/item-wait.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { JobPace } from '../../domain/job-pace.ts';
import type { SettledItem } from '../../ports/ledger.ts';
import { presentJob, presentReason, presentSummary } from '../jobs/present-job.ts';

/** An event as sent to every watcher: its data are serialized once. */
export interface FeedEvent {
  /** Name of the event. */
  readonly kind: string;
  /** JSON, which has no line breaks. */
  readonly data: string;
}

/** How long a client waits before it reconnects. */
export const OPENING = 'retry: 2000\n\n';
export const KEEP_ALIVE = ': keep-alive\n\n';

/** Without an id, a client that loses the connection now resumes after the previous event. */
export function encodeEvent({ kind, data }: FeedEvent, id: string | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${kind}\ndata: ${data}\n\n`;
}

function feedEvent({ event, data }: JobEvent): FeedEvent {
  return { kind: event, data: JSON.stringify(data) };
}

export function statusEvent({ jobId, status, reason, counts }: JobRecord): FeedEvent {
  const why = reason === null ? null : presentReason(jobId, reason);
  return feedEvent({
    event: 'status',
    data: { job_id: jobId, status, reason: why, summary: presentSummary(counts) },
  });
}

/** The same figures as those of the job itself. */
export function progressEvent(job: JobRecord, waits: readonly JobWait[], pace: JobPace | null, now: number): FeedEvent {
  const shown = presentJob(job, {
    failures: [],
    steps: [],
    warnings: [],
    waits,
    pace,
    now,
  });
  const {
    job_id,
    status,
    progress_pct,
    items_per_second,
    eta_seconds,
    forecast,
    summary,
    discovery,
    waiting,
    waiting_for,
    workers,
    policy,
  } = shown;
  return feedEvent({
    event: 'progress',
    data: {
      ...{
        job_id,
        status,
        progress_pct,
        items_per_second,
        eta_seconds,
        forecast,
        summary,
        discovery,
        waiting,
        waiting_for,
      },
      limit: workers.limit,
      max_limit: policy.throttling.max_concurrent_workers,
    },
  });
}

export function itemsEvent(jobId: string, shown: readonly SettledItem[], omitted: number): FeedEvent {
  const outcomes = shown.map(({ itemId, status, errorType, durationMs }) => ({
    item_id: itemId,
    status,
    error_type: errorType,
    duration_ms: durationMs,
  }));
  return feedEvent({ event: 'items', data: { job_id: jobId, outcomes, omitted } });
}

export function warningsEvent(jobId: string, warnings: readonly WarningAnswer[]): FeedEvent {
  return feedEvent({ event: 'warnings', data: { job_id: jobId, warnings: [...warnings] } });
}

export function endEvent({ jobId, status, manifest, counts }: JobRecord): FeedEvent {
  const data = { job_id: jobId, status, results_ready: manifest !== null, summary: presentSummary(counts) };
  return feedEvent({ event: 'end', data });
}

export function goneEvent(jobId: string): FeedEvent {
  return feedEvent({ event: 'gone', data: { job_id: jobId } });
}

/** The events that a client has seen are not directly followed by the next ones: it must list again what it needs. */
export function resetEvent(jobId: string, reason: ResetReason): FeedEvent {
  return feedEvent({ event: 'reset', data: { job_id: jobId, reason } });
}

/**
 * Whether nothing more will happen without a request: the result index is written, or there will be none because the job
 * failed, and no worker is processing the job.
 */
export function isOver(job: JobRecord): boolean {
  if (job.status === 'failed') return inFlightOf(job.counts) === 0;
  return (job.status === 'completed' || job.status === 'cancelled') && job.manifest !== null;
}
