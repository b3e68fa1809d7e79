import type { PlanAnswer, PlanInputsAnswer } from '../../contract/plan-answers.ts';
import { ignoredColumnsText } from '../client/columns.ts';
import { tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { formatBytes, formatCost, formatCount, formatDuration, formatItems, formatRate, printable } from '../format.ts';
import { groupLines } from './job-text.ts';
import type { Planned } from './plan-list.ts';

/** As for a job: 1 for bad lines or failed items, 3 for a sample without a result. */
export function exitCodeOfPlan({ inputs, plan }: Planned): number {
  if (inputs.items === 0 || (plan !== null && (plan.forecast === null || plan.sample.stopped !== null))) {
    return EXIT.failed;
  }
  const isFaulty = inputs.bad + inputs.conflicts + (plan?.sample.failed ?? 0) > 0;
  return isFaulty ? EXIT.someItemsFailed : EXIT.done;
}

export interface PlanView {
  /** Name of the list. */
  readonly name: string;
  /** The command that starts the job. */
  readonly start: string;
  /** Where the results of the sample are; null if they were deleted. */
  readonly kept: string | null;
}

export function planText({ inputs, plan }: Planned, { name, start, kept }: PlanView): string {
  const next =
    inputs.items === 0
      ? ['', 'No item can be used: correct the list.']
      : ['', `${plan === null ? '' : 'The job runs the items of the sample again. '}To start it:`, `  ${start}`];
  const place = kept === null ? [] : ['', `The results of the sample are kept: ${kept}`];
  return `${[...inputLines(inputs, name), ...(plan === null ? [] : planLines(plan)), ...place, ...next].join('\n')}\n`;
}

function inputLines(inputs: PlanInputsAnswer, name: string): string[] {
  const { items, bad, bad_lines, duplicates, conflicts, conflicting, ignored_columns, incomplete } = inputs;
  const same = duplicates - conflicts;
  return [
    `${printable(name)}: ${formatItems(items)}`,
    ...ignoredColumnsText(ignored_columns.map((column) => printable(column))).map((line) => `  ${line}`),
    ...(same > 0 ? [`  ${formatItems(same, 'duplicate')}, which a job leaves out`] : []),
    ...(conflicts > 0
      ? [
          `  ${formatItems(conflicts, 'line')} with the id of an earlier line and a different input; a job keeps the first:`,
          ...conflicting.map(
            ({ item_id, line, first_line }) =>
              `    line ${formatCount(line)}: ${printable(item_id, 60)}, first in line ${formatCount(first_line)}`,
          ),
          ...more(conflicts, conflicting.length),
        ]
      : []),
    ...(bad > 0
      ? [
          `  ${formatItems(bad, 'line')} that cannot be used, and would not be part of the job:`,
          ...bad_lines.map(({ line, problem }) => `    line ${formatCount(line)}: ${printable(problem, 160)}`),
          ...more(bad, bad_lines.length),
        ]
      : []),
    ...(incomplete ? ['  The list is truncated or damaged: part of it was not read.'] : []),
  ];
}

function more(all: number, shown: number): string[] {
  return all > shown ? [`    and ${formatCount(all - shown)} more`] : [];
}

function planLines({ sample, forecast, failures, inputs }: PlanAnswer): string[] {
  const counts = [`${formatCount(sample.success)} ok`, `${formatCount(sample.failed)} failed`];
  if (sample.skipped > 0) counts.push(`${formatCount(sample.skipped)} skipped`);
  const isPart = sample.finished < sample.items ? ` of ${formatCount(sample.items)}` : '';
  return [
    '',
    `Sample: ${formatItems(sample.finished)}${isPart}: ${counts.join(', ')}`,
    ...(sample.stopped === null ? [] : [`  It was stopped: ${printable(sample.stopped)}`]),
    ...groupLines(failures),
    ...(forecast === null ? ['', 'No item of the sample ended, so nothing can be predicted.'] : []),
    ...(forecast === null ? [] : forecastLines(forecast, inputs.items)),
  ];
}

type Forecast = NonNullable<PlanAnswer['forecast']>;

function forecastLines(forecast: Forecast, items: number): string[] {
  const { duration_seconds, items_per_second, failure_rate, requests, bytes, cost } = forecast;
  const rows = [
    row('duration', duration_seconds, (seconds) => formatDuration(seconds * 1000)),
    row('rate', items_per_second, formatRate),
    row('requests', requests, formatCount),
    row('traffic', bytes, formatBytes),
    row('cost', cost?.high === 0 ? null : cost, formatCost),
    row('failures', failure_rate, percent),
  ].filter((cells) => cells !== null);
  const columns = [{ name: '' }, { name: 'expected', isNumber: true }, { name: '9 of 10 jobs', isNumber: true }];
  const table = tableText(columns, rows).trimEnd().split('\n');
  return [
    '',
    `Expected for ${formatItems(items)}, if the site behaves as it did during the sample:`,
    ...table.map((line) => `  ${line}`),
  ];
}

function row(name: string, estimate: Forecast['requests'], format: (value: number) => string): string[] | null {
  if (estimate === null) return null;
  return [name, format(estimate.expected), rangeText(format(estimate.low), format(estimate.high))];
}

/** `10 min – 12 min`; a single figure if both look the same. */
function rangeText(low: string, high: string): string {
  return low === high ? low : `${low} – ${high}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`;
}

/** The words of a command without the planning options. */
export function withoutPlanning(words: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--sample') at += 1;
    else if (!(PLANNING.has(word) || word.startsWith('--sample='))) kept.push(word);
  }
  return kept;
}

const PLANNING: ReadonlySet<string> = new Set(['--plan', '--keep', '--json']);
