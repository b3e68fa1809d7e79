import { createHash } from 'node:crypto';
import { isSafeKey } from '../../domain/artifact.ts';
import { KeyTaken, type PutOptions, type ResultStore, type StoredBytes } from '../../ports/result-store.ts';

/** Bytes in a map, copied on the way in and out, so that nobody changes them by keeping the array. */
export class MemoryResultStore implements ResultStore {
  readonly #kept = new Map<string, { readonly body: Uint8Array; readonly stored: StoredBytes }>();

  async put(key: string, body: Uint8Array, { encoding, ifTaken }: PutOptions): Promise<StoredBytes> {
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

  async get(key: string): Promise<Uint8Array | null> {
    if (!isSafeKey(key)) throw new Error(`not a safe key: ${JSON.stringify(key)}`);
    const present = this.#kept.get(key);
    return present === undefined ? null : Uint8Array.from(present.body);
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

export function openMemoryResultStore(): MemoryResultStore {
  return new MemoryResultStore();
}
