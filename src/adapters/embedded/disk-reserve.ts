import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageTrouble } from '../../ports/storage-trouble.ts';
import { asStorageTrouble } from './disk-trouble.ts';

/** Enough to record what is paused and why, and to settle what is in flight. */
const RESERVE_BYTES = 4 * 2 ** 20;

/**
 * A file that exists to be removed: on a full disk nothing can be written, not even that a job is paused because the
 * disk is full. It is created again only when there is twice the space, so that removing it does not look like the end
 * of the trouble.
 */
export class DiskReserve {
  readonly #folder: string;
  readonly #file: string;
  #isLaidUp = false;

  constructor(dataDir: string) {
    this.#folder = dataDir;
    this.#file = join(dataDir, 'reserve');
  }

  async giveUp(): Promise<void> {
    this.#isLaidUp = false;
    await rm(this.#file, { force: true });
  }

  /** Throws StorageTrouble while there is not enough room. */
  async layUp(): Promise<void> {
    if (this.#isLaidUp) return;
    try {
      await rm(this.#file, { force: true });
      const { bavail, bsize } = await statfs(this.#folder);
      if (bavail * bsize < 2 * RESERVE_BYTES) {
        throw new StorageTrouble('full', `${this.#folder}: less than ${(2 * RESERVE_BYTES) / 2 ** 20} MiB are left`);
      }
      await writeFile(this.#file, new Uint8Array(RESERVE_BYTES), { mode: 0o600 });
      this.#isLaidUp = true;
    } catch (error) {
      await rm(this.#file, { force: true });
      throw asStorageTrouble(error, `cannot lay up a reserve in ${this.#folder}`);
    }
  }
}
