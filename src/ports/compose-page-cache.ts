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
import { BytesDamaged, type Put, type ResultStore } from './result-store.ts';
import type { RowName, SiteRows } from './site-rows.ts';

export interface WorkerCacheParts {
  readonly index: PageIndex;
  readonly store: ResultStore;
  /** Hex SHA-256; of a text, that of its bytes in UTF-8. */
  readonly digest: (content: string | Uint8Array) => string;
  readonly packing: Packing;
}

/** Makes texts in UTF-8 smaller. For bytes that are damaged, `unpack` rejects or resolves to another text. */
export interface Packing {
  pack(bytes: Uint8Array): Promise<Uint8Array> | Uint8Array;
  unpack(bytes: Uint8Array): Promise<string>;
}

/** A page cache that stores contents in the result store and reaches its rows through an index. */
export function composeWorkerPageCache({ index, store, digest, packing }: WorkerCacheParts): WorkerPageCache {
  return {
    look: (keys) => index.look(keys),

    async content(site, { sha256 }) {
      const body = await store.get(bodyKey(site, sha256, digest)).catch((error: unknown) => {
        if (error instanceof BytesDamaged) return null;
        throw error;
      });
      if (body === null) return null;
      // Content is written without waiting for the disk: a crash of the machine may leave it damaged.
      const text = await packing.unpack(body).catch(() => null);
      return text !== null && digest(text) === sha256 ? text : null;
    },

    /** Contents are stored first, so that an entry never names one that does not exist. */
    async record(pages) {
      return await index.note(await stored(pages));
    },

    async keep(pages) {
      await index.tell(await stored(pages));
    },
  };

  /** Stores the contents; what is left to note is where they are. */
  async function stored(pages: readonly PageRecord[]): Promise<PageNews[]> {
    const bodies = new Map<string, Uint8Array>();
    const news = pages.map((page) => newsOf(page, bodies));
    const puts: Put[] = [];
    for (const [key, bytes] of bodies) {
      const packed = packing.pack(bytes);
      puts.push({ key, body: packed instanceof Promise ? await packed : packed, ...AS_IT_IS });
    }
    if (puts.length > 0) await store.putAll(puts);
    return news;
  }

  function newsOf(page: PageRecord, bodies: Map<string, Uint8Array>): PageNews {
    if (page.kind === 'links') {
      const { key, url, json, at } = page;
      return { kind: 'links', key, url, at, ...addBody({ key, content: JSON.stringify(json) }, bodies) };
    }
    if (page.kind !== 'content') return page;
    const { key, url, title, etag, lastModified, fetchedAt, by } = page;
    const { sha256, size } = addBody(page, bodies);
    const version = { sha256, size, title, etag, lastModified, fetchedAt };
    return { kind: 'read', key, url, version, ...(by === undefined ? {} : { by }) };
  }

  function addBody({ key, content }: Pick<NewContent, 'key' | 'content'>, bodies: Map<string, Uint8Array>) {
    // A lone surrogate does not survive that: what is hashed is what is stored and read back.
    const bytes = Buffer.from(content);
    const sha256 = digest(bytes);
    bodies.set(bodyKey(key.site, sha256, digest), bytes);
    return { sha256, size: bytes.byteLength };
  }
}

/**
 * Contents are new, or identical to what is stored. If other bytes are there, they are damaged, or another version packed
 * them. A content is checked when it is read.
 */
const AS_IT_IS = { contentType: 'application/zstd', encoding: 'identity', ifTaken: 'overwrite' } as const;

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
