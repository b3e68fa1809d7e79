import { join } from 'node:path';
import type { AddedAnswer } from '../contract/item-answers.ts';
import type { JobAnswer } from '../contract/job-answers.ts';
import { EXIT } from './exit-codes.ts';
import { formatDuration, formatItems, formatRate } from './format.ts';
import { withoutDataText } from './jobs/export.ts';
import { isWorthRetrying } from './jobs/failure-advice.ts';
import { commandLine, endHeadline, endText, exitCodeOfJob, type Step } from './jobs/job-text.ts';

/** How a run ended: text, JSON and exit code are made from it. */
export interface RunReport {
  readonly job: JobAnswer;
  readonly dataDir: string;
  /** The user stopped it. */
  readonly isInterrupted: boolean;
  /** Reading the items was interrupted: the same command continues it. */
  readonly isPartlyRead: boolean;
  readonly finishedBefore: number;
  readonly elapsedMs: number;
  /** What became of the list; null if there was none, or it was not read to its end. */
  readonly added: AddedAnswer | null;
  readonly results: ResultsFile | null;
  /** As typed, without `trawl`. */
  readonly words: readonly string[];
}

export interface ResultsFile {
  readonly path: string;
  readonly rows: number;
  /** Rows whose data could not be read back. */
  readonly withoutData: number;
}

export function exitCodeOfRun({ job, isInterrupted, added, results }: RunReport): number {
  if (isInterrupted) return EXIT.interrupted;
  return exitCodeOfJob(job, { bad: added?.bad ?? 0, withoutData: results?.withoutData ?? 0 });
}

/** For `--json`: the job as the API shows it, and what this run did. */
export function runJson(report: RunReport) {
  const { job, added, results } = report;
  return {
    ...job,
    items: added,
    run: {
      exit_code: exitCodeOfRun(report),
      interrupted: report.isInterrupted,
      finished: finishedIn(report),
      elapsed_seconds: Math.round(report.elapsedMs) / 1000,
      data_dir: report.dataDir,
      results: results && { path: results.path, rows: results.rows, without_data: results.withoutData },
    },
  };
}

export function runText(report: RunReport): string {
  return endText(report.job, { headline: headline(report), places: places(report), steps: nextSteps(report) });
}

function finishedIn({ job, finishedBefore }: RunReport): number {
  return job.progress.completed - finishedBefore;
}

function headline(report: RunReport): string {
  const { job, isInterrupted, elapsedMs } = report;
  const here = finishedIn(report);
  const pace = here > 0 ? ` in ${formatDuration(elapsedMs)} (${formatRate(here / (elapsedMs / 1000))})` : '';
  if (isInterrupted) {
    const left = job.summary.total - job.progress.completed;
    return `Interrupted, and nothing is lost: ${formatItems(here)}${pace}, ${formatItems(left)} to go.`;
  }
  if (job.status === 'completed' && here === 0) return 'Done already: nothing was left to do.';
  const isResumed = report.finishedBefore > 0 && here > 0;
  return endHeadline(job, isResumed ? `, ${formatItems(here, 'more item')}${pace}` : pace);
}

function places({ job, dataDir, results }: RunReport): string[] {
  if (results === null) return [];
  return [
    '',
    `Results: ${results.path} (${formatItems(results.rows, 'row')})`,
    `Files:   ${join(dataDir, 'results', job.job_id)}`,
    ...(results.withoutData > 0 ? [`  ${withoutDataText(results.withoutData)}`] : []),
  ];
}

function nextSteps({ job, isInterrupted, isPartlyRead, words, dataDir, results }: RunReport): readonly Step[] {
  // The failed items are open again: what has failed since stays failed unless the user asks for it.
  const again = words.filter((word) => word !== '--retry-failed');
  const goOn = { what: isPartlyRead ? 'Continue to read items and to work' : 'Continue', command: commandLine(again) };
  if (isInterrupted) return [goOn];
  const retry = { what: 'Retry the failed items', command: commandLine([...again, '--retry-failed']) };
  const verify = { what: 'Check the results', command: commandLine(['verify', job.job_id, '--data-dir', dataDir]) };
  const isStopped = job.status !== 'completed';
  return [
    ...(isStopped ? [{ ...goOn, what: 'Continue once the cause is fixed' }] : []),
    ...(isWorthRetrying(job) ? [retry] : []),
    ...(!isStopped && results !== null ? [verify] : []),
  ];
}
