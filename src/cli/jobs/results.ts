import type { Command } from 'commander';
import type { ResultPartAnswer, ResultsAnswer } from '../../contract/answers.ts';
import { jobPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { type Column, statusStyle, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
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
      .description('the index of the results of a job, in parts of a thousand items')
      .argument('<job>', 'the id of the job')
      .option('--filter <filter>', 'all, success or errors (all)')
      .option('--part <n>', 'the items of one part, from 0', partNumber),
  )
    .addHelpText(
      'after',
      `
It also answers while the job goes on, with what is final so far. The data themselves come by trawl jobs export.

Examples:
  $ trawl jobs results parcels-2026
  $ trawl jobs results parcels-2026 --filter errors --part 0 --json`,
    )
    .action(results);
}

async function results(jobId: string, options: ResultsOptions): Promise<void> {
  const { filter, part } = options;
  const path = `${jobPath(jobId)}/results`;
  await talkToApi(options, async ({ api, out }) => {
    if (part === undefined) {
      const answer = await api.get<ResultsAnswer>(path, { filter });
      if (options.json) await out.json(answer);
      else await out.write(resultsText(answer));
    } else {
      const answer = await api.get<ResultPartAnswer>(path, { filter, part });
      if (options.json) await out.json(answer);
      else await out.write(tableText(ITEM_COLUMNS, answer.items.map(itemRow)));
    }
    return EXIT.done;
  });
}

const PART_COLUMNS: readonly Column[] = [
  { name: 'PART', isNumber: true },
  { name: 'ITEMS', isNumber: true },
  { name: 'SHA-256', isFlexible: true },
  { name: 'PATH', isFlexible: true },
];

const STANDS: Readonly<Record<ResultsAnswer['status'], string>> = {
  pending: 'the job has not begun',
  in_progress: 'the job goes on',
  paused: 'the job is paused',
  failed: 'the job failed, and can be resumed',
  completed: 'the job is over, and its index is being made',
  cancelled: 'the job was cancelled, and its index is being made',
};

export function resultsText({ job_id, status, final, filter, summary, parts }: ResultsAnswer): string {
  const state = final ? 'final' : `what is final so far: ${STANDS[status] ?? 'the job is not over'}`;
  const rows = parts.map(({ part, items, sha256, href }) => {
    return [String(part), items === null ? '' : formatCount(items), sha256 ?? '', href];
  });
  const counts = `${formatCount(summary.success)} ok, ${formatCount(summary.failed)} failed of ${formatItems(summary.total)}`;
  return [
    `Results of ${printable(job_id)} (${printable(filter)}): ${counts}, ${state}.`,
    '',
    parts.length === 0 ? 'There are no parts yet.' : tableText(PART_COLUMNS, rows).trimEnd(),
    '',
    'The data of all:',
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
