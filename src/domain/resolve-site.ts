import { type Site, siteSchema } from './site.ts';
import { type PageUrl, parsePageUrl, siteBase } from './site-url.ts';

/** The site of a page, and its path there. */
export interface ResolvedPage {
  readonly site: Site;
  /** What follows the site's baseUrl, including the query: `/guide/start?tab=2`; empty for the base page. */
  readonly path: string;
  /** What to request. */
  readonly url: string;
}

/**
 * Sites by their normalised baseUrl, for looking up many addresses. If several sites share one, the first id counts.
 */
export type SiteIndex = ReadonlyMap<string, Site>;

export function indexSites(sites: Iterable<Site>): SiteIndex {
  const index = new Map<string, Site>();
  for (const site of [...sites].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const base = siteBase(site.config.baseUrl);
    if (base !== null && !index.has(base)) index.set(base, site);
  }
  return index;
}

/**
 * The site with the longest baseUrl that equals the address or is followed by `/` in it; null if there is none, or the
 * text is not the address of a page. The number of look-ups is that of the path's segments, however many sites there
 * are.
 */
export function resolveSite(url: string, sites: SiteIndex): ResolvedPage | null {
  const parsed = parsePageUrl(url);
  return parsed && resolvePage(parsed, sites);
}

/** The same, but an address that belongs to no known site gets a generic one for its origin. */
export function resolveOrAdopt(url: string, sites: SiteIndex): ResolvedPage | null {
  const parsed = parsePageUrl(url);
  if (parsed === null) return null;
  const known = resolvePage(parsed, sites);
  if (known !== null) return known;
  const { origin } = new URL(parsed.href);
  const site = genericSite(origin);
  return { site, path: `${parsed.page.slice(origin.length)}${parsed.query}`, url: parsed.href };
}

function resolvePage({ page, query, href }: PageUrl, sites: SiteIndex): ResolvedPage | null {
  for (let end = page.length; end > 0; end = page.lastIndexOf('/', end - 1)) {
    const site = sites.get(page.slice(0, end));
    if (site !== undefined) return { site, path: `${page.slice(end)}${query}`, url: href };
  }
  return null;
}

/** The address of a page of a site. */
export function pageUrl({ config }: Site, path: string): string {
  return `${siteBase(config.baseUrl) ?? config.baseUrl}${path}`;
}

/**
 * A site for an unconfigured origin. Its id contains `~`, which no configured site's id does, so that cached pages of
 * the two are never confused.
 */
export function genericSite(origin: string): Site {
  const { protocol, hostname, port, host } = new URL(origin);
  const name = hostname.startsWith('[') ? `v6~${hostname.slice(1, -1).replaceAll(':', '_')}` : hostname;
  const id = `${protocol.slice(0, -1)}~${name}${port === '' ? '' : `~${port}`}`;
  return { id, config: siteSchema.parse({ name: host, baseUrl: origin }) };
}

const GENERIC_ID = /^(https?)~(v6~[0-9a-f_.]+|[^~]+)(?:~(\d+))?$/;

/** The site that `genericSite` gave this id; null if it did not. */
export function genericSiteById(id: string): Site | null {
  const [, scheme, name = '', port] = GENERIC_ID.exec(id) ?? [];
  if (scheme === undefined) return null;
  const host = name.startsWith('v6~') ? `[${name.slice(3).replaceAll('_', ':')}]` : name;
  const url = URL.parse(`${scheme}://${host}${port === undefined ? '' : `:${port}`}`);
  if (url === null) return null;
  const site = genericSite(url.origin);
  return site.id === id ? site : null;
}
