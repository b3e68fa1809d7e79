import { MAX_LLMS_BYTES, readLlmsTxt } from '../../domain/llms-txt.ts';
import { pageUrl } from '../../domain/resolve-site.ts';
import type { Site } from '../../domain/site.ts';
import { pageItemId, sortLinks, withoutMarkdownSuffix } from '../../domain/site-links.ts';
import { readSitemap, robotsSitemaps, type Sitemap } from '../../domain/sitemap.ts';
import type { HttpClient } from '../http/http-client.ts';
import { fail } from '../scrape-failure.ts';
import type { FoundItem, ScrapeResult } from '../scraper.ts';
import { assetRecords, digest, foundPages } from './follow-links.ts';
import type { PageInput } from './page-input.ts';
import { type PageContext, type Send, visitByHttp } from './visits.ts';

/**
 * What names pages of a site beside its links: sitemaps and their indexes, the robots.txt that names those, and llms.txt. The
 * pages, and further sitemaps, become items of the job.
 */

/** An attempt may find 4,000 items: a longer sitemap becomes several items, each of which adds a part of it. */
const PER_PART = 3000;

/** Of what a site may have and need not. Many answer 403 for what they do not have. */
const ABSENT = [400, 401, 403, 404, 405, 406, 410, 500, 501];

const XML = 'application/xml, text/xml;q=0.9, */*;q=0.5';
const TEXT = 'text/plain, text/markdown;q=0.9, */*;q=0.5';

export async function readSource(
  context: PageContext,
  site: Site,
  role: 'sitemap' | 'robots' | 'llms',
): Promise<ScrapeResult> {
  return await visitByHttp(context, async (http, send) => {
    const ask = asking(http, send);
    const found = await findItems(ask, site, role, context.input);
    const { part = 0 } = context.input;
    const { assets } = sortLinks(site, found.urls);
    const at = context.now();
    if (assets.length > 0 && part === 0) await context.tools.siteTools?.pageCache.keep(assetRecords(site, assets, at));
    return { data: null, found: partOf(found.items, site, role, context.input) };
  });
}

/** Null if it is not there; only of what a site need not have. */
type Ask = (url: string, accept: string, isOptional: boolean) => Promise<{ text: string; url: string } | null>;

export function asking(http: HttpClient, send: Send): Ask {
  return async (url, accept, isOptional) => {
    const page = await send(() => http.get(url, { headers: { accept }, expectStatus: isOptional ? ABSENT : [] }));
    return page.status >= 200 && page.status < 300 ? { text: page.body, url: page.url } : null;
  };
}

interface Named {
  readonly items: readonly FoundItem[];
  /** Pages and files that it names. */
  readonly urls: readonly string[];
}

async function findItems(ask: Ask, site: Site, role: 'sitemap' | 'robots' | 'llms', input: PageInput): Promise<Named> {
  if (role === 'llms') {
    const urls = (await readLlms(ask, site)) ?? [];
    return { urls, items: foundPages(site, sortLinks(site, urls), input) };
  }
  if (role === 'sitemap') {
    const sitemap =
      (await readMap(ask, input.url, false)) ?? fail('structure_changed', `${input.url} is not a sitemap`);
    return namedBy(sitemap, site, input);
  }
  const { origin } = new URL(pageUrl(site, ''));
  const named = await namedSitemaps(ask, origin);
  if (named.length > 0) return { urls: [], items: sitemapItems(site, named, input) };
  const usual = await readMap(ask, `${origin}/sitemap.xml`, true);
  return usual === null ? { urls: [], items: [] } : namedBy(usual, site, input);
}

function namedBy({ kind, urls }: Sitemap, site: Site, input: PageInput): Named {
  if (kind === 'pages') return { urls, items: foundPages(site, sortLinks(site, urls), input) };
  return { urls: [], items: sitemapItems(site, sameHosts(site, input.url, urls), input) };
}

/** Others' hosts are not asked because an index names them. */
export function sameHosts(site: Site, parent: string, urls: readonly string[]): readonly string[] {
  const hosts = new Set([new URL(pageUrl(site, '')).host, URL.parse(parent)?.host]);
  return urls.filter((url) => hosts.has(URL.parse(url)?.host));
}

export async function namedSitemaps(ask: Ask, origin: string): Promise<readonly string[]> {
  const robots = await ask(`${origin}/robots.txt`, TEXT, true);
  return robots === null ? [] : robotsSitemaps(robots.text, origin);
}

export async function readMap(ask: Ask, url: string, isOptional: boolean): Promise<Sitemap | null> {
  const answer = await ask(url, XML, isOptional);
  return answer === null ? null : readSitemap(answer.text);
}

/** Pages that the llms.txt of the site names; null if it has none. In the folder of the site first: a host may have several sites. */
export async function readLlms(ask: Ask, site: Site): Promise<readonly string[] | null> {
  const base = pageUrl(site, '');
  for (const place of new Set([`${base}/llms.txt`, `${new URL(base).origin}/llms.txt`])) {
    const answer = await ask(place, TEXT, true);
    const index = answer === null || answer.text.length > MAX_LLMS_BYTES ? null : readLlmsTxt(answer.text, answer.url);
    // Where the site has its pages as Markdown, the index names that, and the page is the same without the suffix.
    if (index !== null)
      return site.config.content.markdown === 'none' ? index.urls : index.urls.map(withoutMarkdownSuffix);
  }
  return null;
}

function sitemapItems(site: Site, urls: readonly string[], { max_age, delay_ms }: PageInput): FoundItem[] {
  return urls.map((url) => ({
    item_id: pageItemId(url, digest),
    input: { url, site: site.id, max_age, delay_ms, role: 'sitemap' },
    group: site.id,
  }));
}

/** What this item adds of all that the sitemap names; the first one also adds the items that add the rest. */
function partOf(items: readonly FoundItem[], site: Site, role: string, input: PageInput): readonly FoundItem[] {
  const { part = 0, url, max_age, delay_ms } = input;
  const own = items.slice(part * PER_PART, (part + 1) * PER_PART);
  if (part > 0) return own;
  const parts = Array.from({ length: Math.ceil(items.length / PER_PART) - 1 }, (_, index) => index + 1);
  const others = parts.map((each) => ({
    item_id: `${pageItemId(url, digest)} (part ${each + 1})`,
    input: { url, site: site.id, max_age, delay_ms, role, part: each },
    group: site.id,
  }));
  return [...own, ...others];
}
