import { type ContentEncoding, parseAddress, type ResultAddress } from './result-address.ts';

/** Bytes kept for an item: the kinds of artifacts, and the keys they are stored under. */

interface ArtifactRow {
  /** File extension without the dot. Null if it depends on the content; then the scraper provides it. */
  readonly extension: string | null;
  /** Null if it depends on the content; then the scraper provides it. */
  readonly mediaType: string | null;
  /**
   * Size in bytes above which it is stored gzipped. Null for never, because its format is already compressed or it is
   * small.
   */
  readonly gzipAbove: number | null;
  /** Whether it can be shown on a terminal. */
  readonly isText: boolean;
  /** Its name in messages. */
  readonly name: string;
}

/** Everything that depends on the kind of an artifact. A kind is added by a row; answers list kinds in this order. */
export const ARTIFACTS = {
  html: { extension: 'html', mediaType: 'text/html; charset=utf-8', gzipAbove: 1024, isText: true, name: 'page' },
  page: { extension: null, mediaType: null, gzipAbove: 1024, isText: true, name: 'page' },
  data: { extension: 'json', mediaType: 'application/json', gzipAbove: null, isText: true, name: 'data' },
  metadata: { extension: 'json', mediaType: 'application/json', gzipAbove: null, isText: true, name: 'metadata' },
  screenshot: { extension: null, mediaType: null, gzipAbove: null, isText: false, name: 'screenshot' },
  document: { extension: null, mediaType: null, gzipAbove: null, isText: false, name: 'document' },
  failed_page: {
    extension: 'html',
    mediaType: 'text/html; charset=utf-8',
    gzipAbove: 1024,
    isText: true,
    name: 'page',
  },
  visit: { extension: 'json', mediaType: 'application/json', gzipAbove: 1024, isText: true, name: 'visit' },
  trace: { extension: 'zip', mediaType: 'application/zip', gzipAbove: null, isText: false, name: 'trace' },
} as const satisfies Record<string, ArtifactRow>;

export type ArtifactKind = keyof typeof ARTIFACTS;

export const ARTIFACT_KINDS = Object.keys(ARTIFACTS) as readonly ArtifactKind[];

/** Named pages of one item, such as profile, taxes, sales. */
export const MAX_PAGES = 20;

const PAGE_NAME = '[a-z][a-z0-9_-]{0,31}';
const WHOLE_PAGE_NAME = new RegExp(`^${PAGE_NAME}$`);

export function isPageName(name: string): boolean {
  return WHOLE_PAGE_NAME.test(name) && isPlain(`${name}.html`);
}

/** Distinguishes an artifact from the others of its item: its kind and, for a page, its name, as in `page:taxes`. */
export function artifactLabel({ kind, name }: { readonly kind: ArtifactKind; readonly name?: string }): string {
  return name === undefined ? kind : `${kind}:${name}`;
}

/** Matches a label: any kind except `page` alone, or `page:` with a name. */
export const ARTIFACT_LABEL = new RegExp(
  `^(?:${ARTIFACT_KINDS.filter((kind) => kind !== 'page').join('|')}|page:${PAGE_NAME})$`,
);

/** All labels, for a person. */
export const ARTIFACT_LABELS = ARTIFACT_KINDS.map((kind) => (kind === 'page' ? 'page:NAME' : kind)).join(', ');

/** How bytes of a kind are stored. A draft is stored as it is: it may be too large to compress in memory. */
export function keptEncoding(kind: ArtifactKind, bytes: Uint8Array | object): ContentEncoding {
  const { gzipAbove }: ArtifactRow = ARTIFACTS[kind];
  return gzipAbove !== null && bytes instanceof Uint8Array && bytes.length > gzipAbove ? 'gzip' : 'identity';
}

/** The media type of an artifact: the one its scraper gives, or that of its kind. */
export function mediaTypeFor(kind: ArtifactKind, given?: string): string {
  return given ?? ARTIFACTS[kind].mediaType ?? 'application/octet-stream';
}

/**
 * The end of a stored artifact's file name. The key of an artifact stored on its own ends in it; the key of a slice is
 * that of the whole object and says nothing.
 */
