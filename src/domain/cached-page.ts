import { type Digest, safeSegment } from './artifact.ts';
import { CONTENT_METHODS } from './site.ts';

/** What a page cache knows about a page, when that is fresh, and how it changes when the page is read again. */

/** Seven days. */
export const DEFAULT_MAX_AGE_SECONDS = 604_800;

/** Longer titles and validators are useless, and AWS charges for every started KB of a row. */
const MAX_TITLE_LENGTH = 300;
const MAX_VALIDATOR_LENGTH = 300;

/** The remainder at which a shrunken page becomes suspicious. */
const SUSPICIOUS_REMAINDER = 0.1;

/** Identifies a page. Different methods may read different contents from the same page. */
export interface PageKey {
  readonly site: string;
  /** Includes the query. */
  readonly path: string;
  readonly method: PageMethod;
}

/** `asset`: only its address is kept. `links`: the pages that a page links to. `site_links`: all pages that were found of a site. */
export const PAGE_METHODS = [...CONTENT_METHODS, 'asset', 'links', 'site_links'] as const;
export type PageMethod = (typeof PAGE_METHODS)[number];

/** Sent to the server to ask whether a page has changed; null for those it did not send. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** One version of a page's content. */
export interface PageVersion extends Validators {
  /** SHA-256 of the content, under which it is stored. */
  readonly sha256: string;
  /** Bytes of the content. */
  readonly size: number;
  readonly title: string | null;
  /** When it was read, or when the server last confirmed that it is unchanged. */
  readonly fetchedAt: number;
}

export interface CachedPage extends PageKey, PageVersion {
  readonly type: 'page';
  readonly url: string;
  /** Who read it, or asked last whether it is the same: absent if that is not known. */
  readonly reader?: PageReader;
  /** Whether it is at least 90 % smaller than the version in `kept`, for example a login or error page. */
  readonly flagged: boolean;
  /** The last version that was not flagged; null unless this one is. */
  readonly kept: PageVersion | null;
}

export interface CachedAsset extends PageKey {
  readonly type: 'asset';
  readonly url: string;
  readonly fetchedAt: number;
}

/** Addresses within a site, as JSON, that a page or the whole site leads to. */
interface CachedLinks extends PageKey {
  readonly type: 'links';
  readonly url: string;
  /** SHA-256 of the JSON, by which it is kept. */
  readonly sha256: string;
  /** Bytes of the JSON. */
  readonly size: number;
  readonly fetchedAt: number;
}

export type CachedEntry = CachedPage | CachedAsset | CachedLinks;

/**
 * An item that read a page. If its worker dies before the item is settled, the next one finds here that the page was read
 * for this item, and not by an earlier job.
 */
interface PageReader {
  /** As `readerMark` makes it. */
  readonly mark: string;
  /** Whether the server said that it has not changed. */
  readonly isSame: boolean;
}

/** Short, because every started KB of a row is paid for on AWS. */
export function readerMark(
  { jobId, jobCreatedAt, itemId }: { readonly jobId: string; readonly jobCreatedAt: number; readonly itemId: string },
  digest: Digest,
): string {
  return digest(JSON.stringify([jobId, jobCreatedAt, itemId])).slice(0, 20);
}

/** What a worker found out about a page. */
export type PageNews = ReadPage | SamePage | SeenAsset | SeenLinks;

/** The content was read, and is stored under its hash. */
interface ReadPage {
  readonly kind: 'read';
  readonly key: PageKey;
  readonly url: string;
  readonly version: PageVersion;
  /** The mark of the item that read it. */
  readonly by?: string;
}

/** The server said that the page has not changed (304). */
export interface SamePage {
  readonly kind: 'same';
  readonly key: PageKey;
  readonly at: number;
  /** The validators of that answer, which may be new; null for those it did not send. */
  readonly validators: Validators;
  /** The mark of the item that asked. */
  readonly by?: string;
}

/** The URL is a file, which is not fetched. */
export interface SeenAsset {
  readonly kind: 'asset';
  readonly key: PageKey;
  readonly url: string;
  readonly at: number;
}

