import { isSafeKey } from '../../../domain/artifact.ts';
import type { ContentEncoding } from '../../../domain/result-address.ts';

/** Where the bytes of a key are below the root of a file store: folders, and a name for each encoding. */
export interface ResultPath {
  readonly folders: readonly string[];
  readonly names: Readonly<Record<ContentEncoding, string>>;
}

export function resultPath(key: string): ResultPath {
  const folders = safeSegments(key, key);
  const last = folders.pop() ?? '';
  // `a.gz` stored as it is and `a` stored compressed must not collide, even on a disk that folds case: only what we
  // have compressed ends in `.gz`. No key ends in `~`.
  const name = /\.gz$/i.test(last) ? `${last}~` : last;
  return { folders, names: { identity: name, gzip: `${name}.gz` } };
}

/** The folders of a prefix that ends in `/`. */
export function resultFolders(prefix: string): readonly string[] {
  if (!prefix.endsWith('/')) throw new Error(`a prefix ends in "/", and this one does not: ${shown(prefix)}`);
  return safeSegments(prefix.slice(0, -1), prefix);
}

/** A safe key has no empty segment, no `.` or `..` and no backslash, so that it cannot leave the root. */
function safeSegments(path: string, given: string): string[] {
  if (!isSafeKey(path)) throw new Error(`not a key of safe segments: ${shown(given)}`);
  return path.split('/');
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 200));
}
