import type { Command } from 'commander';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { ComplianceAnswer } from '../../contract/compliance-answer.ts';
import type { JobAnswer } from '../../contract/job-answers.ts';
import { type ClientOptions, showAnswer, withClientOptions } from '../client/command.ts';
import { complianceLines } from './compliance-text.ts';
import { exitCodeOfJob, jobEndText, jobText } from './job-text.ts';
import { watchJob } from './watch-job.ts';

export function addStatusCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('status')
      .description('show the status of a job: items, rate, failures, what it did at each host, and what to do next')
      .argument('<job>', 'job id'),
  )
    .addHelpText('after', '\nExamples:\n  $ trawl jobs status parcels-2026\n  $ trawl jobs status parcels-2026 --json')
    .action(status);
}

export function addWatchCommand(jobs: Command): void {
  withClientOptions(
    jobs.command('watch').description('show the progress of a job until it is over').argument('<job>', 'job id'),
  )
    .addHelpText(
      'after',
      `
It receives events from the server and reconnects if the server restarts. Ctrl-C ends the watching, not the job. It
waits for a paused job to continue, unless the breaker paused it and will not probe automatically.

Exit codes: 0 done, 1 some items failed, 2 no such job or no server, 3 the job failed, was cancelled or its breaker
tripped, 130 interrupted.

Examples:
  $ trawl jobs watch parcels-2026
  $ trawl jobs watch parcels-2026 --json > end.json`,
    )
    .action(watch);
}

async function status(jobId: string, options: ClientOptions): Promise<void> {
  let hosts: readonly string[] = [];
  await showAnswer(
    options,
    async ({ api }) => {
      const job = await api.get<JobAnswer>(jobPath(jobId));
      if (!options.json) hosts = complianceLines(await api.get<ComplianceAnswer>(`${jobPath(jobId)}/compliance`));
      return job;
    },
    (job) => jobText(job, hosts),
  );
}

async function watch(jobId: string, options: ClientOptions): Promise<void> {
  await showAnswer(options, (client) => watchJob(client, jobId), jobEndText, exitCodeOfJob);
}
