import type {
  CreatedAnswer,
  JobAnswer,
  JobStatusAnswer,
  JobSummaryAnswer,
  SummaryAnswer,
} from '../../contract/job-answers.ts';
import type { WarningAnswer } from '../../contract/problem-answer.ts';
import { budgetLeft } from '../../domain/budget.ts';
import { type Counts, endedOf, finishedOf, inFlightOf, pendingOf } from '../../domain/counts.ts';
import type { ReadGroup } from '../../domain/failure-group.ts';
import type { JobWait } from '../../domain/item-wait.ts';
import type { JobReason, JobRecord } from '../../domain/job.ts';
import { type JobPace, measurePace } from '../../domain/job-pace.ts';
import { isFinishing } from '../../domain/job-round.ts';
import { currentWait } from '../../domain/job-wait.ts';
import { consecutiveFailureLimit, type Policy } from '../../domain/policy.ts';
import { presentUsage } from '../../domain/present-usage.ts';
import type { JobSteps } from '../../domain/recording/step-statistics.ts';
import { presentFailureGroup } from './failure-groups.ts';
import { presentControls } from './present-controls.ts';
import { presentDiscovery } from './present-discovery.ts';
import { presentForecast } from './present-forecast.ts';
import { driftWarnings, presentSteps } from './present-steps.ts';

export function presentJob(
  job: JobRecord,
  more: {
    /** All groups, most frequent first. */
    readonly failures: readonly ReadGroup[];
    readonly steps: JobSteps;
    readonly warnings: readonly WarningAnswer[];
    readonly waits: readonly JobWait[];
    readonly pace: JobPace | null;
    readonly now: number;
  },
): JobAnswer {
  const { counts, circuit, tally, policy } = job;
  const pace = more.pace ?? averagePace(job, more.now);
  const forecast = presentForecast(job, pace);
  return {
    ...presentJobSummary(job),
    round: job.round,
    elapsed_seconds: elapsedSeconds(job, more.now),
    eta_seconds: forecast.eta_seconds,
    items_per_second: forecast.items_per_second,
    forecast,
    input: {
      scraper_id: job.scraperId,
      scraper_version: job.scraperVersion,
      items: counts.total,
      recording: presentRecording(job),
      extracts: job.extracts ?? null,
    },
    progress: {
      completed: finishedOf(counts),
      success: counts.success,
      skipped: counts.skipped,
      failed: counts.failed,
      cancelled: counts.cancelled,
    },
    workers: {
      total: endedOf(counts) + inFlightOf(counts),
      completed: endedOf(counts),
      in_flight: inFlightOf(counts),
      limit: limitOf(job),
    },
    waiting: more.waits.map(presentWait),
    waiting_for: presentWaitingFor(job, more.now),
    errors: more.failures.slice(0, 10).map((group) => presentFailureGroup(job.jobId, group)),
    steps: presentSteps(more.steps, more.failures),
    policy: inForce(policy),
    batching: presentBatching(job),
    breaker: {
      state: circuit.state,
      since: circuit.state === 'closed' ? null : iso(circuit.since),
      probe_at: circuit.state === 'open' && circuit.probeAt !== null ? iso(circuit.probeAt) : null,
      finished: tally.finished,
      failed: tally.failed,
      consecutive_failures: tally.streak,
    },
    controls: presentControls(job),
    usage: presentUsage(job),
    budget: presentBudget(job),
    discovery: presentDiscovery(job),
    fenced: job.fenced,
    results: {
      ready: job.manifest !== null,
      scraper_versions: job.manifest?.scraperVersions?.slice() ?? null,
      parts: job.manifest?.parts.full ?? null,
    },
    replaced_by: job.replacedBy ?? null,
    recovering: job.recovering ?? false,
    warnings: [...more.warnings, ...driftWarnings(more.steps)],
  };
}

function presentRecording({ recording }: JobRecord): JobAnswer['input']['recording'] {
  if (recording === undefined) return null;
  return { origin: recording.origin, steps: recording.steps, sha256: recording.digest };
}

function presentWait({ type, items, until }: JobWait): JobAnswer['waiting'][number] {
  return { error_type: type, items, until: iso(until) };
}

