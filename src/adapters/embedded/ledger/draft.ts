import type { NewItem, RepeatedItem } from '../../../domain/item.ts';
import { type NewJob, newJobRecord } from '../../../domain/job.ts';
import type { CreateAnswer, JobDraft } from '../../../ports/ledger.ts';
import type { Books } from './books.ts';
import { groupField } from './item-groups.ts';
import { placeOf, rowKey } from './row-key.ts';
import { sourceOf } from './source-column.ts';

/**
 * A job being created: a number that no other job gets, and items under it to which no row of `jobs` refers. A note
 * among the removals, with a `done` below zero, records what to delete if the job is never created; the commit deletes
 * the note and inserts the job in one transaction. Chunks need not be durable at once: the log is written in order, so
 * that a durable commit has all of them before it.
 */
export class EmbeddedJobDraft implements JobDraft {
  readonly #books: Books;
  readonly #num: number;

  constructor(books: Books, num: number) {
    this.#books = books;
    this.#num = num;
  }

  static async begin(books: Books): Promise<EmbeddedJobDraft> {
    const { tables } = books;
    const num = await books.applied(() => {
      const reserved = tables.jobs.reserveNum();
      // The number may have been that of a draft whose beginning was rolled back.
      tables.itemIds.forgetJob(reserved);
      tables.sql.insertDraft.run(reserved);
      return reserved;
    });
    return new EmbeddedJobDraft(books, num);
  }

  add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]> {
    const { tables } = this.#books;
    return this.#books.applied(() => {
      const total = this.#total();
      const repeated = tables.itemIds.known(this.#num, place, items);
      const isRepeated = new Set(repeated.map(({ index }) => index));
      const fresh = items.filter((_, index) => !isRepeated.has(index));
      if (total === place) {
        this.#books.insertItems(this.#num, place, fresh);
        tables.sql.updateDraft.run(place + fresh.length, this.#num);
      } else if (total !== place + fresh.length) {
        throw new Error(`the draft has ${total} items, and not ${place}`);
      }
      return repeated;
    });
  }

  items(first: number, limit: number): Promise<readonly NewItem[]> {
    return this.#books.read(() => {
      const { sql, groups } = this.#books.tables;
      const reader = groups.reader(this.#num);
      const items: NewItem[] = [];
      let size = 0;
      const range = [rowKey(this.#num, first), rowKey(this.#num, first + limit - 1)] as const;
      for (const row of sql.itemsToLease.iterate(...range)) {
        const [key, itemId, input, source] = row as unknown as [number, string, string, string | null];
        const group = groupField(reader.at(placeOf(key)));
        items.push({ itemId, input: JSON.parse(input), ...sourceOf(source), ...group });
        size += input.length;
        if (size >= MOST_CHARACTERS) break;
      }
      return items;
    });
  }

  commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>> {
    const { tables } = this.#books;
    return this.#books.durable(() => {
      const present = tables.jobs.get(job.jobId);
      // Repeating it has no further effect.
      if (present !== null) return { kind: present.num === this.#num ? 'created' : 'exists', job: present.record };
      const total = this.#total();
      const make = (incarnation: string) => newJobRecord(job, total, now, incarnation);
      const { record } = tables.jobs.create(make, this.#num);
      tables.sql.deleteRemoval.run(this.#num);
      this.#books.tell({ kind: 'job', job: record, because: 'created' });
      return { kind: 'created', job: record };
    });
  }

  drop(): Promise<void> {
    return this.#books.applied(() => {
      const { changes } = this.#books.tables.sql.dropDraft.run(this.#num);
      if (changes === 0) return;
      this.#books.tables.itemIds.forgetJob(this.#num);
      this.#books.sweepSoon();
    });
  }

  #total(): number {
    const row = this.#books.tables.sql.draft.get(this.#num);
    if (row === undefined) throw new Error('the draft was dropped');
    return Number(row['items']);
  }
}

/** One input may have a megabyte. */
const MOST_CHARACTERS = 2 ** 20;
