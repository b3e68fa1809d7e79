import { hash } from 'node:crypto';
import { z } from 'zod';
import { isFresh } from '../../domain/cached-page.ts';
import { pageUrl } from '../../domain/resolve-site.ts';
import type { Site } from '../../domain/site.ts';
import { pageItemId, type SiteLink, type SiteLinks, sortLinks } from '../../domain/site-links.ts';
import type { FoundItem, SiteScrapeTools } from '../scraper.ts';
import type { PageInput, WantedPage } from './page-input.ts';

/** More links into its own site than this no page has that was written for readers. */
const MAX_LINKS = 10_000;

const linkList = z.array(z.string());

export const digest = (text: string): string => hash('sha256', text);

/** Addresses that the page led to when it was read last; null if that is too long ago, or is not known. */
export async function cachedLinks(
  { pageCache }: SiteScrapeTools,
  { site, path }: Pick<WantedPage, 'site' | 'path'>,
  maxAge: number,
  now: number,
): Promise<readonly string[] | null> {
  const [entry = null] = await pageCache.look([{ site: site.id, path, method: 'links' }]);
  if (entry?.type !== 'links' || !isFresh(entry, maxAge, now)) return null;
  const json = await pageCache.content(site.id, entry);
  return json === null ? null : (linkList.safeParse(JSON.parse(json)).data ?? null);
}

/** Keeps the addresses of a page that are within its site, and the assets among them; answers those addresses. */
export async function keepLinks(
  { pageCache }: SiteScrapeTools,
  { site, path, url }: WantedPage,
  urls: Iterable<string>,
  at: number,
): Promise<readonly string[]> {
  const { pages, assets } = sortLinks(withoutPattern(site), urls);
  const links = [...pages, ...assets].map((each) => each.url).slice(0, MAX_LINKS);
  await pageCache.keep([
    { kind: 'links', key: { site: site.id, path, method: 'links' }, url, json: links, at },
    ...assetRecords(site, assets, at),
  ]);
  return links;
}

/** The pattern may change before the links are used. */
function withoutPattern(site: Site): Site {
  return { ...site, config: { ...site.config, links: { ...site.config.links, pattern: '' } } };
}

export function assetRecords(site: Site, assets: readonly SiteLink[], at: number) {
  return assets.map(({ path, url }) => {
    return { kind: 'asset', key: { site: site.id, path, method: 'asset' }, url, at } as const;
  });
}

/** Pages as items of the job that pulls their site. Each has one id, wherever it was found. */
export function foundPages(
  site: Site,
  { pages }: Pick<SiteLinks, 'pages'>,
  { max_age, delay_ms }: Pick<PageInput, 'max_age' | 'delay_ms'>,
): FoundItem[] {
  return pages.map(({ path, url }) => ({
    item_id: pageItemId(pageUrl(site, path), digest),
    input: { url, site: site.id, path, max_age, delay_ms, role: 'follow' },
    group: site.id,
  }));
}
