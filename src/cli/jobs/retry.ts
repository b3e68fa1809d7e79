import type { Command } from 'commander';
import type { RetriedAnswer } from '../../wiring-client.ts';
import { jobPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems } from '../format.ts';
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

Examples:
  $ trawl jobs retry parcels-2026 --error-type blocked --preview
  $ trawl jobs retry parcels-2026 --error-type blocked
  $ trawl jobs retry parcels-2026 --item 200-14-030 --item 200-14-031`,
    )
    .action(retry);
}

async function retry(jobId: string, options: RetryOptions): Promise<void> {
  const { errorType, item, preview } = options;
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
    else await out.write(`${retriedText(answer)}\n`);
    return EXIT.done;
  });
}

function retriedText({ job_id, status, preview, items }: RetriedAnswer): string {
  if (preview) return `${formatItems(items)} would be opened again.`;
  if (items === 0) return 'No failed item is such: nothing was opened again.';
  const next = status === 'paused' ? ['The job is paused. To make it go on:', 'resume'] : ['To watch it:', 'watch'];
  return `${formatItems(items)} opened again. ${next[0]}\n  ${command(['jobs', next[1] ?? '', job_id])}`;
}
