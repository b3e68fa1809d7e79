import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { isSafeKey } from '../../../src/domain/artifact.ts';
import {
  type ByteRange,
  cutRange,
  locateSlice,
  parseAddress,
  type ResultAddress,
} from '../../../src/domain/result-address.ts';
import {
  type Draft,
  KeyTaken,
  type Put,
  type PutOptions,
  type RemovalWatch,
  type ResultStore,
  type StoredBytes,
  UNWATCHED,
} from '../../../src/ports/result-store.ts';

/** Bytes in a map, copied on the way in and out, so that nobody changes them by keeping the array. */
export class MemoryResultStore implements ResultStore {
  readonly #kept = new Map<string, { readonly body: Uint8Array; readonly stored: StoredBytes }>();

  async put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    return this.#giveBackIfTaken([body], () => this.#putOne(key, body, how));
  }

  #putOne(key: string, given: Uint8Array | Draft, how: PutOptions): StoredBytes {
    const body = given instanceof MemoryDraft ? given.take() : given;
    if (!(body instanceof Uint8Array)) throw new Error(`the draft for ${key} is not one of this store`);
    return this.#keep(key, body, given instanceof MemoryDraft ? { ...how, encoding: 'identity' } : how);
  }

  #giveBackIfTaken<T>(bodies: readonly (Uint8Array | Draft)[], work: () => T): T {
    let isTaken = false;
    try {
      return work();
    } catch (error) {
      isTaken = error instanceof KeyTaken;
      throw error;
    } finally {
      for (const body of bodies) if (body instanceof MemoryDraft) body.end(isTaken);
    }
  }

  #keep(key: string, body: Uint8Array, { encoding, ifTaken }: PutOptions): StoredBytes {
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const sha256 = createHash('sha256').update(body).digest('hex');
    const present = this.#kept.get(key);
    if (present !== undefined && ifTaken === 'keep') {
      if (present.stored.sha256 !== sha256) throw new KeyTaken(key);
      return present.stored;
    }
    const stored: StoredBytes = { key, size: body.length, sha256, encoding };
    this.#kept.set(key, { body: Uint8Array.from(body), stored });
    return stored;
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    const bodies = puts.map(({ body }) => body);
    return this.#giveBackIfTaken(bodies, () => puts.map(({ key, body, ...how }) => this.#putOne(key, body, how)));
  }

  draft(): Draft {
    return new MemoryDraft();
  }

  async get(at: string | ResultAddress): Promise<Uint8Array | null> {
    const body = this.#find(at);
    return body === null ? null : Uint8Array.from(body);
  }

  async open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    cutRange(range, 0);
    const body = this.#find(at);
    if (body === null) return null;
    const { start, end } = cutRange(range, body.length);
    return { [Symbol.asyncIterator]: () => piecesOf(body.subarray(start, end)) };
  }

  #find(at: string | ResultAddress): Uint8Array | null {
    const { key, slice } = parseAddress(at);
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const body = this.#kept.get(key)?.body ?? null;
    if (body === null || slice === null) return body;
    const { start, end } = locateSlice(key, slice, body.length);
    const bytes = body.subarray(start, end);
    return slice.encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  }

  async removeAll(prefix: string, watch: RemovalWatch = UNWATCHED): Promise<number | null> {
    if (!prefix.endsWith('/') || !isSafeKey(prefix.slice(0, -1))) {
      throw new Error(`not a safe prefix: ${JSON.stringify(prefix)}`);
    }
    for (let removed = 0; ; ) {
      const keys = [...this.#kept.keys()].filter((key) => key.startsWith(prefix)).slice(0, KEYS_PER_STEP);
      if (keys.length === 0) {
        watch.onClear();
        return removed;
      }
      if (!watch.mayGoOn()) return null;
      for (const key of keys) this.#kept.delete(key);
      removed += keys.length;
    }
  }
}

/** A few, as a real store removes a page of them, so that callers meet removals that are half done. */
const KEYS_PER_STEP = 3;

/** As small as those of a real store, so that nobody gets used to bodies that come in one. */
const PIECE_BYTES = 64 * 1024;

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.slice(at, at + PIECE_BYTES);
}

class MemoryDraft implements Draft {
  #state: 'open' | 'put' | 'returned' | 'discarded' = 'open';
  #chunks: Uint8Array[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#mustBeOpen();
    this.#chunks.push(new Uint8Array(chunk));
    this.#size += chunk.length;
  }

  async discard(): Promise<void> {
    if (this.#state !== 'put') this.#state = 'discarded';
    this.#chunks = [];
  }

  take(): Uint8Array {
    if (this.#state !== 'returned') this.#mustBeOpen();
    this.#state = 'put';
    return Buffer.concat(this.#chunks);
  }

  /** After a put: the bytes are forgotten, or the key was taken and they may be put again. */
  end(isTaken: boolean): void {
    if (!isTaken) this.#chunks = [];
    else if (this.#state === 'put') this.#state = 'returned';
  }

  #mustBeOpen(): void {
    if (this.#state !== 'open') throw new Error(`this draft was ${this.#state} already`);
  }
}

export function openMemoryResultStore(): MemoryResultStore {
  return new MemoryResultStore();
}
