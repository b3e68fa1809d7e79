import type { Digest } from './artifact.ts';
import { fileStem, foldName } from './file-stem.ts';

/**
 * Chooses file names for pages, in a tree that mirrors the paths of their sites: `guide/start.html` of the site `node`
 * is `node/guide/start.md`. No two pages share a name, and no file has the name of a folder, on any file system.
 */
export class TreeNames {
  readonly #digest: Digest;
  readonly #byPage = new Map<string, string>();
  readonly #taken = new Map<string, 'file' | 'folder'>();

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  /** Whether the page has a name already. */
  has(site: string, path: string): boolean {
    return this.#byPage.has(JSON.stringify([site, path]));
  }

  /** Returns the same name for the same page every time. `path` begins with a slash, or is empty. */
  nameOf(site: string, path: string): string {
    const page = JSON.stringify([site, path]);
    const known = this.#byPage.get(page);
    if (known !== undefined) return known;
    const [place = '', query] = splitOnce(path, '?');
    const segments = place.split('/').filter((segment) => segment !== '');
    const last = place === '' || place.endsWith('/') ? 'index' : (segments.pop() ?? 'index').replace(/\.html?$/i, '');
    let folder = '';
    for (const segment of [site, ...segments]) folder = this.#take(folder, decoded(segment), 'folder', '/');
    const name = this.#take(folder, decoded(query === undefined ? last : `${last}?${query}`), 'file', '.md', page);
    this.#byPage.set(page, name);
    return name;
  }

  #take(within: string, segment: string, kind: 'file' | 'folder', end: string, page = segment): string {
    const usual = `${within}${fileStem(segment, this.#digest)}`;
    // If a name is taken, a digest of the path is added to it, so that the next pull chooses the same name.
    for (const stem of [usual, `${usual}~${fileStem(`?${page}`, this.#digest).split('~').at(-1)}`]) {
      const full = `${stem}${end}`;
      const key = foldName(kind === 'folder' ? stem : full);
      const taken = this.#taken.get(key);
      if (taken === undefined || (taken === 'folder' && kind === 'folder')) {
        this.#taken.set(key, kind);
        return full;
      }
    }
    throw new Error(`no file name is left for ${page}`);
  }
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Badly encoded segments stay as they are. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
