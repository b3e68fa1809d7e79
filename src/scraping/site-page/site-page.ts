import { hash } from 'node:crypto';
import { type CachedPage, isFresh, type PageKey, readerMark, type Validators } from '../../domain/cached-page.ts';
import { failure } from '../../domain/failure.ts';
import { isKnownBad, type PathErrors } from '../../domain/path-errors.ts';
import { contentMode } from '../../domain/site.ts';
import { sortLinks } from '../../domain/site-links.ts';
import { htmlSelector } from '../../domain/site-selector.ts';
import { defineScraper } from '../define-scraper.ts';
import { dataArtifact } from '../extract-page.ts';
import type { HttpClient } from '../http/http-client.ts';
import { linksIn } from '../markdown/page-links.ts';
import { DOCUMENT_LIMITS } from '../markdown/to-markdown.ts';
import type { ScraperSummary } from '../scan-scraper.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import type { ScrapeResult, Scraper, SiteScrapeTools } from '../scraper.ts';
import { collectLinks } from './collect-links.ts';
import { fetchContent, HTML_ONLY } from './fetch-content.ts';
import { cachedLinks, foundPages, keepLinks } from './follow-links.ts';
import { KnownPages } from './known-pages.ts';
import { habitsOf } from './markdown-offers.ts';
import { type PageData, pageData, type ReadContent } from './page-data.ts';
import { findPage, pageInput, siteOf, type WantedPage } from './page-input.ts';
import { readInBrowser } from './read-in-browser.ts';
import { readSource } from './read-source.ts';
import { type PageContext, type Send, visitByHttp, visitInBrowser } from './visits.ts';

const digest = (text: string): string => hash('sha256', text);

/** After so many pages in a row without content in their HTML, a site with the mode `auto` is read in a browser at once. */
const BARE_IN_A_ROW = 3;

/**
 * A documentation page as Markdown. Pages that are cached and fresh are not requested again, and neither are those that
 * keep failing.
 */
export function sitePageScraper({ id, name, version, description }: ScraperSummary): Scraper {
  return defineScraper({
    ...{ id, name, version, description, kind: 'http', lane: 'http', hosts: [], metadata: false, extract: null },
    input: pageInput,
    output: pageData,
    async scrape(context: PageContext): Promise<ScrapeResult> {
      const { tools, input, batch } = context;
      const { role } = input;
      if (role === 'links')
        return await collectLinks(context, await siteOf(input.url, input.site, tools.siteTools, batch));
      if (role !== undefined && role !== 'follow') {
        return await readSource(context, await siteOf(input.url, input.site, tools.siteTools, batch), role);
      }
      const page = await findPage(input, tools, batch);
      const links = await linksBefore(context, page);
      const known = await lookUp(context, page, tools.siteTools);
      // A page from the cache is of no use to one who follows links, unless its links are known, too.
      const isUsable = links === null || links.known !== null;
      const isLeftAlone = known.skip?.kind === 'skipped' && known.skip.reason === 'known-bad';
      if (known.skip !== null && (isUsable || isLeftAlone)) {
        return { ...known.skip, ...finds(context, page, links?.known ?? []) };
      }
      const end = await readPage(context, page, isUsable ? known.cached : null, links !== null);
      const result = await concluded(context, page, known, end);
      if (links === null || result.kind !== 'scraped' || tools.siteTools === null) return result;
      const found = end.content === null ? links.known : [...end.content.links, ...end.navigation];
      const kept = await keepLinks(tools.siteTools, page, found ?? [], context.now());
      return { ...result, ...finds(context, page, kept) };
    },
  });
}

/** Null for a page whose links are not followed; `known` are those of the cache, null if it has none that are young enough. */
async function linksBefore(
  { input, depth, tools: { siteTools }, now }: PageContext,
  page: WantedPage,
): Promise<{ readonly known: readonly string[] | null } | null> {
  if (input.role !== 'follow' || siteTools === null || depth >= page.site.config.links.maxDepth) return null;
  return { known: await cachedLinks(siteTools, page, input.max_age, now()) };
}

function finds({ input }: PageContext, { site }: WantedPage, links: readonly string[]) {
  const found = foundPages(site, sortLinks(site, links), input);
  return found.length === 0 ? {} : { found };
}

interface Known {
  /** Set if the page need not be requested. */
  readonly skip: ScrapeResult | null;
  /** The cached entry with its content, although it is no longer fresh. */
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
  context: Pick<PageContext, 'input' | 'now' | 'jobId' | 'jobCreatedAt' | 'itemId' | 'batch'>,
  page: WantedPage,
  tools: SiteScrapeTools | null,
): Promise<Known> {
  const { input, now } = context;
  if (tools === null) return { skip: null, cached: null, errors: null };
  const place = { site: page.site.id, path: page.path };
  const { entry, errors } = await KnownPages.of(context.batch).look(context, page, tools);
  if (errors !== null && input.max_age === 0) {
    await tools.pathErrors.note([{ kind: 'cleared', page: place }]);
    return { ...(await lookUp(context, page, tools)), errors: null };
  }
  const found = entry?.type === 'page' ? entry : null;
  const markdown = found === null ? null : await tools.pageCache.content(page.site.id, found);
  const cached = found === null || markdown === null ? null : { page: found, markdown };
  const { reader } = cached?.page ?? {};
  if (cached !== null && reader?.mark === readerMark(context, digest)) {
    // This very item has read it, and its worker died before that was recorded.
    const seen = { source: 'cache', fetchedAt: cached.page.fetchedAt, isSame: reader.isSame } as const;
    const artifacts = [dataArtifact(pageData, cachedData(page, cached, seen))];
    return { skip: { kind: 'scraped', artifacts }, cached, errors };
  }
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
  /** Set only if the site said that the cached content is still current. */
  readonly same: Validators | null;
  /** When that was; null if nothing was read. */
  readonly at: number | null;
  /** Links beside those of the content. */
  readonly navigation: readonly string[];
}

