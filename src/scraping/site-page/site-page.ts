import { type CachedPage, isFresh, type PageKey, type Validators } from '../../domain/cached-page.ts';
import { failure } from '../../domain/failure.ts';
import { isKnownBad, type PathErrors } from '../../domain/path-errors.ts';
import type { Policy } from '../../domain/policy.ts';
import { contentMode } from '../../domain/site.ts';
import type { BrowserRules, OpenedTab } from '../browser/browser-companion.ts';
import { BrowserIdentity } from '../browser/browser-identity.ts';
import { CookieBridge } from '../browser/cookie-bridge.ts';
import { defineScraper, type WithInput } from '../define-scraper.ts';
import { exitsFor } from '../exit-for.ts';
import { dataArtifact } from '../extract-page.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Identity } from '../http/identity.ts';
import { clientOpener, type OpenClient } from '../http/open-client.ts';
import { compileSigns } from '../page/signs.ts';
import type { ScraperSummary } from '../scan-scraper.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeContext, ScrapeResult, Scraper, SiteScrapeTools } from '../scraper.ts';
import { visitSite } from '../visit-site.ts';
import { BatchBrowser, withUserAgent } from './batch-browser.ts';
import { BatchPace } from './batch-pace.ts';
import { fetchContent } from './fetch-content.ts';
import { habitsOf } from './markdown-offers.ts';
import { type PageData, pageData, type ReadContent } from './page-data.ts';
import { findPage, pageInput, type WantedPage } from './page-input.ts';
import { readInBrowser } from './read-in-browser.ts';

const MIB = 1 << 20;

/** Documentation writes about maintenance and captchas: what a page says is no reason to take it for one of those. */
const RULES: BrowserRules = {
  signs: compileSigns({ blocked: [], maintenance: [] }),
  limits: { pageBytes: 32 * MIB, documentBytes: 32 * MIB, visitBytes: 256 * MIB },
  allowsHost: () => true,
};

/** After so many pages in a row without content in their HTML, a site with the mode `auto` is read in a browser at once. */
const BARE_IN_A_ROW = 3;

type Context = WithInput<ScrapeContext, typeof pageInput>;

/**
 * A page of documentation as Markdown. What is cached and young enough is not asked for again, and neither is what keeps
 * failing.
 */
export function sitePageScraper({ id, name, version, description }: ScraperSummary): Scraper {
  return defineScraper({
    ...{ id, name, version, description, kind: 'http', lane: 'http', hosts: [], metadata: false, extract: null },
    input: pageInput,
    output: pageData,
    async scrape(context: Context): Promise<ScrapeResult> {
      const { tools, input, batch } = context;
      const page = await findPage(input, tools, batch);
      const known = await lookUp(context, page, tools.siteTools);
      if (known.skip !== null) return known.skip;
      const end = await readPage(context, page, known.cached);
      return await concluded(context, page, known, end);
    },
  });
}

interface Known {
  /** The page need not be asked for. */
  readonly skip: ScrapeResult | null;
  /** What is cached, although it is not young enough, and its content. */
  readonly cached: CachedContent | null;
  readonly errors: PathErrors | null;
}

interface CachedContent {
  readonly page: CachedPage;
  readonly markdown: string;
}

function keyOf({ site, path }: WantedPage): PageKey {
  return { site: site.id, path, method: site.config.content.method };
}

