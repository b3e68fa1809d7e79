import { z } from 'zod';
import type { SiteContentAnswer } from '../../../contract/site-page-answers.ts';
import { isAssetUrl } from '../../../domain/asset-url.ts';
import { type CachedPage, isFresh } from '../../../domain/cached-page.ts';
import { type ItemRecord, skipReasonOf } from '../../../domain/item.ts';
import { PAGE_SOURCES } from '../../../domain/page-source.ts';
import type { Site } from '../../../domain/site.ts';
import { resolvePath, type SiteLink } from '../../../domain/site-links.ts';
import type { WorkerPageCache } from '../../../ports/page-cache.ts';
import type { ResultStore } from '../../../ports/result-store.ts';
import { type ErrandDeps, type ErrandEnd, runErrand } from './errand.ts';

export interface PageNowDeps extends ErrandDeps {
  readonly pageCache: Pick<WorkerPageCache, 'look' | 'content'>;
  /** Throws if its host must not be asked now. */
  readonly checkPause: (url: string) => Promise<void>;
  readonly store: Pick<ResultStore, 'get'>;
}

export type PageNow =
  | { readonly kind: 'page'; readonly page: SiteContentAnswer }
  /** The path is not that of a page of the site. */
  | { readonly kind: 'bad-path'; readonly message: string }
  /** The site says that there is no such page. */
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'unreadable'; readonly message: string }
  | Exclude<ErrandEnd<never>, { kind: 'ended' }>;

export const PAGE_WAIT_MS = 120_000;

/** One page of a site, from the cache if it is young enough, otherwise from the site. */
export async function readPageNow(
  deps: PageNowDeps,
  site: Site,
  { path, maxAge }: { readonly path: string; readonly maxAge: number },
  signal: AbortSignal,
): Promise<PageNow> {
  const link = resolvePath(site, path);
  if (link === null) return { kind: 'bad-path', message: `is not below ${site.config.baseUrl}` };
  if (isAssetUrl(link.url)) return { kind: 'bad-path', message: 'is that of a file, which is not fetched' };
  const cached = await readCached(deps, site, link, maxAge);
  if (cached !== null) return { kind: 'page', page: cached };
  await deps.checkPause(link.url);
  const input = { url: link.url, site: site.id, path: link.path, max_age: maxAge, delay_ms: 0 };
  const wish = { site, name: `Page ${link.url}`.slice(0, 500), input, waitMs: PAGE_WAIT_MS, goesOn: false };
  const end = await runErrand(deps, wish, signal, (item) => pageOf(deps, site, link, item));
  return end.kind === 'ended' ? end.result : end;
}

async function cachedPage({ pageCache }: PageNowDeps, site: Site, { path }: SiteLink): Promise<CachedPage | null> {
  const [entry = null] = await pageCache.look([{ site: site.id, path, method: site.config.content.method }]);
  return entry?.type === 'page' ? entry : null;
}

async function readCached(
  deps: PageNowDeps,
  site: Site,
  link: SiteLink,
  maxAge: number,
): Promise<SiteContentAnswer | null> {
  const entry = await cachedPage(deps, site, link);
  if (entry === null || !isFresh(entry, maxAge, deps.clock.now())) return null;
  const markdown = await deps.pageCache.content(site.id, entry);
  if (markdown === null) return null;
  const { title, flagged } = entry;
  const fetched_at = new Date(entry.fetchedAt).toISOString();
  const about = { site_id: site.id, path: link.path, url: link.url, title, flagged };
  return { ...about, markdown, source: 'cache', fetched_at, not_modified: false };
}

/** As the scraper keeps it. */
const keptData = z.object({
  url: z.string(),
  title: z.string().nullable(),
  markdown: z.string(),
  source: z.enum(PAGE_SOURCES),
  fetched_at: z.iso.datetime(),
  not_modified: z.boolean(),
});

async function pageOf(deps: PageNowDeps, site: Site, link: SiteLink, item: ItemRecord): Promise<PageNow> {
  const artifact = item.artifacts.find(({ kind }) => kind === 'data');
  const bytes = artifact === undefined ? null : await deps.store.get(artifact);
  if (bytes === null) return whyNot(item, link);
  const data = keptData.parse(JSON.parse(new TextDecoder().decode(bytes)));
  const flagged = (await cachedPage(deps, site, link))?.flagged ?? false;
  return { kind: 'page', page: { site_id: site.id, path: link.path, ...data, flagged } };
}

function whyNot(item: ItemRecord, { url }: SiteLink): PageNow {
  const failure = item.attempts.at(-1)?.failure ?? null;
  if (item.status === 'failed' && failure !== null) {
    return { kind: failure.type === 'not_found' ? 'missing' : 'unreadable', message: `${url}: ${failure.message}` };
  }
  switch (skipReasonOf(item)) {
    case 'known-bad':
      return { kind: 'unreadable', message: `${url} has failed too often, and is left alone. max_age=0 asks for it.` };
    case 'robots':
      return { kind: 'unreadable', message: `The robots.txt of the site disallows ${url}.` };
    default:
      return { kind: 'unreadable', message: `${url} was not read.` };
  }
}
