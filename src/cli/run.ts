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
import { policySchema } from '../domain/policy.ts';
import { LANE_SETTINGS } from '../domain/settings.ts';
import { systemClock } from '../main/client.ts';
import { findScraper } from '../main/scrapers.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { type ColumnOptions, columnQuery, withColumnOptions } from './client/columns.ts';
import { endCommand } from './client/command.ts';
import { openTerminal, type Terminal } from './client/terminal.ts';
import { itemList } from './jobs/item-list.ts';
import { collected } from './jobs/options.ts';
import { SAMPLE_HELP, sampleSize } from './jobs/plan.ts';
import { policyGiven } from './jobs/policy-option.ts';
import { watchingSettings, wholeNumber } from './options.ts';
import { type RunScraper, runJob } from './run-job.ts';
import { checkedJobName, listName, listSource } from './run-lists.ts';
import { planRun } from './run-plan.ts';
import { exitCodeOfRun, type RunReport, runJson, runText } from './run-report.ts';
import { type ResultsWish, resultsWish } from './run-results.ts';
import { describeUnknown } from './scrapers/unknown.ts';

interface RunOptions extends ColumnOptions {
  readonly items?: string;
  readonly input?: readonly string[];
  readonly out?: string;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly workers?: number;
  readonly headed?: true;
  readonly slow?: number | true;
  readonly policy?: string;
  readonly job?: string;
  readonly format?: string;
  readonly again?: true;
  readonly failed?: true;
  readonly retryFailed?: true;
  readonly extract?: true;
  readonly diff?: true;
  readonly plan?: true;
  readonly sample?: number;
  readonly keep?: true;
  readonly json?: true;
}

export function addRunCommand(program: Command): void {
  withColumnOptions(program.command('run'))
    .description('run a scraper on a list of items, here and now; the same command continues where it stopped')
    .argument('<scraper>', 'the id of a scraper (trawl scrapers list)')
    .option('--items <file>', 'CSV, JSONL or JSON with the items; - reads stdin')
    .option('--input <name=value>', 'a single item; repeat it for each field; name:=value takes JSON', collected)
    .option(
      '--out <path>',
      'results file (.csv, .jsonl, .parquet), or folder for the job and its results (.trawl/run/…)',
    )
    .option('--format <format>', 'format of the results: jsonl, csv or parquet (default: from the file name, or jsonl)')
    .option('--job <name>', 'name of the job (default: the name of the list)')
    .option('--again', 'scrape a finished list again as another job, and show the differences')
    .option('--failed', 'retry the failed items of the job')
    .option('--retry-failed', 'same as --failed')
    .option('--extract', 'parse the stored pages again without contacting the site, and replace the data')
    .option('--diff', 'show the differences from the previous round')
    .option('--plan', 'check the list and run a sample of it: what the job would take')
    .option('--sample <n>', `with --plan: ${SAMPLE_HELP}`, sampleSize)
    .option('--keep', 'with --plan: keep the results of the sample')
    .option('--concurrency <n>', 'items at the same time (policy: throttling.max_concurrent_workers, 3)', wholeNumber)
    .option('--limit <n>', 'only the first n items of the list', wholeNumber)
    .option(
      '--workers <n>',
      'worker processes of the lane that the scraper needs (TRAWL_WORKERS, the number of cores)',
      wholeNumber,
    )
    .option('--policy <file>', 'JSON with the execution policy')
    .option('--headed', 'show the browser windows of a browser scraper')
    .option('--slow [ms]', 'pause before each step of the browser (500 ms)', wholeNumber)
    .option('--json', 'one JSON object on stdout at the end')
    .addHelpText('after', HELP)
    .action(run);
}

