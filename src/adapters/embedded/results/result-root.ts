import * as fs from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/** Contains the name of the store, so that a disk that is mounted again is recognised. */
const MARK = '.store';

const MAX_MARK_LENGTH = 100;

/**
 * The folder that results are kept in, and whether it is still the one that was opened. It may be moved away, or be on a
 * disk that is no longer mounted; the folder in its place, or one that we created, would take results that are never found
 * again. So it is never created again while the store is open, and any other folder counts as storage trouble.
 */
export class ResultRoot {
  readonly path: string;
  readonly #disk: Pick<typeof fs, 'lstatSync'>;
  /** Null if it could not be marked: then only the folder itself is recognised. */
  readonly #name: string | null;
  #seen: { readonly dev: number; readonly ino: number } | null = null;

  constructor(path: string, disk: Pick<typeof fs, 'lstatSync'>, name: string | null) {
    this.path = path;
    this.#disk = disk;
    this.#name = name;
    if (name === null) this.#seen = this.#look();
  }

  /** Throws StorageTrouble unless the folder is in its place. Cheap: it is asked for every put. */
  check(): void {
    const found = this.#look();
    if (found !== null && found.dev === this.#seen?.dev && found.ino === this.#seen.ino) return;
    if (found !== null && this.#name !== null && readMark(this.path) === this.#name) {
      this.#seen = found;
      return;
    }
    const what = found === null ? 'is missing' : 'is not the folder that results were kept in so far';
    throw new StorageTrouble('io', `${this.path} ${what}: put it back, or mount its disk again`);
  }

  /** The error of the file system, or its real cause: that the whole folder is gone. */
  explain(error: unknown): unknown {
    if (!isMissing(error)) return error;
    try {
      this.check();
      return error;
    } catch (trouble) {
      return trouble;
    }
  }

  #look(): { readonly dev: number; readonly ino: number } | null {
    try {
      const found = this.#disk.lstatSync(this.path, { throwIfNoEntry: false });
      return found?.isDirectory() ? { dev: found.dev, ino: found.ino } : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }
}

export function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Null if there is none. */
export function readMark(root: string): string | null {
  try {
    const mark = fs.readFileSync(join(root, MARK), 'utf8').trim();
    return mark.length > 0 && mark.length <= MAX_MARK_LENGTH ? mark : null;
  } catch {
    return null;
  }
}

/**
 * Marks the folder, unless it is marked by now. Null if that is not possible, on a disk that is full or read-only: such a
 * store can still be opened, and fails when it is written to.
 */
export function markRoot(root: string, name: string): string | null {
  try {
    fs.writeFileSync(join(root, MARK), `${name}\n`, { flag: 'wx', mode: 0o600 });
  } catch {
    // It has one, or cannot have one.
  }
  return readMark(root);
}

/** Whether nothing was ever stored in it: a mount point without its disk looks like this. */
export function isEmptyRoot(root: string): boolean {
  return fs.readdirSync(root).every((name) => name === '.tmp' || name === 'lost+found');
}
