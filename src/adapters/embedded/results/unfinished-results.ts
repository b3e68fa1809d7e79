import type * as fs from 'node:fs';
import { lstat, opendir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';
import type { Clock } from '../../../ports/clock.ts';
import { removeFolder } from './remove-folder.ts';
import type { ResultFolders } from './result-folders.ts';
import type { ResultRoot } from './result-root.ts';

/** What results are written with; a test may put a full or failing disk in its place. */
export type Disk = Pick<
  typeof fs,
  'writeFileSync' | 'linkSync' | 'renameSync' | 'unlinkSync' | 'mkdirSync' | 'rmdirSync' | 'lstatSync'
>;

/**
 * A folder of its own for what is unfinished, so that sweeping up does not mean walking through a million folders. In it
 * each process has one that nobody else writes to.
 */
const UNFINISHED = '.tmp';

/** A put takes milliseconds, and a draft the time of one item; if it was last touched this long ago, its writer is dead. */
const OLD_MS = 60 * 60_000;

/** Prefix of what was moved away to be removed; no caller waits for it, however young it is. */
const REMOVED = 'removed-';

/** A disk that has no room for another name, or that moves no folders. */
const CANNOT_MOVE = new Set([
  ...['ENOSPC', 'EDQUOT', 'EMLINK'],
  ...['EXDEV', 'EPERM', 'EACCES', 'EBUSY', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'],
]);

/** Folders may disappear, and another writer may come and go, but not forever. */
export const MAX_ROUNDS = 5;

/** Where files and folders are until they are complete and get their place. */
export class UnfinishedResults {
  readonly #root: ResultRoot;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #folders: ResultFolders;
  /** One name for all, and a number for each: a name of its own for each would take as long as its rename. */
  readonly #name: string;
  /** The lowest that the wall clock has been ahead of the steady one: see `sweep`. */
  #aheadMs: number;
  #count = 0;

  constructor(root: ResultRoot, clock: Clock, disk: Disk, folders: ResultFolders) {
    this.#root = root;
    this.#clock = clock;
    this.#disk = disk;
    this.#folders = folders;
    this.#name = clock.id();
    this.#aheadMs = clock.now() - clock.elapsed();
  }

  /**
   * A unique path. Everything that is written begins here, and so it is seen at once if the root is gone: no other folder
   * in its place has one of this process in it. Until that is made, the root is checked.
   */
  newPath(): string {
    const mine = [UNFINISHED, this.#name];
    const known = this.#folders.known(mine);
    if (known === null) this.#root.check();
    return join(known ?? this.#folders.make(mine), this.#nextNumber());
  }

  /**
   * Moves a folder in here, so that it is gone from its place at once, however much is in it. Returns where it is for
   * the caller to remove it: where it was, if it cannot be moved. If we die on the way, it is swept up.
   */
  takeAway(folder: string): string {
    try {
      this.#root.check();
      const path = join(this.#folders.make([UNFINISHED]), `${REMOVED}${this.#name}-${this.#nextNumber()}`);
      this.#disk.renameSync(folder, path);
      return path;
    } catch (error) {
      if (!CANNOT_MOVE.has(errorCode(error) ?? '')) throw error;
      return folder;
    } finally {
      this.#folders.forgetAll();
    }
  }

  /** Writes the bytes to an unfinished file, lets `place` give it a name, and leaves nothing else behind. */
  withFile<T>(bytes: Uint8Array, place: (file: string) => T, how: 'moves it' | 'leaves it'): T {
    return this.again(() => {
      const file = this.newPath();
      let isMoved = false;
      try {
        this.#disk.writeFileSync(file, bytes, { flag: 'wx', mode: 0o600 });
        const placed = place(file);
        isMoved = how === 'moves it';
        return placed;
      } finally {
        // Removing what is not there is an error, and an error with its stack costs more than a write.
        if (!isMoved) this.unlink(file);
      }
    });
  }

  #nextNumber(): string {
    this.#count += 1;
    return String(this.#count);
  }

  /** Repeats the work if another process removed a folder, or swept our file away while we were stopped. */
  again<T>(work: () => T): T {
    for (let round = 1; ; round += 1) {
      try {
        return work();
      } catch (error) {
        this.#forget(error, round);
      }
    }
  }

  async againLater<T>(work: () => Promise<T>): Promise<T> {
    for (let round = 1; ; round += 1) {
      try {
        return await work();
      } catch (error) {
        this.#forget(error, round);
      }
    }
  }

  #forget(error: unknown, round: number): void {
    if (errorCode(error) !== 'ENOENT' || round === MAX_ROUNDS) throw this.#root.explain(error);
    this.#folders.forgetAll();
  }

  unlink(path: string): boolean {
    try {
      this.#disk.unlinkSync(path);
      return true;
    } catch (error) {
      unlessMissing(error);
      return false;
    }
  }

  /**
   * Removes what dead processes left; returns how many files and folders there were. A wall clock that was set forward must
   * not make a file old that is being written: the age is judged by the clock as it was before. What is written after such
   * a jump stays until the next start.
   */
  async sweep(): Promise<number> {
    this.#aheadMs = Math.min(this.#aheadMs, this.#clock.now() - this.#clock.elapsed());
    const before = this.#clock.elapsed() + this.#aheadMs - OLD_MS;
    let swept = 0;
    for await (const { entry, path, found } of this.#entriesOf(join(this.#root.path, UNFINISHED))) {
      const isOld = found.mtimeMs < before;
      if (entry.name.startsWith(REMOVED)) {
        // What we have taken away ourselves is being removed right now, and counted.
        if (!entry.name.startsWith(`${REMOVED}${this.#name}-`) && (await this.#remove(path, found))) swept += 1;
      } else if (found.isDirectory()) swept += await this.#sweepProcess(path, isOld, before);
      else if (isOld && (await this.#remove(path, found))) swept += 1;
    }
    return swept;
  }

  /** The folder of a process. One that lives and has long been idle makes it again. */
  async #sweepProcess(folder: string, isOld: boolean, before: number): Promise<number> {
    let swept = 0;
    for await (const { path, found } of this.#entriesOf(folder)) {
      if (found.mtimeMs < before && (await this.#remove(path, found))) swept += 1;
    }
    if (isOld) await rmdir(folder).catch(unlessInUse);
    return swept;
  }

  async *#entriesOf(folder: string) {
    const entries = await opendir(folder).catch(unlessMissing);
    for await (const entry of entries ?? []) {
      const path = join(folder, entry.name);
      const found = await lstat(path).catch(unlessMissing);
      if (found !== undefined) yield { entry, path, found };
    }
  }

  async #remove(path: string, found: fs.Stats): Promise<boolean> {
    if (!found.isDirectory()) return this.unlink(path);
    try {
      await removeFolder(path);
      return true;
    } catch (error) {
      unlessMissing(error);
      return false;
    }
  }
}

function unlessInUse(error: unknown): void {
  if (errorCode(error) !== 'ENOTEMPTY') unlessMissing(error);
}

function unlessMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}
