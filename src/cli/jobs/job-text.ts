import { parseArgs } from 'node:util';
import type { AnyJobAnswer, BulkInputAnswer } from '../../contract/bulk-answers.ts';
import type { FailureGroupAnswer } from '../../contract/failure-answers.ts';
import type { SummaryAnswer } from '../../contract/job-answers.ts';
import type { Counts } from '../../domain/counts.ts';
import { coloured, statusStyle } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import {
  formatBytes,
  formatCommand,
  formatCost,
  formatCount,
  formatDuration,
  formatItems,
  formatPercent,
  formatRate,
  formatSpan,
  printable,
} from '../format.ts';
import { adviceLines, groupsOf, isForTheAuthor, isWorthRetrying } from './failure-advice.ts';
import { layoutNote } from './layout-note.ts';
import { stepsLines } from './steps-text.ts';

/** The exit code for the outcome of a job: `bad` lines of its list, and rows `withoutData`, count as failed items. */
export function exitCodeOfJob(
  { status, summary }: Pick<AnyJobAnswer, 'status' | 'summary'>,
  { bad = 0, withoutData = 0 }: { readonly bad?: number; readonly withoutData?: number } = {},
): number {
  if (status !== 'completed') return EXIT.failed;
  return summary.failed + bad + withoutData === 0 ? EXIT.done : EXIT.someItemsFailed;
}

export function countsOf({ in_progress, pending: _, ...counts }: SummaryAnswer): Counts {
  return { ...counts, inProgress: in_progress };
}

/** Everything about one job, for people; `hosts` are lines about what it did at each host. */
export function jobText(job: AnyJobAnswer, hosts: readonly string[] = []): string {
  const name = job.job_name === null ? '' : ` (${printable(job.job_name, 100)})`;
  const facts = Object.entries(factsOf(job)).filter(([, text]) => text !== null);
  return [
    `Job ${printable(job.job_id)}${name}: ${statusText(job)}${job.removing ? ', being deleted' : ''}`,
    ...facts.map(([label, text]) => `  ${label.padEnd(9)} ${text}`),
    ...failureLines(job),
    ...stepsLines(job.steps),
    ...hosts,
    ...(job.removing ? [] : [...adviceLines(job), ...stepLines(nextSteps(job))]),
  ].join('\n');
}

/** How the job ended, or why it stopped. */
export function jobEndText(job: AnyJobAnswer): string {
  const took = job.elapsed_seconds > 0 ? ` in ${formatDuration(job.elapsed_seconds * 1000)}` : '';
  return endText(job, { headline: endHeadline(job, took), places: [], steps: nextSteps(job) });
}

/** What a report of the end adds to the job itself. */
export interface EndView {
  readonly headline: string;
  /** Where to find the results. */
  readonly places: readonly string[];
  readonly steps: readonly Step[];
}

export function endText(job: AnyJobAnswer, { headline, places, steps }: EndView): string {
  const failures = [...failureLines(job), ...adviceLines(job), ...driftLines(job)];
  const found = foundText(job);
  const counts = [`  ${itemsText(job)}`, ...(found === null ? [] : [`  found: ${found}`])];
  return [headline, ...counts, ...failures, ...places, ...stepLines(steps)].join('\n');
}

export function endHeadline(job: AnyJobAnswer, took: string): string {
  const why = job.reason === null ? '' : `: ${printable(job.reason.message)}`;
  return `Job ${printable(job.job_id)} ${statusText(job)}${took}${why}`;
}

/** The outcome of a deletion. */
export function deletedText(jobId: string, isUnderWay: boolean): string {
  if (!isUnderWay) return `Job ${printable(jobId)} and its results are deleted.`;
  return `Job ${printable(jobId)} is being deleted. Its id can be reused once all results are gone.`;
}

/** `waiting for county.gov until 2026-03-01 14:05:00 UTC`. */
export function waitingForText({ host, until }: NonNullable<AnyJobAnswer['waiting_for']>): string {
  return `waiting for ${printable(host, 80)} until ${printable(until.slice(0, 19).replace('T', ' '))} UTC`;
}

function statusText({ status, held }: Pick<AnyJobAnswer, 'status' | 'held'>): string {
  const text = status === 'pending' && held ? 'held' : status;
  const style = statusStyle(text);
  const words = text === 'held' ? 'held' : printable(text.replaceAll('_', ' '));
  return style === null ? words : coloured(style, words);
}

/**
 * The versions that ran, if known; a worker may have loaded a newer file than the controller did when the job was
 * created.
 */
function versionsText({ scraper_version, results }: AnyJobAnswer): string {
  const ran = results.scraper_versions ?? [];
  return (ran.length === 0 ? [scraper_version] : ran).map((version) => printable(version)).join(', ');
}

function controlsText({ controls }: AnyJobAnswer): string | null {
  if (controls === null) return null;
  const { tried, good, last, next_after_items: next, reopens } = controls;
  const result = last === null ? '' : `, last ${last.result} at ${printable(last.at)}`;
  const rest = reopens
    ? 'items not found since the last good one are reopened on resume'
    : `next within ${formatItems(next)}`;
  return `${formatCount(tried)} tried, ${formatCount(good)} good${result}; ${rest}`;
}

