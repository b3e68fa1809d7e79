import type { Command } from 'commander';
import type { RetriedAnswer } from '../../contract/answers.ts';
import { jobPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems } from '../format.ts';
import { command } from './job-text.ts';
import { collected } from './options.ts';

interface RetryOptions extends ClientOptions {
  readonly errorType?: string;
  readonly item?: readonly string[];
  readonly preview?: true;
}

export function addRetryCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('retry')
      .description('open failed items again')
      .argument('<job>', 'the id of the job')
      .option('--error-type <type>', 'only those that failed as this: blocked, timeout … (trawl jobs failures)')
      .option('--item <id>', 'only this one; may be repeated', collected)
      .option('--preview', 'only count them'),
  )
    .addHelpText(
      'after',
      `
A job that is over goes on with them, and its results are made anew when it is done.

Exit codes: 0 done, 1 none of those that --item names was opened, 2 bad usage or no server.

Examples:
  $ trawl jobs retry parcels-2026 --error-type blocked --preview
  $ trawl jobs retry parcels-2026 --error-type blocked
  $ trawl jobs retry parcels-2026 --item 200-14-030 --item 200-14-031`,
    )
    .action(retry);
}

async function retry(jobId: string, options: RetryOptions): Promise<void> {
  const { errorType, item, preview } = options;
  const named = new Set(item).size;
  await talkToApi(options, async ({ api, out }) => {
    const answer = await api.post<RetriedAnswer>(
      `${jobPath(jobId)}/retry`,
      {
        ...(errorType === undefined ? {} : { error_type: errorType }),
        ...(item === undefined ? {} : { item_ids: item }),
        preview: preview === true,
      },
      // What is open already is not opened again.
      { isRepeatable: true },
    );
    if (options.json) await out.json(answer);
    else await out.write(`${retriedText(answer, named)}\n`);
    return named > 0 && answer.items === 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

/** `named`: how many the user gave by their ids. */
export function retriedText({ job_id, status, preview, items }: RetriedAnswer, named: number): string {
  const others = named - items;
  const rest = named > 0 && others > 0 ? ` ${othersText(others)}` : '';
  if (preview) return `${formatItems(items)} would be opened again.${rest}`;
  if (items === 0)
    return rest === '' ? 'No failed item is such: nothing was opened again.' : `None was opened again.${rest}`;
  const next = status === 'paused' ? ['The job is paused. To make it go on:', 'resume'] : ['To watch it:', 'watch'];
  return `${formatItems(items)} opened again.${rest} ${next[0]}\n  ${command(['jobs', next[1] ?? '', job_id])}`;
}

function othersText(count: number): string {
  return `${formatCount(count)} of those named ${count === 1 ? 'is no such failed item' : 'are no such failed items'} of the job.`;
}
