import type { Command } from 'commander';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { ResultPartAnswer, ResultsAnswer } from '../../contract/result-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { type Column, statusStyle, tableText } from '../client/table.ts';
import { formatCount, formatItems, printable } from '../format.ts';
import { command } from './job-text.ts';
import { partNumber } from './options.ts';

interface ResultsOptions extends ClientOptions {
  readonly filter?: string;
  readonly part?: number;
}

export function addResultsCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('results')
      .description('show the result index of a job, in parts of a thousand items')
      .argument('<job>', 'job id')
      .option('--filter <filter>', 'all, success or errors (default: all)')
      .option('--part <n>', 'list the items of one part, counted from 0', partNumber),
  )
    .addHelpText(
      'after',
      `
While the job runs, it shows what is final so far. To get the data themselves, use trawl jobs export.

Examples:
  $ trawl jobs results parcels-2026
  $ trawl jobs results parcels-2026 --filter errors --part 0 --json`,
    )
    .action(results);
}

async function results(jobId: string, options: ResultsOptions): Promise<void> {
  const { filter, part } = options;
  const path = `${jobPath(jobId)}/results`;
  if (part === undefined) {
    await showAnswer(options, ({ api }) => api.get<ResultsAnswer>(path, { filter }), resultsText);
    return;
  }
  await showAnswer(
    options,
    ({ api }) => api.get<ResultPartAnswer>(path, { filter, part }),
    ({ items }) => tableText(ITEM_COLUMNS, items.map(itemRow)),
  );
}

const PART_COLUMNS: readonly Column[] = [
  { name: 'PART', isNumber: true },
  { name: 'ITEMS', isNumber: true },
  { name: 'SHA-256', isFlexible: true },
  { name: 'PATH', isFlexible: true },
];

const STATES: Readonly<Record<ResultsAnswer['status'], string>> = {
  pending: 'the job has not started',
  in_progress: 'the job is running',
  paused: 'the job is paused',
  failed: 'the job failed and can be resumed',
  completed: 'the job is over and its index is being written',
  cancelled: 'the job was cancelled and its index is being written',
};

export function resultsText({ job_id, status, final, filter, summary, parts }: ResultsAnswer): string {
  const state = final ? 'final' : `what is final so far: ${STATES[status] ?? 'the job is not over'}`;
  const rows = parts.map(({ part, items, sha256, href }) => {
    return [String(part), items === null ? '' : formatCount(items), sha256 ?? '', href];
  });
  const counts = `${formatCount(summary.success)} ok, ${formatCount(summary.failed)} failed of ${formatItems(summary.total)}`;
  return [
    `Results of ${printable(job_id)} (${printable(filter)}): ${counts}, ${state}.`,
    '',
    parts.length === 0 ? 'There are no parts yet.' : tableText(PART_COLUMNS, rows).trimEnd(),
    '',
    'To get the data:',
    `  ${command(['jobs', 'export', job_id, '--out', 'results.jsonl'])}`,
    '',
  ].join('\n');
}

const ITEM_COLUMNS: readonly Column[] = [
  { name: 'ITEM', max: 60 },
  { name: 'STATUS', style: statusStyle },
  { name: 'ERROR', isFlexible: true },
];

function itemRow({ item_id, status, error }: ResultPartAnswer['items'][number]): string[] {
  const type = typeof error === 'object' && error !== null && 'type' in error ? String(error.type) : '';
  return [item_id, status, type];
}
