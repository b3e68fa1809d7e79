import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { ByteRange, ResultAddress } from '../../src/domain/result-address.ts';
import type { Draft, Put, PutOptions, RemovalWatch, ResultStore, StoredBytes } from '../../src/ports/result-store.ts';

/** A store that packs what is put together into one object, as one for millions of small pages would. */
export class PackingStore implements ResultStore {
  readonly #inner: ResultStore;
  #segments = 0;

  constructor(inner: ResultStore) {
    this.#inner = inner;
  }

  put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    return this.#inner.put(key, body, how);
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    const [first] = puts;
    if (first === undefined || puts.some(({ body }) => !(body instanceof Uint8Array))) return this.#inner.putAll(puts);
    this.#segments += 1;
    const key = `${first.key.split('/')[0]}/segments/${this.#segments}.seg`;
    const stored: StoredBytes[] = [];
    // Padding, so that not even the first slice begins where the object does.
    const parts: Uint8Array[] = [Buffer.from('TRAWL')];
    let offset = 5;
    for (const { body, encoding } of puts) {
      if (!(body instanceof Uint8Array)) throw new Error('a draft is not packed');
      const part = encoding === 'gzip' ? gzipSync(body) : body;
      stored.push({ key, offset, length: part.length, size: body.length, sha256: hash('sha256', body), encoding });
      parts.push(part);
      offset += part.length;
    }
    const { contentType, ifTaken } = first;
    await this.#inner.put(key, Buffer.concat(parts), { contentType, ifTaken, encoding: 'identity' });
    return stored;
  }

  draft(): Draft {
    return this.#inner.draft();
  }

  get(at: string | ResultAddress): Promise<Uint8Array | null> {
    return this.#inner.get(at);
  }

  open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    return this.#inner.open(at, range);
  }

  removeAll(prefix: string, watch?: RemovalWatch): Promise<number | null> {
    return this.#inner.removeAll(prefix, watch);
  }
}
