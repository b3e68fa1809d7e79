import type { Command } from 'commander';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { FailuresAnswer } from '../../contract/failure-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { type Column, tableText } from '../client/table.ts';
import { formatCount, formatItems } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { command } from './job-text.ts';
import { layoutNote } from './layout-note.ts';
import { savePages } from './save-pages.ts';

export function addFailuresCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('failures')
      .description('show the failures of a job, grouped by cause')
      .argument('<job>', 'job id')
      .option('--limit <n>', 'maximum number of groups (default: 50)', wholeNumber)
      .option('--save <folder>', 'download the pages of the examples into this folder'),
  )
    .addHelpText(
      'after',
      `
Failures form a group if they have the same type, the same message and address apart from ids and numbers, and the
same page layout. The pages of the first items of each group are kept (results.keep_failures).

Examples:
  $ trawl jobs failures parcels-2026
  $ trawl jobs failures parcels-2026 --save pages
  $ trawl jobs retry parcels-2026 --group 3f9a1c0b7d2e
  $ trawl jobs failures parcels-2026 --json`,
    )
    .action(failures);
}

interface FailuresOptions extends ClientOptions {
  readonly limit?: number;
  readonly save?: string;
}

async function failures(jobId: string, options: FailuresOptions): Promise<void> {
  const { limit, save } = options;
  await showAnswer(
    options,
    async (client) => {
      const answer = await client.api.get<FailuresAnswer>(`${jobPath(jobId)}/failures`, { limit });
      if (save !== undefined) await savePages(client, answer, save);
      return answer;
    },
    failuresText,
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'COUNT', isNumber: true },
  { name: 'GROUP' },
  { name: 'TYPE', style: () => 'red' },
  { name: 'RETRY' },
  { name: 'FIRST' },
  { name: 'LAST' },
  { name: 'PATTERN', isFlexible: true },
  { name: 'EXAMPLES', isFlexible: true, max: 80 },
];

function failuresText({ job_id, failed, groups }: FailuresAnswer): string {
  if (failed === 0) return 'No items failed.\n';
  const rows = groups.map((group) => [
    ...[formatCount(group.count), group.id, group.type, group.retryable ? 'may help' : 'no use'],
    ...[shortTime(group.first_at), shortTime(group.last_at)],
    `${group.pattern}${layoutNote(group, groups)}`,
    group.examples.map(({ item_id }) => item_id).join(' '),
  ]);
  const shown = groups.reduce((sum, { count }) => sum + count, 0);
  const rest =
    failed - shown > 0 ? `${formatItems(failed - shown)} failed in other ways: use --limit to see more groups.\n` : '';
  return `${formatItems(failed)} failed.\n\n${tableText(COLUMNS, rows)}${rest}${pagesText(job_id, groups)}`;
}

function shortTime(time: string | null): string {
  return time === null ? '-' : time.slice(0, 19).replace('T', ' ');
}

/** How to view a page that was kept, and what to do with it. */
function pagesText(jobId: string, groups: FailuresAnswer['groups']): string {
  const example = groups.flatMap(({ examples }) => examples).find(({ page }) => page !== null);
  if (example === undefined) return '';
  const see = command(['jobs', 'download', jobId, example.item_id, '--artifact', 'html', '--out', 'page.html']);
  return `\nPages of the first items of each group are kept. To see one, or to download them all:\n  ${see}\n  ${command(['jobs', 'failures', jobId, '--save', 'pages'])}\n`;
}