async function lookUp(
  { input, now }: Pick<Context, 'input' | 'now'>,
  page: WantedPage,
  tools: SiteScrapeTools | null,
): Promise<Known> {
  if (tools === null) return { skip: null, cached: null, errors: null };
  const place = { site: page.site.id, path: page.path };
  const [[entry = null], [errors = null]] = await Promise.all([
    tools.pageCache.look([keyOf(page)]),
    tools.pathErrors.look([place]),
  ]);
  if (errors !== null && input.max_age === 0) {
    await tools.pathErrors.note([{ kind: 'cleared', page: place }]);
    return { ...(await lookUp({ input, now }, page, tools)), errors: null };
  }
  const found = entry?.type === 'page' ? entry : null;
  const markdown = found === null ? null : await tools.pageCache.content(page.site.id, found);
  const cached = found === null || markdown === null ? null : { page: found, markdown };
  if (cached !== null && isFresh(cached.page, input.max_age, now())) {
    const data = cachedData(page, cached, { source: 'cache', fetchedAt: cached.page.fetchedAt, isSame: false });
    return { skip: { kind: 'skipped', reason: 'cached', artifacts: [dataArtifact(pageData, data)] }, cached, errors };
  }
  const isBad = input.max_age > 0 && isKnownBad(errors, now());
  return { skip: isBad ? { kind: 'skipped', reason: 'known-bad' } : null, cached, errors };
}

function cachedData(
  { site, path, url }: WantedPage,
  { page, markdown }: CachedContent,
  { source, fetchedAt, isSame }: { source: PageData['source']; fetchedAt: number; isSame: boolean },
): PageData {
  const fetched_at = new Date(fetchedAt).toISOString();
  const { title } = page;
  return { ...{ type: 'page', site: site.id, path, url, title, markdown }, source, fetched_at, not_modified: isSame };
}

/** How reading a page ended, and what was read. */
interface ReadEnd {
  readonly result: ScrapeResult;
  readonly content: ReadContent | null;
  /** Only if the site said that what is cached is still right. */
  readonly same: Validators | null;
}

async function readPage(context: Context, page: WantedPage, cached: CachedContent | null): Promise<ReadEnd> {
  const mode = contentMode(page.site.config);
  const habits = habitsOf(context.tools.states, page.site);
  const isBare = habits.bare >= BARE_IN_A_ROW;
  if (mode === 'browser' || (mode === 'auto' && isBare && context.tools.browser !== null)) {
    return await readWithBrowser(context, page);
  }
  const end = await readByHttp(context, page, cached);
  if (end !== 'bare') {
    habits.bare = 0;
    return end;
  }
  if (mode === 'auto' && context.tools.browser !== null) {
    habits.bare += 1;
    return await readWithBrowser(context, page);
  }
  return { result: { kind: 'failed', failure: EMPTY }, content: null, same: null };
}

const EMPTY = failure('structure_changed', 'Empty content');

function userAgentOf({ tools }: Context): string {
  return tools.siteTools?.userAgent ?? 'Trawl documentation archiver';
}

const openClient: OpenClient = clientOpener(RULES);

/** No browser is imitated. */
function archiver(userAgent: string): Identity {
  return { userAgent, clientHints: {}, acceptLanguage: 'en', acceptPage: 'text/html, */*;q=0.5' };
}

async function readByHttp(context: Context, page: WantedPage, cached: CachedContent | null): Promise<ReadEnd | 'bare'> {
  const { input, batch, tools } = context;
  const pace = BatchPace.of(batch);
  const send = <T>(request: () => Promise<T>) => pace.send(context, input.delay_ms, request);
  const habits = habitsOf(tools.states, page.site);
  let content: ReadContent | null = null;
  let same: Validators | null = null;
  let isBare = false;
  const result = await visitSite(context, {
    ...{ parser: null, output: pageData, limits: RULES.limits, items: null, open: openClient },
    identity: () => archiver(userAgentOf(context)),
    scrape: async ({ http }) => {
      const fetched = await fetchContent({ http, habits, send }, page, cached?.page ?? null);
      if (fetched.kind === 'bare') {
        isBare = true;
        throw new ScrapeFailure(EMPTY);
      }
      const now = context.now();
      if (fetched.kind === 'content') {
        content = fetched.content;
        return { data: freshData(page, content, now) };
      }
      same = fetched.validators;
      if (cached === null) throw new Error(`${page.url} has not changed, and is not cached`);
      return { data: cachedData(page, cached, { source: 'cache', fetchedAt: now, isSame: true }) };
    },
  });
  return isBare ? 'bare' : { result, content, same };
}

