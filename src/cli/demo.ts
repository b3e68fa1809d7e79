import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { type Config, EMBEDDED, LOCAL_RESULTS, loadConfig } from '../config.ts';
import type { Lane } from '../domain/lane.ts';
import { existingChromium } from '../main/chromium.ts';
import { systemClock } from '../main/client.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { verifyResults } from '../main/verify-results.ts';
import { openTerminal, type Terminal } from './client/terminal.ts';
import { type DemoCounty, startDemoCounty } from './demo-county.ts';
import { EXIT } from './exit-codes.ts';
import { formatCount, formatDuration, formatItems, formatRate, printable } from './format.ts';
import { itemList } from './jobs/item-list.ts';
import { wholeNumber } from './options.ts';
import { runJob } from './run-job.ts';
import type { RunReport } from './run-report.ts';
import { verifyText } from './verify.ts';

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('see Trawl at work in a minute: it scrapes a county site on this machine, is blocked, and resumes')
    .option('--parcels <n>', 'number of parcels to scrape in the first part', wholeNumber, 2000)
    .option('--workers <n>', 'worker processes', wholeNumber, 2)
    .addHelpText('after', HELP)
    .action(demo);
}

const HELP = `
Nothing leaves this machine: the county is a process of its own on loopback. What was scraped stays in .trawl/demo until
the next demo.

Example:
  $ trawl demo --parcels 500`;

/**
 * Requests use this name instead of the county's port, which differs from run to run: the route maps one to the other.
 */
const ORIGIN = 'http://demo-county.test';
const BLOCKED_PARCELS = 150;
const BROWSER_PARCELS = 12;
const CONCURRENCY = 16;

interface Stage {
  readonly config: Config;
  readonly folder: string;
  readonly county: DemoCounty;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

async function demo(options: { parcels: number; workers: number }): Promise<void> {
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS });
  const folder = join(base.dataDir, 'demo');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const county = await startDemoCounty(100_000, systemClock());
  try {
    const config = loadConfig({
      backend: EMBEDDED,
      results: LOCAL_RESULTS,
      workers: options.workers,
      logLevel: 'error',
      logTo: 'stderr',
      allowAddresses: 'loopback',
      ...{ browserProvider: 'local', browserWorkers: 1 },
      routes: `${ORIGIN}=${county.url}`,
    });
    const terminal = openTerminal(systemClock());
    const stage = { config, folder, county, terminal, signal: stop.signal };
    say(`A county site with 100,000 parcels runs on ${county.url}, in its own process.`);
    const isDone =
      (await scrapeAll(stage, options.parcels)) && (await beBlockedAndResume(stage)) && (await useBrowser(stage));
    if (stop.signal.aborted) process.exitCode = EXIT.interrupted;
    else process.exitCode = isDone ? EXIT.done : EXIT.failed;
    if (isDone) say(`\nEverything is in ${folder}. Next: trawl scrapers new my-county, and docs/writing-a-scraper.md`);
  } finally {
    await county.close();
  }
}

/** First part: scrape every parcel with several worker processes, then check what was stored. */
async function scrapeAll(stage: Stage, parcels: number): Promise<boolean> {
  title('1', `${formatCount(parcels)} parcels: disclaimer, search form, result list, detail page, PDF bill`);
  const report = await run(stage, 'parcels', await stage.county.parcels(parcels), {});
  const { summary, status } = report.job;
  if (status !== 'completed') return unfinished(report);
  const requests = await stage.county.requests();
  const rate = formatRate(summary.total / (report.elapsedMs / 1000));
  say(
    `${formatItems(summary.success, 'parcel')} in ${formatDuration(report.elapsedMs)}, ${rate}; ${formatCount(requests)} requests.`,
  );
  showOne(report);
  const checked = await verifyResults({ ...stage.config, dataDir: report.dataDir }, report.job.job_id);
  say(verifyText(checked));
  return summary.success === summary.total && checked.kind === 'checked' && checked.problemCount === 0;
}

/**
 * Second part: a site that begins to block, a breaker that notices, and the same job resumed when the block is over.
 */
