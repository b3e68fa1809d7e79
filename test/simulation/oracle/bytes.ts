import { jobPrefix, type StoredArtifact } from '../../../src/domain/artifact.ts';
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
  /** Keys of indexes, as they were written. */
  readonly #indexes = new Set<string>();
  readonly #mustBeGone = new Set<string>();
  /** Prefixes of jobs that are being deleted and have no key left. */
  readonly #cleared = new Set<string>();

  constructor(store: () => ResultStore, fail: (message: string) => void) {
    this.#store = store;
    this.#fail = fail;
  }

  stored(key: string, hex: string): void {
    const recorded = this.#recorded.get(key);
    if (recorded !== undefined && recorded !== hex) this.#fail(`${key} was recorded, and its bytes were replaced`);
    if (!key.includes('/items/')) this.#indexes.add(key);
  }

  /**
   * No key is left under the prefix. The ledger may answer that the job is gone when the next job of that id has written
   * already, because its answers wait for the disk: what is written from here on is not this job's.
   */
  cleared(prefix: string): void {
    this.#cleared.add(prefix);
    this.#forget(prefix);
  }

  /** The job is gone, and its id is free: everything recorded for it must be gone, too, at this moment. */
  gone(jobId: string): void {
    const prefix = jobPrefix(jobId, sha256);
    if (!this.#cleared.delete(prefix)) for (const key of this.#forget(prefix)) this.#mustBeGone.add(key);
  }

  #forget(prefix: string): readonly string[] {
    const isOfJob = (key: string) => key.startsWith(prefix);
    const keys = [...this.#recorded.keys(), ...this.#indexes].filter(isOfJob);
    for (const key of keys) {
      this.#recorded.delete(key);
      this.#indexes.delete(key);
    }
    for (const key of [...this.#torn].filter(isOfJob)) this.#torn.delete(key);
    return keys;
  }

  async checkGone(): Promise<void> {
    for (const key of this.#mustBeGone) {
      if ((await this.#store().get(key)) !== null) this.#fail(`the id of a job is free, and ${key} is still there`);
    }
    this.#mustBeGone.clear();
  }

  /** Keys lost with the machine: what recorded them is undone when the ledger opens, and checked then. */
  torn(keys: readonly string[]): void {
    for (const key of keys) {
      this.#recorded.delete(key);
      this.#torn.add(key);
    }
  }

  async settled({ jobId, itemId }: ModelItem, { outcome }: Settlement): Promise<void> {
    if (outcome.kind === 'skipped') return;
    for (const artifact of outcome.artifacts ?? []) {
      if (this.#torn.has(artifact.key)) continue;
      await this.#check(`${jobId}/${itemId}`, artifact);
      this.#recorded.set(artifact.key, artifact.sha256);
    }
  }

  async checkAll(items: readonly ItemRecord[]): Promise<void> {
    for (const { jobId, itemId, status, artifacts } of items) {
      if (status !== 'success' && status !== 'failed') continue;
      for (const artifact of artifacts) await this.#check(`${jobId}/${itemId}`, artifact);
    }
  }

  async #check(name: string, { key, sha256: wanted, size }: StoredArtifact): Promise<void> {
    const body = await this.#store().get(key);
    if (body === null) this.#fail(`${name} ended, and nothing is stored under ${key}`);
    else if (sha256(body) !== wanted || body.length !== size) this.#fail(`${name} ended, and ${key} holds other bytes`);
  }
}
