import { type Counts, finishedOf } from '../domain/counts.ts';
import type { FailureGroup } from '../domain/failure-group.ts';
import type { JobRecord } from '../domain/job.ts';
import { EXIT } from './exit-codes.ts';

/** What a run came to: the end of `trawl run` in one value, from which text, JSON and exit code are made. */
export interface RunReport {
  readonly job: JobRecord;
  readonly dataDir: string;
  /** The user told it to stop. */
  readonly isInterrupted: boolean;
  /** Reading the items was broken off: the same command goes on with it. */
  readonly isPartlyRead: boolean;
  readonly finishedBefore: number;
  readonly elapsedMs: number;
  readonly failures: readonly FailureGroup[];
  readonly badLines: BadLines;
  /** Lines whose id stands earlier in the file; 0 where that cannot be told from a second reading. */
  readonly repeated: number;
  readonly results: ResultsFile | null;
  /** As typed, without `trawl`. */
  readonly words: readonly string[];
}

export interface BadLines {
  readonly count: number;
  readonly first: readonly { readonly line: number; readonly problem: string }[];
}

export interface ResultsFile {
  readonly path: string;
  readonly rows: number;
  /** Rows whose data could not be read back. */
  readonly damaged: number;
}

export function exitCodeOf({ job, isInterrupted, badLines, results }: RunReport): number {
  if (isInterrupted) return EXIT.interrupted;
  if (job.status !== 'completed') return EXIT.failed;
  const isFlawless = job.counts.failed === 0 && badLines.count === 0 && (results?.damaged ?? 0) === 0;
  return isFlawless ? EXIT.done : EXIT.someItemsFailed;
}

/** For `--json`. */
export function reportJson(report: RunReport) {
  const { job, counts } = { job: report.job, counts: report.job.counts };
  return {
    job_id: job.jobId,
    scraper_id: job.scraperId,
    scraper_version: job.scraperVersion,
    scraper_versions: job.manifest?.scraperVersions ?? null,
    status: job.status,
    interrupted: report.isInterrupted,
    exit_code: exitCodeOf(report),
    summary: summaryOf(counts),
    finished_in_this_run: finishedOf(counts) - report.finishedBefore,
    elapsed_seconds: Math.round(report.elapsedMs) / 1000,
    reason: job.reason && { code: job.reason.code, message: job.reason.message, evidence: groups(job.reason.evidence) },
    failures: groups(report.failures),
    bad_lines: { count: report.badLines.count, first: report.badLines.first },
    repeated_lines: report.repeated,
    data_dir: report.dataDir,
    results: report.results && {
      path: report.results.path,
      rows: report.results.rows,
      without_data: report.results.damaged,
    },
  };
}

function summaryOf({ total, queued, inProgress, success, failed, skipped, cancelled }: Counts) {
  const pending = total - queued - inProgress - success - failed - skipped - cancelled;
  return { pending, queued, in_progress: inProgress, success, failed, skipped, cancelled, total };
}

function groups(failures: readonly FailureGroup[]) {
  return failures.map(({ type, pattern, count, examples }) => ({
    type,
    pattern,
    count,
    examples: examples.map(({ itemId, message }) => ({ item_id: itemId, message })),
  }));
}
