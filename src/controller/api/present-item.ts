import type { ItemAnswer, ItemDetailAnswer } from '../../contract/item-answers.ts';
import { artifactLabel, type StoredArtifact } from '../../domain/artifact.ts';
import type { FailedTry } from '../../domain/failed-try.ts';
import { presentFailure } from '../../domain/failure.ts';
import { countAttempts, type ItemRecord, skipReasonOf, unlistedAttempts } from '../../domain/item.ts';
import type { JobRecord } from '../../domain/job.ts';
import { presentAttemptUsage } from '../../domain/present-usage.ts';
import { sliceFields } from '../../domain/result-address.ts';
import { shownStrikes } from '../../domain/strikes.ts';
import { iso } from '../jobs/present-job.ts';

export function presentItem(item: ItemRecord): ItemAnswer {
  const first = item.attempts.at(0);
  const last = item.attempts.at(-1);
  const failure = item.status === 'failed' ? last?.failure : null;
  return {
    item_id: item.itemId,
    status: item.status,
    input: item.input,
    ...(item.group === undefined ? {} : { group: item.group }),
    ...(item.depth === undefined ? {} : { depth: item.depth }),
    error: failure ? presentFailure(failure) : null,
    skip_reason: skipReasonOf(item),
    attempts: countAttempts(item),
    tries: last?.tries ?? 0,
    first_attempt_at: first ? iso(first.startedAt) : null,
    last_attempt_at: last ? iso(last.startedAt) : null,
    duration_ms: last?.durationMs ?? null,
    ...presentAttemptUsage(item.attempts),
    artifacts: item.artifacts.map((artifact) => presentArtifact(item, artifact)),
  };
}

export function presentItemDetail(item: ItemRecord, job: JobRecord): ItemDetailAnswer {
  const last = item.attempts.at(-1);
  const unlisted = unlistedAttempts(item);
  return {
    ...presentItem(item),
    job_id: item.jobId,
    scraper_id: last?.scraperId ?? job.scraperId,
    scraper_version: last?.scraperVersion ?? job.scraperVersion,
    deliveries: item.deliveries,
    strikes: shownStrikes(item.strikes),
    history: item.attempts.map((attempt, index) => ({
      attempt: unlisted + index + 1,
      delivery: attempt.attempt,
      tries: attempt.tries,
      started_at: iso(attempt.startedAt),
      duration_ms: attempt.durationMs,
      ...presentAttemptUsage([attempt]),
      status: attempt.end,
      error: attempt.failure ? presentFailure(attempt.failure) : null,
      skip_reason: attempt.skipReason ?? null,
      failed_tries: (attempt.failedTries ?? []).map(presentTry),
      scraper_version: attempt.scraperVersion ?? job.scraperVersion,
    })),
  };
}

function presentTry({ number, type, message, at, waitMs }: FailedTry) {
  return { try: number, error_type: type, message, failed_at: iso(at), wait_ms: waitMs };
}

function presentArtifact({ jobId, itemId }: ItemRecord, artifact: StoredArtifact) {
  const { kind, name, key, size, sha256, contentType, encoding } = artifact;
  const label = encodeURIComponent(artifactLabel(artifact)).replace('%3A', ':');
  const href = `/jobs/${encodeURIComponent(jobId)}/items/${encodeURIComponent(itemId)}/download?artifact=${label}`;
  const named = name === undefined ? { kind } : { kind, name };
  return { ...named, key, ...sliceFields(artifact), size, sha256, content_type: contentType, encoding, href };
}
