import { join } from 'node:path';
import { type Command, Option } from 'commander';
import {
  type Config,
  ConfigError,
  EMBEDDED,
  LOCAL_RESULTS,
  laneConfig,
  loadConfig,
  settingsInForce,
} from '../../config.ts';
import type {
  BulkCreatedAnswer,
  BulkInputAnswer,
  BulkJobAnswer,
  NothingToScrapeAnswer,
} from '../../contract/bulk-answers.ts';
import { URL_CONTENT_TYPES } from '../../contract/bulk-request.ts';
import { Interrupted } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { JobPageAnswer } from '../../contract/job-answers.ts';
import type { Lane } from '../../domain/lane.ts';
import { LANE_SETTINGS } from '../../domain/settings.ts';
import { systemClock } from '../../main/client.ts';
import { openPrivateService, type PrivateService } from '../../main/private-service.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { type Client, endCommand, openClient } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { openTerminal, type Terminal } from '../client/terminal.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import type { ItemList } from '../jobs/item-list.ts';
import { sendList } from '../jobs/items-upload.ts';
import { watchJob } from '../jobs/watch-job.ts';
import { wholeNumber } from '../options.ts';
import { urlFormatOfBytes, urlList } from './url-list.ts';
import { checkPagesOptions, type PagesOptions, type WrittenPages, writePages } from './write-pages.ts';

interface BulkOptions extends PagesOptions {
  readonly maxAge?: number;
  readonly delay?: number;
  readonly containers?: number;
  readonly unknown?: string;
  readonly browser?: true;
  readonly json?: true;
}

export function addBulkCommand(program: Command): void {
  program
    .command('bulk')
    .description('pull a list of documentation URLs as Markdown files, here and now')
    .argument('<list>', 'file with URLs: lines, CSV with a column url, JSON or JSONL; - reads stdin')
    .requiredOption('--out <folder>', 'folder for the Markdown files and manifest.json, or a file that ends in .zip')
    .option(
      '--max-age <seconds>',
      'use cached pages read within this time (604800); 0 fetches all of them',
      wholeSeconds,
    )
    .option('--delay <ms>', 'time between two requests of a batch (1000)', wholeSeconds)
    .option('--containers <n>', 'batches at the same time (100)', wholeNumber)
    .addOption(
      new Option('--unknown <how>', 'URLs that belong to no site: only count them, or pull them anyway').choices([
        'report',
        'auto',
      ]),
    )
    .option('--browser', 'use workers that have a browser, for sites that need one')
    .option('--llms-full', 'write all pages into llms-full.txt, too')
    .option('--front-matter', 'begin each file with title and source')
    .option('--json', 'one JSON object on stdout at the end')
    .addHelpText('after', HELP)
    .action(bulk);
}

const HELP = `
Sites are configured in sites.json (docs/documentation-pulls.md). The page /guide/start of the site node becomes
node/guide/start.md, and manifest.json says for each URL of the list what became of it. URLs of files, such as PDFs and images, are
not fetched; the manifest lists them as links. What was read is cached below .trawl/bulk: the same command, or the next list, asks only for what it does not have.

Exit codes: 0 done, 1 some pages failed or belong to no site, 2 bad usage, 3 the job failed, 130 interrupted.

Examples:
  $ trawl bulk urls.txt --out docs
  $ trawl bulk urls.csv --out docs --delay 500 --llms-full
  $ trawl bulk urls.txt --out docs.zip
  $ trawl bulk urls.txt --out docs --unknown auto            # without any configuration
  $ trawl bulk urls.txt --out docs --max-age 0               # ask every site for changes
  $ grep /guide/ urls.txt | trawl bulk - --out guide`;

function wholeSeconds(text: string): number {
  return text === '0' ? 0 : wholeNumber(text);
}

async function bulk(file: string, options: BulkOptions): Promise<void> {
  const list = urlList(file);
  checkPagesOptions(options);
  const lane: Lane = options.browser ? 'browser' : 'http';
  const config = bulkConfig(lane);
  const terminal = openTerminal(systemClock());
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  await endCommand(terminal, options, async () => {
    const onDeath = () => {
      if (!stop.signal.aborted) terminal.note('A worker process ended. Another takes its place.');
    };
    const service = await openPrivateService(config, { lane, onDeath, isWanted: () => false });
    try {
      return await pull(service, terminal, list, options, stop.signal);
    } finally {
      await service.stop();
    }
  });
}

