import { type Digest, safeSegment } from './artifact.ts';
import type { ContentMethod } from './site.ts';

/** What a page cache knows of a page, when that is fresh, and what becomes of it when the page is read again. */

/** Seven days. */
export const DEFAULT_MAX_AGE_SECONDS = 604_800;

/** Titles and names of versions that are longer are of no use, and every started KB of a row is paid for on AWS. */
const MAX_TITLE_LENGTH = 300;
const MAX_VALIDATOR_LENGTH = 300;

/** By how much a page may shrink without being suspected. */
const SUSPICIOUS_REMAINDER = 0.1;

/** What a page is found by. Other methods may read other contents from the same page. */
export interface PageKey {
  readonly site: string;
  /** With the query. */
  readonly path: string;
  readonly method: PageMethod;
}

/** `asset`: only its address is kept. */
export type PageMethod = ContentMethod | 'asset';

/** What can be shown to the server when asking whether a page has changed; null for what it did not send. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** One version of a page's content. */
export interface PageVersion extends Validators {
  /** SHA-256 of the content, by which it is kept. */
  readonly sha256: string;
  /** Bytes of the content. */
  readonly size: number;
  readonly title: string | null;
  /** When it was read, or the server said last that it is still the same. */
  readonly fetchedAt: number;
}

export interface CachedPage extends PageKey, PageVersion {
  readonly type: 'page';
  readonly url: string;
  /** It is at least 90 % smaller than the version in `kept`: a login or an error page, perhaps. */
  readonly flagged: boolean;
  /** The last version that was not flagged; null unless this one is. */
  readonly kept: PageVersion | null;
}

export interface CachedAsset extends PageKey {
  readonly type: 'asset';
  readonly url: string;
  readonly fetchedAt: number;
}

export type CachedEntry = CachedPage | CachedAsset;

/** What happened to a page. */
export type PageNews = ReadPage | SamePage | SeenAsset;

/** Its content was read, and is kept by its hash. */
export interface ReadPage {
  readonly kind: 'read';
  readonly key: PageKey;
  readonly url: string;
  readonly version: PageVersion;
}

/** The server said that it has not changed (304). */
export interface SamePage {
  readonly kind: 'same';
  readonly key: PageKey;
  readonly at: number;
  /** Those of the answer, which may be others than before; null for what it did not send. */
  readonly validators: Validators;
}

/** It is a file that is not fetched. */
export interface SeenAsset {
  readonly kind: 'asset';
  readonly key: PageKey;
  readonly url: string;
  readonly at: number;
}

export const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/**
 * What the cache has of a page afterwards; null if it still has nothing. A version that is at least 90 % smaller than the
 * last good one is flagged, and the good one is kept beside it until a version comes that is not suspicious. What is
 * older than what is there changes nothing: it is news that was late.
 */
export function afterPageNews(known: CachedEntry | null, news: PageNews): CachedEntry | null {
  const { key } = news;
  switch (news.kind) {
    case 'asset':
      return { ...key, type: 'asset', url: news.url, fetchedAt: Math.max(news.at, known?.fetchedAt ?? 0) };
    case 'same':
      return known?.type === 'page' ? refreshed(known, news) : known;
    case 'read': {
      const before = known?.type === 'page' ? known : null;
      if (before !== null && before.fetchedAt > news.version.fetchedAt) return before;
      const good = before?.kept ?? before;
      const flagged = good !== null && news.version.size <= good.size * SUSPICIOUS_REMAINDER && good.size > 0;
      const kept = flagged ? versionOf(good) : null;
      return { ...key, type: 'page', url: news.url, ...storable(news.version), flagged, kept };
    }
  }
}

function refreshed(known: CachedPage, { at, validators }: SamePage): CachedPage {
  const { etag, lastModified } = storableValidators(validators);
  return {
    ...known,
    etag: etag ?? known.etag,
    lastModified: lastModified ?? known.lastModified,
    fetchedAt: Math.max(at, known.fetchedAt),
  };
}

export function versionOf({ sha256, size, title, etag, lastModified, fetchedAt }: PageVersion): PageVersion {
  return { sha256, size, title, etag, lastModified, fetchedAt };
}

function storable(version: PageVersion): PageVersion {
  const title = version.title === null ? null : version.title.slice(0, MAX_TITLE_LENGTH).toWellFormed();
  return { ...versionOf(version), ...storableValidators(version), title };
}

/** A part of a validator is the validator of something else: one that is too long is left out. */
function storableValidators({ etag, lastModified }: Validators): Validators {
  const usable = (text: string | null) => (text === null || text.length > MAX_VALIDATOR_LENGTH ? null : text);
  return { etag: usable(etag), lastModified: usable(lastModified) };
}

/**
 * Whether an entry may be used without asking the site. With a `maxAgeSeconds` of 0 none may; what it has of validators
 * can still be shown to the server.
 */
export function isFresh(entry: { readonly fetchedAt: number }, maxAgeSeconds: number, now: number): boolean {
  return now - entry.fetchedAt < maxAgeSeconds * 1000;
}

/** What the cache has of a site, in numbers. */
export interface CacheStats {
  readonly site: string;
  readonly pages: number;
  readonly assets: number;
  readonly flagged: number;
  /** Of the contents of pages, each counted as often as a page has it. */
  readonly bytes: number;
  readonly oldestAt: number;
  readonly newestAt: number;
}

export function addToStats(stats: CacheStats | null, entry: CachedEntry): CacheStats {
  const { site, fetchedAt } = entry;
  const before = stats ?? {
    ...{ site, pages: 0, assets: 0, flagged: 0, bytes: 0, oldestAt: fetchedAt, newestAt: fetchedAt },
  };
  const isPage = entry.type === 'page';
  return {
    site,
    pages: before.pages + (isPage ? 1 : 0),
    assets: before.assets + (isPage ? 0 : 1),
    flagged: before.flagged + (isPage && entry.flagged ? 1 : 0),
    bytes: before.bytes + (isPage ? entry.size + (entry.kept?.size ?? 0) : 0),
    oldestAt: Math.min(before.oldestAt, fetchedAt),
    newestAt: Math.max(before.newestAt, fetchedAt),
  };
}

/** No job can have this folder: that of an id that is not plain ends in a digest, and none is all zeros. */
const CACHE_FOLDER = `cache~${'0'.repeat(32)}`;

/** Everything that is cached of a site is stored below this. */
export function cachePrefix(site: string, digest: Digest): string {
  return `${CACHE_FOLDER}/${safeSegment(site, digest)}/`;
}

/** Where a content is stored: pages of a site with the same content share it. */
export function bodyKey(site: string, sha256: string, digest: Digest): string {
  return `${cachePrefix(site, digest)}${sha256}.md`;
}
