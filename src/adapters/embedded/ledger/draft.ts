import type { NewItem, RepeatedItem } from '../../../domain/item.ts';
import { type NewJob, newJobRecord } from '../../../domain/job.ts';
import type { CreateAnswer, JobDraft, LedgerChange } from '../../../ports/ledger.ts';
import { rowKey } from './row-key.ts';
import { sourceOf } from './source-column.ts';
import type { Tables } from './tables.ts';

/** What a draft needs of the ledger that it is a draft of. */
export interface DraftDesk {
  readonly tables: Tables;
  applied<T>(work: () => T): Promise<T>;
  durable<T>(work: () => T): Promise<T>;
  read<T>(work: () => T): Promise<T>;
  tell(change: LedgerChange): void;
  insertItems(num: number, firstSeq: number, items: readonly NewItem[]): void;
  sweepSoon(): void;
}

/**
 * A job in the making: a number that no other job gets, and items under it that no row of `jobs` leads to. A note among
 * the removals, with a `done` below zero, keeps what is to be deleted should the job never be made; the commit deletes
 * the note and inserts the job in one transaction. Chunks need not be waited for until they are on the disk: the log is
 * written in order, so that a commit which is durable has all of them before it.
 */
export class EmbeddedJobDraft implements JobDraft {
  readonly #desk: DraftDesk;
  readonly #num: number;

  constructor(desk: DraftDesk, num: number) {
    this.#desk = desk;
    this.#num = num;
  }

  static async begin(desk: DraftDesk): Promise<EmbeddedJobDraft> {
    const { tables } = desk;
    const num = await desk.applied(() => {
      const reserved = tables.jobs.reserveNum();
      // The number may have been that of a draft whose beginning was rolled back.
      tables.itemIds.forgetJob(reserved);
      tables.sql.insertDraft.run(reserved);
      return reserved;
    });
    return new EmbeddedJobDraft(desk, num);
  }

  add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]> {
    const { tables, insertItems } = this.#desk;
    return this.#desk.applied(() => {
      const total = this.#total();
      const repeated = tables.itemIds.known(this.#num, place, items);
      const isRepeated = new Set(repeated.map(({ index }) => index));
      const fresh = items.filter((_, index) => !isRepeated.has(index));
      if (total === place) {
        insertItems(this.#num, place, fresh);
        tables.sql.updateDraft.run(place + fresh.length, this.#num);
      } else if (total !== place + fresh.length) {
        throw new Error(`the draft has ${total} items, and not ${place}`);
      }
      return repeated;
    });
  }

  items(first: number, limit: number): Promise<readonly NewItem[]> {
    return this.#desk.read(() => {
      const { sql } = this.#desk.tables;
      const items: NewItem[] = [];
      let size = 0;
      const range = [rowKey(this.#num, first), rowKey(this.#num, first + limit - 1)] as const;
      for (const row of sql.itemsToLease.iterate(...range)) {
        const [, itemId, input, source] = row as unknown as [number, string, string, string | null];
        items.push({ itemId, input: JSON.parse(input), ...sourceOf(source) });
        size += input.length;
        if (size >= MOST_CHARACTERS) break;
      }
      return items;
    });
  }

  commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>> {
    const { tables } = this.#desk;
    return this.#desk.durable(() => {
      const present = tables.jobs.get(job.jobId);
      // Said twice, it is done once.
      if (present !== null) return { kind: present.num === this.#num ? 'created' : 'exists', job: present.record };
      const total = this.#total();
      const make = (incarnation: string) => newJobRecord(job, total, now, incarnation);
      const { record } = tables.jobs.create(make, this.#num);
      tables.sql.deleteRemoval.run(this.#num);
      this.#desk.tell({ kind: 'job', job: record, because: 'created' });
      return { kind: 'created', job: record };
    });
  }

  drop(): Promise<void> {
    return this.#desk.applied(() => {
      const { changes } = this.#desk.tables.sql.dropDraft.run(this.#num);
      if (changes === 0) return;
      this.#desk.tables.itemIds.forgetJob(this.#num);
      this.#desk.sweepSoon();
    });
  }

  #total(): number {
    const row = this.#desk.tables.sql.draft.get(this.#num);
    if (row === undefined) throw new Error('the draft was dropped');
    return Number(row['items']);
  }
}

/** One input may have a megabyte. */
const MOST_CHARACTERS = 2 ** 20;