/** All lists share one folder, because the folder holds the cache. */
function bulkConfig(lane: Lane): Config {
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS });
  const isLevelChosen = settingsInForce(base).some(
    ({ name, from }) => name === 'TRAWL_LOG_LEVEL' && from !== 'default',
  );
  const lanes = Object.entries(LANE_SETTINGS).map(([each, { workers }]) => {
    return [workers, each === lane ? Math.max(1, laneConfig(base, lane).workers) : 0];
  });
  return loadConfig({
    ...{ backend: EMBEDDED, results: LOCAL_RESULTS, dataDir: join(base.dataDir, 'bulk') },
    ...Object.fromEntries(lanes),
    ...{ logLevel: isLevelChosen ? base.logLevel : 'warn', logTo: 'stderr' },
  });
}

interface Report {
  readonly job: BulkJobAnswer;
  readonly written: WrittenPages;
  readonly out: string;
}

async function pull(
  service: PrivateService,
  terminal: Terminal,
  list: ItemList,
  options: BulkOptions,
  signal: AbortSignal,
): Promise<number> {
  const client = openClient(terminal, service.address, signal);
  await cancelUnfinished(client);
  // Must happen before the list is sent: whether a browser is used depends on the workers that are running.
  service.startWorkers();
  const created = await create(client, list, options);
  if (created.status === 'in_progress' && created.warnings !== undefined) throw new ConfigError(NEEDS_BROWSER);
  await watchJob(client, created.job_id).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new CommandFailed('interrupted; the same command continues with what it has in its cache', EXIT.interrupted);
  });
  await service.stopWorkers();
  const reporting = openClient(terminal, service.address, new AbortController().signal);
  const written = await writePages(reporting, created.job_id, options);
  const job = await reporting.api.get<BulkJobAnswer>(jobPath(created.job_id));
  const report = { job, written, out: options.out };
  if (options.json) await terminal.out.json(reportJson(report));
  else await terminal.out.write(reportText(report));
  return exitCodeOf(job);
}

const OVER = ['completed', 'failed', 'cancelled'];

/**
 * Cancels the job of an earlier command, which would otherwise run beside this one. Its pages so far are in the cache.
 */
async function cancelUnfinished({ api }: Client): Promise<void> {
  const { jobs } = await api.get<JobPageAnswer>('/jobs', { limit: 100 });
  for (const { job_id: id, status } of jobs) if (!OVER.includes(status)) await api.post(`${jobPath(id)}/cancel`);
}

async function create(
  client: Client,
  list: ItemList,
  { maxAge, delay, containers, unknown }: BulkOptions,
): Promise<BulkCreatedAnswer | NothingToScrapeAnswer> {
  const query = {
    ...(maxAge === undefined ? {} : { max_age: maxAge }),
    ...(delay === undefined ? {} : { delay_ms: delay }),
    ...(containers === undefined ? {} : { max_containers: containers }),
    ...(unknown === undefined ? {} : { unknown }),
  };
  const typeOf = (head: Uint8Array) => URL_CONTENT_TYPES[urlFormatOfBytes(head)];
  try {
    return await sendList(client, '/jobs/bulk', list, query, typeOf);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandFailed('interrupted before the list was read', EXIT.interrupted);
  }
}

const NEEDS_BROWSER = 'a site of the list needs a browser: run the command with --browser';

function exitCodeOf({ status, input, progress }: BulkJobAnswer): number {
  if (status !== 'completed') return EXIT.failed;
  return progress.failed > 0 || input.unknown > 0 ? EXIT.someItemsFailed : EXIT.done;
}

function reportJson({ job, written, out }: Report) {
  const { job_id, status, input, progress, workers, errors, elapsed_seconds } = job;
  return { job_id, status, input, progress, workers, errors, elapsed_seconds, out, files: written.files };
}

function reportText({ job, written }: Report): string {
  const { input, progress, errors } = job;
  const lines = [
    `${written.text}: ${progress.success} read, ${progress.skipped} from the cache or left out, ${progress.failed} failed`,
    ...(input.assets > 0 ? [`Not fetched, because they are links to files: ${input.assets}`] : []),
    ...unknownLines(input),
    ...errors.map(({ path, error }) => `  ${printable(path || '/')}: ${printable(error)}`),
  ];
  return `${lines.join('\n')}\n`;
}

function unknownLines({ unknown, to_scrape: pages }: BulkInputAnswer): readonly string[] {
  if (unknown === 0) return [];
  const hint = pages === 0 ? ' Add them to sites.json, or pull them with --unknown auto.' : '';
  return [`Not fetched, because they belong to no configured site: ${unknown}.${hint}`];
}
