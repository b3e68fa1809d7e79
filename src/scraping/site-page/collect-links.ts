import { pageUrl } from '../../domain/resolve-site.ts';
import type { Site } from '../../domain/site.ts';
import { type SiteLink, sortLinks, startPages } from '../../domain/site-links.ts';
import { linksIn } from '../markdown/page-links.ts';
import { DOCUMENT_LIMITS } from '../markdown/to-markdown.ts';
import type { ScrapeResult } from '../scraper.ts';
import { HTML_ONLY } from './fetch-content.ts';
import { cachedLinks, keepLinks } from './follow-links.ts';
import type { WantedPage } from './page-input.ts';
import { readTabLinks } from './read-in-browser.ts';
import { asking, namedSitemaps, readLlms, readMap, sameHosts } from './read-source.ts';
import { type PageContext, visitByHttp, visitInBrowser } from './visits.ts';

/** A request waits for this: beyond so many pages, sitemaps or time, the list is given as far as it goes. */
const MAX_PAGES_READ = 500;
const MAX_SITEMAPS = 50;
const MAX_LINKS = 50_000;
const MOST_MS = 240_000;

/**
 * All links of a site by its configuration, into the cache: what its sitemaps and its llms.txt name, and what is linked from
 * its start pages, up to `maxDepth` links away. Only pages on the way are read, and none that only a sitemap names.
 */
export async function collectLinks(context: PageContext, site: Site): Promise<ScrapeResult> {
  const collector = new Collector(context, site);
  await collector.readSources();
  await collector.follow();
  return await collector.end();
}

class Collector {
  readonly #context: PageContext;
  readonly #site: Site;
  readonly #found = new Map<string, SiteLink>();
  readonly #startedAt: number;
  #isComplete = true;
  /** The first page or sitemap that could not be read. */
  #failed: ScrapeResult | null = null;

  constructor(context: PageContext, site: Site) {
    this.#context = context;
    this.#site = site;
    this.#startedAt = context.now();
    this.#add(startPages(site));
  }

  async readSources(): Promise<void> {
    const site = this.#site;
    const result = await visitByHttp(this.#context, async (http, send) => {
      const ask = asking(http, send);
      const base = pageUrl(site, '');
      const { origin } = new URL(base);
      const configured = site.config.links.sitemaps.map((url) => new URL(url, `${base}/`).href);
      const named = configured.length > 0 ? configured : await namedSitemaps(ask, origin);
      const isGuess = named.length === 0;
      const waiting = isGuess ? [`${origin}/sitemap.xml`] : [...named];
      for (const [read, url] of waiting.entries()) {
        if (read === MAX_SITEMAPS || this.#isLate) {
          this.#isComplete = false;
          break;
        }
        const sitemap = await readMap(ask, url, true);
        if (sitemap === null && !isGuess) this.#isComplete = false;
        if (sitemap?.kind === 'pages') this.#addUrls(sitemap.urls);
        else if (sitemap !== null) {
          const known = new Set(waiting);
          waiting.push(...sameHosts(site, url, sitemap.urls).filter((each) => !known.has(each)));
        }
      }
      this.#addUrls((await readLlms(ask, site)) ?? []);
      return { data: null, found: [] };
    });
    this.#note(result);
  }

  /** From the start pages, breadth first. */
  async follow(): Promise<void> {
    let level = startPages(this.#site);
    const seen = new Set(level.map(({ path }) => path));
    let read = 0;
    for (let depth = 0; depth < this.#site.config.links.maxDepth && level.length > 0; depth += 1) {
      const next: SiteLink[] = [];
      for (const page of level) {
        if (read === MAX_PAGES_READ || this.#isLate) {
          this.#isComplete = false;
          return;
        }
        read += 1;
        const { pages } = sortLinks(this.#site, await this.#linksOf({ ...page, site: this.#site }));
        this.#add(pages);
        for (const each of pages) {
          if (!seen.has(each.path)) next.push(each);
          seen.add(each.path);
        }
      }
      level = next;
    }
  }

  async end(): Promise<ScrapeResult> {
    const { tools, input } = this.#context;
    const links = [...this.#found.values()].map(({ url }) => url);
    const isNothing = links.length <= startPages(this.#site).length;
    if (isNothing && this.#failed !== null) return this.#failed;
    const key = { site: this.#site.id, path: '', method: 'site_links' } as const;
    const json = { links, complete: this.#isComplete };
    await tools.siteTools?.pageCache.keep([{ kind: 'links', key, url: input.url, json, at: this.#context.now() }]);
    return { kind: 'scraped', artifacts: [] };
  }

  get #isLate(): boolean {
    return this.#context.now() - this.#startedAt > MOST_MS;
  }

  async #linksOf(page: WantedPage): Promise<readonly string[]> {
    const { input, tools, now } = this.#context;
    const { siteTools } = tools;
    const known = siteTools === null ? null : await cachedLinks(siteTools, page, input.max_age, now());
    if (known !== null) return known;
    const { mode } = this.#site.config;
    let links = mode === 'browser' ? null : await this.#linksByHttp(page.url);
    const hasBrowser = tools.browser !== null;
    if (mode === 'browser' || (mode === 'auto' && hasBrowser && links?.length === 0)) {
      links = await this.#linksInBrowser(page.url);
    }
    if (links === null || siteTools === null) return links ?? [];
    return await keepLinks(siteTools, page, links, this.#context.now());
  }

  async #linksByHttp(url: string): Promise<readonly string[] | null> {
    let links: readonly string[] | null = null;
    const result = await visitByHttp(this.#context, async (http, send) => {
      const page = await send(() => http.get(url, { headers: { accept: HTML_ONLY } }));
      links = linksIn(page.body, page.url, DOCUMENT_LIMITS);
      return { data: null, found: [] };
    });
    this.#note(result);
    return links;
  }

  async #linksInBrowser(url: string): Promise<readonly string[] | null> {
    const { waitFor, waitForTimeoutMs, waitUntil, gotoTimeoutMs } = this.#site.config.links;
    let links: readonly string[] | null = null;
    const result = await visitInBrowser(this.#context, async (tab, send) => {
      await send(() => tab.goto(url, { waitUntil, timeoutSeconds: gotoTimeoutMs / 1000 }));
      if (waitFor !== undefined) {
        await tab.page.locator(waitFor).first().waitFor({ state: 'visible', timeout: waitForTimeoutMs });
      }
      links = await readTabLinks(tab);
      return { data: null, found: [] };
    });
    this.#note(result);
    return links;
  }

  /** A page that cannot be read leaves a gap in the list. What robots.txt disallows is none. */
  #note(result: ScrapeResult): void {
    if (result.kind !== 'failed') return;
    this.#isComplete = false;
    this.#failed ??= { kind: 'failed', failure: result.failure };
  }

  #addUrls(urls: readonly string[]): void {
    this.#add(sortLinks(this.#site, urls).pages);
  }

  #add(links: readonly SiteLink[]): void {
    for (const link of links) {
      if (this.#found.size >= MAX_LINKS) {
        this.#isComplete = false;
        return;
      }
      if (!this.#found.has(link.path)) this.#found.set(link.path, link);
    }
  }
}
