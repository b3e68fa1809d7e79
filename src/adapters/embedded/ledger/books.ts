import type { NewItem } from '../../../domain/item.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Ledger, LedgerChange } from '../../../ports/ledger.ts';
import { type Batch, type HeldBatch, isHeld } from './batches.ts';
import type { Committer } from './committer.ts';
import type { JobEntry } from './jobs.ts';
import { keyOfToken } from './lease-rows.ts';
import type { Removal } from './removal.ts';
import { jobNumOf, rowKey } from './row-key.ts';
import { encodeSource } from './source-column.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';

export interface BooksDeps {
  readonly tables: Tables;
  readonly committer: Committer;
  readonly removal: Removal;
}

/**
 * What the books of the embedded ledger share: the tables, and the committer through which every change goes. A change
 * is a synchronous function on the tables: it runs to its end before the next, in one transaction with others.
 */
export class Books implements Pick<Ledger, 'subscribe'> {
  readonly tables: Tables;
  readonly sql: Statements;
  readonly #committer: Committer;
  readonly #removal: Removal;

  constructor({ tables, committer, removal }: BooksDeps) {
    this.tables = tables;
    this.sql = tables.sql;
    this.#committer = committer;
    this.#removal = removal;
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    return this.#committer.subscribe(listener);
  }

  get hasWaiting(): boolean {
    return this.#committer.hasWaiting;
  }

  applied<T>(work: () => T): Promise<T> {
    return this.#committer.applied(work);
  }

  durable<T>(work: () => T): Promise<T> {
    return this.#committer.durable(work);
  }

  durableSoon<T>(work: () => T): Promise<T> {
    return this.#committer.durableSoon(work);
  }

  read<T>(work: () => T): Promise<T> {
    return this.#committer.read(work);
  }

  tell(change: LedgerChange): void {
    this.#committer.tell(change);
  }

  /** Belongs to the same change as the items that the counters describe. */
  write(entry: JobEntry, record: JobRecord): void {
    this.tables.jobs.write(entry, record);
  }

  /** The fence: a batch is found only by its current token. */
  held(token: string): HeldBatch | null {
    const batch = this.tables.batches.get(keyOfToken(token));
    return batch !== undefined && isHeld(batch) ? batch : null;
  }

  jobOf(batch: Batch): JobEntry | null {
    return this.tables.jobs.byNum(jobNumOf(batch.key));
  }

  /** New ones, at the end of the job. */
  insertItems(num: number, firstSeq: number, items: readonly NewItem[]): void {
    let key = rowKey(num, firstSeq);
    for (const { itemId, input, source, depth } of items) {
      if (depth === undefined) this.sql.insertItem.run(key, itemId, JSON.stringify(input), encodeSource(source));
      else this.sql.insertFound.run(key, itemId, JSON.stringify(input), depth);
      key += 1;
    }
    this.tables.itemIds.append(num, firstSeq, items);
    this.tables.groups.append(num, firstSeq, items);
  }

  /** There are rows to delete. */
  sweepSoon(): void {
    this.#removal.poke();
  }
}

/** A cursor that is not ours leads to no item, least of all to one of another job. */
export function placeOfCursor(after: string | null): number {
  if (after === null) return -1;
  return /^\d{1,10}$/.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
}

/** No call examines more rows than this, whatever it looks for. */
export const MAX_LOOKED_AT = 1000;
