import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  type Config,
  ConfigError,
  EMBEDDED,
  LOCAL_RESULTS,
  laneConfig,
  loadConfig,
  settingsInForce,
} from '../config.ts';
import { safeSegment } from '../domain/artifact.ts';
import type { Lane } from '../domain/lane.ts';
import { notYetAvailable, policySchema } from '../domain/policy.ts';
import { LANE_SETTINGS } from '../domain/settings.ts';
import { systemClock } from '../main/client.ts';
import { findScraper } from '../main/scrapers.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { type ColumnOptions, columnQuery, withColumnOptions } from './client/columns.ts';
import { endCommand } from './client/command.ts';
import { openTerminal } from './client/terminal.ts';
import { itemList } from './jobs/item-list.ts';
import { collected } from './jobs/options.ts';
import { policyGiven } from './jobs/policy-option.ts';
import { wholeNumber } from './options.ts';
import { runJob } from './run-job.ts';
import { exitCodeOfRun, runJson, runText } from './run-report.ts';
import { describeUnknown } from './scrapers/unknown.ts';

interface RunOptions extends ColumnOptions {
  readonly items?: string;
  readonly input?: readonly string[];
  readonly out?: string;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly workers?: number;
  readonly policy?: string;
  readonly retryFailed?: boolean;
  readonly json?: true;
}

export function addRunCommand(program: Command): void {
  withColumnOptions(program.command('run'))
    .description('run a scraper on a list of items, here and now; the same command continues where it stopped')
    .argument('<scraper>', 'the id of a scraper (trawl scrapers list)')
    .option('--items <file>', 'CSV, JSONL or JSON with the items; - reads stdin')
    .option('--input <name=value>', 'one item by hand; repeat it for each field; name:=value takes JSON', collected)
    .option('--out <folder>', 'where the job and its results are kept (a folder in .trawl/run)')
    .option('--concurrency <n>', 'items at the same time (policy: throttling.max_concurrent_workers, 3)', wholeNumber)
    .option('--limit <n>', 'only the first n items of the list', wholeNumber)
    .option(
      '--workers <n>',
      'worker processes of the lane that the scraper needs (TRAWL_WORKERS, the number of cores)',
      wholeNumber,
    )
    .option('--policy <file>', 'JSON with the execution policy')
    .option('--retry-failed', 'open the failed items of the job again')
    .option('--json', 'one JSON object on stdout at the end')
    .addHelpText('after', HELP)
    .action(run);
}

const HELP = `
Every item is done once, even if the run is interrupted or killed: the same command continues with what is left. Columns
of a CSV become the input of an item; a column item_id names it, and --columns maps columns with other names. The results
are in <out>/results.jsonl, a line per item, and the pages in <out>/results. Progress goes to stderr. It does what trawl jobs
create --watch and trawl jobs export do, with a service and workers of its own for as long as it takes.

Exit codes: 0 done, 1 some lines or items are bad, 2 bad usage, 3 the job failed or its breaker tripped, 130 interrupted.

Examples:
  $ trawl run maricopa-az --items parcels.csv --concurrency 10
  $ trawl run maricopa-az --items assessor.csv --columns apn="Parcel Number"
  $ trawl run maricopa-az --input apn=200-14-030
  $ trawl run maricopa-az --items parcels.csv --retry-failed`;

async function run(scraperId: string, options: RunOptions): Promise<void> {
  const list = itemList(options);
  const columns = columnQuery(options);
  const policy = checkedPolicy(options);
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS });
  const { lane } = await scraperNamed(base, scraperId);
  const config = runConfig(base, scraperId, lane, options);
  const terminal = openTerminal(systemClock());
  // A job that is to be spread over machines is given to a service: this one is done here, with a folder as its answer.
  const { kind } = loadConfig().backend;
  if (kind !== config.backend.kind) {
    terminal.note(`The job is kept here, in ${config.dataDir}: TRAWL_BACKEND=${kind} is for trawl serve.`);
  }
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  await endCommand(terminal, options, async () => {
    const report = await runJob({
      ...{ config, jobId: nameOf(scraperId), scraperId, lane, list, columns, policy, terminal, signal: stop.signal },
      ...(options.limit === undefined ? {} : { limit: options.limit }),
      retryFailed: options.retryFailed === true,
      words: process.argv.slice(2),
    });
    if (options.json) await terminal.out.json(runJson(report));
    else await terminal.out.write(`${runText(report)}\n`);
    return exitCodeOfRun(report);
  });
}

/** Of the job and of its folder. */
function nameOf(scraperId: string): string {
  return safeSegment(scraperId, (text) => hash('sha256', text));
}

function runConfig(base: Config, scraperId: string, lane: Lane, options: RunOptions): Config {
  const { out, concurrency } = options;
  // A lane without workers of its own gets one: the job would wait forever.
  const workers = options.workers ?? Math.max(1, laneConfig(base, lane).workers);
  const isLevelChosen = settingsInForce(base).some(
    ({ name, from }) => name === 'TRAWL_LOG_LEVEL' && from !== 'default',
  );
  return loadConfig({
    backend: EMBEDDED,
    results: LOCAL_RESULTS,
    dataDir: out ?? join(base.dataDir, 'run', nameOf(scraperId) + trialOf(options)),
    // More processes than items at a time would only wait.
    [LANE_SETTINGS[lane].workers]: Math.min(workers, concurrency ?? Number.POSITIVE_INFINITY),
    logLevel: isLevelChosen ? base.logLevel : 'warn',
    logTo: 'stderr',
  });
}

/** A try with one input, or with a few items, has a folder of its own: it is not part of the job that comes after it. */
function trialOf({ input, limit }: RunOptions): string {
  if (input !== undefined) return `.input-${hash('sha256', JSON.stringify([...input].sort())).slice(0, 8)}`;
  return limit === undefined ? '' : `.first-${limit}`;
}

async function scraperNamed(config: Config, id: string) {
  const { scraper, others } = await findScraper(config, id);
  if (scraper !== null) return scraper;
  throw new ConfigError(describeUnknown(id, others));
}

/** The API checks it, too; but what is wrong with it should be said before a folder is made. */
function checkedPolicy(options: RunOptions): object | null {
  const given = policyGiven(options);
  if (given === null) return null;
  const parsed = policySchema.safeParse(given);
  const problems = parsed.success
    ? notYetAvailable(parsed.data)
    : parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  if (problems.length > 0) {
    const lines = problems.map(({ path, message }) => `${path === '' ? '' : `${path}: `}${message}`);
    throw new ConfigError(`the policy cannot be used:\n  ${lines.join('\n  ')}`);
  }
  // A file is the whole policy, of a job that is there already as well; an option is one field of it.
  return options.policy !== undefined && parsed.success ? parsed.data : given;
}
