import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { Interrupted, Refused, Unreachable } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { AddedAnswer } from '../../contract/item-answers.ts';
import type { CreatedAnswer, JobAnswer, JobStatusAnswer } from '../../contract/job-answers.ts';
import type { NewJobRequest } from '../../contract/new-job.ts';
import { errorCode } from '../../domain/error-code.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { isRecord } from '../../domain/is-record.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { badLines } from '../summary.ts';
import { type ItemBytes, itemBytes, uploadItems } from './items-upload.ts';
import { again, command, exitCodeOfJob, jobEndText } from './job-text.ts';
import { collected, keyValues } from './options.ts';
import { watchJob } from './watch-job.ts';

interface CreateOptions extends ClientOptions {
  readonly items?: string;
  readonly input?: readonly string[];
  readonly jobId?: string;
  readonly name?: string;
  readonly policy?: string;
  readonly concurrency?: number;
  readonly label?: readonly string[];
  readonly hold?: true;
  readonly watch?: true;
}

export function addCreateCommand(jobs: Command): void {
  withClientOptions(
    jobs
      .command('create')
      .description('create a job: send its items, then start it')
      .argument('<scraper>', 'scraper id (see trawl scrapers list)')
      .option('--items <file>', 'CSV, JSONL or JSON file with the items; - reads stdin')
      .option(
        '--input <name=value>',
        'field of a single item; repeat it for each field; name:=value takes JSON',
        collected,
      )
      .option('--job-id <id>', 'job id, so that the command can be repeated (default: a new id)')
      .option('--name <name>', 'a name for people')
      .option('--policy <file>', 'JSON file with the execution policy')
      .option(
        '--concurrency <n>',
        'items to process at a time (throttling.max_concurrent_workers of the policy)',
        wholeNumber,
      )
      .option('--label <key=value>', 'label for the job; may be repeated', collected)
      .option('--hold', 'do not start the job')
      .option('--watch', 'show progress until the job is over'),
  )
    .addHelpText('after', HELP)
    .action(create);
}

const HELP = `
A list of any length is streamed to the server, and the job starts once all of it has arrived. If the upload is
interrupted, run the same command with the same --job-id again: the job waits for it, and items that it already has
are not added twice. Lines that cannot be used are reported, and all others are kept. A job whose list was truncated
is not started.

Exit codes: 0 done, 1 some lines or items are bad, 2 bad usage or no server, 3 the job failed, 130 interrupted.

Examples:
  $ trawl jobs create maricopa-az --items parcels.csv --job-id parcels-2026 --concurrency 10 --watch
  $ trawl jobs create maricopa-az --input apn=200-14-030
  $ zcat parcels.jsonl.gz | trawl jobs create maricopa-az --items - --label county=maricopa --hold`;

async function create(scraperId: string, options: CreateOptions): Promise<void> {
  const list = itemBytes(options);
  const policy = policyOf(options);
  const labels = keyValues('--label', options.label ?? []);
  await talkToApi(options, async (client) => {
    const jobId = options.jobId ?? client.api.clock.id();
    const { name } = options;
    await makeHeld(client, {
      job_id: jobId,
      scraper_id: scraperId,
      hold: true,
      ...(name === undefined ? {} : { job_name: name }),
      ...(policy === null ? {} : { execution_policy: policy }),
      ...(options.label === undefined ? {} : { labels }),
    });
    const added = await sendItems(client, jobId, list);
    const refused = await refusalOf(client, jobId, added, options);
    if (refused !== null) {
      if (options.json) await client.out.json({ ...refused.job, items: added });
      else client.note(addedText(added));
      throw new CommandFailed(refused.why);
    }
    const job = await begin(client, jobId, options);
    if (options.watch && options.hold !== true) return await showEnd(client, job.job_id, added, options);
    if (options.json) await client.out.json({ ...job, items: added });
    else await client.out.write(createdText(job, added, options));
    return added.bad > 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

/** A policy file is sent as it is: the server checks it. */
type NewJobBody = Omit<NewJobRequest, 'execution_policy'> & {
  readonly job_id: string;
  readonly execution_policy?: object;
};

/** A held job with this id is that of an earlier, interrupted command, and is continued. */
async function makeHeld({ api, note }: Client, body: NewJobBody): Promise<void> {
  const { job_id: jobId, scraper_id: scraperId } = body;
  try {
    await api.post<CreatedAnswer>('/jobs', body, { isRepeatable: true });
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'job_exists') throw error;
    const job = await api.get<JobAnswer>(jobPath(jobId));
    const id = printable(jobId);
    if (job.scraper_id !== scraperId) {
      throw new CommandFailed(
        `job ${id} already exists, with the scraper ${printable(job.scraper_id)}: use another --job-id`,
      );
    }
    if (!job.held) {
      throw new CommandFailed(
        `job ${id} already exists and was started (${formatItems(job.summary.total)}): use another --job-id\n` +
          `  ${command(['jobs', 'status', jobId])}`,
      );
    }
    if (job.summary.total > 0) note(`Continuing job ${id}, which already has ${formatItems(job.summary.total)}.`);
  }
}

async function sendItems(client: Client, jobId: string, list: ItemBytes): Promise<AddedAnswer> {
  try {
    return await uploadItems(client, jobId, list);
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof Interrupted || error instanceof Refused)) throw error;
    const isBroken = !(error instanceof Refused) || error.status >= 500;
    const what = isBroken ? 'The list was not sent completely' : 'The list was not accepted';
    const input = list.name === 'stdin' ? ' with the same input' : '';
    throw CommandFailed.of(
      error,
      `${what}. The job is held with what has arrived. To continue, run the command again${input}:\n  ${again(jobId)}`,
    );
  }
}