function workersText({ workers }: AnyJobAnswer): string {
  if ('limit' in workers) return `${formatCount(workers.in_flight)} in flight, limit ${formatCount(workers.limit)}`;
  return `${formatCount(workers.completed)} of ${formatCount(workers.total)} batches completed`;
}

function urlsText({ total_urls, to_scrape, assets, unknown, sites }: BulkInputAnswer): string {
  const parts = [
    `${formatItems(to_scrape, 'page')} of ${formatItems(sites.length, 'site')}`,
    `${formatItems(assets, 'asset')}`,
  ];
  return `${formatCount(total_urls)}: ${parts.join(', ')}, ${formatCount(unknown)} unknown`;
}

function factsOf(job: AnyJobAnswer): Record<string, string | null> {
  const { reason, labels, input, breaker, replaced_by, recovering, results, fenced, warnings } = job;
  const pairs = Object.entries(labels).map(([key, value]) => `${printable(key, 100)}=${printable(value, 100)}`);
  return {
    scraper: `${printable(job.scraper_id)} ${versionsText(job)}`,
    urls: 'total_urls' in input ? urlsText(input) : null,
    extracts: 'extracts' in input && input.extracts !== null ? printable(input.extracts) : null,
    items: itemsText(job),
    found: foundText(job),
    rate: rateText(job),
    traffic: trafficText(job),
    workers: workersText(job),
    breaker: `${printable(breaker.state)}, ${formatCount(breaker.failed)} of ${formatCount(breaker.finished)} failed, ${formatCount(breaker.consecutive_failures)} in a row${breaker.probe_at === null ? '' : `, probes at ${printable(breaker.probe_at)}`}`,
    controls: controlsText(job),
    budget: budgetText(job),
    reason: reason === null ? null : printable(reason.message),
    waiting: job.waiting_for ? `${waitingForText(job.waiting_for)} (${printable(job.waiting_for.reason)})` : null,
    warning: warnings.length === 0 ? null : warnings.map(({ message }) => printable(message, 1000)).join('; '),
    created: timesText(job),
    labels: pairs.length === 0 ? null : pairs.join(' '),
    results: results.ready ? formatItems(results.parts ?? 0, 'part') : null,
    fenced: fenced === 0 ? null : `${formatCount(fenced)} late writes refused`,
    replaced:
      replaced_by === null
        ? null
        : `by the data of ${printable(replaced_by)}${recovering ? '; failed items are being recovered' : ''}`,
  };
}

/** `8,797 requests, cost 4.2 left`; null without a budget. */
function budgetText({ budget }: Pick<AnyJobAnswer, 'budget'>): string | null {
  const { requests_left, bytes_left, proxy_bytes_left, cost_left } = budget;
  const left = [
    requests_left === null ? [] : formatItems(requests_left, 'request'),
    bytes_left === null ? [] : formatBytes(bytes_left),
    proxy_bytes_left === null ? [] : `${formatBytes(proxy_bytes_left)} through proxies`,
    cost_left === null ? [] : `cost ${formatCost(cost_left)}`,
  ].flat();
  return left.length === 0 ? null : `${left.join(', ')} left`;
}

/** `1,200 of 2,000 (60 %): 1,190 ok, 10 failed` */
export function itemsText({ summary, progress }: Pick<AnyJobAnswer, 'summary' | 'progress'>): string {
  const { success, failed, skipped, cancelled, queued, in_progress, pending, total } = summary;
  const others = { skipped, cancelled, 'in flight': queued + in_progress, pending };
  const kinds = [
    `${formatCount(success)} ok`,
    `${formatCount(failed)} failed`,
    ...Object.entries(others).flatMap(([name, count]) => (count > 0 ? `${formatCount(count)} ${name}` : [])),
  ];
  const done = `${formatCount(progress.completed)} of ${formatCount(total)} (${formatPercent(progress.completed, total)})`;
  return `${done}: ${kinds.join(', ')}`;
}

/** `1,000 items added; not added: 4,000 duplicates, 30 too deep`; null for a job whose scraper found nothing. */
function foundText({ discovery }: AnyJobAnswer): string | null {
  // Not in the answers of an older server.
  if (!discovery) return null;
  const { added, duplicates, conflicts, too_deep, over_limit, invalid } = discovery;
  const others = {
    duplicates,
    'with a known id and another input': conflicts,
    'beyond discovery.max_depth': too_deep,
    'beyond discovery.max_items': over_limit,
    invalid,
  };
  const left = Object.entries(others).flatMap(([name, count]) => (count > 0 ? `${formatCount(count)} ${name}` : []));
  return `${formatItems(added)} added${left.length === 0 ? '' : `; not added: ${left.join(', ')}`}`;
}

