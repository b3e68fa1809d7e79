import { join } from 'node:path';
import { finishedOf } from '../domain/counts.ts';
import type { FailureGroup } from '../domain/failure-group.ts';
import { formatCommand, formatCount, formatDuration, formatItems, formatRate, printable } from './format.ts';
import type { RunReport } from './run-report.ts';

/** The end of `trawl run` for people: what was done, what went wrong, where it lies, and what to type next. */
export function runSummary(report: RunReport): string {
  return [
    headline(report),
    ...countLines(report),
    ...failureLines(report),
    ...badLines(report),
    ...places(report),
    ...nextSteps(report),
  ].join('\n');
}

function headline(report: RunReport): string {
  const { job, isInterrupted, finishedBefore, elapsedMs } = report;
  const { counts } = job;
  const here = finishedOf(counts) - finishedBefore;
  const pace = here > 0 ? ` in ${formatDuration(elapsedMs)} (${formatRate(here / (elapsedMs / 1000))})` : '';
  const done = `${formatItems(here)}${pace}`;
  if (isInterrupted) return `Interrupted, and nothing is lost: ${done}, ${formatItems(left(report))} to go.`;
  switch (job.status) {
    case 'completed':
      if (here > 0) return `Done: ${done}.`;
      return `Done already: ${formatItems(counts.total)}, nothing was left to do.`;
    case 'failed':
    case 'paused':
      return `Stopped: ${printable(job.reason?.message ?? `the job is ${job.status}`)}. ${formatItems(left(report))} to go.`;
    default:
      return `The job is ${job.status}: ${done}.`;
  }
}

function left({ job: { counts } }: RunReport): number {
  return counts.total - finishedOf(counts);
}

function countLines({ job: { counts }, repeated }: RunReport): string[] {
  const { success, failed, skipped, cancelled } = counts;
  const kinds = Object.entries({ ok: success, failed, skipped, cancelled }).filter(
    ([name, count]) => count > 0 || name === 'ok' || name === 'failed',
  );
  const lines = [
    `  ${kinds.map(([name, count]) => `${formatCount(count)} ${name}`).join(', ')} of ${formatCount(counts.total)}`,
  ];
  if (repeated > 0) lines.push(`  ${formatItems(repeated, 'line')} of the list had an id that stands earlier in it`);
  return lines;
}

const MAX_GROUPS = 10;

function failureLines({ job, failures }: RunReport): string[] {
  return failureGroupLines(failures.length > 0 ? failures : (job.reason?.evidence ?? []));
}

export function failureGroupLines(groups: readonly FailureGroup[]): string[] {
  if (groups.length === 0) return [];
  const shown = groups.slice(0, MAX_GROUPS);
  const rest = groups.slice(MAX_GROUPS).reduce((sum, { count }) => sum + count, 0);
  return [
    '',
    'Failures:',
    ...shown.map(failureLine),
    ...(rest > 0 ? [`  ${formatCount(rest).padStart(7)}  of other kinds`] : []),
  ];
}

function failureLine({ type, pattern, count, examples: [example] }: FailureGroup): string {
  const said = example
    ? `${printable(example.message, 200)}, for example item ${printable(example.itemId, 60)}`
    : printable(pattern, 120);
  return `  ${formatCount(count).padStart(7)}  ${printable(type, 40)}: ${said}`;
}

export function badLines({ badLines: { count, first } }: Pick<RunReport, 'badLines'>): string[] {
  if (count === 0) return [];
  const shown = first.map(({ line, problem }) => `  line ${formatCount(line)}: ${printable(problem, 160)}`);
  const rest = count - first.length;
  return [
    '',
    `${formatItems(count, 'line')} could not be read, and ${count === 1 ? 'is' : 'are'} not part of the job:`,
    ...shown,
    ...(rest > 0 ? [`  and ${formatCount(rest)} more`] : []),
  ];
}

function places({ job, dataDir, results }: RunReport): string[] {
  if (results === null) return [];
  const lines = [
    '',
    `Results: ${results.path} (${formatItems(results.rows, 'row')})`,
    `Files:   ${join(dataDir, 'results', job.jobId)}`,
  ];
  if (results.damaged > 0)
    lines.push(`  ${formatItems(results.damaged, 'row')} without data that was kept: see verify`);
  return lines;
}

function nextSteps(report: RunReport): string[] {
  const { job, isInterrupted, isPartlyRead, words, dataDir, results } = report;
  // What was to be tried again is open again: going on must not open what failed since.
  const again = words.filter((word) => word !== '--retry-failed');
  const steps: [string, readonly string[]][] = [];
  if (isInterrupted) steps.push([isPartlyRead ? 'Go on with reading and working' : 'Go on', again]);
  else if (job.status === 'failed' || job.status === 'paused') {
    steps.push(['Go on, once that is repaired', again]);
    if (job.counts.failed > 0) steps.push(['… and try the failed items again', [...again, '--retry-failed']]);
  } else {
    if (job.counts.failed > 0) steps.push(['Try the failed items again', [...again, '--retry-failed']]);
    if (results !== null) steps.push(['Check the results', ['verify', job.jobId, '--data-dir', dataDir]]);
  }
  return steps.flatMap(([what, command]) => ['', `${what}:`, `  ${formatCommand(['trawl', ...command])}`]);
}
