import type { Command } from 'commander';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { FailuresAnswer } from '../../contract/failure-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { type Column, tableText } from '../client/table.ts';
import { formatCount, formatItems } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { layoutNote } from './layout-note.ts';

export function addFailuresCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('failures')
      .description('show the failures of a job, grouped by cause')
      .argument('<job>', 'job id')
      .option('--limit <n>', 'maximum number of groups (default: 50)', wholeNumber),
  )
    .addHelpText(
      'after',
      `
Failures form a group if they have the same type, the same message apart from ids and numbers, and the same page
layout.

Examples:
  $ trawl jobs failures parcels-2026
  $ trawl jobs failures parcels-2026 --json`,
    )
    .action(failures);
}

async function failures(jobId: string, options: ClientOptions & { readonly limit?: number }): Promise<void> {
  const { limit } = options;
  await showAnswer(
    options,
    ({ api }) => api.get<FailuresAnswer>(`${jobPath(jobId)}/failures`, { limit }),
    failuresText,
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'COUNT', isNumber: true },
  { name: 'TYPE', style: () => 'red' },
  { name: 'RETRY' },
  { name: 'PATTERN', isFlexible: true },
  { name: 'EXAMPLES', isFlexible: true, max: 80 },
];

function failuresText({ failed, groups }: FailuresAnswer): string {
  if (failed === 0) return 'No items failed.\n';
  const rows = groups.map((group) => [
    ...[formatCount(group.count), group.type, group.retryable ? 'may help' : 'no use'],
    `${group.pattern}${layoutNote(group, groups)}`,
    group.examples.map(({ item_id }) => item_id).join(' '),
  ]);
  const shown = groups.reduce((sum, { count }) => sum + count, 0);
  const rest =
    failed - shown > 0 ? `${formatItems(failed - shown)} failed in other ways: use --limit to see more groups.\n` : '';
  return `${formatItems(failed)} failed.\n\n${tableText(COLUMNS, rows)}${rest}`;
}
