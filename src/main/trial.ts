import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { systemClock } from '../adapters/system/clock.ts';
import { type Config, ConfigError, loadSecrets } from '../config.ts';
import type { ItemInput } from '../domain/item.ts';
import { DEFAULT_POLICY, type Policy } from '../domain/policy.ts';
import type { SecretBook } from '../domain/secrets.ts';
import { heldDrafts, SpillingDraft } from '../domain/spilling-draft.ts';
import type { Clock } from '../ports/clock.ts';
import type { Draft } from '../ports/result-store.ts';
import { BatchScope } from '../scraping/batch-scope.ts';
import { jsonSchemaOf } from '../scraping/describe-scraper.ts';
import { SELECTOR_WATCH } from '../scraping/extract/selector-watch.ts';
import { withBrowser } from '../scraping/fixtures/case-browsers.ts';
import { type Seen, seenOf } from '../scraping/fixtures/scrape-once.ts';
import { UNCHECKED } from '../scraping/robots/robots-check.ts';
import type { ScrapeLog, ScrapeResult, Scraper, ScrapeTools } from '../scraping/scraper.ts';
import { findLoader } from '../scraping/scraper-loader.ts';
import { SCRAPER_LOADERS } from '../scraping/scraper-loaders.ts';
import { SCRAPER_MODULES } from '../scraping/scraper-modules.ts';
import { SelectorGroups } from '../scraping/trial/selector-groups.ts';
import { TracedWeb } from '../scraping/trial/traced-web.ts';
import type { KeptBytes, TrialEvent, TrialOutcome, TrialReport } from '../scraping/trial/trial.ts';
import { UsageMeter } from '../scraping/usage-meter.ts';
import { Deadlines } from '../worker/deadlines.ts';
import { JobLadders } from '../worker/job-ladders.ts';
import { tryUntilDecided } from '../worker/tries.ts';
import { caseBrowsers, findScrapers, openVisitorTools } from './scrapers.ts';
import { isRecordingFile, loadWatched, type Watching } from './watched-recording.ts';

export type { TrialEvent, TrialOutcome, TrialReport } from '../scraping/trial/trial.ts';

/** What to try a scraper with: an input for its site, or a case of its fixture, which is played offline. */
export type TrialInput =
  | { readonly kind: 'input'; readonly input: ItemInput; readonly url: string | null }
  | { readonly kind: 'case'; readonly name: string };

export type Trials = NonNullable<Awaited<ReturnType<typeof openTrials>>['trials']>;

/**
 * Tries scrapers: one item, in this process, and nothing is stored. It uses the web like a worker, under the same
 * egress rules. `trials` is null if there is no scraper with the id; `ids` are the existing ones.
 */
export async function openTrials(config: Config, id: string, watching: Watching | null = null) {
  const { file, ids } = isRecordingFile(id) ? { file: resolve(id), ids: [] } : await findFile(config, id);
  if (file === null) return { trials: null, ids };
  const loader = findLoader(SCRAPER_LOADERS, file);
  const clock = systemClock();
  return {
    ids,
    trials: {
      clock,
      /** The scraper's file and its local imports, as far as they are known. */
      files: (): readonly string[] => [...new Set([file, ...SCRAPER_MODULES.filesOf(file)])],
      /** Whether one of them differs from what the last trial used. */
      hasChanged: () => loader?.hasChanged(file) ?? false,
      /** Uses the current code. Null if `signal` aborted first. Throws an Error about a file that cannot be loaded. */
      async run(asked: TrialInput, onEvent: (event: TrialEvent) => void, signal: AbortSignal) {
        const loaded = (await loader?.load(file)) ?? null;
        if (loaded === null || (loaded.id !== id && !isRecordingFile(id))) {
          throw new Error(`${file} has no scraper ${id}`);
        }
        const scraper = watching === null ? loaded : await loadWatched(file, watching);
        const policy = watching?.pause ? PAUSED_POLICY : DEFAULT_POLICY;
        return runTrial({ config, clock, scraper, file, policy, onEvent }, asked, signal);
      },
    },
  };
}