const HELP = `
Every item is done once, even if the run is interrupted or killed: the same command continues with what is left. Columns
of a CSV become the input of an item; a column item_id names it, and --columns maps columns with other names. Progress goes
to stderr. It does what trawl jobs create --watch and trawl jobs export do, with a service and workers of its own for as
long as it takes.

A list is a job, named after its file: parcels-2026.csv is the job parcels-2026. Several lists can share a folder, each as a
job of its own. --again scrapes a finished list again: its next round is the job parcels-2026-2, and the report says which
items changed, appeared and vanished. A single item given by --input is always run, and its data are printed.

--plan starts nothing: it checks every line of the list, runs a sample of it and predicts duration, requests, traffic and cost
of the job with a range. The job runs the items of the sample again.

The results of the first job of a folder are in <out>/results.jsonl, a line per item; those of any other one are in
<out>/results-<job>.jsonl. The pages are in <out>/results. With --out parcels.csv the results are in that file, and the job is
kept in .trawl/run.

Exit codes: 0 done, 1 some lines or items are bad, 2 bad usage, 3 the job failed or its breaker tripped, 130 interrupted.

Examples:
  $ trawl run maricopa-az --items parcels.csv --concurrency 10 --plan
  $ trawl run maricopa-az --items parcels.csv --concurrency 10
  $ trawl run maricopa-az --items parcels.csv --out parcels-result.csv
  $ trawl run maricopa-az --items parcels.csv --format parquet --out results/maricopa
  $ trawl run maricopa-az --items assessor.csv --columns apn="Parcel Number"
  $ trawl run maricopa-az --items parcels.csv --failed       # retry what failed
  $ trawl run maricopa-az --items parcels.csv --extract      # after parse was repaired
  $ trawl run maricopa-az --items parcels.csv --again        # a month later
  $ trawl run maricopa-az --input apn=200-14-030 | jq .owner`;

async function run(scraperId: string, options: RunOptions): Promise<void> {
  checkActions(options);
  const list = itemList(options);
  const columns = columnQuery(options);
  const policy = checkedPolicy(options);
  const results = resultsWish(options);
  const named = options.job === undefined ? null : checkedJobName(options.job);
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS });
  const scraper = await scraperNamed(base, scraperId);
  const config = runConfig(base, scraper, results, options);
  const terminal = openTerminal(systemClock());
  // A job for several machines belongs on a service: this one runs here, and its result is a folder.
  const { kind } = loadConfig().backend;
  if (kind !== config.backend.kind) {
    terminal.note(`The job is kept here, in ${config.dataDir}: TRAWL_BACKEND=${kind} is for trawl serve.`);
  }
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const { limit } = options;
  if (options.plan) {
    const how = { sample: options.sample ?? null, isKept: options.keep === true, isJson: options.json === true };
    const plan = { config, scraper, list, columns, policy, ...(limit === undefined ? {} : { limit }), ...how };
    const words = process.argv.slice(2);
    await endCommand(terminal, options, () => planRun({ ...plan, words, terminal, signal: stop.signal }));
    return;
  }
  const isByHand = options.input !== undefined;
  await endCommand(terminal, options, async () => {
    const report = await runJob({
      ...{ config, scraper, list, columns, policy, results, terminal, signal: stop.signal },
      ...(limit === undefined ? {} : { limit }),
      wish: {
        name: named ?? defaultName(options),
        isChosen: named !== null,
        source: isFile(options.items) ? listSource(options.items, config.dataDir) : null,
        again: options.again === true || isByHand,
      },
      retryFailed: options.failed === true || options.retryFailed === true,
      extract: options.extract === true,
      diff: options.diff === true || options.again === true,
      isByHand,
      words: process.argv.slice(2),
    });
    if (options.json) await terminal.out.json(runJson(report));
    else await show(terminal, report);
    return exitCodeOfRun(report);
  });
}

/** For a single item, the data themselves are printed, so that a pipe can read them. */
async function show(terminal: Terminal, report: RunReport): Promise<void> {
  if (!report.isByHand) {
    await terminal.out.write(runText(report));
    return;
  }
  terminal.note(runText(report).trimEnd());
  if (report.job.summary.success > 0) await terminal.out.json(report.data);
}

