import type { JobRecord } from '../../../src/domain/job.ts';
import type { Ledger, LedgerChange, Page, PageRequest } from '../../../src/ports/ledger.ts';
import type { Batch, JobEntry } from './entries.ts';

/**
 * What the parts of the memory ledger share. JavaScript runs one `step` to its end before anything else, so each is
 * atomic by itself; subscribers are notified afterwards.
 */
export class MemoryCore implements Pick<Ledger, 'subscribe'> {
  readonly entries = new Map<string, JobEntry>();
  readonly batches = new Map<string, Batch>();
  readonly leases = new Map<string, Batch>();
  readonly #listeners = new Set<(change: LedgerChange) => void>();
  #untold: LedgerChange[] = [];

  subscribe(listener: (change: LedgerChange) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async step<T>(work: () => T): Promise<T> {
    const answer = work();
    const changes = this.#untold;
    this.#untold = [];
    for (const change of changes) for (const listener of this.#listeners) listener(change);
    return answer;
  }

  tell(change: LedgerChange): void {
    this.#untold.push(change);
  }

  /** Writes a job's counters and state. Belongs to the same step as the change of items that it reflects. */
  write(entry: JobEntry, record: JobRecord): void {
    entry.record = record;
  }

  /** The fence: a batch is found only by the token that it has now. */
  held(token: string): Batch | undefined {
    return this.leases.get(token);
  }

  forget(batch: Batch): void {
    batch.job.batches.delete(batch);
    this.batches.delete(batch.ref.batchId);
    if (batch.hold !== null) this.leases.delete(batch.hold.token);
  }
}

/** No call looks at more entries than this, whatever it looks for. */
const MAX_LOOKED_AT = 1000;

/**
 * A page of what `pick` makes of the entries; null is passed over. The cursor is the place of the last entry that was
 * looked at, so that the next page begins right after it.
 */
export function pageOf<E, T>(
  entries: readonly E[],
  { after, limit }: PageRequest,
  pick: (entry: E) => T | null,
): Page<T> {
  const picked: T[] = [];
  let place = after === null ? 0 : Number(after) + 1;
  const end = Math.min(entries.length, place + MAX_LOOKED_AT);
  for (; place < end && picked.length < limit; place += 1) {
    const entry = entries[place];
    const found = entry === undefined ? null : pick(entry);
    if (found !== null) picked.push(found);
  }
  return { entries: picked, next: place < entries.length ? String(place - 1) : null };
}
