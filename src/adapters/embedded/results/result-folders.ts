import type * as fs from 'node:fs';
import { resolve, sep } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';

/** As many as a busy worker touches in a short while; a job of a million items has a million folders. */
const MAX_KNOWN = 4096;

/**
 * The folders below a root: created on demand, and never reached through a symbolic link, which could lead out of the
 * root. A folder seen once is trusted from then on.
 */
export class ResultFolders {
  readonly #root: string;
  readonly #disk: Pick<typeof fs, 'mkdirSync' | 'lstatSync'>;
  readonly #known = new Set<string>();

  constructor(root: string, disk: Pick<typeof fs, 'mkdirSync' | 'lstatSync'>) {
    this.#root = resolve(root);
    this.#disk = disk;
  }

  /** Creates what is missing. Returns the path. */
  make(folders: readonly string[]): string {
    const path = this.#pathOf(folders);
    if (folders.length === 0 || this.#known.has(path)) return path;
    this.make(folders.slice(0, -1));
    try {
      this.#disk.mkdirSync(path, 0o700);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      if (!this.#isFolder(path)) throw new Error(`results: ${path} is not a folder`);
    }
    this.#remember(path);
    return path;
  }

  /** The path, if it was made or found before; otherwise null. */
  known(folders: readonly string[]): string | null {
    const path = this.#pathOf(folders);
    return folders.length === 0 || this.#known.has(path) ? path : null;
  }

  /** Null when it is not there. */
  find(folders: readonly string[]): string | null {
    const path = this.#pathOf(folders);
    if (folders.length === 0 || this.#known.has(path)) return path;
    if (this.find(folders.slice(0, -1)) === null || !this.#isFolder(path)) return null;
    this.#remember(path);
    return path;
  }

  /** To be called when one of them turned out to be gone. */
  forgetAll(): void {
    this.#known.clear();
  }

  /** They are segments of a safe key, so there is nothing to normalise: `join` takes a microsecond, several times a file. */
  #pathOf(folders: readonly string[]): string {
    return [this.#root, ...folders].join(sep);
  }

  #isFolder(path: string): boolean {
    const found = this.#disk.lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) throw new Error(`results: ${path} is a symbolic link, not a folder`);
    return found?.isDirectory() ?? false;
  }

  #remember(path: string): void {
    if (this.#known.size >= MAX_KNOWN) {
      const [oldest] = this.#known;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.add(path);
  }
}
