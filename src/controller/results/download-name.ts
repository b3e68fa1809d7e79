import { type StoredArtifact, storedName } from '../../domain/artifact.ts';

/** File systems allow 255 bytes: four for each character, and the kind. */
const LONGEST_ID = 55;

/**
 * A `Content-Disposition` that makes the browser save a file: under a name that every system accepts, and for browsers
 * that support it, under one with the item's unchanged id. No id can escape from its quotes, its header or its folder.
 */
export function downloadName(itemId: string, artifact: StoredArtifact): string {
  const plain = `${shortened(itemId, /[^\w.-]+/g)}-${storedName(artifact)}`;
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(fileNameOf(itemId, artifact))}`;
}

/** With the item's id unchanged, as far as file systems accept it. */
export function fileNameOf(itemId: string, artifact: StoredArtifact): string {
  // Invisible characters, and those that change the direction of writing, could make a name look like another.
  return `${shortened(itemId, /[\p{C}\p{Z}\\/:*?"<>|]+/gu)}-${storedName(artifact)}`;
}

function shortened(itemId: string, unsafe: RegExp): string {
  const safe = itemId
    .toWellFormed()
    .replaceAll(unsafe, '_')
    .replace(/^[.-]+/, '');
  return [...safe].slice(0, LONGEST_ID).join('') || 'item';
}

/** RFC 8187 leaves fewer characters unescaped than `encodeURIComponent`. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
