import {
  type CacheEntryAnswer,
  type CacheStatsAnswer,
  cacheKeysSchema,
  cacheStatsSchema,
  clearedErrorsSchema,
  clearedSiteSchema,
  errorsSchema,
  type PathErrorsAnswer,
} from '../../../contract/site-answers.ts';
import { anySitePath, cacheKeysQuery, errorsQuery } from '../../../contract/site-requests.ts';
import type { CachedEntry, CacheStats } from '../../../domain/cached-page.ts';
import { type PathErrors, skippedUntil } from '../../../domain/path-errors.ts';
import type { ListPlace } from '../../../ports/page-cache.ts';
import type { ApiDeps } from '../api-deps.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { jsonAnswer, type Operation, operation } from '../operation.ts';

/** What is cached of documentation sites, and which of their pages failed. */
export function cacheOperations({ pageCache, pathErrors, clock }: ApiDeps): Operation[] {
  async function listErrors(site: string | null, { limit, cursor }: { limit: number; cursor?: string | undefined }) {
    const list = `errors:${site ?? ''}`;
    const { errors, next } = await pathErrors.list({ site, after: readPlace(list, cursor), limit });
    const now = clock.now();
    return { errors: errors.map((each) => presentErrors(each, now)), next_cursor: writePlace(list, next) };
  }

  /** Failures during the call may or may not be forgotten. */
  async function clearAllErrors(): Promise<number> {
    for (let removed = 0; ; ) {
      const { errors } = await pathErrors.list({ site: null, after: null, limit: 1 });
      const [first] = errors;
      if (first === undefined) return removed;
      removed += await pathErrors.removeSite(first.site);
    }
  }

  return [
    operation({
      id: 'getCacheStats',
      method: 'GET',
      path: '/cache/stats',
      tag: 'sites',
      summary: 'Count cached pages of documentation sites',
      description: 'Reads every entry, which takes some seconds for a million of them.',
      access: 'read',
      answers: { 200: jsonAnswer('Totals, and numbers by site.', cacheStatsSchema) },
      async handle() {
        return { status: 200, json: presentStats(await pageCache.stats()) };
      },
    }),
    operation({
      id: 'listCacheKeys',
      method: 'GET',
      path: '/cache/keys',
      tag: 'sites',
      summary: 'List cached pages, of one site or of all',
      description: 'A page may be short and still not be the last: continue until `next_cursor` is null.',
      access: 'read',
      query: cacheKeysQuery,
      answers: { 200: jsonAnswer('Entries, without their contents.', cacheKeysSchema) },
      async handle({ query: { site = null, limit, cursor } }) {
        const list = `cache:${site ?? ''}`;
        const { entries, next } = await pageCache.list({ site, after: readPlace(list, cursor), limit });
        return { status: 200, json: { entries: entries.map(presentEntry), next_cursor: writePlace(list, next) } };
      },
    }),
    operation({
      id: 'clearCache',
      method: 'DELETE',
      path: '/cache/{site_id}',
      tag: 'sites',
      summary: 'Remove everything cached for a site',
      access: 'full',
      params: anySitePath,
      answers: { 200: jsonAnswer('How many entries there were.', clearedSiteSchema) },
      async handle({ params: { site_id: site } }) {
        return { status: 200, json: { site_id: site, removed: await pageCache.removeSite(site) } };
      },
    }),
    operation({
      id: 'listErrors',
      method: 'GET',
      path: '/errors',
      tag: 'sites',
      summary: 'List pages of documentation sites that failed',
      description:
        'After three failures, jobs skip a page for 24 hours, unless they are started with a `max_age` of 0.',
      access: 'read',
      query: errorsQuery,
      answers: { 200: jsonAnswer('Pages that failed since they last succeeded.', errorsSchema) },
      async handle({ query }) {
        return { status: 200, json: await listErrors(null, query) };
      },
    }),
    operation({
      id: 'listSiteErrors',
      method: 'GET',
      path: '/errors/{site_id}',
      tag: 'sites',
      summary: 'List pages of one site that failed',
      access: 'read',
      params: anySitePath,
      query: errorsQuery,
      answers: { 200: jsonAnswer('Pages that failed since they last succeeded.', errorsSchema) },
      async handle({ params: { site_id: site }, query }) {
        return { status: 200, json: await listErrors(site, query) };
      },
    }),
    operation({
      id: 'clearErrors',
      method: 'DELETE',
      path: '/errors',
      tag: 'sites',
      summary: 'Forget the failures of all sites',
      access: 'full',
      answers: { 200: jsonAnswer('How many pages had failures.', clearedErrorsSchema) },
      async handle() {
        return { status: 200, json: { removed: await clearAllErrors() } };
      },
    }),
    operation({
      id: 'clearSiteErrors',
      method: 'DELETE',
      path: '/errors/{site_id}',
      tag: 'sites',
      summary: 'Forget the failures of one site',
      access: 'full',
      params: anySitePath,
      answers: { 200: jsonAnswer('How many pages had failures.', clearedErrorsSchema) },
      async handle({ params: { site_id: site } }) {
        return { status: 200, json: { removed: await pathErrors.removeSite(site) } };
      },
    }),
  ];
}

function writePlace(list: string, place: ListPlace | null): string | null {
  return encodeCursor(list, place && JSON.stringify([place.site, place.row]));
}

/** Decodes only what `writePlace` made. */
function readPlace(list: string, cursor: string | undefined): ListPlace | null {
  const text = decodeCursor(list, cursor);
  if (text === null) return null;
  const [site, row]: [string, string | null] = JSON.parse(text);
  return { site, row };
}

function presentStats(stats: readonly CacheStats[]): CacheStatsAnswer {
  const total = (of: (site: CacheStats) => number) => stats.reduce((sum, site) => sum + of(site), 0);
  return {
    pages: total(({ pages }) => pages),
    assets: total(({ assets }) => assets),
    flagged: total(({ flagged }) => flagged),
    bytes: total(({ bytes }) => bytes),
    sites: stats.map(({ site, oldestAt, newestAt, ...counts }) => {
      return { site_id: site, ...counts, oldest_at: timeText(oldestAt), newest_at: timeText(newestAt) };
    }),
  };
}

function presentEntry(entry: CachedEntry): CacheEntryAnswer {
  const { site, path, method, type, url, fetchedAt } = entry;
  const page = entry.type === 'page' ? entry : null;
  return {
    key: type === 'page' ? `${site}:${path}` : `${site}:${path}:${method}`,
    ...{ site_id: site, path, method, type, url, fetched_at: timeText(fetchedAt) },
    size: entry.type === 'asset' ? 0 : entry.size,
    title: page?.title ?? null,
    etag: page?.etag ?? null,
    last_modified: page?.lastModified ?? null,
    flagged: page?.flagged ?? false,
  };
}

function presentErrors(errors: PathErrors, now: number): PathErrorsAnswer {
  const { site, path, count, lastError, failedAt } = errors;
  const until = skippedUntil(errors, now);
  return {
    ...{ site_id: site, path, count, last_error: lastError, failed_at: timeText(failedAt) },
    skipped_until: until === null ? null : timeText(until),
  };
}

function timeText(time: number): string {
  return new Date(time).toISOString();
}
