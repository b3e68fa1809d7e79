import type { ByteRange, ResultAddress } from '../../src/domain/result-address.ts';
import type { Draft, Put, PutOptions, RemovalWatch, ResultStore, StoredBytes } from '../../src/ports/result-store.ts';

/** A store on a disk that folds case, as those of macOS and Windows do: keys that differ only in case are one file. */
export class FoldingStore implements ResultStore {
  readonly #disk: ResultStore;

  constructor(disk: ResultStore) {
    this.#disk = disk;
  }

  async put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    return { ...(await this.#disk.put(key.toLowerCase(), body, how)), key };
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    const stored = await this.#disk.putAll(puts.map((put) => ({ ...put, key: put.key.toLowerCase() })));
    return stored.map((each, index) => ({ ...each, key: puts[index]?.key ?? each.key }));
  }

  draft(): Draft {
    return this.#disk.draft();
  }

  get(at: string | ResultAddress): Promise<Uint8Array | null> {
    return this.#disk.get(folded(at));
  }

  open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    return this.#disk.open(folded(at), range);
  }

  removeAll(prefix: string, watch?: RemovalWatch): Promise<number | null> {
    return this.#disk.removeAll(prefix.toLowerCase(), watch);
  }
}

function folded(at: string | ResultAddress): string | ResultAddress {
  return typeof at === 'string' ? at.toLowerCase() : { ...at, key: at.key.toLowerCase() };
}