function presentWaitingFor(job: JobRecord, now: number): JobAnswer['waiting_for'] {
  const wait = currentWait(job, now);
  return wait === null ? null : { host: wait.host, until: iso(wait.until), reason: wait.reason };
}

function presentBudget(job: JobRecord): JobAnswer['budget'] {
  const { max_requests, max_bytes, max_proxy_bytes, max_cost } = budgetLeft(job);
  return {
    requests_left: max_requests,
    bytes_left: max_bytes,
    proxy_bytes_left: max_proxy_bytes,
    cost_left: max_cost,
  };
}

function presentBatching({ batching }: JobRecord): JobAnswer['batching'] {
  return batching === undefined ? null : { by: batching.by, max_items: batching.maxItems };
}

/** A limit that is derived from another one is shown as the resulting number. */
function inForce(policy: Policy): Policy {
  const { circuit_breaker } = policy;
  return {
    ...policy,
    circuit_breaker: { ...circuit_breaker, consecutive_failures: consecutiveFailureLimit(circuit_breaker) },
  };
}

export function presentJobSummary(job: JobRecord): JobSummaryAnswer {
  return {
    job_id: job.jobId,
    job_name: job.name,
    status: job.status,
    held: job.held,
    scraper_id: job.scraperId,
    scraper_version: job.scraperVersion,
    labels: job.labels,
    created_at: iso(job.createdAt),
    started_at: job.startedAt === null ? null : iso(job.startedAt),
    finished_at: job.finishedAt === null || isFinishing(job) ? null : iso(job.finishedAt),
    progress_pct: progressPercent(job.counts),
    summary: presentSummary(job.counts),
    reason: job.reason === null ? null : presentReason(job.jobId, job.reason),
    ...presentRemoving(job),
  };
}

export function presentStatus(job: JobRecord, now: number): JobStatusAnswer {
  return {
    job_id: job.jobId,
    status: job.status,
    summary: presentSummary(job.counts),
    waiting_for: presentWaitingFor(job, now),
    ...presentRemoving(job),
  };
}

function presentRemoving({ removing }: JobRecord): { removing?: true } {
  return removing === undefined ? {} : { removing: true };
}

export function presentCreated(job: JobRecord, warnings: Readonly<CreatedAnswer['warnings']> = []): CreatedAnswer {
  return {
    job_id: job.jobId,
    job_name: job.name,
    status: job.status,
    held: job.held,
    scraper_id: job.scraperId,
    scraper_version: job.scraperVersion,
    seeded_count: job.counts.total,
    created_at: iso(job.createdAt),
    warnings: [...warnings],
  };
}

export function presentSummary(counts: Counts): SummaryAnswer {
  return {
    pending: pendingOf(counts),
    queued: counts.queued,
    in_progress: counts.inProgress,
    success: counts.success,
    failed: counts.failed,
    skipped: counts.skipped,
    cancelled: counts.cancelled,
    total: counts.total,
  };
}

export function presentReason(jobId: string, { code, message, evidence }: JobReason) {
  return { code, message, evidence: evidence.map((group) => presentFailureGroup(jobId, group)) };
}

export function iso(at: number): string {
  return new Date(at).toISOString();
}

/** One decimal, and 100 only when every item is final. */
function progressPercent(counts: Counts): number {
  if (counts.total === 0) return 0;
  return Math.floor((finishedOf(counts) / counts.total) * 1000) / 10;
}

function limitOf({ policy, throttle }: JobRecord): number {
  return Math.max(1, Math.floor(Math.min(policy.throttling.max_concurrent_workers, throttle.ceiling)));
}

function elapsedSeconds({ startedAt, finishedAt }: JobRecord, now: number): number {
  return startedAt === null ? 0 : Math.max(0, (finishedAt ?? now) - startedAt) / 1000;
}

function averagePace(job: JobRecord, now: number): JobPace | null {
  const seconds = elapsedSeconds(job, now);
  return job.status !== 'in_progress' || seconds < 1 ? null : measurePace(endedOf(job.counts), seconds);
}
