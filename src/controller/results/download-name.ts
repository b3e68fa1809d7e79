import { type StoredArtifact, storedName } from '../../domain/artifact.ts';

/** A file name of 255 bytes is the longest that file systems take: four for each character, and the kind. */
const LONGEST_ID = 55;

/**
 * A `Content-Disposition` that has the browser keep a file: under a name that every system takes, and for those that can
 * read it under one with the item's id as it is. No id gets out of its quotes, of its header or of the folder it is for.
 */
export function downloadName(itemId: string, artifact: StoredArtifact): string {
  const plain = `${shortened(itemId, /[^\w.-]+/g)}-${storedName(artifact)}`;
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(fileNameOf(itemId, artifact))}`;
}

/** With the item's id as it is, as far as a file system takes it. */
export function fileNameOf(itemId: string, artifact: StoredArtifact): string {
  // What cannot be seen or turns the direction of writing could make a name look like another.
  return `${shortened(itemId, /[\p{C}\p{Z}\\/:*?"<>|]+/gu)}-${storedName(artifact)}`;
}

function shortened(itemId: string, unsafe: RegExp): string {
  const safe = itemId
    .toWellFormed()
    .replaceAll(unsafe, '_')
    .replace(/^[.-]+/, '');
  return [...safe].slice(0, LONGEST_ID).join('') || 'item';
}

/** RFC 8187 has fewer characters stand for themselves than `encodeURIComponent`. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
