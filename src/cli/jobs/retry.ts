import type { Command } from 'commander';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { RetriedAnswer } from '../../contract/job-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems } from '../format.ts';
import { command } from './job-text.ts';
import { collected } from './options.ts';

interface RetryOptions extends ClientOptions {
  readonly errorType?: string;
  readonly item?: readonly string[];
  readonly group?: string;
  readonly preview?: true;
}

export function addRetryCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('retry')
      .description('reopen failed items')
      .argument('<job>', 'job id')
      .option(
        '--error-type <type>',
        'only items that failed with this type: blocked, timeout … (see trawl jobs failures)',
      )
      .option('--group <id>', 'only items of this group of failures (see trawl jobs failures)')
      .option('--item <id>', 'only this item; may be repeated', collected)
      .option('--preview', 'only count the items'),
  )
    .addHelpText(
      'after',
      `
A job that is over continues with the reopened items, and its result index is written again when they are done.

Exit codes: 0 done, 1 no item given by --item or --group was reopened, 2 bad usage or no server.

Examples:
  $ trawl jobs retry parcels-2026 --error-type blocked --preview
  $ trawl jobs retry parcels-2026 --error-type blocked
  $ trawl jobs retry parcels-2026 --group 3f9a1c0b7d2e
  $ trawl jobs retry parcels-2026 --item 200-14-030 --item 200-14-031`,
    )
    .action(retry);
}

async function retry(jobId: string, options: RetryOptions): Promise<void> {
  const { errorType, item, group, preview } = options;
  const named = new Set(item).size;
  const body = {
    ...(errorType === undefined ? {} : { error_type: errorType }),
    ...(item === undefined ? {} : { item_ids: item }),
    ...(group === undefined ? {} : { group }),
    preview: preview === true,
  };
  await showAnswer(
    options,
    // Items that are already open are not reopened.
    ({ api }) => api.post<RetriedAnswer>(`${jobPath(jobId)}/retry`, body, { isRepeatable: true }),
    (answer) => retriedText(answer, named),
    (answer) => ((named > 0 || group !== undefined) && answer.items === 0 ? EXIT.someItemsFailed : EXIT.done),
  );
}

/** `named`: how many items the user gave by their ids. */
export function retriedText({ job_id, status, preview, items }: RetriedAnswer, named: number): string {
  const others = named > items ? othersText(named - items) : '';
  if (items === 0 && !preview) {
    return others === '' ? 'No items reopened: no failed item matches.' : `No items reopened: ${others}`;
  }
  const rest = others === '' ? '' : ` ${others}`;
  if (preview) return `${formatItems(items)} would be reopened.${rest}`;
  const next = status === 'paused' ? ['The job is paused. To resume it:', 'resume'] : ['To watch it:', 'watch'];
  return `${formatItems(items)} reopened.${rest} ${next[0]}\n  ${command(['jobs', next[1] ?? '', job_id])}`;
}

function othersText(count: number): string {
  return `${formatCount(count)} of the given ids ${count === 1 ? 'is not a failed item' : 'are not failed items'} of this job.`;
}
