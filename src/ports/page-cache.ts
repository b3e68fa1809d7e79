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
 * What was read from documentation sites, so that it need not be requested again. An entry is found by site, path with
 * query, and method. Contents are stored by their hash, once for all pages of a site that share them.
 * The cache never decides whether an entry is fresh: `isFresh` of the domain does, by the `max_age` of the caller. An
 * entry that is no longer fresh stays, with the validators needed to ask the server whether it has changed.
 * This is the part that workers use.
 */
export interface WorkerPageCache {
  /** What is known about pages, without contents, in the order of the keys; null for pages that are not cached. */
  look(keys: readonly PageKey[]): Promise<readonly (CachedEntry | null)[]>;
  /**
   * The content of a version of a page of this site. Null if it is gone (the cache was cleared meanwhile, or the
   * machine crashed while it was written): then the page must be read again, without validators.
   */
  content(site: string, version: Pick<PageVersion, 'sha256'>): Promise<string | null>;
  /**
   * Stores what was read or found out, and resolves to the entries afterwards, in order: see `afterPageNews` for pages
   * that shrink. Null for a page that has not changed and is no longer in the cache. Recording many at once costs less
   * than one at a time.
   */
  record(pages: readonly PageRecord[]): Promise<readonly (CachedEntry | null)[]>;
  /**
   * The same without an answer, which is cheaper. Resolves when the contents are stored and nothing that this process does
   * next, such as settling the item, can be seen before it. If the owner of the rows cannot write them, or is
   * gone, they are lost: then the page is read again.
   */
  keep(pages: readonly PageRecord[]): Promise<void>;
}

export interface PageCache extends WorkerPageCache {
  /** Up to `limit` entries of a site, or of all sites, after the given place; `next` is null if there are no more. */
  list(query: CacheQuery): Promise<CachePage>;
  /**
   * Grouped by site; sites without entries are left out. Reads every entry, so it takes seconds for a million of them.
   */
  stats(): Promise<readonly CacheStats[]>;
  /**
   * Removes everything cached for a site; returns how many entries there were. What is recorded at the same time may be
   * lost, entirely or only its content: then it is read again.
   */
  removeSite(site: string): Promise<number>;
}

export type PageRecord = NewContent | SamePage | SeenAsset | NewLinks;

/** A page whose content was read. */
export interface NewContent extends Validators {
  readonly kind: 'content';
  readonly key: PageKey;
  readonly url: string;
  readonly content: string;
  readonly title: string | null;
  readonly fetchedAt: number;
  /** The mark of the item that read it. */
  readonly by?: string;
}

/** Links that were read; `content` answers the JSON. */
interface NewLinks {
  readonly kind: 'links';
  readonly key: PageKey;
  readonly url: string;
  readonly json: unknown;
  readonly at: number;
}

interface CacheQuery {
  /** Null for all. */
  readonly site: string | null;
  readonly after: ListPlace | null;
  readonly limit: number;
}

/** A place in a list over all sites. */
export interface ListPlace {
  readonly site: string;
  /** Null means before the first row of the site. */
  readonly row: string | null;
}

interface CachePage {
  readonly entries: readonly CachedEntry[];
  readonly next: ListPlace | null;
}

/**
 * The part of a cache that belongs to the process with the rows, and that others reach through it: everything but the
 * contents, which every process reads and writes itself.
 */
export interface PageIndex {
  look(keys: readonly PageKey[]): Promise<readonly (CachedEntry | null)[]>;
  /** The contents must have been stored before. */
  note(news: readonly PageNews[]): Promise<readonly (CachedEntry | null)[]>;
  /** The same without an answer: resolves when nothing that this process does next can be seen before it. */
  tell(news: readonly PageNews[]): Promise<void>;
}
