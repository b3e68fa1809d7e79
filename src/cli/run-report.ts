import { join } from 'node:path';
import type { ChangesAnswer, ComparisonAnswer } from '../contract/extraction-answers.ts';
import type { AddedAnswer } from '../contract/item-answers.ts';
import type { JobAnswer } from '../contract/job-answers.ts';
import { fieldsText } from './comparing.ts';
import { EXIT } from './exit-codes.ts';
import { formatCount, formatDuration, formatItems, formatRate, printable } from './format.ts';
import { withoutDataText } from './jobs/export.ts';
import { isForTheAuthor, isWorthRetrying } from './jobs/failure-advice.ts';
import { commandLine, endHeadline, endText, exitCodeOfJob, type Step } from './jobs/job-text.ts';
import { stepsLines } from './jobs/steps-text.ts';
import { differenceText } from './run-difference.ts';
import type { ListChoice } from './run-lists.ts';

/** How a run ended: the text, the JSON and the exit code are made from it. */
export interface RunReport {
  readonly job: JobAnswer;
  readonly dataDir: string;
  /** The user stopped it. */
  readonly isInterrupted: boolean;
  /** Reading the items was interrupted: the same command continues it. */
  readonly isPartlyRead: boolean;
  readonly finishedBefore: number;
  readonly elapsedMs: number;
  /** What became of the list; null if there was none, or it was not read completely. */
  readonly added: AddedAnswer | null;
  readonly results: ResultsFile | null;
  /** Which list and round the job is. */
  readonly choice: ListChoice;
  /** Set if the scraper is not the one that made the results, unless the user knows that. */
  readonly scraperChange: ScraperChange | null;
  readonly canExtract: boolean;
  /** What parsing the stored pages again changed; null if that was not requested. */
  readonly changes: ChangesAnswer | null;
  /** Differences from the previous round; null if they were not requested. */
  readonly difference: ComparisonAnswer | null;
  /** Whether a single item was given on the command line; these are its data. */
  readonly isByHand: boolean;
  readonly data: unknown;
  /** As typed, without `trawl`. */
  readonly words: readonly string[];
}

export interface ScraperChange {
  /** Versions that made the results. */
  readonly from: readonly string[];
  readonly to: string;
}

export interface ResultsFile {
  readonly path: string;
  /** Null if they were not counted: only JSONL lines are. */
  readonly rows: number | null;
  /** Rows whose data could not be read back. */
  readonly withoutData: number;
}

export function exitCodeOfRun({ job, isInterrupted, added, results }: RunReport): number {
  if (isInterrupted) return EXIT.interrupted;
  return exitCodeOfJob(job, { bad: added?.bad ?? 0, withoutData: results?.withoutData ?? 0 });
}

/** For `--json`: the job as the API shows it, and what this run did. */
export function runJson(report: RunReport) {
  const { job, added, results, choice, scraperChange, changes, difference } = report;
  return {
    ...job,
    items: added,
    ...(report.isByHand ? { data: report.data } : {}),
    ...(changes === null ? {} : { changes }),
    ...(difference === null ? {} : { difference }),
    run: {
      exit_code: exitCodeOfRun(report),
      interrupted: report.isInterrupted,
      finished: finishedIn(report),
      list: choice.list,
      round: choice.round,
      scraper_changed: scraperChange,
      elapsed_seconds: Math.round(report.elapsedMs) / 1000,
      data_dir: report.dataDir,
      results: results && { path: results.path, rows: results.rows, without_data: results.withoutData },
    },
  };
}

export function runText(report: RunReport): string {
  const { job, changes, difference } = report;
  const end = endText(job, { headline: headline(report), places: places(report), steps: nextSteps(report) });
  return [
    ...(changes === null ? [] : [changedText(changes)]),
    `${end}\n`,
    ...(difference === null ? [] : [differenceText(difference)]),
  ].join('\n');
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
  if (job.status === 'completed' && here === 0) {
    return report.changes === null ? 'Done already: nothing was left to do.' : `Job ${printable(job.job_id)} completed`;
  }
  const isResumed = report.finishedBefore > 0 && here > 0;
  return endHeadline(job, isResumed ? `, ${formatItems(here, 'more item')}${pace}` : pace);
}

