import { z } from 'zod';
import { DEFAULT_MAX_AGE_SECONDS } from '../../domain/cached-page.ts';
import { genericSite, genericSiteById, indexSites, resolveSite } from '../../domain/resolve-site.ts';
import type { Site } from '../../domain/site.ts';
import type { BatchScope } from '../batch-scope.ts';
import { fail } from '../scrape-failure.ts';
import type { ScrapeTools } from '../scraper.ts';

/** Polite by default, unless the job says otherwise. */
const DEFAULT_DELAY_MS = 1000;

/**
 * Only of items that pull or look at a whole site. `follow`: a page whose links are followed. `sitemap`, `robots`, `llms`: what
 * names pages of the site. `links`: all links of the site, which are put into the cache.
 */
const PAGE_ROLES = ['follow', 'sitemap', 'robots', 'llms', 'links'] as const;

export const pageInput = z.strictObject({
  url: z.string().min(1).max(2000).meta({ description: 'Address of the page.' }),
  site: z.string().min(1).max(300).optional().meta({ description: 'Id of its site; if omitted, a generic one.' }),
  path: z.string().max(2000).optional().meta({ description: 'What follows the base URL of the site, with the query.' }),
  batch: z.int().min(0).optional().meta({ description: 'Number of its batch among those of the site, from 0.' }),
  max_age: z
    .int()
    .min(0)
    .meta({ description: 'Seconds for which a cached page is fresh; 0 always asks the site.' })
    .default(DEFAULT_MAX_AGE_SECONDS),
  delay_ms: z
    .int()
    .min(0)
    .max(60_000)
    .meta({ description: 'Milliseconds between two requests of a batch.' })
    .default(DEFAULT_DELAY_MS),
  role: z
    .enum(PAGE_ROLES)
    .optional()
    .meta({ description: 'What the address is to the pull of a whole site; if omitted, a page.' }),
  part: z.int().min(1).optional().meta({ description: 'Which part of a long sitemap, after the first.' }),
});

export type PageInput = z.output<typeof pageInput>;

/** A page to be read. */
export interface WantedPage {
  readonly site: Site;
  readonly path: string;
  readonly url: string;
}

const SITES = Symbol('sites');

/** The page of an item. The pages of a batch belong to one site, which is looked up once for all of them. */
export async function findPage(
  { url, site: id, path }: PageInput,
  { siteTools }: Pick<ScrapeTools, 'siteTools'>,
  batch: BatchScope,
): Promise<WantedPage> {
  const site = await siteOf(url, id, siteTools, batch);
  return { site, url, path: path ?? resolveSite(url, indexSites([site]))?.path ?? '' };
}

export async function siteOf(
  url: string,
  id: string | undefined,
  tools: ScrapeTools['siteTools'],
  batch: BatchScope,
): Promise<Site> {
  if (id === undefined) {
    const origin = URL.parse(url)?.origin ?? fail('invalid_input', `url: "${url.slice(0, 200)}" is not an address`);
    return genericSite(origin);
  }
  const known = batch.keep(SITES, () => new Map<string, Promise<Site | null>>());
  const looking = known.get(id) ?? Promise.resolve(genericSiteById(id) ?? tools?.sites.get(id) ?? null);
  known.set(id, looking);
  return (await looking) ?? fail('invalid_input', `Unknown site: ${id}`);
}
