import { finishedOf } from './counts.ts';
import type { JobRecord } from './job.ts';
import { isFinishing } from './job-round.ts';
import { type ManifestFold, type ManifestList, versionCounts } from './manifest.ts';
import { presentUsage } from './present-usage.ts';

/** The recording of a job, beside `job_metadata.json`. */
export const RECORDING_FILE = 'recording.json';

export interface PartHash {
  readonly list: ManifestList;
  readonly part: number;
  readonly items: number;
  readonly sha256: string;
}

/**
 * `job_metadata.json`: what a reader of the results needs in order to know that they are complete. It is made from the
 * items that were just written, and throws if they do not add up to the job's counters.
 */
export function jobMetadata(
  job: JobRecord,
  fold: ManifestFold,
  hashes: readonly PartHash[],
  recording: { readonly sha256: string } | null = null,
) {
  const { counts } = job;
  const { seen } = fold;
  const isWhole =
    finishedOf(counts) === counts.total &&
    (['success', 'failed', 'skipped', 'cancelled'] as const).every((status) => seen[status] === counts[status]);
  if (!isWhole) {
    throw new Error(
      `manifest of job ${job.jobId}: items add up to ${JSON.stringify(seen)}, counters say ${JSON.stringify(counts)}`,
    );
  }
  const endedAt = job.finishedAt ?? job.createdAt;
  return {
    job_id: job.jobId,
    job_name: job.name,
    // The job is completed when this is recorded.
    status: isFinishing(job) ? 'completed' : job.status,
    round: job.round,
    scraper_id: job.scraperId,
    // The version the controller knew when the job was created; what workers have run since is counted below.
    scraper_version: job.scraperVersion,
    scraper_versions: Object.fromEntries(versionCounts(fold, job.scraperVersion)),
    // Only of a job with a recording of its own: a file beside this one.
    ...(recording === null ? {} : { recording: { file: RECORDING_FILE, sha256: recording.sha256 } }),
    labels: job.labels,
    extracts: job.extracts ?? null,
    replaced_by: job.replacedBy ?? null,
    counts: { total: counts.total, ...seen },
    created_at: new Date(job.createdAt).toISOString(),
    started_at: job.startedAt === null ? null : new Date(job.startedAt).toISOString(),
    finished_at: new Date(endedAt).toISOString(),
    duration_seconds: job.startedAt === null ? 0 : Math.max(0, endedAt - job.startedAt) / 1000,
    usage: presentUsage(job),
    execution_policy: job.policy,
    parts: fold.parts,
    part_hashes: hashes,
  };
}
