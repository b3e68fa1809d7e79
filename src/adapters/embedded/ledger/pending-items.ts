import { type BatchLimits, type PendingRun, planBatches } from '../../../domain/batching.ts';
import { finishedOf } from '../../../domain/counts.ts';
import { kindWhenBack } from '../../../domain/pending-order.ts';
import type { BatchItem } from './batches.ts';
import type { JobEntry } from './jobs.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/** What the domain plans batches of: items that came back, or those from the job's cursor on, which were never out. */
interface Run extends PendingRun {
  /** Null for those that were never out. */
  readonly items: BatchItem[] | null;
}

/** Pending items of a job, taken out as batches in the order that the domain says. Items of any place go together. */
export class PendingItems {
  readonly #sql: Statements;
  readonly #entry: JobEntry;
  readonly #runs: readonly Run[];

  constructor(sql: Statements, entry: JobEntry, max: number) {
    this.#sql = sql;
    this.#entry = entry;
    const fresh: Run = { kind: 'fresh', lot: 0, count: entry.record.counts.total - entry.cursor, items: null };
    this.#runs = returnedItems(entry) === 0 ? [fresh] : [...returnedRuns(sql, entry, max), fresh];
  }

  takeBatches(limits: BatchLimits): readonly { readonly suspect: boolean; readonly items: BatchItem[] }[] {
    return planBatches(this.#runs, limits).map(({ suspect, parts }) => {
      const items: BatchItem[] = [];
      for (const { run, count } of parts) {
        if (run.items === null) this.#takeFresh(items, count);
        else this.#takeReturned(items, run.items.splice(0, count));
      }
      return { suspect, items };
    });
  }

  #takeFresh(items: BatchItem[], count: number): void {
    const entry = this.#entry;
    for (const end = entry.cursor + count; entry.cursor < end; entry.cursor += 1) {
      items.push({ seq: entry.cursor, deliveries: 0, strikes: 0, history: null, itemId: null });
    }
  }

  #takeReturned(items: BatchItem[], taken: readonly BatchItem[]): void {
    for (const item of taken) {
      this.#sql.deleteReturned.run(rowKey(this.#entry.num, item.seq));
      items.push(item);
    }
  }
}

function returnedRuns(sql: Statements, entry: JobEntry, max: number): readonly Run[] {
  const rows = sql.returnedFirst.all(rowKey(entry.num, 0), lastKey(entry.num), max) as unknown as ReturnedRow[];
  const byKind = Map.groupBy(rows, ({ strikes }) => kindWhenBack(strikes));
  return [...byKind].map(([kind, found]): Run => {
    const items = found.map(({ key, deliveries, strikes, history }) => {
      return { seq: placeOf(key), deliveries, strikes, history, itemId: null };
    });
    return { kind, lot: 0, count: items.length, items };
  });
}

interface ReturnedRow extends Omit<BatchItem, 'seq' | 'itemId'> {
  readonly key: number;
}

/** What is before the cursor, neither final nor in flight, has come back. */
function returnedItems({ cursor, record }: JobEntry): number {
  return cursor - finishedOf(record.counts) - record.itemsInFlight;
}