async function beBlockedAndResume(stage: Stage): Promise<boolean> {
  const { county } = stage;
  title('2', `${formatCount(BLOCKED_PARCELS)} more parcels, and the county begins to block us`);
  await county.misbehave({ challenge: { rate: 1, from: 400 } });
  const list = await county.parcels(BLOCKED_PARCELS);
  const policy = { retries: { max_retries: 1, backoff_factor: 0.2 }, circuit_breaker: { consecutive_failures: 10 } };
  const tripped = await run(stage, 'blocked', list, policy);
  if (tripped.job.status !== 'failed') return unfinished(tripped);
  const { summary, progress, reason } = tripped.job;
  say(`${styleText('red', 'The circuit breaker stopped the job')}: ${printable(reason?.message ?? '')}.`);
  for (const { type, count, examples } of reason?.evidence ?? []) {
    say(`  ${formatCount(count)} × ${type}: ${printable(examples[0]?.message ?? '')}`);
  }
  const spared = summary.total - progress.completed;
  say(
    `${formatItems(summary.success, 'parcel')} are safe, and ${formatCount(spared)} were not even tried, which saved those requests.`,
  );

  title('3', 'The block is over: the same command with --failed continues the job');
  await county.misbehave({});
  const resumed = await run(stage, 'blocked', list, policy, { retryFailed: true });
  const { job } = resumed;
  if (job.status !== 'completed') return unfinished(resumed);
  const checked = await verifyResults({ ...stage.config, dataDir: resumed.dataDir }, job.job_id);
  say(`${formatItems(job.summary.success, 'parcel')} of ${formatCount(job.summary.total)}, each exactly once.`);
  say(verifyText(checked));
  return job.summary.success === job.summary.total && checked.kind === 'checked' && checked.problemCount === 0;
}

/**
 * Last part: the county's new site only works in a browser.
 */
async function useBrowser(stage: Stage): Promise<boolean> {
  const chromium = await findBrowser(stage.config, say);
  if (chromium === null) return true;
  title(
    '4',
    `${BROWSER_PARCELS} parcels of the county's new site, which only works in a browser (Chromium ${chromium.version})`,
  );
  const list = await stage.county.parcels(BROWSER_PARCELS);
  const report = await run(stage, 'browser', list, {}, { scraper: 'demo-county-browser', lane: 'browser' });
  const { summary, status } = report.job;
  if (status !== 'completed') return unfinished(report);
  say(`${formatItems(summary.success, 'parcel')} with their bills, in ${formatDuration(report.elapsedMs)}.`);
  const checked = await verifyResults({ ...stage.config, dataDir: report.dataDir }, report.job.job_id);
  say(verifyText(checked));
  return summary.success === summary.total && checked.kind === 'checked' && checked.problemCount === 0;
}

/** A demo must not install a browser: without one, it says which part it leaves out. */
export async function findBrowser(config: Config, tell: (text: string) => void) {
  const chromium = await existingChromium(config);
  if (chromium !== null) return chromium;
  tell('\nA fourth part scrapes pages made by scripts, in a browser. No Chromium was found on this machine;');
  tell('to see it, run trawl browser install, and the demo again.');
  return null;
}

interface Way {
  readonly scraper?: string;
  readonly lane?: Lane;
  readonly retryFailed?: boolean;
}

/** The same as `trawl run` does. */
function run(
  stage: Stage,
  name: string,
  list: string,
  policy: object,
  { scraper = 'demo-county', lane = 'http', retryFailed = false }: Way = {},
): Promise<RunReport> {
  const items = join(stage.folder, `${name}.csv`);
  writeFileSync(items, list);
  return runJob({
    config: { ...stage.config, dataDir: join(stage.folder, name) },
    scraper: { id: scraper, lane, version: '', code: null, canExtract: false },
    wish: { name: scraper, isChosen: true, source: null, again: false },
    list: itemList({ items }),
    columns: {},
    policy: { throttling: { max_concurrent_workers: CONCURRENCY }, ...policy },
    retryFailed,
    ...{ extract: false, diff: false, isByHand: false },
    results: { folder: null, file: null, format: 'jsonl' },
    words: ['run', scraper, '--items', items, '--out', join(stage.folder, name)],
    terminal: stage.terminal,
    signal: stage.signal,
  });
}

function showOne({ results }: RunReport): void {
  if (results === null) return;
  const [line = '{}'] = readFileSync(results.path, 'utf8').split('\n', 1);
  const { data }: { data?: Record<string, unknown> } = JSON.parse(line);
  const fields = Object.entries(data ?? {}).filter(([, value]) => typeof value !== 'object' || value === null);
  say('One of them:');
  for (const [name, value] of fields.slice(0, 9)) say(`  ${name.padEnd(22)} ${printable(String(value), 80)}`);
  say(`  … and the rest in ${results.path}`);
}

function unfinished({ job, isInterrupted }: RunReport): false {
  if (!isInterrupted)
    say(`The job is ${job.status}: ${printable(job.reason?.message ?? 'it did not finish as expected')}`);
  return false;
}

function title(number: string, text: string): void {
  say(`\n${styleText('bold', `${number} · ${text}`)}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
