import { type ByteRange, parseAddress, type ResultAddress } from '../../src/domain/result-address.ts';
import type { Draft, Put, PutOptions, RemovalWatch, ResultStore, StoredBytes } from '../../src/ports/result-store.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';

/** A store whose files are not synced one by one: what was written last may be gone after the machine went down. */
export class TearingStore implements ResultStore {
  readonly #kept = new MemoryResultStore();
  readonly #writtenAt = new Map<string, number>();
  readonly #torn = new Set<string>();
  readonly #worldTime: () => number;

  constructor(worldTime: () => number) {
    this.#worldTime = worldTime;
  }

  put(key: string, body: Uint8Array | Draft, how: PutOptions): Promise<StoredBytes> {
    this.#writtenAt.set(key, this.#worldTime());
    return this.#kept.put(key, body, this.#torn.delete(key) ? { ...how, ifTaken: 'replace' } : how);
  }

  async putAll(puts: readonly Put[]): Promise<readonly StoredBytes[]> {
    const stored: StoredBytes[] = [];
    for (const { key, body, ...how } of puts) stored.push(await this.put(key, body, how));
    return stored;
  }

  draft(): Draft {
    return this.#kept.draft();
  }

  async get(at: string | ResultAddress): Promise<Uint8Array | null> {
    return this.#torn.has(parseAddress(at).key) ? null : this.#kept.get(at);
  }

  async open(at: string | ResultAddress, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null> {
    return this.#torn.has(parseAddress(at).key) ? null : this.#kept.open(at, range);
  }

  removeAll(prefix: string, watch?: RemovalWatch): Promise<number | null> {
    return this.#kept.removeAll(prefix, watch);
  }

  isTorn(key: string): boolean {
    return this.#torn.has(key);
  }

  /** Loses some of what was written since then. Answers the keys. */
  tear(since: number, isLost: (key: string) => boolean): string[] {
    const lost: string[] = [];
    for (const [key, at] of this.#writtenAt) if (at >= since && isLost(key)) lost.push(key);
    for (const key of lost) this.#torn.add(key);
    // What is still there after a restart comes from the disk.
    this.#writtenAt.clear();
    return lost;
  }
}