export function storedName({ kind, name, contentType, ...at }: StoredArtifact): string {
  const { key, slice } = parseAddress(at);
  const [, ofKey] = slice === null ? (/\.([a-z0-9]{1,10})$/.exec(key) ?? []) : [];
  const [, ofType] = /^[^/]+\/([a-z0-9]{1,10})(?:;|$)/.exec(contentType) ?? [];
  const stem = name === undefined ? kind : `${kind}-${name}`;
  return fileName(stem, ofKey ?? ARTIFACTS[kind].extension ?? ofType ?? 'bin');
}

function fileName(stem: string, extension: string): string {
  return `${stem}.${/^[a-z0-9]{1,10}$/.test(extension) ? extension : 'bin'}`;
}

/** Where bytes are stored, and how to recognise them. */
export interface StoredArtifact extends ResultAddress {
  readonly kind: ArtifactKind;
  /** Set only for a named page. */
  readonly name?: string;
  /** Size of the content as the scraper returned it, before any encoding. */
  readonly size: number;
  readonly sha256: string;
  readonly encoding: ContentEncoding;
  readonly contentType: string;
}

/** Hex SHA-256 of a text. It is an argument because `domain/` does no cryptography of its own. */
export type Digest = (text: string) => string;

/**
 * The key of an item's artifact. The first attempt has the plain key that users expect; every later one gets its own
 * folder, so that a second delivery can never overwrite what an earlier one recorded. `apart` names a further folder
 * for an attempt whose key is taken: a ledger restored from a backup counts deliveries again that the store has already
 * seen, or two ids differ only in case on a disk that ignores case.
 */
export function artifactKey(
  at: { readonly jobId: string; readonly itemId: string; readonly attempt: number; readonly apart?: string },
  artifact: { readonly kind: ArtifactKind; readonly name?: string; readonly extension?: string },
  digest: Digest,
): string {
  const item = `${jobPrefix(at.jobId, digest)}items/${itemSegment(at.itemId, digest)}`;
  const isPlainKey = at.attempt <= 1 && at.apart === undefined;
  const attempt = at.apart === undefined ? `attempt-${at.attempt}` : `attempt-${at.attempt}-${at.apart}`;
  const folder = isPlainKey ? item : `${item}/${attempt}`;
  const { kind, name, extension = ARTIFACTS[kind].extension ?? 'bin' } = artifact;
  return `${folder}/${fileName(name === undefined ? kind : `pages/${name}`, extension)}`;
}

/** The `apart` of a key. It includes the item, so that two items in one folder of such a disk do not collide again. */
export function apartName(itemId: string, chosen: string, digest: Digest): string {
  return digest(JSON.stringify([itemId, chosen])).slice(0, 16);
}

/**
 * The prefix of everything that a job stores. Jobs are removed by prefix, so two jobs must never share one, on any
 * disk: unlike an item's folder, a job's folder has no upper case.
 */
export function jobPrefix(jobId: string, digest: Digest): string {
  return `${safeSegment(jobId, digest)}/`;
}

/** Excludes names that a file system, a shell or a browser would interpret differently. */
const PLAIN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * An id as one segment of a key that is distinct from all others, even on a disk that folds case: the id itself if it is
 * plain and in lower case, otherwise a readable stem and a digest. No plain id contains `~`, so the two forms cannot
 * collide. The digest is of the id as JSON, because lone surrogates, which JSON can carry, would all hash the same.
 */
export function safeSegment(id: string, digest: Digest): string {
  return isPlain(id) && id === id.toLowerCase() ? id : hashedSegment(id, digest);
}

/**
 * An item's id as one segment: the id itself if it is plain, including upper case (`503-51-079A`). Two ids that differ
 * only in case collide on a disk that folds it; then the second to be stored finds its key taken, and is kept apart.
 */
export function itemSegment(itemId: string, digest: Digest): string {
  return isPlain(itemId) ? itemId : hashedSegment(itemId, digest);
}

/** A readable stem and a digest: a name that no other id has. */
export function hashedSegment(id: string, digest: Digest): string {
  const stem = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${stem}~${digest(JSON.stringify(id)).slice(0, 32)}`;
}

const HASHED = /^[a-z0-9-]{0,40}~[0-9a-f]{32}(?:\.json)?$/;

/** Whether a key is a path of safe segments. A result store refuses all others, because keys may come from anywhere. */
export function isSafeKey(key: string): boolean {
  return key.split('/').every((segment) => isPlain(segment) || HASHED.test(segment));
}

function isPlain(segment: string): boolean {
  return PLAIN.test(segment) && !segment.includes('..') && !RESERVED_ON_WINDOWS.test(segment);
}