function freshData({ site, path, url }: WantedPage, content: ReadContent, now: number): PageData {
  const { title, markdown, source } = content;
  const fetched_at = new Date(now).toISOString();
  return { ...{ type: 'page', site: site.id, path, url, title, markdown, source }, fetched_at, not_modified: false };
}

async function readWithBrowser(given: Context, page: WantedPage): Promise<ReadEnd> {
  const userAgent = userAgentOf(given);
  const context = withPolicy(given, withUserAgent(given.policy, userAgent));
  const pace = BatchPace.of(context.batch);
  const browser = BatchBrowser.of(context.batch);
  const identity = new BrowserIdentity(archiver(userAgent));
  const bridges = new WeakMap<HttpClient, CookieBridge>();
  let content: ReadContent | null = null;
  const result = await visitSite<typeof pageInput, undefined, OpenedTab>(context, {
    ...{ parser: null, output: pageData, limits: RULES.limits, items: null },
    open: (who, from) => {
      const bridge = new CookieBridge(who.tools.web);
      const http = openClient({ ...who, identity, tools: { ...who.tools, web: bridge } }, from);
      bridges.set(http, bridge);
      return http;
    },
    accompany: ({ http, log }) =>
      browser.accompany({
        ...{ rules: RULES, log, http, context, tools: context.tools, signal: context.signal, identity },
        bridge: bridges.get(http) ?? null,
        exits: exitsFor(context),
        storage: null,
        // The batch keeps its context by itself.
        job: null,
        suspect: `${context.jobId}/${context.itemId}`,
        sleep: (ms) => context.sleep(ms),
      }),
    scrape: async ({ tab }) => {
      content = await readInBrowser(tab, page, (request) => pace.send(context, context.input.delay_ms, request));
      if (content === null) throw new ScrapeFailure(EMPTY);
      return { data: freshData(page, content, context.now()) };
    },
  });
  return { result, content, same: null };
}

/** Field by field: the worker's own object makes them when they are asked for. */
function withPolicy(context: Context, policy: Policy): Context {
  const { jobId, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage } = context;
  const { input, tools, signal, now, sleep, isRetried, draft } = context;
  return {
    ...{ jobId, itemId, depth, tryNumber, identity, proxyType, proxySession, batch, usage },
    ...{ input, tools, signal, now, sleep, isRetried, draft, policy },
    withInput: (checked) => context.withInput(checked),
  };
}

/** Keeps what was learnt: the content in the cache, and failures that nothing more is tried about in the tracker. */
async function concluded(
  context: Context,
  page: WantedPage,
  { errors }: Known,
  { result, content, same }: ReadEnd,
): Promise<ScrapeResult> {
  const tools = context.tools.siteTools;
  if (tools === null) return result;
  const place = { site: page.site.id, path: page.path };
  const at = context.now();
  if (result.kind === 'scraped') {
    const key = keyOf(page);
    if (content !== null) {
      const { markdown, title, url, validators } = content;
      await tools.pageCache.record([
        { kind: 'content', key, url, content: markdown, title, fetchedAt: at, ...validators },
      ]);
    } else if (same !== null) await tools.pageCache.record([{ kind: 'same', key, at, validators: same }]);
    if (errors !== null) await tools.pathErrors.note([{ kind: 'cleared', page: place }]);
  } else if (result.kind === 'failed') {
    const { failure: found } = result;
    // An empty page may be filled tomorrow, and says nothing about whether the site can be reached.
    const counts = found.message !== EMPTY.message && !context.isRetried(found) && !context.signal.aborted;
    if (counts) await tools.pathErrors.note([{ kind: 'failed', page: place, error: found.message, at }]);
  }
  return result;
}