async function readPage(
  context: PageContext,
  page: WantedPage,
  cached: CachedContent | null,
  withLinks: boolean,
): Promise<ReadEnd> {
  const mode = contentMode(page.site.config);
  const habits = habitsOf(context.tools.states, page.site);
  const isBare = habits.bare >= BARE_IN_A_ROW || needsBrowser(page);
  if (mode === 'browser' || (mode === 'auto' && isBare && context.tools.browser !== null)) {
    return await readWithBrowser(context, page, withLinks);
  }
  const end = await readByHttp(context, page, cached, withLinks);
  if (end !== 'bare') {
    habits.bare = 0;
    return end;
  }
  if (mode === 'auto' && context.tools.browser !== null) {
    habits.bare += 1;
    return await readWithBrowser(context, page, withLinks);
  }
  return { result: { kind: 'failed', failure: EMPTY }, content: null, same: null, at: null, navigation: [] };
}

/** Some selectors have no meaning outside of a browser. */
function needsBrowser({ site }: WantedPage): boolean {
  const { selector } = site.config.content;
  return selector !== undefined && 'problem' in htmlSelector(selector);
}

const EMPTY = failure('structure_changed', 'Empty content');

async function readByHttp(
  context: PageContext,
  page: WantedPage,
  cached: CachedContent | null,
  withLinks: boolean,
): Promise<ReadEnd | 'bare'> {
  const habits = habitsOf(context.tools.states, page.site);
  let content: ReadContent | null = null;
  let same: Validators | null = null;
  let navigation: readonly string[] = [];
  let isBare = false;
  let at: number | null = null;
  const result = await visitByHttp(context, async (http, send) => {
    const fetched = await fetchContent({ http, habits, withLinks }, page, cached?.page ?? null);
    if (fetched.kind === 'bare') {
      isBare = true;
      throw new ScrapeFailure(EMPTY);
    }
    const now = context.now();
    at = now;
    if (fetched.kind === 'content') {
      content = fetched.content;
      const isStart = withLinks && context.depth === 0;
      if (isStart && content.source === 'markdown') navigation = await readNavigation(http, send, page.url);
      return { data: freshData(page, content, now) };
    }
    same = fetched.validators;
    if (cached === null) throw new Error(`${page.url} has not changed, and is not cached`);
    return { data: cachedData(page, cached, { source: 'cache', fetchedAt: now, isSame: true }) };
  });
  return isBare ? 'bare' : { result, content, same, at, navigation };
}

/** Markdown has no navigation, and a start page is where it matters most. Without its HTML, the links of its text must do. */
async function readNavigation(http: HttpClient, send: Send, url: string): Promise<readonly string[]> {
  try {
    const page = await send(() => http.get(url, { headers: { accept: HTML_ONLY } }));
    return linksIn(page.body, page.url, DOCUMENT_LIMITS);
  } catch (error) {
    if (error instanceof ScrapeFailure) return [];
    throw error;
  }
}

function freshData({ site, path, url }: WantedPage, content: ReadContent, now: number): PageData {
  const { title, markdown, source } = content;
  const fetched_at = new Date(now).toISOString();
  return { ...{ type: 'page', site: site.id, path, url, title, markdown, source }, fetched_at, not_modified: false };
}

async function readWithBrowser(context: PageContext, page: WantedPage, withLinks: boolean): Promise<ReadEnd> {
  let content: ReadContent | null = null;
  let at: number | null = null;
  const result = await visitInBrowser(context, async (tab, send) => {
    content = await readInBrowser(tab, page, send, { withLinks });
    if (content === null) throw new ScrapeFailure(EMPTY);
    at = context.now();
    return { data: freshData(page, content, at) };
  });
  return { result, content, same: null, at, navigation: [] };
}

/** Records what was learnt: the content in the cache, and final failures in the tracker. */
async function concluded(
  context: PageContext,
  page: WantedPage,
  { errors }: Known,
  { result, content, same, at: readAt }: ReadEnd,
): Promise<ScrapeResult> {
  const tools = context.tools.siteTools;
  if (tools === null) return result;
  const place = { site: page.site.id, path: page.path };
  const at = readAt ?? context.now();
  if (result.kind === 'scraped') {
    const key = keyOf(page);
    const by = readerMark(context, digest);
    if (content !== null) {
      const { markdown, title, url, validators } = content;
      await tools.pageCache.keep([
        { kind: 'content', key, url, content: markdown, title, fetchedAt: at, by, ...validators },
      ]);
    } else if (same !== null) await tools.pageCache.keep([{ kind: 'same', key, at, by, validators: same }]);
    if (errors !== null) await tools.pathErrors.note([{ kind: 'cleared', page: place }]);
  } else if (result.kind === 'failed') {
    const { failure: found } = result;
    // An empty page may have content tomorrow, and says nothing about whether the site can be reached.
    const counts = found.message !== EMPTY.message && !context.isRetried(found) && !context.signal.aborted;
    if (counts) await tools.pathErrors.note([{ kind: 'failed', page: place, error: found.message, at }]);
  }
  return result;
}
