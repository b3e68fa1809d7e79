import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { Refused } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { AddedAnswer } from '../../contract/item-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../../contract/job-answers.ts';
import { isRecord } from '../../domain/is-record.ts';
import { type ColumnOptions, columnQuery, withColumnOptions } from '../client/columns.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { readJsonFile } from '../client/json-file.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { addedText, createHeld, type Filling, type NewJobBody, refusalOf, sendItems, startFilled } from './fill-job.ts';
import { itemList } from './item-list.ts';
import { again, command, exitCodeOfJob, jobEndText } from './job-text.ts';
import { collected, keyValues } from './options.ts';
import { policyGiven } from './policy-option.ts';
import { watchJob } from './watch-job.ts';

interface CreateOptions extends ClientOptions, ColumnOptions {
  readonly recording?: string;
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
    withColumnOptions(
      jobs
        .command('create')
        .description('create a job: send its items, then start it')
        .argument('[scraper]', 'scraper id (see trawl scrapers list)')
        .option('--recording <file>', 'instead of a scraper: JSON file with a recording, or with a list of actions')
        .option('--items <file>', 'CSV, JSONL or JSON file with the items; - reads stdin'),
    )
      .option(
        '--input <name=value>',
        'field of a single item; repeat it for each field; name:=value takes JSON',
        collected,
      )
      .option('--job-id <id>', 'job id, so that the command can be repeated (default: a new id)')
      .option('--name <name>', 'display name')
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

A CSV needs a header row. Columns that the scraper does not know are ignored, and named; --strict-columns refuses them.
If a column has another name than its field, say so: --columns parid=APN,name=Owner (item_id=… chooses the ids). A pair
with a comma is put in double quotes.

Exit codes: 0 done, 1 some lines or items are bad, 2 bad usage or no server, 3 the job failed, 130 interrupted.

Examples:
  $ trawl jobs create maricopa-az --items parcels.csv --job-id parcels-2026 --concurrency 10 --watch
  $ trawl jobs create maricopa-az --items assessor.csv --columns apn="Parcel Number"
  $ trawl jobs create maricopa-az --input apn=200-14-030
  $ trawl jobs create --recording search.recording.json --items parcels.csv
  $ zcat parcels.jsonl.gz | trawl jobs create maricopa-az --items - --label county=maricopa --hold`;

async function create(scraperId: string | undefined, options: CreateOptions): Promise<void> {
  const work = workOf(scraperId, options);
  const list = itemList(options);
  if (list === null) throw new ConfigError('no items given: use --items FILE or --input name=value');
  const policy = policyGiven(options);
  const labels = keyValues('--label', options.label ?? []);
  const columns = columnQuery(options);
  await talkToApi(options, async (client) => {
    const jobId = options.jobId ?? client.api.clock.id();
    const { name } = options;
    const filling: Filling = {
      ...{ jobId, list, columns, isToBeStarted: options.hold !== true, again: again(jobId) },
      ...{ corrected: `send it with --job-id ${printable(jobId)}`, startAsIs: command(['jobs', 'start', jobId]) },
    };
    await makeHeld(client, {
      job_id: jobId,
      ...work,
      ...(name === undefined ? {} : { job_name: name }),
      ...(policy === null ? {} : { execution_policy: policy }),
      ...(options.label === undefined ? {} : { labels }),
    });
    const added = await sendItems(client, filling);
    const refused = await refusalOf(client, filling, added);
    if (refused !== null) {
      if (options.json) await client.out.json({ ...refused.job, items: added });
      else client.note(addedText(added));
      throw new CommandFailed(refused.why);
    }
    const job = await startFilled(client, filling);
    if (options.watch && filling.isToBeStarted) return await showEnd(client, job.job_id, added, options);
    if (options.json) await client.out.json({ ...job, items: added });
    else await client.out.write(createdText(job, added, options));
    return added.bad > 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

/** What the job runs: a scraper or its own recording, which the server checks. */
function workOf(
  scraperId: string | undefined,
  { recording: file }: CreateOptions,
): Pick<NewJobBody, 'scraper_id' | 'recording'> {
  if (scraperId === undefined && file === undefined) throw new ConfigError('name a scraper, or use --recording FILE');
  if (scraperId !== undefined && file !== undefined) {
    throw new ConfigError(`--recording: the job would run ${scraperId}, too; give one of them`);
  }
  if (file === undefined) return scraperId === undefined ? {} : { scraper_id: scraperId };
  const recording = readJsonFile('--recording', file);
  if (Array.isArray(recording)) return { recording };
  if (isRecord(recording)) return { recording };
  throw new ConfigError(`--recording: ${file} is neither a recording nor a list of actions`);
}

/** A held job with this id was left by an earlier, interrupted command; it is continued. */
async function makeHeld(client: Client, body: NewJobBody): Promise<void> {
  const { job_id: jobId, scraper_id: scraperId, recording } = body;
  try {
    await createHeld(client, body);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'job_exists') throw error;
    const job = await client.api.get<JobAnswer>(jobPath(jobId));
    const id = printable(jobId);
    const isSame = recording === undefined ? job.scraper_id === scraperId : job.input.recording?.origin === 'inline';
    if (!isSame) {
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
    const { total } = job.summary;
    if (total > 0) client.note(`Continuing job ${id}, which already has ${formatItems(total)}.`);
  }
}

async function showEnd(client: Client, jobId: string, added: AddedAnswer, options: CreateOptions): Promise<number> {
  if (!options.json) client.note(addedText(added));
  const job = await watchJob(client, jobId);
  if (options.json) await client.out.json({ ...job, items: added });
  else await client.out.write(`${jobEndText(job)}\n`);
  return exitCodeOfJob(job, { bad: added.bad });
}

function createdText(job: JobStatusAnswer, added: AddedAnswer, { hold }: CreateOptions): string {
  const id = printable(job.job_id);
  const next = hold ? `Job ${id} is held. To start it:` : `Job ${id} is started. To watch it:`;
  return `${addedText(added)}\n${next}\n  ${command(['jobs', hold ? 'start' : 'watch', job.job_id])}\n`;
}
