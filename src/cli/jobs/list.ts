import type { Command } from 'commander';
import type { JobPageAnswer, JobSummaryAnswer } from '../../contract/job-answers.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { type ListOptions, showList, withListOptions } from '../client/show-list.ts';
import { type Column, statusStyle } from '../client/table.ts';
import { formatCount } from '../format.ts';

interface JobsListOptions extends ClientOptions, ListOptions {
  readonly status?: string;
}

export function addListCommand(jobs: Command): void {
  withListOptions(
    withClientOptions(
      jobs
        .command('list')
        .description('list jobs, newest first')
        .option('--status <status>', 'only jobs that are pending, in_progress, paused, completed, failed or cancelled'),
    ),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ trawl jobs list
  $ trawl jobs list --status failed --all --json`,
    )
    .action(list);
}

async function list(options: JobsListOptions): Promise<void> {
  await talkToApi(options, (client) =>
    showList<JobPageAnswer, JobSummaryAnswer>(client, options, {
      path: '/jobs',
      query: { status: options.status },
      entries: ({ jobs }) => jobs,
      pageSize: 100,
      columns: COLUMNS,
      row: rowOf,
      nothing: 'No matching jobs.',
    }),
  );
}

const COLUMNS: readonly Column[] = [
  // Never shortened: it is what the user types next.
  { name: 'JOB', max: 60 },
  { name: 'STATUS', style: statusStyle },
  { name: 'SCRAPER', isFlexible: true, max: 40 },
  { name: 'DONE', isNumber: true },
  { name: 'ITEMS', isNumber: true },
  { name: 'OK', isNumber: true },
  { name: 'FAILED', isNumber: true, style: (cell) => (cell === '0' ? null : 'red') },
  { name: 'CREATED' },
  { name: 'NAME', isFlexible: true, max: 60 },
];

function rowOf({ job_id, status, held, scraper_id, progress_pct, summary, created_at, job_name }: JobSummaryAnswer) {
  return [
    job_id,
    held && status === 'pending' ? 'held' : status,
    scraper_id,
    `${Math.floor(progress_pct)} %`,
    ...[summary.total, summary.success, summary.failed].map(formatCount),
    `${created_at.slice(0, 16).replace('T', ' ')}`,
    job_name ?? '',
  ];
}
