import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Draft } from '../../../ports/result-store.ts';
import { asStorageTrouble } from '../disk-trouble.ts';
import type { Content } from './result-placing.ts';
import type { UnfinishedResults } from './unfinished-results.ts';

/** Most documents are smaller, and never touch the disk before they have their place. */
const IN_MEMORY_BYTES = 256 * 1024;

/** What a test may put a full disk in the place of. */
export type OpenDraftFile = (path: string) => Promise<Pick<FileHandle, 'appendFile' | 'close'>>;

const openNew: OpenDraftFile = (path) => open(path, 'wx', 0o600);

/** The bytes of a draft on their way to a key. */
interface Taken {
  readonly content: Content;
  readonly size: number;
  readonly sha256: string;
}

const GONE = 'this draft was discarded already, or there was no room for it';

/**
 * A draft is open until it is taken or discarded; one whose key was taken is returned, and may be taken again. Until
 * it is large it is in memory; then in a file of its own, which is
 * written without blocking. Whatever is asked of it waits for the write that is under way: an item whose time is over is
 * discarded while its scraper, which has not noticed yet, is still writing.
 */
export class FileDraft implements Draft {
  readonly #unfinished: UnfinishedResults;
  readonly #openFile: OpenDraftFile;
  readonly #hash = createHash('sha256');
  #state: 'open' | 'put' | 'returned' | 'discarded' = 'open';
  #chunks: Uint8Array[] = [];
  #taken: Taken | null = null;
  #spilled: { readonly file: string; readonly handle: Awaited<ReturnType<OpenDraftFile>> } | null = null;
  #busy: Promise<unknown> = Promise.resolve();
  #size = 0;

  constructor(unfinished: UnfinishedResults, openFile: OpenDraftFile = openNew) {
    this.#unfinished = unfinished;
    this.#openFile = openFile;
  }

  get size(): number {
    return this.#size;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#mustBeOpen();
    // Before anything waits: the array is the caller's, who may use it again.
    this.#hash.update(chunk);
    this.#size += chunk.byteLength;
    this.#chunks.push(new Uint8Array(chunk));
    if (this.#size > IN_MEMORY_BYTES) await this.#next(() => this.#spill());
  }

  async discard(): Promise<void> {
    if (this.#state !== 'put') await this.remove();
  }

  /** All of it, and no more can be added. The caller ends it with `remove`, or with `giveBack`. */
  async take(): Promise<Taken> {
    if (this.#state !== 'returned') this.#mustBeOpen();
    this.#state = 'put';
    this.#taken ??= await this.#seal();
    return this.#taken;
  }

  /** It could not be put under this key, and may be put under another. */
  giveBack(): void {
    if (this.#state === 'put') this.#state = 'returned';
  }

  #seal(): Promise<Taken> {
    return this.#next(async () => {
      this.#mustNotBeDiscarded();
      await this.#spilled?.handle.close();
      const content = this.#spilled === null ? Buffer.concat(this.#chunks) : { file: this.#spilled.file };
      return { content, size: this.#size, sha256: this.#hash.digest('hex') };
    });
  }

  async remove(): Promise<void> {
    if (this.#state !== 'put') this.#state = 'discarded';
    await this.#next(() => this.#drop());
  }

  async #drop(): Promise<void> {
    this.#chunks = [];
    this.#taken = null;
    const spilled = this.#spilled;
    this.#spilled = null;
    if (spilled === null) return;
    try {
      await spilled.handle.close();
    } finally {
      this.#unfinished.unlink(spilled.file);
    }
  }

  async #spill(): Promise<void> {
    this.#mustNotBeDiscarded();
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    // Pieces that came while another was written went with that one.
    if (bytes.byteLength === 0) return;
    try {
      this.#spilled ??= await this.#unfinished.againLater(async () => {
        const file = this.#unfinished.newPath();
        return { file, handle: await this.#openFile(file) };
      });
      await this.#spilled.handle.appendFile(bytes);
    } catch (error) {
      this.#state = 'discarded';
      await this.#drop().catch(() => {});
      throw asStorageTrouble(error, 'cannot write a draft');
    }
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(work);
    this.#busy = done.catch(() => {});
    return done;
  }

  /** For what had to wait, and may find that its bytes are gone. */
  #mustNotBeDiscarded(): void {
    if (this.#state === 'discarded') throw new Error(GONE);
  }

  #mustBeOpen(): void {
    this.#mustNotBeDiscarded();
    if (this.#state !== 'open') throw new Error('this draft was put already');
  }
}
