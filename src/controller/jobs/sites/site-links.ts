import { z } from 'zod';
import { isFresh } from '../../../domain/cached-page.ts';
import type { ItemRecord } from '../../../domain/item.ts';
import { pageUrl } from '../../../domain/resolve-site.ts';
import type { Site } from '../../../domain/site.ts';
import type { WorkerPageCache } from '../../../ports/page-cache.ts';
import { type ErrandDeps, type ErrandEnd, runErrand } from './errand.ts';

export interface SiteLinksDeps extends ErrandDeps {
  readonly pageCache: Pick<WorkerPageCache, 'look' | 'content'>;
  /** Throws if its host must not be asked now. */
  readonly checkPause: (url: string) => Promise<void>;
}

interface FoundLinks {
  readonly links: readonly string[];
  /** Whether everything that names pages could be read, within the limits. */
  readonly isComplete: boolean;
  readonly fetchedAt: number;
}

export type SiteLinksNow =
  | { readonly kind: 'links'; readonly found: FoundLinks }
  | { readonly kind: 'unreadable'; readonly message: string }
  | Exclude<ErrandEnd<never>, { kind: 'ended' }>;

export interface LinksWish {
  readonly maxAge: number;
  readonly delayMs: number;
}

/** A list that takes longer is still made; the next request finds it. */
const WAIT_MS = 60_000;

/** As the scraper keeps it. */
const keptLinks = z.object({ links: z.array(z.string()), complete: z.boolean() });

/** The links of a site, from the cache if they are young enough. Otherwise a worker collects them. */
export async function listSiteLinks(
  deps: SiteLinksDeps,
  site: Site,
  { maxAge, delayMs }: LinksWish,
  signal: AbortSignal,
): Promise<SiteLinksNow> {
  const cached = await readLinks(deps, site, maxAge);
  if (cached !== null) return { kind: 'links', found: cached };
  await deps.checkPause(pageUrl(site, ''));
  const input = { url: pageUrl(site, ''), site: site.id, max_age: maxAge, delay_ms: delayMs, role: 'links' };
  const wish = { site, name: `Links of ${site.id}`, input, waitMs: WAIT_MS, goesOn: true };
  const end = await runErrand(deps, wish, signal, (item) => linksOf(deps, site, item));
  return end.kind === 'ended' ? end.result : end;
}

async function linksOf(deps: SiteLinksDeps, site: Site, item: ItemRecord): Promise<SiteLinksNow> {
  const found = item.status === 'success' ? await readLinks(deps, site, null) : null;
  if (found !== null) return { kind: 'links', found };
  const message = item.attempts.at(-1)?.failure?.message ?? 'nothing of the site could be read';
  return { kind: 'unreadable', message: `${pageUrl(site, '')}: ${message}` };
}

/** `maxAge` null: whatever its age is. */
async function readLinks(
  { pageCache, clock }: SiteLinksDeps,
  site: Site,
  maxAge: number | null,
): Promise<FoundLinks | null> {
  const [entry = null] = await pageCache.look([{ site: site.id, path: '', method: 'site_links' }]);
  if (entry?.type !== 'links' || (maxAge !== null && !isFresh(entry, maxAge, clock.now()))) return null;
  const json = await pageCache.content(site.id, entry);
  const kept = json === null ? undefined : keptLinks.safeParse(JSON.parse(json)).data;
  return kept === undefined ? null : { links: kept.links, isComplete: kept.complete, fetchedAt: entry.fetchedAt };
}