function checkActions({ again, failed, retryFailed, extract, plan, sample, keep, input }: RunOptions): void {
  const given = Object.entries({ again, failed: failed ?? retryFailed, extract, plan }).filter(
    ([, isGiven]) => isGiven,
  );
  const names = given.map(([name]) => `--${name}`);
  if (names.length > 1) throw new ConfigError(`${names.join(' and ')}: give one of them`);
  if (input !== undefined && names.length > 0)
    throw new ConfigError(`${names[0]}: an item given by --input is always run`);
  if (!plan && (sample !== undefined || keep)) {
    throw new ConfigError(`${sample === undefined ? '--keep' : '--sample'} is only for --plan`);
  }
}

function isFile(items: string | undefined): items is string {
  return items !== undefined && items !== '-';
}

/** Null if no list is given: then the folder decides. */
function defaultName({ items, input }: RunOptions): string | null {
  if (input !== undefined) return `input-${inputHash(input)}`;
  if (items === undefined) return null;
  return items === '-' ? 'stdin' : listName(items);
}

function inputHash(input: readonly string[]): string {
  return hash('sha256', JSON.stringify([...input].sort())).slice(0, 8);
}

function runConfig(base: Config, { id, lane }: RunScraper, { folder }: ResultsWish, options: RunOptions): Config {
  const { concurrency } = options;
  // A lane without workers gets one: otherwise the job would wait forever.
  const workers = options.workers ?? Math.max(1, laneConfig(base, lane).workers);
  const isLevelChosen = settingsInForce(base).some(
    ({ name, from }) => name === 'TRAWL_LOG_LEVEL' && from !== 'default',
  );
  return loadConfig({
    backend: EMBEDDED,
    results: LOCAL_RESULTS,
    dataDir: runFolder(base, id, folder, options),
    // More processes than items at a time would only wait.
    [LANE_SETTINGS[lane].workers]: Math.min(workers, concurrency ?? Number.POSITIVE_INFINITY),
    logLevel: isLevelChosen ? base.logLevel : 'warn',
    logTo: 'stderr',
    ...watchingSettings(options),
  });
}

/** A plan has its own folder, which is deleted with it: it must not be that of a job, nor of samples that are kept. */
function runFolder({ dataDir }: Config, id: string, chosen: string | null, options: RunOptions): string {
  const own = safeSegment(id, (text) => hash('sha256', text));
  if (options.plan) return join(dataDir, 'run', `${own}.${options.keep ? 'samples' : 'plan'}`);
  return chosen ?? join(dataDir, 'run', own + trialOf(options));
}

/** A trial with one input, or with a few items, has its own folder: it is not part of the real job. */
function trialOf({ input, limit }: RunOptions): string {
  if (input !== undefined) return `.input-${inputHash(input)}`;
  return limit === undefined ? '' : `.first-${limit}`;
}

async function scraperNamed(config: Config, id: string): Promise<RunScraper> {
  const { scraper, others, code } = await findScraper(config, id);
  if (scraper !== null) {
    const { lane, version, extract } = scraper;
    return { id, lane, version, code, canExtract: extract !== null };
  }
  throw new ConfigError(describeUnknown(id, others));
}

/** The API checks the policy too; but errors should be reported before a folder is created. */
function checkedPolicy(options: RunOptions): object | null {
  const given = policyGiven(options);
  if (given === null) return null;
  const parsed = policySchema.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map(
      ({ path, message }) => `${path.length === 0 ? '' : `${path.join('.')}: `}${message}`,
    );
    throw new ConfigError(`the policy cannot be used:\n  ${lines.join('\n  ')}`);
  }
  // A file replaces the whole policy, even of an existing job; an option sets one field.
  return options.policy !== undefined ? parsed.data : given;
}