/** Links were read, and are kept by their hash. */
interface SeenLinks {
  readonly kind: 'links';
  readonly key: PageKey;
  readonly url: string;
  readonly sha256: string;
  readonly size: number;
  readonly at: number;
}

export const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/**
 * The entry of a page afterwards; null if there is still none. A version that is at least 90 % smaller than the last
 * good one is flagged, and the good one is kept beside it until an unsuspicious version arrives. News older than the
 * entry is late and changes nothing.
 */
export function afterPageNews(known: CachedEntry | null, news: PageNews): CachedEntry | null {
  const { key } = news;
  switch (news.kind) {
    case 'asset':
      return { ...key, type: 'asset', url: news.url, fetchedAt: Math.max(news.at, known?.fetchedAt ?? 0) };
    case 'links': {
      const { url, sha256, size, at } = news;
      return known !== null && known.fetchedAt > at
        ? known
        : { ...key, type: 'links', url, sha256, size, fetchedAt: at };
    }
    case 'same':
      return known?.type === 'page' ? refreshed(known, news) : known;
    case 'read': {
      const before = known?.type === 'page' ? known : null;
      if (before !== null && before.fetchedAt > news.version.fetchedAt) return before;
      const good = before?.kept ?? before;
      const flagged = good !== null && news.version.size <= good.size * SUSPICIOUS_REMAINDER && good.size > 0;
      const kept = flagged ? versionOf(good) : null;
      const reader = readerOf(news.by, false);
      return { ...key, type: 'page', url: news.url, ...storable(news.version), ...reader, flagged, kept };
    }
  }
}

function readerOf(mark: string | undefined, isSame: boolean): Pick<CachedPage, 'reader'> {
  return mark === undefined ? {} : { reader: { mark, isSame } };
}

function refreshed({ reader: _, ...known }: CachedPage, { at, validators, by }: SamePage): CachedPage {
  const { etag, lastModified } = storableValidators(validators);
  return {
    ...known,
    ...readerOf(by, true),
    etag: etag ?? known.etag,
    lastModified: lastModified ?? known.lastModified,
    fetchedAt: Math.max(at, known.fetchedAt),
  };
}

function versionOf({ sha256, size, title, etag, lastModified, fetchedAt }: PageVersion): PageVersion {
  return { sha256, size, title, etag, lastModified, fetchedAt };
}

function storable(version: PageVersion): PageVersion {
  const title = version.title === null ? null : version.title.slice(0, MAX_TITLE_LENGTH).toWellFormed();
  return { ...versionOf(version), ...storableValidators(version), title };
}

/** Part of a validator would be the validator of something else, so one that is too long is left out. */
function storableValidators({ etag, lastModified }: Validators): Validators {
  const usable = (text: string | null) => (text === null || text.length > MAX_VALIDATOR_LENGTH ? null : text);
  return { etag: usable(etag), lastModified: usable(lastModified) };
}

/**
 * Whether an entry may be used without asking the site. Never with a `maxAgeSeconds` of 0; its validators can still be
 * sent to the server.
 */
export function isFresh(entry: { readonly fetchedAt: number }, maxAgeSeconds: number, now: number): boolean {
  return now - entry.fetchedAt < maxAgeSeconds * 1000;
}

/** Counts of what is cached for a site. */
export interface CacheStats {
  readonly site: string;
  readonly pages: number;
  readonly assets: number;
  readonly flagged: number;
  /** Size of the contents; contents that pages share count for each page. */
  readonly bytes: number;
  readonly oldestAt: number;
  readonly newestAt: number;
}

/** Links of pages are a means to find them, and are not counted. */
export function addToStats(stats: CacheStats | null, entry: CachedPage | CachedAsset): CacheStats {
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

/** No job can have this folder: the folder of an id that is not plain ends in a digest, and no digest is all zeros. */
const CACHE_FOLDER = `cache~${'0'.repeat(32)}`;

/** The prefix of everything cached for a site. */
export function cachePrefix(site: string, digest: Digest): string {
  return `${CACHE_FOLDER}/${safeSegment(site, digest)}/`;
}

/** Where a content is stored: pages of a site with the same content share it. */
export function bodyKey(site: string, sha256: string, digest: Digest): string {
  return `${cachePrefix(site, digest)}${sha256}.md.zst`;
}
