import type { StoredArtifact } from '../../../src/domain/artifact.ts';
import type { ItemRecord } from '../../../src/domain/item.ts';
import type { Settlement } from '../../../src/ports/ledger.ts';
import type { ResultStore } from '../../../src/ports/result-store.ts';
import { sha256 } from './manifest.ts';
import type { ModelItem } from './model.ts';

/** What is recorded as kept is there, whole, at that moment and for good. */
export class ByteOracle {
  readonly #store: () => ResultStore;
  readonly #fail: (message: string) => void;
  readonly #recorded = new Map<string, string>();
  readonly #torn = new Set<string>();

  constructor(store: () => ResultStore, fail: (message: string) => void) {
    this.#store = store;
    this.#fail = fail;
  }

  stored(key: string, hex: string): void {
    const recorded = this.#recorded.get(key);
    if (recorded !== undefined && recorded !== hex) this.#fail(`${key} was recorded, and its bytes were replaced`);
  }

  /** Lost with the machine: whatever recorded them is undone when the ledger opens, and looked at then. */
  torn(keys: readonly string[]): void {
    for (const key of keys) {
      this.#recorded.delete(key);
      this.#torn.add(key);
    }
  }

  async settled({ jobId, itemId }: ModelItem, { outcome }: Settlement): Promise<void> {
    if (outcome.kind !== 'scraped') return;
    for (const artifact of outcome.artifacts) {
      if (this.#torn.has(artifact.key)) continue;
      await this.#check(`${jobId}/${itemId}`, artifact);
      this.#recorded.set(artifact.key, artifact.sha256);
    }
  }

  async checkAll(items: readonly ItemRecord[]): Promise<void> {
    for (const { jobId, itemId, status, artifacts } of items) {
      if (status !== 'success') continue;
      for (const artifact of artifacts) await this.#check(`${jobId}/${itemId}`, artifact);
    }
  }

  async #check(name: string, { key, sha256: wanted, size }: StoredArtifact): Promise<void> {
    const body = await this.#store().get(key);
    if (body === null) this.#fail(`${name} succeeded, and nothing is stored under ${key}`);
    else if (sha256(body) !== wanted || body.length !== size)
      this.#fail(`${name} succeeded, and ${key} holds other bytes`);
  }
}
