import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { JobStatusAnswer } from '../../contract/job-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { formatCount, formatItems, printable } from '../format.ts';
import { deletedText } from './job-text.ts';

const STEPS = {
  start: { does: 'start a held job', isRepeatable: false, help: '' },
  pause: {
    does: 'pause a job: items in flight finish, and no others are dispatched',
    isRepeatable: true,
    help: '',
  },
  resume: {
    does: 'resume a job that is paused or whose breaker tripped',
    isRepeatable: false,
    help: '\nIt closes the circuit breaker. Failed items stay failed: use trawl jobs retry to reopen them.\n',
  },
  cancel: {
    does: 'cancel a job for good',
    isRepeatable: false,
    help: '\nItems that are not in flight are cancelled. Results so far are kept; a cancelled job cannot be resumed.\n',
  },
} as const;

/** `start`, `pause`, `resume`, `cancel` and `delete`. */
export function addSteerCommands(jobs: Command): void {
  for (const [name, { does, isRepeatable, help }] of Object.entries(STEPS)) {
    withClientOptions(jobs.command(name).description(does).argument('<job>', 'job id'))
      .addHelpText('after', `${help}\nExample:\n  $ trawl jobs ${name} parcels-2026`)
      .action((jobId: string, options: ClientOptions) => steer(name, jobId, options, isRepeatable));
  }
  withClientOptions(
    jobs
      .command('delete')
      .description('delete a job and its results')
      .argument('<job>', 'job id')
      .option('--yes', 'confirm the deletion'),
  )
    .addHelpText('after', '\nIt cannot be undone.\n\nExample:\n  $ trawl jobs delete parcels-2026 --yes')
    .action(remove);
}

async function steer(step: string, jobId: string, options: ClientOptions, isRepeatable: boolean): Promise<void> {
  const path = `${jobPath(jobId)}/${step}`;
  await showAnswer(options, ({ api }) => api.post<JobStatusAnswer>(path, undefined, { isRepeatable }), statusLine);
}

function statusLine({ job_id, status, summary }: JobStatusAnswer): string {
  const { total, success, failed, queued, in_progress } = summary;
  const flying = queued + in_progress > 0 ? `, ${formatCount(queued + in_progress)} in flight` : '';
  const counts = `${formatCount(success)} ok, ${formatCount(failed)} failed${flying}`;
  return `Job ${printable(job_id)} is ${printable(status.replaceAll('_', ' '))}: ${counts} of ${formatItems(total)}.`;
}

async function remove(jobId: string, options: ClientOptions & { readonly yes?: true }): Promise<void> {
  if (!options.yes)
    throw new ConfigError(`this permanently deletes job ${jobId} and its results: add --yes to confirm`);
  await showAnswer(
    options,
    async ({ api }) => {
      const { removing = false } = await api.json<Partial<JobStatusAnswer>>({ method: 'DELETE', path: jobPath(jobId) });
      return { job_id: jobId, deleted: !removing };
    },
    ({ deleted }) => deletedText(jobId, !deleted),
  );
}