function places({ job, dataDir, results }: RunReport): string[] {
  const steps = stepsLines(job.steps);
  if (results === null) return steps;
  return [
    ...steps,
    '',
    `Results: ${results.path}${results.rows === null ? '' : ` (${formatItems(results.rows, 'row')})`}`,
    `Files:   ${join(dataDir, 'results', job.job_id)}`,
    ...(results.withoutData > 0 ? [`  ${withoutDataText(results.withoutData)}`] : []),
  ];
}

/** Options that only concern this command, not the run as a whole. */
const ACTIONS: ReadonlySet<string> = new Set(['--failed', '--retry-failed', '--again', '--extract', '--diff']);

function nextSteps(report: RunReport): readonly Step[] {
  const { job, isInterrupted, isPartlyRead, words, dataDir, results, scraperChange } = report;
  // The requested action has begun: items that failed since then stay failed unless the user asks again.
  const isBegun = !isInterrupted || job.status !== 'completed';
  const again = isBegun ? words.filter((word) => !ACTIONS.has(word)) : words;
  const goOn = { what: isPartlyRead ? 'Continue to read items and to work' : 'Continue', command: commandLine(again) };
  if (isInterrupted) return [goOn];
  const withOption = (option: string) => commandLine([...again, option]);
  const retry = { what: 'Retry the failed items', command: withOption('--failed') };
  const verify = { what: 'Check the results', command: commandLine(['verify', job.job_id, '--data-dir', dataDir]) };
  const isStopped = job.status !== 'completed';
  const extract = { what: 'Once the scraper is repaired', command: withOption('--extract') };
  return [
    ...(isStopped ? [{ ...goOn, what: 'Continue once the cause is fixed' }] : []),
    ...(scraperChange === null ? [] : changeSteps(report, scraperChange, withOption)),
    ...(scraperChange === null && isWorthRetrying(job) ? [retry] : []),
    ...(scraperChange === null && isForTheAuthor(job) && report.canExtract && !isStopped ? [extract] : []),
    ...(!isStopped && results !== null ? [verify] : []),
  ];
}

/** Options for results that an earlier scraper made. */
function changeSteps(
  { job, choice, canExtract }: RunReport,
  { from, to }: ScraperChange,
  withOption: (option: string) => string,
): readonly Step[] {
  const isEdited = from.includes(to);
  const what = isEdited
    ? `Scraper ${printable(job.scraper_id)} was edited since job ${printable(choice.jobId)} was created`
    : `Scraper ${printable(job.scraper_id)} is now version ${printable(to)}; the results were made with ${from.map((version) => printable(version)).join(', ')}`;
  return [
    { what: `${what}.\nTo scrape the whole list again as another round`, command: withOption('--again') },
    ...(job.summary.failed > 0
      ? [{ what: `To retry only ${formatItems(job.summary.failed, 'failed item')}`, command: withOption('--failed') }]
      : []),
    ...(canExtract
      ? [{ what: 'To parse the stored pages again without contacting the site', command: withOption('--extract') }]
      : []),
  ];
}

/** The changes made by a re-extraction, whose data are in place by now. */
function changedText({ compared, changed, failed, recovered, fields }: ChangesAnswer): string {
  const won = recovered > 0 ? `, ${formatItems(recovered, 'failed item')} recovered` : '';
  const lost = failed > 0 ? `, ${formatItems(failed)} could not be parsed` : '';
  return `Stored pages parsed again: ${formatCount(changed)} of ${formatItems(compared)} changed${won}${lost}.\n${fieldsText(fields)}`;
}