/** Why the job must not be started with what the server accepted of the list; null if it may. */
async function refusalOf(
  { api }: Client,
  jobId: string,
  { bad, incomplete }: AddedAnswer,
  { hold }: CreateOptions,
): Promise<{ readonly job: JobStatusAnswer; readonly why: string } | null> {
  if (bad === 0) return null;
  const job = await api.get<JobStatusAnswer>(`${jobPath(jobId)}/status`);
  const { total } = job.summary;
  const id = printable(jobId);
  if (total === 0) {
    return {
      job,
      why: `no line of the list can be used, and job ${id} stays held without items: correct the list and send it with --job-id ${id}`,
    };
  }
  if (hold || !incomplete) return null;
  return {
    job,
    why:
      `the list is truncated or damaged: part of it was not read. Job ${id} stays held with ${formatItems(total)}.\n` +
      `Repair the list and send it again:\n  ${again(jobId)}\n` +
      `Or start the job with what it has:\n  ${command(['jobs', 'start', jobId])}`,
  };
}

/** Starts the job unless it is to be held, and returns its status. */
async function begin({ api }: Client, jobId: string, { hold }: CreateOptions): Promise<JobStatusAnswer> {
  const path = jobPath(jobId);
  const status = await api.get<JobStatusAnswer>(`${path}/status`);
  if (hold) return status;
  if (status.summary.total === 0) {
    throw new CommandFailed(`the list has no items, so the job was not started. To send some:\n  ${again(jobId)}`);
  }
  try {
    return await api.post<JobStatusAnswer>(`${path}/start`, undefined, { isRepeatable: true });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
    // The answer to an earlier try may have been lost.
    const job = await api.get<JobAnswer>(path);
    if (job.held) throw error;
    return job;
  }
}

async function showEnd(client: Client, jobId: string, added: AddedAnswer, options: CreateOptions): Promise<number> {
  if (!options.json) client.note(addedText(added));
  const job = await watchJob(client, jobId);
  if (options.json) await client.out.json({ ...job, items: added });
  else await client.out.write(`${jobEndText(job)}\n`);
  const exitCode = exitCodeOfJob(job);
  return exitCode === EXIT.done && added.bad > 0 ? EXIT.someItemsFailed : exitCode;
}

function createdText(job: JobStatusAnswer, added: AddedAnswer, { hold }: CreateOptions): string {
  const id = printable(job.job_id);
  const next = hold ? `Job ${id} is held. To start it:` : `Job ${id} is started. To watch it:`;
  return `${addedText(added)}\n${next}\n  ${command(['jobs', hold ? 'start' : 'watch', job.job_id])}\n`;
}

/** `2,000 items added, 3 duplicates left unchanged.` */
function addedText({ added, duplicates, conflicts, conflicting_ids: ids, bad, bad_lines: first }: AddedAnswer): string {
  const there = duplicates > 0 ? `, ${formatItems(duplicates, 'duplicate')} left unchanged` : '';
  const other = conflicts > 0 ? [conflictsText(conflicts, ids)] : [];
  const lines = badLines({ badLines: { count: bad, first: first.slice(0, 10) } });
  return [`${formatItems(added)} added${there}.`, ...other, ...lines].join('\n');
}

const IDS_SHOWN = 10;

function conflictsText(conflicts: number, ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_SHOWN).map(printable).join(', ');
  const rest = conflicts > IDS_SHOWN ? ' …' : '';
  return `${formatItems(conflicts, 'duplicate')} came with a different input; the job keeps the one it has: ${shown}${rest}`;
}

function policyOf({ policy: file, concurrency }: CreateOptions): Record<string, unknown> | null {
  if (file === undefined && concurrency === undefined) return null;
  const given = file === undefined ? {} : readObject('--policy', file);
  if (concurrency === undefined) return given;
  const throttling = (given['throttling'] ?? {}) as object;
  return { ...given, throttling: { ...throttling, max_concurrent_workers: concurrency } };
}

/** Its content is checked by the API. */
function readObject(option: string, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const code = errorCode(error);
    const message = errorMessage(error);
    if (error instanceof SyntaxError) throw new ConfigError(`${option} ${file}: not valid JSON (${message})`);
    if (code === 'ENOENT') throw new ConfigError(`${option} ${file}: no such file`);
    throw new ConfigError(`${option} ${file}: ${code === 'EISDIR' ? 'is a folder' : message}`);
  }
  if (isRecord(value)) return value;
  throw new ConfigError(`${option} ${file}: must contain a JSON object`);
}
