import { type FSWatcher, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Reports when one of some files may have changed. Folders are watched, not files: many editors write a new file and
 * rename it, which a watch on the old file would miss.
 */
export class FileWatch {
  readonly #onSave: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  #files: ReadonlySet<string> = new Set();

  constructor(onSave: () => void) {
    this.#onSave = onSave;
  }

  /** Replaces the set of watched files. */
  follow(files: readonly string[]): void {
    this.#files = new Set(files);
    const folders = new Set(files.map(dirname));
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#watchFolder(folder);
  }

  close(): void {
    this.follow([]);
  }

  #watchFolder(folder: string): void {
    const watcher = watch(folder, (_event, name) => {
      if (name === null || this.#files.has(resolve(folder, name))) this.#onSave();
    });
    // A removed folder is no longer watched; the next trial says what is missing.
    watcher.on('error', () => {
      watcher.close();
      this.#folders.delete(folder);
    });
    this.#folders.set(folder, watcher);
  }
}
