import { close, constants, fdatasync, open } from 'node:fs';
import { promisify } from 'node:util';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import type { Database } from './database.ts';

const openFile = promisify(open);
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/** Resolves when everything that was committed before the call is on the disk. */
export type Sync = () => Promise<void>;

/**
 * Says when what was committed is on the disk. One sync covers all commits made before it began, and runs off the event
 * loop; whoever comes while it runs waits for the next. It is in one of two modes:
 *
 *   trusting     a sync that succeeds is believed
 *   mistrusting  a sync failed. The system may have dropped the pages that it could not write, and the next sync would
 *                falsely succeed; so the whole log is first copied into the database and that synced
 */
export class Durability {
  readonly #database: Database;
  readonly #sync: Sync;
  readonly #gather: () => Promise<void>;
  #waiting: PromiseWithResolvers<void>[] = [];
  #running: Promise<void> | null = null;
  #isMistrusting = false;

  /**
   * `gather` is waited for before each sync, and whoever comes meanwhile is served with it. A commit that falls into a
   * sync is held up by the file system; a wait of two milliseconds lets the dispatch and the claim that follow a settle
   * go first, and was worth a tenth of the rate of a job with three workers at pages of 10 ms.
   */
  constructor(database: Database, sync: Sync, gather: () => Promise<void>) {
    this.#database = database;
    this.#sync = sync;
    this.#gather = gather;
  }

  /** Rejects with StorageTrouble if it cannot be promised. */
  wait(): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    this.#waiting.push(waiter);
    this.#running ??= this.#run();
    return waiter.promise;
  }

  /** Resolves when nobody waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Not in the call that began it: whoever asks has to know of this run before it can end.
    await null;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const waiting = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#isMistrusting) this.#database.checkpoint();
        await this.#sync();
        this.#isMistrusting = false;
        for (const { resolve } of waiting) resolve();
      } catch (error) {
        this.#isMistrusting = true;
        const trouble = asTrouble(error);
        for (const { reject } of waiting) reject(trouble);
      }
    }
    this.#running = null;
  }
}

/** The sync of real disks. The log keeps its file for as long as the database is open, so one descriptor will do. */
export function walSync(walFile: string): { readonly sync: Sync; readonly close: () => Promise<void> } {
  let opened: Promise<number> | null = null;
  return {
    async sync() {
      opened ??= openFile(walFile, constants.O_RDWR).catch((error: unknown) => {
        opened = null;
        throw error;
      });
      await syncFile(await opened);
    },
    async close() {
      if (opened !== null) await closeFile(await opened);
    },
  };
}

function asTrouble(error: unknown): StorageTrouble {
  if (error instanceof StorageTrouble) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new StorageTrouble('io', `the log could not be synced: ${why}`, error);
}
