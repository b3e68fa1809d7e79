import type { Digest } from './artifact.ts';
import { isAssetUrl } from './asset-url.ts';
import { MAX_ITEM_ID_LENGTH } from './item.ts';
import { indexSites, pageUrl, resolveSite } from './resolve-site.ts';
import type { Site } from './site.ts';

/** An address within a site. */
export interface SiteLink {
  /** With the query; the same for addresses that differ in a slash at the end. */
  readonly path: string;
  /** What to request. */
  readonly url: string;
}

/** Addresses that lead into a site, each path once, in their order. */
export interface SiteLinks {
  readonly pages: readonly SiteLink[];
  /** Files, which are kept as links. */
  readonly assets: readonly SiteLink[];
}

/** Those of the addresses that are below the site's baseUrl. Pages must also contain the text that its pattern names. */
export function sortLinks(site: Site, urls: Iterable<string>): SiteLinks {
  const index = indexSites([site]);
  const { pattern } = site.config.links;
  const pages = new Map<string, SiteLink>();
  const assets = new Map<string, SiteLink>();
  for (const each of urls) {
    const at = resolveSite(each, index);
    if (at === null) continue;
    const { path, url } = at;
    if (isAssetUrl(url)) assets.set(path, assets.get(path) ?? { path, url });
    else if (url.includes(pattern) && !pages.has(path)) pages.set(path, { path, url });
  }
  return { pages: [...pages.values()], assets: [...assets.values()] };
}

/** Where a pull of the whole site begins: its start pages, whatever the pattern is. Those of other sites are left out. */
export function startPages(site: Site): readonly SiteLink[] {
  const index = indexSites([site]);
  const found = new Map<string, SiteLink>();
  for (const start of site.config.links.startUrls) {
    const at = resolveSite(absolute(site, start), index);
    if (at !== null && !found.has(at.path)) found.set(at.path, { path: at.path, url: at.url });
  }
  return [...found.values()];
}

/** A path of the site as its user writes it, or a whole address; null if it leads out of the site. */
export function resolvePath(site: Site, path: string): SiteLink | null {
  const at = resolveSite(absolute(site, path), indexSites([site]));
  return at && { path: at.path, url: at.url };
}

function absolute(site: Site, path: string): string {
  if (/^https?:\/\//i.test(path)) return path;
  const base = pageUrl(site, '');
  if (path === '' || path.startsWith('?')) return `${base}${path}`;
  return path.startsWith('/') ? `${base}${path}` : `${base}/${path}`;
}

/** Room for the number of a repeated one. */
const LONGEST_ID = MAX_ITEM_ID_LENGTH - 20;

/** The id of the item of a page: its address, cut and with a digest if it is too long for an id. */
export function pageItemId(url: string, digest: Digest): string {
  return url.length <= LONGEST_ID ? url : `${url.slice(0, LONGEST_ID - 33)}~${digest(url).slice(0, 32)}`;
}

/** The address of a page in `llms.txt` that names its Markdown (`/guide.md`), for a site that has both. */
export function withoutMarkdownSuffix(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/\.mdx?$/i.test(parsed.pathname)) return url;
  parsed.pathname = parsed.pathname.replace(/\.mdx?$/i, '').replace(/\/index$/i, '/');
  return parsed.href;
}
