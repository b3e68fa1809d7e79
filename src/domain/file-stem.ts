import type { Digest } from './artifact.ts';

/** A file name has at most 255 bytes; suffixes and the name of an unfinished file need room, too. */
const MAX_STEM_BYTES = 120;

/**
 * A text as a file name without its extension. One that some file system would not take as it is gets other characters and
 * a digest, so that no two texts have the same name.
 */
export function fileStem(text: string, digest: Digest): string {
  const safe = cutToBytes(
    text
      .toWellFormed()
      .normalize('NFC')
      // What cannot be seen, what separates folders, and what Windows reserves.
      .replaceAll(/[\p{C}\p{Z}\\/:*?"<>|\uFFFD]+/gu, '_')
      .replace(/^[.~-]+/, '_')
      .replace(/\.+$/, '_'),
  );
  const isReserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(safe);
  // A tilde is ours: it separates a name from a digest.
  return safe === text && safe !== '' && !isReserved && !safe.includes('~')
    ? safe
    : `${safe}~${digestOf(text, digest)}`;
}

/** Names that are the same on a disk that folds case or composes characters. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

/** Of the text as JSON: half characters would all hash the same. */
function digestOf(text: string, digest: Digest): string {
  return digest(JSON.stringify(text)).slice(0, 12);
}

function cutToBytes(text: string): string {
  const encoder = new TextEncoder();
  let bytes = 0;
  let cut = '';
  for (const character of text) {
    bytes += encoder.encode(character).length;
    if (bytes > MAX_STEM_BYTES) break;
    cut += character;
  }
  return cut;
}
