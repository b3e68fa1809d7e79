import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { errorMessage } from '../../domain/error-message.ts';
import type { AddedAnswer, CreatedAnswer, JobAnswer, JobStatusAnswer } from '../../wiring-client.ts';
import { ApiError, codeOf, Interrupted, Refused, Unreachable } from '../client/api-error.ts';
import { jobPath } from '../client/api-paths.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount, formatItems, printable } from '../format.ts';
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
      .description('make a job: send its items, then start it')
      .argument('<scraper>', 'the id of a scraper (trawl scrapers list)')
      .option('--items <file>', 'CSV, JSONL or JSON with the items; - reads stdin')
      .option('--input <name=value>', 'one item by hand; repeat it for each field; name:=value takes JSON', collected)
      .option('--job-id <id>', 'its id, so that the command can be repeated; one is made up otherwise')
      .option('--name <name>', 'a name for people')
      .option('--policy <file>', 'JSON with the execution policy')
      .option('--concurrency <n>', 'items at the same time (policy: throttling.max_concurrent_workers)', wholeNumber)
      .option('--label <key=value>', 'a label; may be repeated', collected)
      .option('--hold', 'do not start it')
      .option('--watch', 'show its progress until it is over'),
  )
    .addHelpText('after', HELP)
    .action(create);
}

const HELP = `
The list is sent as it is read, whatever its length, and the job starts when all of it has arrived. If that breaks off,
the same command with the same --job-id goes on: the job waits, and items that it has already are not added again. Lines
that cannot be used are named, and the others kept; a job whose list was cut off is not started.

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
      throw new ApiError(refused.why);
    }
    const job = await begin(client, jobId, options);
    if (options.watch && options.hold !== true) return await showEnd(client, job.job_id, added, options);
    if (options.json) await client.out.json({ ...job, items: added });
    else await client.out.write(createdText(job, added, options));
    return added.bad > 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

interface NewJobBody {
  readonly job_id: string;
  readonly scraper_id: string;
  readonly hold: true;
  readonly job_name?: string;
  readonly execution_policy?: object;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A job of that id that still waits is the one of an earlier try: it goes on with that. */
async function makeHeld({ api, note }: Client, body: NewJobBody): Promise<void> {
  const { job_id: jobId, scraper_id: scraperId } = body;
  try {
    await api.post<CreatedAnswer>('/jobs', body, { isRepeatable: true });
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'job_exists') throw error;
    const job = await api.get<JobAnswer>(jobPath(jobId));
    const id = printable(jobId);
    if (job.scraper_id !== scraperId) {
      throw new ApiError(
        `there is a job ${id} already, of the scraper ${printable(job.scraper_id)}: use another --job-id`,
      );
    }
    if (!job.held) {
      throw new ApiError(
        `there is a job ${id} already, and it was started (${formatItems(job.summary.total)}): use another --job-id\n` +
          `  ${command(['jobs', 'status', jobId])}`,
      );
    }
    if (job.summary.total > 0) note(`Going on with the job ${id}, which has ${formatItems(job.summary.total)}.`);
  }
}

async function sendItems(client: Client, jobId: string, list: ItemBytes): Promise<AddedAnswer> {
  try {
    return await uploadItems(client, jobId, list);
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof Interrupted || error instanceof Refused)) throw error;
    const isBroken = !(error instanceof Refused) || error.status >= 500;
    const what = isBroken ? 'The list was not sent whole' : 'The list was not taken';
    throw new ApiError(
      `${error.message}\n${what}. The job waits with what has arrived; the same command goes on with it${
        list.name === 'stdin' ? ' (give it the same input again)' : ''
      }:\n  ${again(jobId)}`,
      error.exitCode,
      error.problem,
    );
  }
}

/** Of what the server says of a list that goes on behind the last line that could be read. */
const CUT_OFF = /(?:nothing from there on was read|are lost in it)$/;

/** Why it must not be started with what the server took of the list; null if it may. */
async function refusalOf(
  { api }: Client,
  jobId: string,
  { bad, bad_lines: lines }: AddedAnswer,
  { hold }: CreateOptions,
): Promise<{ readonly job: JobStatusAnswer; readonly why: string } | null> {
  if (bad === 0) return null;
  const job = await api.get<JobStatusAnswer>(`${jobPath(jobId)}/status`);
  const { total } = job.summary;
  const id = printable(jobId);
  if (total === 0) {
    return {
      job,
      why: `no line of the list can be used, and job ${id} stays held without items: correct the list, and send it with --job-id ${id}`,
    };
  }
  if (hold || !lines.some(({ problem }) => CUT_OFF.test(problem))) return null;
  return {
    job,
    why:
      `the list was cut off, or is damaged: a part of it was not read. Job ${id} stays held with ${formatItems(total)}.\n` +
      `Once the list is whole, send it again:\n  ${again(jobId)}\n` +
      `Or start it with what it has:\n  ${command(['jobs', 'start', jobId])}`,
  };
}

/** Starts it, unless it is to be held, and answers how it stands. */
async function begin({ api }: Client, jobId: string, { hold }: CreateOptions): Promise<JobStatusAnswer> {
  const path = jobPath(jobId);
  const status = await api.get<JobStatusAnswer>(`${path}/status`);
  if (hold) return status;
  if (status.summary.total === 0) {
    throw new ApiError(`there are no items, and a job of none is not started. It waits for them:\n  ${again(jobId)}`);
  }
  try {
    return await api.post<JobStatusAnswer>(`${path}/start`, undefined, { isRepeatable: true });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
    // The answer to the first try may have been lost.
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
  const stands = hold ? `Job ${id} is held until it is started:` : `Job ${id} is started. To watch it:`;
  return `${addedText(added)}\n${stands}\n  ${command(['jobs', hold ? 'start' : 'watch', job.job_id])}\n`;
}

/** `2,000 items added, 3 were there already` */
function addedText({ added, duplicates, conflicts, conflicting_ids: ids, bad, bad_lines: first }: AddedAnswer): string {
  const there = duplicates > 0 ? `, ${formatCount(duplicates)} had an id that was there already` : '';
  const other = conflicts > 0 ? [conflictsText(conflicts, ids)] : [];
  const lines = badLines({ badLines: { count: bad, first: first.slice(0, 10) } });
  return [`${formatItems(added)} added${there}.`, ...other, ...lines].join('\n');
}

const IDS_SHOWN = 10;

function conflictsText(conflicts: number, ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_SHOWN).map(printable).join(', ');
  const rest = conflicts > IDS_SHOWN ? ' …' : '';
  return `${formatCount(conflicts)} of these came with another input than the job has, which was kept: ${shown}${rest}`;
}

function policyOf({ policy: file, concurrency }: CreateOptions): Record<string, unknown> | null {
  if (file === undefined && concurrency === undefined) return null;
  const given = file === undefined ? {} : readObject('--policy', file);
  if (concurrency === undefined) return given;
  const throttling = (given['throttling'] ?? {}) as object;
  return { ...given, throttling: { ...throttling, max_concurrent_workers: concurrency } };
}

/** What is in it, the API checks: it knows what it can do. */
function readObject(option: string, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const code = codeOf(error);
    const message = errorMessage(error);
    if (error instanceof SyntaxError) throw new ConfigError(`${option} ${file}: it is no JSON (${message})`);
    if (code === 'ENOENT') throw new ConfigError(`${option}: there is no file ${file}`);
    throw new ConfigError(`${option} ${file}: ${code === 'EISDIR' ? 'it is a folder' : message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ConfigError(`${option} ${file}: it must hold a JSON object`);
}
