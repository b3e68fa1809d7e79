import { createHash } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../../domain/error-message.ts';
import type { Draft } from '../../../ports/result-store.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/** Most documents are smaller, and never touch the disk. */
const IN_MEMORY_BYTES = 1024 * 1024;

/** The bytes of a draft on their way to a key. */
interface Taken {
  readonly content: Content;
  readonly sha256: string;
}

const GONE = 'this draft was discarded already, or there was no room for it';
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Bytes that are whole and known, in memory or not. */
export interface Content {
  readonly size: number;
  readonly isInMemory: boolean;
  read(start: number, end: number): Promise<Uint8Array>;
}

export function contentOf(bytes: Uint8Array): Content {
  return { size: bytes.byteLength, isInMemory: true, read: async (start, end) => bytes.subarray(start, end) };
}

/**
 * A draft is open until it is taken or discarded; one whose key was taken is returned, and may be taken again. Until
 * it is large it is in memory; then in a file that has lost its name
 * as soon as it was opened, so that a process that dies leaves nothing. Whatever is asked of it waits for the write that is
 * under way: an item whose time is over is discarded while its scraper, which has not noticed yet, is still writing.
 */
export class S3Draft implements Draft {
  readonly #newPath: () => string;
  readonly #hash = createHash('sha256');
  #state: 'open' | 'put' | 'returned' | 'discarded' = 'open';
  #chunks: Uint8Array[] = [];
  #taken: Taken | null = null;
  #file: FileHandle | null = null;
  #busy: Promise<unknown> = Promise.resolve();
  #size = 0;

  constructor(tempDir: string, newName: () => string) {
    this.#newPath = () => join(tempDir, `trawl-draft-${newName()}`);
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
      const content =
        this.#file === null ? contentOf(Buffer.concat(this.#chunks)) : contentOfFile(this.#file, this.#size);
      return { content, sha256: this.#hash.digest('hex') };
    });
  }

  async remove(): Promise<void> {
    if (this.#state !== 'put') this.#state = 'discarded';
    await this.#next(() => this.#drop());
  }

  async #drop(): Promise<void> {
    this.#chunks = [];
    this.#taken = null;
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }

  async #spill(): Promise<void> {
    this.#mustNotBeDiscarded();
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    // Pieces that came while another was written went with that one.
    if (bytes.byteLength === 0) return;
    try {
      this.#file ??= await nameless(this.#newPath);
      await this.#file.appendFile(bytes);
    } catch (error) {
      this.#state = 'discarded';
      await this.#drop().catch(() => {});
      throw noRoom(error);
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

async function nameless(newPath: () => string): Promise<FileHandle> {
  for (;;) {
    const path = newPath();
    const file = await open(path, 'wx+', 0o600).catch((error: unknown) => {
      // Another name then: this one is of somebody who has not yet taken it away, or died before.
      if (codeOf(error) === 'EEXIST') return null;
      throw error;
    });
    if (file === null) continue;
    try {
      await unlink(path);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

function contentOfFile(file: FileHandle, size: number): Content {
  return {
    size,
    isInMemory: false,
    async read(start, end) {
      const bytes = Buffer.allocUnsafe(end - start);
      for (let at = 0; at < bytes.byteLength; ) {
        const { bytesRead } = await file.read(bytes, at, bytes.byteLength - at, start + at);
        if (bytesRead === 0) throw new StorageTrouble('io', 'a draft lost bytes on the disk for temporary files');
        at += bytesRead;
      }
      return bytes;
    },
  };
}

/** Every error here is about the temporary disk: the path is ours, and new. */
function noRoom(error: unknown): StorageTrouble {
  const message = errorMessage(error);
  return new StorageTrouble(NO_ROOM.has(codeOf(error)) ? 'full' : 'io', `cannot write a draft: ${message}`, error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
