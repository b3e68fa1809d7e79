import { type BatchLimits, type PendingRun, planBatches, splitByGroup } from '../../../domain/batching.ts';
import { finishedOf } from '../../../domain/counts.ts';
import { holdsFrom } from '../../../domain/job-wait.ts';
import { kindWhenBack } from '../../../domain/pending-order.ts';
import type { BatchItem } from './batches.ts';
import type { JobEntry } from './jobs.ts';
import { lastKey, placeOf, rowKey } from './row-key.ts';
import type { Tables } from './tables.ts';

/** What the domain plans batches of: items that came back, or those from the job's cursor on, which were never out. */
interface Run extends PendingRun {
  /** Null for those that were never out. */
  readonly items: BatchItem[] | null;
}

/**
 * Pending items of a job, taken out as batches in the order that the domain says. Items of any place go together, unless
 * the job has its batches made by group; only then are groups read.
 */
export class PendingItems {
  readonly #tables: Tables;
  readonly #entry: JobEntry;
  readonly #limits: BatchLimits;
  readonly #runs: readonly Run[];

  constructor(tables: Tables, entry: JobEntry, limits: BatchLimits, now: number) {
    this.#tables = tables;
    this.#entry = entry;
    this.#limits = limits;
    const fresh = freshRuns(tables, entry, limits.batches);
    this.#runs = returnedItems(entry) === 0 ? fresh : [...returnedRuns(tables, entry, limits.items, now), ...fresh];
  }

  takeBatches(): readonly { readonly suspect: boolean; readonly items: BatchItem[] }[] {
    return planBatches(this.#runs, this.#limits).map(({ suspect, parts }) => {
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
      this.#tables.sql.deleteReturned.run(rowKey(this.#entry.num, item.seq));
      items.push(item);
    }
  }
}

/** Each run makes a batch at least, so that no more runs are read than there may be batches. */
function freshRuns(tables: Tables, { num, cursor, record }: JobEntry, batches: number): readonly Run[] {
  const { total } = record.counts;
  if (record.batching === undefined)
    return [{ kind: 'fresh', lot: 0, group: null, count: total - cursor, items: null }];
  const runs = tables.groups.runsFrom(num, cursor, total, batches);
  return runs.map(({ group, count }): Run => ({ kind: 'fresh', lot: 0, group, count, items: null }));
}

function returnedRuns({ sql, groups }: Tables, entry: JobEntry, max: number, now: number): readonly Run[] {
  const range = [rowKey(entry.num, 0), lastKey(entry.num)] as const;
  const heldFrom = holdsFrom(entry.record, now);
  const found =
    heldFrom === null ? sql.returnedFirst.all(...range, max) : sql.returnedUnheld.all(...range, heldFrom, now, max);
  const rows = found as unknown as ReturnedRow[];
  const reader = entry.record.batching === undefined ? null : groups.reader(entry.num);
  const waiting = rows.map((row) => ({ row, group: reader?.at(placeOf(row.key)) ?? null }));
  const byKind = Map.groupBy(waiting, ({ row }) => kindWhenBack(row.strikes));
  return [...byKind].flatMap(([kind, found]) =>
    splitByGroup(found, ({ group }) => group).map(({ group, items: some }): Run => {
      const items = some.map(({ row: { key, deliveries, strikes, history } }) => {
        return { seq: placeOf(key), deliveries, strikes, history, itemId: null };
      });
      return { kind, lot: 0, group, count: items.length, items };
    }),
  );
}

interface ReturnedRow extends Omit<BatchItem, 'seq' | 'itemId'> {
  readonly key: number;
}

/** What is before the cursor, neither final nor in flight, has come back. */
function returnedItems({ cursor, record }: JobEntry): number {
  return cursor - finishedOf(record.counts) - record.itemsInFlight;
}
