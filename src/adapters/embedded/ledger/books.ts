import type { JobRecord } from '../../../domain/job.ts';
import type { Ledger, LedgerChange } from '../../../ports/ledger.ts';
import type { Committer } from './committer.ts';
import type { JobEntry } from './jobs.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';

/**
 * What the three books of the embedded ledger share: the tables, and the committer through which every change goes. A
 * change is a synchronous function on the tables: it runs to its end before the next, in one transaction with others.
 */
export abstract class EmbeddedBooks implements Pick<Ledger, 'subscribe'> {
  protected readonly tables: Tables;
  protected readonly sql: Statements;
  readonly #committer: Committer;

  constructor(tables: Tables, committer: Committer) {
    this.tables = tables;
    this.sql = tables.sql;
    this.#committer = committer;
  }

  subscribe(listener: (change: LedgerChange) => void): () => void {
    return this.#committer.subscribe(listener);
  }

  protected applied<T>(work: () => T): Promise<T> {
    return this.#committer.applied(work);
  }

  protected durable<T>(work: () => T): Promise<T> {
    return this.#committer.durable(work);
  }

  protected durableSoon<T>(work: () => T): Promise<T> {
    return this.#committer.durableSoon(work);
  }

  protected read<T>(work: () => T): Promise<T> {
    return this.#committer.read(work);
  }

  protected tell(change: LedgerChange): void {
    this.#committer.tell(change);
  }

  /** Belongs to the same change as that of the items which the counters tell of. */
  protected write(entry: JobEntry, record: JobRecord): void {
    this.tables.jobs.write(entry, record);
  }
}

/** A cursor that is none of ours leads to no item, least of all to one of another job. */
export function placeOfCursor(after: string | null): number {
  if (after === null) return -1;
  return /^\d{1,10}$/.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
}

/** No call looks at more rows than this, whatever it is that it looks for. */
export const MAX_LOOKED_AT = 1000;
