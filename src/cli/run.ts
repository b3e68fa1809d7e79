import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Config, ConfigError, EMBEDDED, LOCAL_RESULTS, loadConfig, settingsInForce } from '../config.ts';
import { safeSegment } from '../domain/artifact.ts';
import { errorMessage } from '../domain/error-message.ts';
import { notYetAvailable, type Policy, policySchema } from '../domain/policy.ts';
import { findScraper } from '../main/scrapers.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { wholeNumber } from './options.ts';
import { itemSource } from './run-items.ts';
import { runJob } from './run-job.ts';
import { exitCodeOf, reportJson } from './run-report.ts';
import { runSummary } from './summary.ts';

interface RunOptions {
  readonly items?: string;
  readonly input?: readonly string[];
  readonly out?: string;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly workers?: number;
  readonly policy?: string;
  readonly retryFailed?: boolean;
  readonly json?: boolean;
}

export function addRunCommand(program: Command): void {
  program
    .command('run')
    .description('run a scraper on a list of items, here and now; the same command again goes on where it stopped')
    .argument('<scraper>', 'the id of a scraper (trawl scrapers list)')
    .option('--items <file>', 'CSV, JSONL or JSON with the items; - reads stdin')
    .option('--input <name=value>', 'one item by hand; repeat it for each field; name:=value takes JSON', collect)
    .option('--out <folder>', 'where the job and its results are kept (a folder in .trawl/run)')
    .option('--concurrency <n>', 'items at the same time (policy: throttling.max_concurrent_workers, 3)', wholeNumber)
    .option('--limit <n>', 'only the first n items of the list', wholeNumber)
    .option('--workers <n>', 'worker processes (TRAWL_WORKERS, the number of cores)', wholeNumber)
    .option('--policy <file>', 'JSON with the execution policy')
    .option('--retry-failed', 'open the failed items of the job again')
    .option('--json', 'one JSON object on stdout at the end')
    .addHelpText('after', HELP)
    .action(run);
}

const HELP = `
Every item is done once, also if the run is interrupted or killed: the same command again goes on with what is left.
Columns of a CSV become the input of an item; a column item_id names it. The results are in <out>/results.jsonl, a line
per item, and the pages in <out>/results. Progress goes to stderr.

Exit codes: 0 done, 1 some items failed, 2 bad usage, 3 the job failed or its breaker tripped, 130 interrupted.

Examples:
  $ trawl run maricopa-az --items parcels.csv --concurrency 10
  $ trawl run maricopa-az --input apn=200-14-030
  $ trawl run maricopa-az --items parcels.csv --retry-failed`;

async function run(scraperId: string, options: RunOptions): Promise<void> {
  const source = itemSource(options);
  const policy = policyChange(options);
  const config = runConfig(scraperId, options);
  await mustBeScraper(config, scraperId);
  // Here and now, with a folder as its answer: a job that is to be spread is given to the service.
  const { kind } = loadConfig().backend;
  if (kind !== config.backend.kind) {
    process.stderr.write(`The job is kept here, in ${config.dataDir}: TRAWL_BACKEND=${kind} is for trawl serve.\n`);
  }
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const report = await runJob({
    config,
    jobId: nameOf(scraperId),
    scraperId,
    source,
    policy,
    retryFailed: options.retryFailed === true,
    words: process.argv.slice(2),
    screen: process.stderr,
    signal: stop.signal,
  });
  if (options.json) process.stdout.write(`${JSON.stringify(reportJson(report), null, 2)}\n`);
  else process.stdout.write(`${runSummary(report)}\n`);
  process.exitCode = exitCodeOf(report);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Of the job and of its folder. */
function nameOf(scraperId: string): string {
  return safeSegment(scraperId, (text) => hash('sha256', text));
}

function runConfig(scraperId: string, options: RunOptions): Config {
  const { out, workers, concurrency } = options;
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS });
  const isLevelChosen = settingsInForce(base).some(
    ({ name, from }) => name === 'TRAWL_LOG_LEVEL' && from !== 'default',
  );
  return loadConfig({
    backend: EMBEDDED,
    results: LOCAL_RESULTS,
    dataDir: out ?? join(base.dataDir, 'run', nameOf(scraperId) + trialOf(options)),
    // More processes than items at the same time would only wait.
    workers: Math.min(workers ?? base.workers, concurrency ?? Number.POSITIVE_INFINITY),
    logLevel: isLevelChosen ? base.logLevel : 'warn',
    logTo: 'stderr',
  });
}

/** A try with one input, or with a few items, has a folder of its own: it is not part of the job that comes after it. */
function trialOf({ input, limit }: RunOptions): string {
  if (input !== undefined) return `.input-${hash('sha256', JSON.stringify([...input].sort())).slice(0, 8)}`;
  return limit === undefined ? '' : `.first-${limit}`;
}

async function mustBeScraper(config: Config, id: string): Promise<void> {
  const { scraper, others } = await findScraper(config, id);
  if (scraper !== null) return;
  const known =
    others.length === 0 ? '' : `. There are: ${others.slice(0, 20).join(', ')}${others.length > 20 ? ' …' : ''}`;
  throw new ConfigError(`there is no scraper ${id}${known}`);
}

/** What the options make of the policy that the job has; null if they say nothing of it. */
function policyChange({ policy: file, concurrency }: RunOptions): ((current: Policy | null) => Policy) | null {
  if (file === undefined && concurrency === undefined) return null;
  const given = file === undefined ? null : readPolicy(file);
  const change = (current: Policy | null): Policy => {
    const base = given ?? current ?? policySchema.parse({});
    if (concurrency === undefined) return base;
    return checked(
      { ...base, throttling: { ...base.throttling, max_concurrent_workers: concurrency } },
      '--concurrency',
    );
  };
  // Once now, so that what is wrong with it is said before anything is made.
  change(null);
  return change;
}

function readPolicy(file: string): Policy {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`--policy ${file}: ${errorMessage(error)}`);
  }
  return checked(value, `--policy ${file}`);
}

function checked(value: unknown, what: string): Policy {
  const parsed = policySchema.safeParse(value);
  const missing = parsed.success ? notYetAvailable(parsed.data) : [];
  if (parsed.success && missing.length === 0) return parsed.data;
  const lines = [
    ...missing,
    ...(parsed.error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message })),
  ].map(({ path, message }) => `${path || 'the whole of it'}: ${message}`);
  throw new ConfigError(`${what} cannot be used:\n  ${lines.join('\n  ')}`);
}
