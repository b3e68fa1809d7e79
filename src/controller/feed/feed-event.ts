import { inFlightOf } from '../../domain/counts.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { SettledItem } from '../../ports/ledger.ts';
import { presentJob, presentReason, presentSummary } from '../jobs/present-job.ts';

/** What a watcher of a job is told, and how it is written as a server-sent event. */
export interface FeedEvent {
  readonly kind: 'status' | 'progress' | 'items' | 'end' | 'gone' | 'reset';
  /** JSON, which has no line breaks. */
  readonly data: string;
}

/** How long a client waits before it connects again. */
export const OPENING = 'retry: 2000\n\n';
export const KEEP_ALIVE = ': keep-alive\n\n';

/** Without an id, a client that loses the connection now goes on from the event before. */
export function encodeEvent({ kind, data }: FeedEvent, id: string | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${kind}\ndata: ${data}\n\n`;
}

export function statusEvent(job: JobRecord): FeedEvent {
  const { jobId, status, reason, counts } = job;
  const summary = presentSummary(counts);
  const why = reason === null ? null : presentReason(reason);
  return { kind: 'status', data: JSON.stringify({ job_id: jobId, status, reason: why, summary }) };
}

/** The same figures as those of the job itself. */
export function progressEvent(job: JobRecord, perSecond: number | null, now: number): FeedEvent {
  const { job_id, status, progress_pct, items_per_second, eta_seconds, summary } = presentJob(job, {
    failures: [],
    perSecond,
    now,
  });
  return {
    kind: 'progress',
    data: JSON.stringify({ job_id, status, progress_pct, items_per_second, eta_seconds, summary }),
  };
}

export function itemsEvent(jobId: string, shown: readonly SettledItem[], omitted: number): FeedEvent {
  const outcomes = shown.map(({ itemId, status, errorType, durationMs }) => ({
    item_id: itemId,
    status,
    error_type: errorType,
    duration_ms: durationMs,
  }));
  return { kind: 'items', data: JSON.stringify({ job_id: jobId, outcomes, omitted }) };
}

export function endEvent({ jobId, status, manifest, counts }: JobRecord): FeedEvent {
  const data = { job_id: jobId, status, results_ready: manifest !== null, summary: presentSummary(counts) };
  return { kind: 'end', data: JSON.stringify(data) };
}

export function goneEvent(jobId: string): FeedEvent {
  return { kind: 'gone', data: JSON.stringify({ job_id: jobId }) };
}

/**
 * What a client has seen does not join up with what follows, and it must list again what it wants to know.
 * `unknown_id`: its last id is of an earlier life of the server, or of another feed. `too_old`: what came after it is no
 * longer kept. `too_slow`: it did not read as fast as things happened.
 */
export type ResetReason = 'unknown_id' | 'too_old' | 'too_slow';

export function resetEvent(jobId: string, reason: ResetReason): FeedEvent {
  return { kind: 'reset', data: JSON.stringify({ job_id: jobId, reason }) };
}

/**
 * Whether nothing more will happen unless somebody asks for it: the results have their index, or there will be none
 * because the job failed, and no worker is at it any more.
 */
export function isOver(job: JobRecord): boolean {
  if (job.status === 'failed') return inFlightOf(job.counts) === 0;
  return (job.status === 'completed' || job.status === 'cancelled') && job.manifest !== null;
}
