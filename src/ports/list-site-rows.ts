import type { ListPlace } from './page-cache.ts';
import type { SiteRows } from './site-rows.ts';

/** Number of sites looked up at a time. */
const SITES_AT_ONCE = 100;

/** Rows of one site or of all, site by site, starting after a given place. */
export async function listSiteRows<Document>(
  rows: SiteRows<Document>,
  query: { readonly site: string | null; readonly after: ListPlace | null; readonly limit: number },
): Promise<{ readonly rows: readonly Document[]; readonly next: ListPlace | null }> {
  const found: Document[] = [];
  let place = query.after;
  for await (const site of sitesFrom(rows, query.site, place)) {
    const after = place?.site === site ? place.row : null;
    if (found.length >= query.limit) return { rows: found, next: { site, row: null } };
    const page = await rows.page(site, after, query.limit - found.length);
    found.push(...page.rows);
    if (page.next !== null) return { rows: found, next: { site, row: page.next } };
    place = null;
  }
  return { rows: found, next: null };
}

/** Every row of every site. */
export async function* everySiteRow<Document>(rows: SiteRows<Document>): AsyncGenerator<Document> {
  let after: ListPlace | null = null;
  do {
    const { rows: some, next }: Awaited<ReturnType<typeof listSiteRows<Document>>> = await listSiteRows(rows, {
      ...{ site: null, after, limit: ROWS_AT_ONCE },
    });
    yield* some;
    after = next;
  } while (after !== null);
}

/** SQLite reads these in a few milliseconds, during which its process does nothing else. */
const ROWS_AT_ONCE = 500;

async function* sitesFrom(
  rows: Pick<SiteRows<unknown>, 'sites'>,
  only: string | null,
  place: ListPlace | null,
): AsyncGenerator<string> {
  if (only !== null) {
    yield only;
    return;
  }
  if (place !== null) yield place.site;
  let last = place?.site ?? null;
  for (;;) {
    const sites = await rows.sites(last, SITES_AT_ONCE);
    yield* sites;
    if (sites.length < SITES_AT_ONCE) return;
    last = sites.at(-1) ?? null;
  }
}