async function findFile(config: Config, id: string) {
  const scrapers = await findScrapers(config);
  const ids = scrapers.list().flatMap((entry) => (entry.kind === 'known' ? entry.summary.id : []));
  if (ids.includes(id)) return { file: scrapers.fileOf(id), ids };
  // Throws for one that cannot be used.
  await scrapers.find(id);
  return { file: null, ids };
}

/** A person takes as long as it takes, and has had a try already when asked. */
const PAUSED_POLICY: Policy = {
  ...DEFAULT_POLICY,
  retries: { ...DEFAULT_POLICY.retries, max_retries: 0 },
  timeouts: { ...DEFAULT_POLICY.timeouts, item_timeout_seconds: 3600 },
};

interface TrialDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly scraper: Scraper;
  readonly file: string;
  readonly policy: Policy;
  readonly onEvent: (event: TrialEvent) => void;
}

async function runTrial(deps: TrialDeps, asked: TrialInput, signal: AbortSignal): Promise<TrialReport | null> {
  const { config, clock, scraper, file } = deps;
  const secrets = loadSecrets(config);
  const events: TrialEvent[] = [];
  const tell = (event: TrialEvent) => {
    const shown = maskSecrets(event, secrets);
    events.push(shown);
    deps.onEvent(shown);
  };
  const selectors = new SelectorGroups();
  const stopListening = SELECTOR_WATCH.listen((use) => selectors.add(use));
  const begunAt = clock.elapsed();
  try {
    const ended = await (asked.kind === 'case' ? playCase(deps, asked.name, tell) : visit(deps, asked, tell, signal));
    if (ended === null) return null;
    const { id: scraperId, version } = scraper;
    const ms = Math.round(clock.elapsed() - begunAt);
    const seen = maskSecrets({ ...ended, selectors: selectors.list() }, secrets);
    return { ...{ scraperId, version, file }, ...seen, ms, events };
  } finally {
    stopListening();
  }
}

/** What is shown is data that JSON can express. */
function maskSecrets<T>(shown: T, secrets: SecretBook): T {
  return !secrets.hasAny ? shown : JSON.parse(secrets.mask(JSON.stringify(shown)));
}

type Ended = Pick<TrialReport, 'input' | 'caseName' | 'outcome' | 'tries' | 'page'>;
type Tell = (event: TrialEvent) => void;

async function playCase({ config, scraper, file, clock }: TrialDeps, name: string, tell: Tell): Promise<Ended> {
  const { fixtureFolderOf, readFixture } = await import('../scraping/fixtures/fixture-folder.ts');
  const { runCase } = await import('../scraping/fixtures/run-case.ts');
  const folder = fixtureFolderOf(file);
  const fixture = await readFixture(folder);
  const found = fixture?.cases.find((each) => each.name === name);
  if (found === undefined) {
    const names = fixture?.cases.map((each) => JSON.stringify(each.name)).join(', ');
    throw new ConfigError(
      names === undefined
        ? `--case: ${scraper.id} has no fixture; record one with trawl scrapers test ${scraper.id} --record`
        : `--case: the fixture of ${scraper.id} has no case ${JSON.stringify(name)}, but ${names}`,
    );
  }
  let web: TracedWeb | null = null;
  const browsers = caseBrowsers(config, clock);
  const { seen } = await runCase(scraper, folder, found, clock, browsers, (tools) => {
    web = new TracedWeb(tools.web, tell);
    return { ...tools, web, log: tracedLog(tell) };
  }).finally(() => browsers.close());
  return { input: found.input, caseName: name, outcome: outcomeOf(seen, []), tries: 1, page: lastPageOf(web) };
}

/** Assigned in a callback, which the compiler does not track. */
function lastPageOf(web: TracedWeb | null): TrialReport['page'] {
  return web?.lastPage ?? null;
}

