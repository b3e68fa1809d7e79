import { join } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';
import type { ContentEncoding } from '../../../domain/result-address.ts';
import type { PutOptions } from '../../../ports/result-store.ts';
import type { ResultFolders } from './result-folders.ts';
import type { ResultPath } from './result-path.ts';
import type { Disk, UnfinishedResults } from './unfinished-results.ts';

/** Bytes to be stored under their name, or a complete unfinished file that becomes it. */
type Content = Uint8Array | { readonly file: string };

export interface Placed {
  readonly path: ResultPath;
  readonly content: Content;
  readonly encoding: ContentEncoding;
  readonly ifTaken: PutOptions['ifTaken'];
}

/** Gives whole files their place among the results. A reader sees all of a file under its name, or nothing. */
export class ResultPlacing {
  readonly #disk: Disk;
  readonly #folders: ResultFolders;
  readonly #unfinished: UnfinishedResults;

  constructor(disk: Disk, folders: ResultFolders, unfinished: UnfinishedResults) {
    this.#disk = disk;
    this.#folders = folders;
    this.#unfinished = unfinished;
  }

  /** False if there are bytes under the key that must be kept. A given file may stay. */
  placeFile({ path, content, encoding, ifTaken }: Placed): boolean {
    const isPlain = ifTaken === 'overwrite' && encoding === 'identity';
    if (isPlain && content instanceof Uint8Array && this.#writeNew(path, content)) return true;
    const place = (file: string) => {
      const folder = this.#folders.make(path.folders);
      const mine = join(folder, path.names[encoding]);
      const other = join(folder, path.names[encoding === 'gzip' ? 'identity' : 'gzip']);
      return ifTaken === 'keep' ? this.#keep(file, mine, other) : this.#replace(file, mine, other);
    };
    if (content instanceof Uint8Array) {
      return this.#unfinished.withFile(content, place, ifTaken === 'keep' ? 'leaves it' : 'moves it');
    }
    return this.#unfinished.again(() => place(content.file));
  }

  /**
   * Places files of different keys in one folder, if it does not exist yet or is empty: it is filled elsewhere and moved
   * into place by one rename. False if that is not possible; then nothing has changed. Files that were given stay.
   *
   * For three files that is half the calls of placing them one by one, and another process cannot be halfway in such a
   * folder.
   */
  placeNewFolder(files: readonly Placed[]): boolean {
    const folders = files[0]?.path.folders ?? [];
    // One that we have written to is surely taken.
    if (this.#folders.known(folders) !== null) return false;
    return this.#unfinished.again(() => {
      const made = this.#unfinished.newPath();
      this.#disk.mkdirSync(made, 0o700);
      let isPlaced = false;
      try {
        if (files.every((file) => this.#fill(file, made))) isPlaced = this.#moveFolder(made, folders);
        return isPlaced;
      } finally {
        if (!isPlaced) this.#clear(made, files);
      }
    });
  }

  /** False on a file system without links. */
  #fill({ path, content, encoding }: Placed, folder: string): boolean {
    const file = join(folder, path.names[encoding]);
    if (content instanceof Uint8Array) {
      this.#disk.writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
      return true;
    }
    try {
      this.#disk.linkSync(content.file, file);
      return true;
    } catch (error) {
      if (!NO_LINKS.has(errorCode(error) ?? '')) throw error;
      return false;
    }
  }

  #moveFolder(made: string, folders: readonly string[]): boolean {
    const place = join(this.#folders.make(folders.slice(0, -1)), folders.at(-1) ?? '');
    try {
      this.#disk.renameSync(made, place);
      return true;
    } catch (error) {
      if (NOT_LIKE_THIS.has(errorCode(error) ?? '')) return false;
      throw error;
    }
  }

  /** What cannot be removed now is swept up later; the caller must get the reason for removing it. */
  #clear(made: string, files: readonly Placed[]): void {
    try {
      for (const { path, encoding } of files) this.#unfinished.unlink(join(made, path.names[encoding]));
      this.#disk.rmdirSync(made);
    } catch {}
  }

  /**
   * Writes a new file under its own name, which saves the rename. Readers look for it before a packed one of the same key.
   * False if it exists, or its folder is not known to: then nothing has changed.
   */
  #writeNew({ folders, names }: ResultPath, bytes: Uint8Array): boolean {
    const folder = this.#folders.known(folders);
    if (folder === null) return false;
    const file = join(folder, names.identity);
    try {
      this.#disk.writeFileSync(file, bytes, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'EEXIST' || code === 'ENOENT') return false;
      this.#unfinished.unlink(file);
      throw error;
    }
  }

  #keep(file: string, mine: string, other: string): boolean {
    if (this.#exists(other) || !this.#linkNew(file, mine)) return false;
    if (!this.#exists(other)) return true;
    // Another process was here at the same moment with the other encoding: each steps back if it sees the other.
    this.#unfinished.unlink(mine);
    return false;
  }

  #replace(file: string, mine: string, other: string): boolean {
    this.#disk.renameSync(file, mine);
    // Nearly always there is none, and an error costs more than a look.
    if (this.#exists(other)) this.#unfinished.unlink(other);
    return true;
  }

  /** Unlike a rename, a link never replaces a file. */
  #linkNew(file: string, name: string): boolean {
    try {
      this.#disk.linkSync(file, name);
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      if (!NO_LINKS.has(errorCode(error) ?? '')) throw error;
      // On a file system without links: safe against earlier writers, not against a concurrent one.
      if (this.#exists(name)) return false;
      this.#disk.renameSync(file, name);
      return true;
    }
  }

  #exists(path: string): boolean {
    return this.#disk.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  }
}

const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** The folder is not empty; it is not a folder but, for example, a link; or the file system cannot move folders. */
const NOT_LIKE_THIS = new Set([
  ...['ENOTEMPTY', 'EEXIST', 'ENOTDIR'],
  ...['EXDEV', 'EPERM', 'EACCES', 'EBUSY', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'],
]);