function rateText({ items_per_second, forecast, elapsed_seconds, finished_at }: AnyJobAnswer): string {
  // Not in the answers of an older server.
  const { eta_low_seconds: low = null, eta_high_seconds: high = null } = forecast ?? {};
  return [
    ...(items_per_second === null ? [] : [formatRate(items_per_second)]),
    ...(low === null || high === null ? [] : [`ETA ${formatSpan(low * 1000, high * 1000)}`]),
    `${formatDuration(elapsed_seconds * 1000)} ${finished_at === null ? 'so far' : 'in total'}`,
  ].join(', ');
}

/** `1,200 requests, 34 MiB, cost 1.2; expected in all 2,000, 57 MiB, cost 2`; null for a job that used nothing. */
function trafficText({ usage, forecast, finished_at }: AnyJobAnswer): string | null {
  // Not in the answers of an older server.
  if (usage === undefined || usage.requests === 0) return null;
  const amounts = (requests: string, bytes: number, cost: number | null) =>
    [requests, formatBytes(bytes), ...(cost === null || cost === 0 ? [] : [`cost ${formatCost(cost)}`])].join(', ');
  const soFar = amounts(formatItems(usage.requests, 'request'), usage.bytes_up + usage.bytes_down, usage.cost);
  const { requests_expected: requests, bytes_expected: bytes, cost_expected: cost } = forecast;
  if (finished_at !== null || requests === null || bytes === null) return soFar;
  return `${soFar}; expected in all ${amounts(formatCount(requests), bytes, cost)}`;
}

function timesText({ created_at, started_at, finished_at }: AnyJobAnswer): string {
  const started = started_at === null ? '' : `, started ${printable(started_at)}`;
  const finished = finished_at === null ? '' : `, finished ${printable(finished_at)}`;
  return `${printable(created_at)}${started}${finished}`;
}

/** What to do next, and the command for it. */
export interface Step {
  readonly what: string;
  readonly command: string;
}

function nextSteps(job: AnyJobAnswer): readonly Step[] {
  const { job_id, status, held, reason } = job;
  const steps: [string, readonly string[]][] = [];
  if (held) steps.push(['Start it', ['jobs', 'start', job_id]]);
  if (status === 'failed' || status === 'paused') {
    steps.push([
      reason?.code === 'user' ? 'Resume it' : 'Resume it once the cause is fixed',
      ['jobs', 'resume', job_id],
    ]);
  }
  if (isWorthRetrying(job) && status !== 'cancelled') steps.push(['Retry the failed items', ['jobs', 'retry', job_id]]);
  if (isForTheAuthor(job) && status === 'completed') steps.push(['Once the scraper is repaired', ['extract', job_id]]);
  if (status === 'completed') steps.push(['Get the results', ['jobs', 'export', job_id, '--out', 'results.jsonl']]);
  return steps.map(([what, words]) => ({ what, command: command(words) }));
}

function stepLines(steps: readonly Step[]): string[] {
  return steps.flatMap((step) => ['', `${step.what}:`, `  ${step.command}`]);
}

/** A job without failures is worth a look, too, if its recording is about to fail. */
function driftLines({ warnings }: AnyJobAnswer): string[] {
  const drifts = (warnings ?? []).filter(({ code }) => code === 'selector_drift');
  return drifts.length === 0 ? [] : ['', 'Warnings:', ...drifts.map(({ message }) => `  ${printable(message, 1000)}`)];
}

const MAX_GROUPS = 10;

function failureLines(job: AnyJobAnswer): string[] {
  return groupLines(groupsOf(job));
}

export function groupLines(groups: readonly FailureGroupAnswer[]): string[] {
  if (groups.length === 0) return [];
  const rest = groups.slice(MAX_GROUPS).reduce((sum, { count }) => sum + count, 0);
  return [
    '',
    'Failures:',
    ...groups.slice(0, MAX_GROUPS).map((group) => failureLine(group, groups)),
    ...(rest > 0 ? [`  ${formatCount(rest).padStart(7)}  of other kinds`] : []),
  ];
}

function failureLine(group: FailureGroupAnswer, groups: readonly FailureGroupAnswer[]): string {
  const { type, pattern, count, examples } = group;
  const [example] = examples;
  const said = example
    ? `${printable(example.message, 200)}, for example item ${printable(example.item_id, 60)}`
    : printable(pattern, 120);
  return `  ${formatCount(count).padStart(7)}  ${printable(type, 40)}: ${said}${layoutNote(group, groups)}`;
}

/** A command to type, for the same server if one was given. */
export function command(words: readonly string[], typed: readonly string[] = process.argv.slice(2)): string {
  const { url } = parseArgs({ args: [...typed], options: { url: { type: 'string' } }, strict: false }).values;
  return commandLine(typeof url === 'string' ? [...words, '--url', url] : words);
}

export function commandLine(words: readonly string[]): string {
  return formatCommand(['trawl', ...words.map((word) => printable(word, 1000))]);
}

/** The command as it was typed, with the generated job id and `more`. */
export function again(jobId: string, ...more: readonly string[]): string {
  const words = process.argv.slice(2);
  const hasId = words.some((word) => word === '--job-id' || word.startsWith('--job-id='));
  return commandLine([...words, ...(hasId ? [] : ['--job-id', jobId]), ...more]);
}
