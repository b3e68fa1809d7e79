import { finishedOf } from '../../../domain/counts.ts';
import type { BatchItem } from './batches.ts';
import type { JobEntry } from './jobs.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/**
 * Pending items of a job, in the order in which they go out: those that came back with a strike, by themselves; then
 * those that came back; then those that were never out, which is all that lies beyond the job's cursor.
 */
export class PendingItems {
  readonly #sql: Statements;
  readonly #entry: JobEntry;
  readonly #struck: BatchItem[] = [];
  readonly #returned: BatchItem[] = [];

  constructor(sql: Statements, entry: JobEntry, max: number) {
    this.#sql = sql;
    this.#entry = entry;
    if (returnedItems(entry) === 0) return;
    const rows = sql.returnedFirst.all(rowKey(entry.num, 0), lastKey(entry.num), max) as unknown as ReturnedRow[];
    // Taken from the end, which costs less.
    for (const { key, deliveries, strikes, history } of rows.reverse()) {
      const item = { seq: placeOf(key), deliveries, strikes, history, itemId: null };
      (strikes > 0 ? this.#struck : this.#returned).push(item);
    }
  }

  /** No more than `max`, all of one kind; none when there are no more. */
  take(max: number): { readonly suspect: boolean; readonly items: BatchItem[] } {
    if (this.#struck.length > 0) return { suspect: true, items: this.#takeBackOut(this.#struck, max) };
    const items = this.#returned.length > 0 ? this.#takeBackOut(this.#returned, max) : [];
    const entry = this.#entry;
    const { total } = entry.record.counts;
    while (items.length < max && entry.cursor < total) {
      items.push({ seq: entry.cursor, deliveries: 0, strikes: 0, history: null, itemId: null });
      entry.cursor += 1;
    }
    return { suspect: false, items };
  }

  #takeBackOut(from: BatchItem[], max: number): BatchItem[] {
    const taken = from.splice(-max).reverse();
    for (const { seq } of taken) this.#sql.deleteReturned.run(rowKey(this.#entry.num, seq));
    return taken;
  }
}

interface ReturnedRow extends Omit<BatchItem, 'seq' | 'itemId'> {
  readonly key: number;
}

/** What is before the cursor, neither final nor in flight, has come back. */
function returnedItems({ cursor, record }: JobEntry): number {
  return cursor - finishedOf(record.counts) - record.itemsInFlight;
}
