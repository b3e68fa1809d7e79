/** Bytes kept of an item: what kinds there are, how they are addressed, and under which keys they lie. */

export const ARTIFACT_KINDS = ['html', 'data', 'metadata', 'screenshot', 'document'] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

export type ContentEncoding = 'identity' | 'gzip';

/** Where bytes lie and how to know them again. Offset and length are there for segments that hold many artifacts. */
export interface StoredArtifact {
  readonly kind: ArtifactKind;
  readonly key: string;
  readonly offset?: number;
  readonly length?: number;
  /** Of the content as the scraper gave it, before any encoding. */
  readonly size: number;
  readonly sha256: string;
  readonly encoding: ContentEncoding;
  readonly contentType: string;
}

/** Hex SHA-256 of a text: an argument, because `domain/` does no cryptography of its own. */
export type Digest = (text: string) => string;

/**
 * The key of an item's artifact. The first attempt has the plain key that users expect; every later one gets a folder
 * of its own, so that a second delivery can never write over what an earlier one recorded.
 */
export function artifactKey(
  at: { readonly jobId: string; readonly itemId: string; readonly attempt: number },
  artifact: { readonly kind: ArtifactKind; readonly extension: string },
  digest: Digest,
): string {
  const item = `${safeSegment(at.jobId, digest)}/items/${safeSegment(at.itemId, digest)}`;
  const folder = at.attempt <= 1 ? item : `${item}/attempt-${at.attempt}`;
  return `${folder}/${artifact.kind}.${/^[a-z0-9]{1,10}$/.test(artifact.extension) ? artifact.extension : 'bin'}`;
}

export function jobPrefix(jobId: string, digest: Digest): string {
  return `${safeSegment(jobId, digest)}/`;
}

/** Names that a file system, a shell or a case-folding disk would read differently from us. */
const PLAIN = /^[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/;
const RESERVED_ON_WINDOWS = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/**
 * An id as one segment of a key: itself where it is plainly safe, otherwise a readable stem and a digest. `~` stands in
 * no plain id, so the two forms cannot meet; upper case and Unicode always take the second, so that ids which differ
 * only there do not meet on a disk that folds them. The digest is of the id as JSON, because half characters, which JSON
 * can carry, would all be hashed as the same one.
 */
export function safeSegment(id: string, digest: Digest): string {
  if (isPlain(id)) return id;
  const stem = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${stem}~${digest(JSON.stringify(id)).slice(0, 32)}`;
}

const HASHED = /^[a-z0-9-]{0,40}~[0-9a-f]{32}$/;

/** Whether a key is a path of safe segments. A result store refuses any other: it may come from anywhere. */
export function isSafeKey(key: string): boolean {
  return key.split('/').every((segment) => isPlain(segment) || HASHED.test(segment));
}

function isPlain(segment: string): boolean {
  return PLAIN.test(segment) && !segment.includes('..') && !RESERVED_ON_WINDOWS.test(segment);
}
