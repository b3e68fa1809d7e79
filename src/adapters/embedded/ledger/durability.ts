import { close, constants, fdatasync, open } from 'node:fs';
import { promisify } from 'node:util';
import { errorMessage } from '../../../domain/error-message.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { Database } from './database.ts';

const openFile = promisify(open);
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/** Resolves when everything that was committed before the call is on the disk. */
export type Sync = () => Promise<void>;

/**
 * Waits before a sync, until the signal aborts. A commit during a sync is delayed by the file system; a few
 * milliseconds let the dispatch and the claim that follow a settle go first, and combine several syncs.
 */
type Gather = (signal: AbortSignal) => Promise<void>;

/**
 * Reports when commits are on the disk. One sync covers all commits made before it began, and runs off the event loop;
 * commits made while it runs wait for the next. It is in one of two modes:
 *
 *   trusting     a sync that succeeds is believed
 *   mistrusting  a sync failed. The system may have dropped the pages that it could not write, and the next sync would
 *                falsely succeed; so the whole log is first copied into the database and that synced
 */
export class Durability {
  readonly #database: Database;
  readonly #sync: Sync;
  readonly #gather: Gather;
  #hurry: AbortController | null = null;
  #isUrgent = false;
  #waiting: PromiseWithResolvers<void>[] = [];
  #running: Promise<void> | null = null;
  #isMistrusting = false;

  constructor(database: Database, sync: Sync, gather: Gather) {
    this.#database = database;
    this.#sync = sync;
    this.#gather = gather;
  }

  /**
   * Rejects with StorageTrouble if it cannot be promised. Callers without urgency wait for others first; an urgent one
   * takes them along.
   */
  wait({ isUrgent }: { readonly isUrgent: boolean }): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    this.#waiting.push(waiter);
    if (isUrgent) {
      this.#isUrgent = true;
      this.#hurry?.abort(IN_A_HURRY);
    }
    this.#running ??= this.#run();
    return waiter.promise;
  }

  /** Resolves when there are no more waiting callers. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Not within the call that began it: the caller must know of this run before it can end.
    await null;
    while (this.#waiting.length > 0) {
      if (!this.#isUrgent) await this.#waitForCompany();
      const waiting = this.#waiting;
      this.#waiting = [];
      this.#isUrgent = false;
      try {
        if (this.#isMistrusting) this.#database.checkpoint();
        await this.#sync();
        // The log that was synced must be the one that the next start reads.
        this.#database.checkFiles();
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

  async #waitForCompany(): Promise<void> {
    this.#hurry = new AbortController();
    await this.#gather(this.#hurry.signal);
    this.#hurry = null;
  }
}

/** An abort without a reason creates an exception with a stack trace, which would not be read. */
const IN_A_HURRY = 'a caller is in a hurry';

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
  const why = errorMessage(error);
  return new StorageTrouble('io', `the log could not be synced: ${why}`, error);
}
