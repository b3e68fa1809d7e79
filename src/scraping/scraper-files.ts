import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { errorMessage } from '../domain/error-message.ts';

/** A folder of scrapers that the user named, and that cannot be read. */
export class NoScraperFolder extends Error {
  constructor(folder: string, because: string) {
    super(`the folder of scrapers ${folder} ${because}`);
    this.name = 'NoScraperFolder';
  }
}

/** A user who names the root of a disk by mistake gets an error instead of a long wait. */
const MAX_PLACES = 10_000;

/**
 * The files below these folders that may contain a scraper by their name, sorted within each folder. A file that is
 * below two of the folders, or is linked twice, is listed once.
 */
export async function findScraperFiles(
  folders: readonly string[],
  isScraperName: (name: string) => boolean,
): Promise<readonly string[]> {
  const files: string[] = [];
  const seen = new Set<string>();
  for (const folder of folders.map((each) => resolve(each))) {
    const info = await stat(folder).catch(() => null);
    if (info === null) throw new NoScraperFolder(folder, 'does not exist');
    if (!info.isDirectory()) throw new NoScraperFolder(folder, 'is not a folder');
    const waiting = [folder];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      // A link may lead back up: each place is visited once, under its real name.
      const real = await realpath(next);
      if (seen.has(real)) continue;
      seen.add(real);
      if (seen.size > MAX_PLACES) throw new NoScraperFolder(folder, `has more than ${MAX_PLACES} folders and files`);
      for (const { path, kind, isLink } of await entriesOf(next, folder, isScraperName)) {
        if (kind === 'folder') {
          waiting.push(path);
          continue;
        }
        const realFile = isLink ? await realpath(path) : join(real, basename(path));
        if (!seen.has(realFile)) files.push(path);
        seen.add(realFile);
      }
    }
  }
  return files;
}

interface Entry {
  readonly path: string;
  readonly kind: 'file' | 'folder';
  readonly isLink: boolean;
}

/** Files in order, then folders in the order in which a stack turns round. */
async function entriesOf(
  folder: string,
  root: string,
  isScraperName: (name: string) => boolean,
): Promise<readonly Entry[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new NoScraperFolder(root, `cannot be read: ${errorMessage(error)}`);
  });
  const found: Entry[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.name.endsWith('.fixture')) continue;
    const path = join(folder, entry.name);
    const kind = await kindOf(entry, path);
    if (kind === 'folder' || (kind === 'file' && isScraperName(entry.name))) {
      found.push({ path, kind, isLink: entry.isSymbolicLink() });
    }
  }
  const byName = found.sort((a, b) => (a.path < b.path ? -1 : 1));
  return [...byName.filter(({ kind }) => kind === 'file'), ...byName.filter(({ kind }) => kind === 'folder').reverse()];
}

/** A link that leads nowhere is neither. */
async function kindOf(entry: Dirent, path: string): Promise<'file' | 'folder' | 'other'> {
  const what = entry.isSymbolicLink() ? await stat(path).catch(() => null) : entry;
  if (what === null) return 'other';
  return what.isDirectory() ? 'folder' : what.isFile() ? 'file' : 'other';
}