async function visit(
  { config, clock, scraper, policy }: TrialDeps,
  asked: TrialInput & { readonly kind: 'input' },
  tell: Tell,
  signal: AbortSignal,
): Promise<Ended | null> {
  const input = asked.url === null ? asked.input : { ...asked.input, url: checkedUrl(scraper, asked.url) };
  const opened = await openVisitorTools(config, clock, (host, ms) => tell({ kind: 'wait', host, ms }));
  const web = new TracedWeb(opened.web, tell);
  const { gate, secrets, states } = opened;
  const browsers = caseBrowsers(config, clock);
  const plain = {
    web,
    gate,
    log: tracedLog(tell),
    secrets,
    states,
    robots: UNCHECKED,
    browser: null,
    siteTools: null,
    allowsScripts: config.recordingScripts,
  };
  const drafts: Draft[] = [];
  const batch = new BatchScope();
  try {
    const tools: ScrapeTools = await withBrowser(scraper, plain, browsers);
    const { result: decided, tries } = await tryUntilDecided(
      {
        clock,
        tools,
        deadlines: new Deadlines(clock),
        ladders: new JobLadders(),
        meter: new UsageMeter(),
        batch,
        store: { draft: () => new SpillingDraft(DRAFTS) },
        onFailedTry: ({ failure: { type, message }, ...rest }) => tell({ kind: 'retry', ...rest, type, message }),
      },
      { jobId: 'try', order: { policy, policyRevision: 1, jobCreatedAt: 0 }, scraper },
      { itemId: 'try', input },
      drafts,
      signal,
    );
    if (decided === 'aborted') return null;
    const result = decided.kind === 'held' ? decided.last : decided;
    const outcome = outcomeOf(seenOf(result), keptOf(result));
    return { input, caseName: null, outcome, tries, page: web.lastPage ?? pageOf(result) };
  } finally {
    for (const draft of drafts) await draft.discard();
    await batch.end();
    await browsers.close();
    await opened.close();
  }
}

/** For documents that are looked at and discarded. */
const DRAFTS = heldDrafts(() => createHash('sha256'));

function checkedUrl(scraper: Scraper, url: string): string {
  const schema = jsonSchemaOf(scraper.input, 'input');
  const fields = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  if (fields.includes('url')) return url;
  const has = fields.length === 0 ? 'names no fields' : `has ${fields.join(', ')}`;
  throw new ConfigError(`--url: the input of ${scraper.id} has no field url: it ${has}. Use --input name=value`);
}

/** What a scraper logs at debug level is about each request, which is shown already. */
function tracedLog(tell: Tell): ScrapeLog {
  const line = (level: 'info' | 'warn') => (fields: object, message: string) => {
    const { job_id: _job, item_id: _item, ...rest } = fields as Record<string, unknown>;
    tell({ kind: 'log', level, message, fields: rest });
  };
  return { debug: () => {}, info: line('info'), warn: line('warn') };
}

function outcomeOf(seen: Seen, kept: readonly KeptBytes[]): TrialOutcome {
  if (seen.kind === 'data') return { kind: 'data', data: seen.data, kept };
  if (seen.kind === 'failure') return { kind: 'failed', type: seen.type, message: seen.message };
  return { kind: 'skipped', reason: seen.reason };
}

function keptOf({ artifacts = [] }: ScrapeResult): readonly KeptBytes[] {
  return artifacts.map(({ kind, bytes }) => ({
    kind,
    bytes: bytes instanceof Uint8Array ? bytes.length : bytes.size,
  }));
}

/** A scraper that makes up its page requests none. */
function pageOf({ artifacts = [] }: ScrapeResult): TrialReport['page'] {
  const bytes = artifacts.find(({ kind }) => kind === 'html')?.bytes;
  return bytes instanceof Uint8Array ? { url: 'about:blank', text: Buffer.from(bytes).toString() } : null;
}
