import type { Digest } from '../domain/artifact.ts';
import {
  addToStats,
  afterPageNews,
  bodyKey,
  type CachedEntry,
  type CacheStats,
  cachePrefix,
  type PageKey,
  type PageNews,
} from '../domain/cached-page.ts';
import { everySiteRow, listSiteRows } from './list-site-rows.ts';
import type { NewContent, PageCache, PageIndex, PageRecord, WorkerPageCache } from './page-cache.ts';
import { BytesDamaged, KeyTaken, type Put, type ResultStore } from './result-store.ts';
import type { RowName, SiteRows } from './site-rows.ts';

export interface WorkerCacheParts {
  readonly index: PageIndex;
  readonly store: ResultStore;
  readonly digest: Digest;
}

/** A page cache that stores contents in the result store and reaches its rows through an index. */
export function composeWorkerPageCache({ index, store, digest }: WorkerCacheParts): WorkerPageCache {
  return {
    look: (keys) => index.look(keys),

    async content(site, { sha256 }) {
      const body = await store.get(bodyKey(site, sha256, digest)).catch((error: unknown) => {
        if (error instanceof BytesDamaged) return null;
        throw error;
      });
      if (body === null) return null;
      const text = new TextDecoder().decode(body);
      // Content is written without waiting for the disk: a crash of the machine may leave it damaged.
      return digest(text) === sha256 ? text : null;
    },

    /** Contents are stored first, so that an entry never names one that does not exist. */
    async record(pages) {
      const puts = new Map<string, Put>();
      const news = pages.map((page) => newsOf(page, puts));
      await putBodies(store, [...puts.values()]);
      return await index.note(news);
    },

    async keep(pages) {
      const puts = new Map<string, Put>();
      const news = pages.map((page) => newsOf(page, puts));
      await putBodies(store, [...puts.values()]);
      await index.tell(news);
    },
  };

  function newsOf(page: PageRecord, puts: Map<string, Put>): PageNews {
    if (page.kind === 'links') {
      const { key, url, json, at } = page;
      return { kind: 'links', key, url, at, ...addBody({ key, content: JSON.stringify(json) }, puts) };
    }
    if (page.kind !== 'content') return page;
    const { key, url, title, etag, lastModified, fetchedAt, by } = page;
    const { sha256, size } = addBody(page, puts);
    const version = { sha256, size, title, etag, lastModified, fetchedAt };
    return { kind: 'read', key, url, version, ...(by === undefined ? {} : { by }) };
  }

  function addBody({ key, content }: Pick<NewContent, 'key' | 'content'>, puts: Map<string, Put>) {
    // Hash the text that is actually stored and read back: a lone surrogate would not survive.
    const text = content.toWellFormed();
    const body = new TextEncoder().encode(text);
    const sha256 = digest(text);
    const at = bodyKey(key.site, sha256, digest);
    const encoding = body.length > GZIP_ABOVE ? 'gzip' : 'identity';
    puts.set(at, { key: at, body, contentType: 'text/markdown; charset=utf-8', encoding, ifTaken: 'keep' });
    return { sha256, size: body.length };
  }
}

const GZIP_ABOVE = 1024;

/** Contents are new, or identical to what is stored. If something else is there, it is damaged. */
async function putBodies(store: ResultStore, puts: readonly Put[]): Promise<void> {
  if (puts.length === 0) return;
  try {
    await store.putAll(puts);
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw error;
    await store.putAll(puts.map((put) => ({ ...put, ifTaken: 'replace' as const })));
  }
}

/** The index, for the process that owns the rows. */
export function composePageIndex(rows: SiteRows<CachedEntry>): PageIndex {
  const note = (news: readonly PageNews[]) =>
    rows.change(news.map((one) => ({ row: rowName(one.key), apply: (known) => afterPageNews(known, one) })));
  return {
    look: (keys) => rows.get(keys.map(rowName)),
    note,
    tell: async (news) => void (await note(news)),
  };
}

/** The whole cache, for the process that owns the rows. */
export function composePageCache({
  rows,
  ...parts
}: Omit<WorkerCacheParts, 'index'> & { readonly rows: SiteRows<CachedEntry> }): PageCache {
  return {
    ...composeWorkerPageCache({ ...parts, index: composePageIndex(rows) }),

    async list(query) {
      const { rows: entries, next } = await listSiteRows(rows, query);
      return { entries, next };
    },

    async stats() {
      const stats = new Map<string, CacheStats>();
      for await (const entry of everySiteRow(rows)) {
        if (entry.type !== 'links') stats.set(entry.site, addToStats(stats.get(entry.site) ?? null, entry));
      }
      return [...stats.values()];
    },

    /** Rows are removed first, so that none names a content that is gone. */
    async removeSite(site) {
      const removed = await rows.removeSite(site);
      await parts.store.removeAll(cachePrefix(site, parts.digest));
      return removed;
    },
  };
}

/** A path contains no space. */
function rowName({ site, path, method }: PageKey): RowName {
  return { site, name: `${path} ${method}` };
}
