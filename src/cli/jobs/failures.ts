import type { Command } from 'commander';
import type { FailuresAnswer } from '../../contract/answers.ts';
import { jobPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { type Column, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems } from '../format.ts';
import { wholeNumber } from '../options.ts';

export function addFailuresCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('failures')
      .description('what failed in a job, grouped by what went wrong')
      .argument('<job>', 'the id of the job')
      .option('--limit <n>', 'groups at the most (50)', wholeNumber),
  )
    .addHelpText(
      'after',
      `
Failures are one group if they have the same type, the same message but for its particulars, and the same make of page.

Examples:
  $ trawl jobs failures parcels-2026
  $ trawl jobs failures parcels-2026 --json`,
    )
    .action(failures);
}

async function failures(jobId: string, options: ClientOptions & { readonly limit?: number }): Promise<void> {
  await talkToApi(options, async ({ api, out }) => {
    const answer = await api.get<FailuresAnswer>(`${jobPath(jobId)}/failures`, { limit: options.limit });
    if (options.json) await out.json(answer);
    else await out.write(failuresText(answer));
    return EXIT.done;
  });
}

const COLUMNS: readonly Column[] = [
  { name: 'COUNT', isNumber: true },
  { name: 'TYPE', style: () => 'red' },
  { name: 'RETRY' },
  { name: 'PATTERN', isFlexible: true },
  { name: 'EXAMPLES', isFlexible: true, max: 80 },
];

function failuresText({ failed, groups }: FailuresAnswer): string {
  if (failed === 0) return 'Nothing failed.\n';
  const rows = groups.map(({ count, type, retryable, pattern, examples }) => [
    ...[formatCount(count), type, retryable ? 'may help' : 'no use', pattern],
    examples.map(({ item_id }) => item_id).join(' '),
  ]);
  const shown = groups.reduce((sum, { count }) => sum + count, 0);
  const rest = failed - shown > 0 ? `${formatItems(failed - shown)} failed in other ways: --limit shows more.\n` : '';
  return `${formatItems(failed)} failed.\n\n${tableText(COLUMNS, rows)}${rest}`;
}
