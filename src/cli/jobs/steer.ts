import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import type { JobStatusAnswer } from '../../contract/answers.ts';
import { jobPath } from '../client/api-paths.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems, printable } from '../format.ts';
import { deletedText } from './job-text.ts';

const STEPS = {
  start: { does: 'start a job that was held', isRepeatable: false, help: '' },
  pause: {
    does: 'let a job rest: what is under way ends by itself, and nothing new begins',
    isRepeatable: true,
    help: '',
  },
  resume: {
    does: 'make a job go on that was paused, or whose breaker tripped',
    isRepeatable: false,
    help: '\nThe circuit is closed again. Failed items stay failed: trawl jobs retry opens them.\n',
  },
  cancel: {
    does: 'end a job for good',
    isRepeatable: false,
    help: '\nItems that are not under way are cancelled. What it has done so far stays; a cancelled job cannot go on.\n',
  },
} as const;

/** `start`, `pause`, `resume`, `cancel` and `delete`. */
export function addSteerCommands(jobs: Command): void {
  for (const [name, { does, isRepeatable, help }] of Object.entries(STEPS)) {
    withClientOptions(jobs.command(name).description(does).argument('<job>', 'the id of the job'))
      .addHelpText('after', `${help}\nExample:\n  $ trawl jobs ${name} parcels-2026`)
      .action((jobId: string, options: ClientOptions) => steer(name, jobId, options, isRepeatable));
  }
  withClientOptions(
    jobs
      .command('delete')
      .description('delete a job with everything that was kept of it')
      .argument('<job>', 'the id of the job')
      .option('--yes', 'yes, really'),
  )
    .addHelpText('after', '\nIt cannot be undone.\n\nExample:\n  $ trawl jobs delete parcels-2026 --yes')
    .action(remove);
}

async function steer(step: string, jobId: string, options: ClientOptions, isRepeatable: boolean): Promise<void> {
  await talkToApi(options, async ({ api, out }) => {
    const answer = await api.post<JobStatusAnswer>(`${jobPath(jobId)}/${step}`, undefined, { isRepeatable });
    if (options.json) await out.json(answer);
    else await out.write(`${standText(answer)}\n`);
    return EXIT.done;
  });
}

function standText({ job_id, status, summary }: JobStatusAnswer): string {
  const { total, success, failed, queued, in_progress } = summary;
  const flying = queued + in_progress > 0 ? `, ${formatCount(queued + in_progress)} in flight` : '';
  const counts = `${formatCount(success)} ok, ${formatCount(failed)} failed${flying}`;
  return `Job ${printable(job_id)} is ${printable(status.replaceAll('_', ' '))}: ${counts} of ${formatItems(total)}.`;
}

async function remove(jobId: string, options: ClientOptions & { readonly yes?: true }): Promise<void> {
  if (!options.yes)
    throw new ConfigError(`this deletes the job ${jobId} and its results for good: add --yes if you mean it`);
  await talkToApi(options, async ({ api, out }) => {
    const { removing = false } = await api.json<Partial<JobStatusAnswer>>({ method: 'DELETE', path: jobPath(jobId) });
    if (options.json) await out.json({ job_id: jobId, deleted: !removing });
    else await out.write(`${deletedText(jobId, removing)}\n`);
    return EXIT.done;
  });
}
