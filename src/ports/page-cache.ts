import type {
  CachedEntry,
  CacheStats,
  PageKey,
  PageNews,
  PageVersion,
  SamePage,
  SeenAsset,
  Validators,
} from '../domain/cached-page.ts';

/**
 * What was read of documentation sites, so that it need not be requested again. An entry is found by site, path with
 * query, and method. Contents are kept by their hash, one for all pages of a site that have it.
 *
 * The cache never decides whether an entry is fresh: `isFresh` of the domain does, by the `max_age` of the caller. An entry
 * that is not fresh stays, with the validators to ask the server whether it has changed.
 *
 * This is the part that workers use.
 */
export interface WorkerPageCache {
  /** What is known of pages, without contents, in the order of the keys; null for what is not there. */
  look(keys: readonly PageKey[]): Promise<readonly (CachedEntry | null)[]>;
  /**
   * The content of a version of a page of this site. Null if it is gone (the cache was cleared meanwhile, or the machine
   * crashed while it was written): then the page must be read again, without validators.
   */
  content(site: string, version: Pick<PageVersion, 'sha256'>): Promise<string | null>;
  /**
   * Keeps what was read and found out, and answers the entries afterwards, in order: see `afterPageNews` for pages that
   * shrink. Null for a page that has not changed and is not in the cache any more. Many at once cost less than one after
   * another.
   */
  record(pages: readonly PageRecord[]): Promise<readonly (CachedEntry | null)[]>;
}

export interface PageCache extends WorkerPageCache {
  /** Up to `limit` entries of a site, or of all sites, after the given place; `next` is null when there are no more. */
  list(query: CacheQuery): Promise<CachePage>;
  /** By site; a site without entries is not in it. Reads every entry, so it takes seconds for a million of them. */
  stats(): Promise<readonly CacheStats[]>;
  /**
   * Removes all that is cached of a site; answers how many entries there were. What is recorded at the same time may be
   * lost, or its content: then it is read again.
   */
  removeSite(site: string): Promise<number>;
}

export type PageRecord = NewContent | SamePage | SeenAsset;

/** A page whose content was read. */
export interface NewContent extends Validators {
  readonly kind: 'content';
  readonly key: PageKey;
  readonly url: string;
  readonly content: string;
  readonly title: string | null;
  readonly fetchedAt: number;
}

export interface CacheQuery {
  /** Null for all. */
  readonly site: string | null;
  readonly after: ListPlace | null;
  readonly limit: number;
}

/** A place in a list over all sites. */
export interface ListPlace {
  readonly site: string;
  /** Null: before the first row of the site. */
  readonly row: string | null;
}

export interface CachePage {
  readonly entries: readonly CachedEntry[];
  readonly next: ListPlace | null;
}

/**
 * The part of a cache that a process with the rows has, and others reach through it: all but the contents, which every
 * process reads and writes by itself.
 */
export interface PageIndex {
  look(keys: readonly PageKey[]): Promise<readonly (CachedEntry | null)[]>;
  /** The contents have been stored before. */
  note(news: readonly PageNews[]): Promise<readonly (CachedEntry | null)[]>;
}
