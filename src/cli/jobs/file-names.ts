import { createHash } from 'node:crypto';
import type { ItemAnswer } from '../../contract/item-answers.ts';
import { storedName } from '../../domain/artifact.ts';

type Artifact = ItemAnswer['artifacts'][number];

/** A file name has at most 255 bytes; suffixes and the name of an unfinished file need room as well. */
const MAX_STEM_BYTES = 120;

/**
 * The name of an item's file: its id and an extension, such as `200-14-030.pdf`. An id that some file system would not
 * accept as it is gets other characters and a digest, so that no two ids share a name.
 */
export function artifactFileName(itemId: string, artifact: Artifact): string {
  return `${fileStem(itemId)}.${endOf(artifact)}`;
}

/**
 * For a file whose usual name is taken by other content: it is named after its content, so that a second run finds it
 * again.
 */
export function fileNameApart(itemId: string, artifact: Artifact, { isLong = false } = {}): string {
  return `${fileStem(itemId)}~${artifact.sha256.slice(0, isLong ? 64 : 8)}.${endOf(artifact)}`;
}

/** Maps names to the same text if a disk that folds case or composes characters would treat them as equal. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

/** The extension, preceded by the name of a named page, so that several pages of an item can share a folder. */
function endOf({
  kind,
  name,
  key,
  content_type: contentType,
  size,
  sha256,
  encoding,
  offset,
  length,
}: Artifact): string {
  const slice = { ...(offset === undefined ? {} : { offset }), ...(length === undefined ? {} : { length }) };
  const extension = storedName({ kind, key, contentType, size, sha256, encoding, ...slice }).replace(/^.*\./, '');
  return name === undefined ? extension : `${name}.${extension}`;
}

/** An id as a file name without its extension. */
export function fileStem(itemId: string): string {
  const safe = cutToBytes(
    itemId
      .toWellFormed()
      .normalize('NFC')
      // Invisible characters, folder separators, and the characters that Windows reserves.
      .replaceAll(/[\p{C}\p{Z}\\/:*?"<>|\uFFFD]+/gu, '_')
      .replace(/^[.~-]+/, '_')
      .replace(/\.+$/, '_'),
  );
  const isReserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(safe);
  // The tilde is reserved for us: it separates a name from a digest.
  return safe === itemId && safe !== '' && !isReserved && !safe.includes('~') ? safe : `${safe}~${digestOf(itemId)}`;
}

/** Hashes the id as JSON: lone surrogates would otherwise all hash the same. */
function digestOf(itemId: string): string {
  return createHash('sha256').update(JSON.stringify(itemId)).digest('hex').slice(0, 12);
}

function cutToBytes(text: string): string {
  let bytes = 0;
  let cut = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_STEM_BYTES) break;
    cut += character;
  }
  return cut;
}
