import { createHash } from 'node:crypto';
import { isSafeKey } from '../../domain/artifact.ts';
import {
  type ByteRange,
  cutRange,
  type Draft,
  KeyTaken,
  type Put,
  type PutOptions,
  type ResultStore,
  type StoredBytes,
} from '../../ports/result-store.ts';

/** Bytes in a map, copied on the way in and out, so that nobody changes them by keeping the array. */
export class MemoryResultStore implements ResultStore {
  readonly #kept = new Map<string, { readonly body: Uint8Array; readonly stored: StoredBytes }>();

  async put(key: string, given: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    const body = given instanceof MemoryDraft ? given.take() : given;
    if (!(body instanceof Uint8Array)) throw new Error(`the draft for ${key} is not one of this store`);
    return this.#keep(key, body, given instanceof MemoryDraft ? { ...how, encoding: 'identity' } : how);
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
    const stored: StoredBytes[] = [];
    for (const { key, body, ...how } of puts) stored.push(await this.put(key, body, how));
    return stored;
  }

  draft(): Draft {
    return new MemoryDraft();
  }

  async get(key: string): Promise<Uint8Array | null> {
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const present = this.#kept.get(key);
    return present === undefined ? null : Uint8Array.from(present.body);
  }

  async open(key: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    cutRange(range, 0);
    const present = this.#kept.get(key);
    if (present === undefined) return null;
    const { start, end } = cutRange(range, present.body.length);
    return { [Symbol.asyncIterator]: () => piecesOf(present.body.subarray(start, end)) };
  }

  async removeAll(prefix: string): Promise<number> {
    if (!prefix.endsWith('/') || !isSafeKey(prefix.slice(0, -1))) {
      throw new Error(`not a safe prefix: ${JSON.stringify(prefix)}`);
    }
    const keys = [...this.#kept.keys()].filter((key) => key.startsWith(prefix));
    for (const key of keys) this.#kept.delete(key);
    return keys.length;
  }
}

/** As small as those of a real store, so that nobody gets used to bodies that come in one. */
const PIECE_BYTES = 64 * 1024;

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.slice(at, at + PIECE_BYTES);
}

class MemoryDraft implements Draft {
  #state: 'open' | 'put' | 'discarded' = 'open';
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
    if (this.#state === 'open') this.#state = 'discarded';
    this.#chunks = [];
  }

  take(): Uint8Array {
    this.#mustBeOpen();
    this.#state = 'put';
    const body = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return body;
  }

  #mustBeOpen(): void {
    if (this.#state !== 'open') throw new Error(`this draft was ${this.#state} already`);
  }
}

export function openMemoryResultStore(): MemoryResultStore {
  return new MemoryResultStore();
}
