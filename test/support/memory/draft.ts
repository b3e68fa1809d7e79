import { isSameInput, type NewItem, type RepeatedItem } from '../../../src/domain/item.ts';
import { type NewJob, newJobRecord } from '../../../src/domain/job.ts';
import type { CreateAnswer, JobDraft } from '../../../src/ports/ledger.ts';
import { appendItem, type JobEntry, newJobEntry } from './entries.ts';

/** What a draft does to the ledger that it is a draft of. */
export interface DraftShelf {
  step<T>(work: () => T): Promise<T>;
  find(jobId: string): JobEntry | undefined;
  place(entry: JobEntry): void;
}

/** Items in memory, which nothing else refers to before the commit. */
export class MemoryJobDraft implements JobDraft {
  readonly #shelf: DraftShelf;
  readonly #number: number;
  #items: NewItem[] = [];
  readonly #places = new Map<string, number>();
  #isDropped = false;

  constructor(shelf: DraftShelf, number: number) {
    this.#shelf = shelf;
    this.#number = number;
  }

  add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]> {
    return this.#shelf.step(() => {
      this.#mustBeThere();
      const isRepeated = place < this.#items.length;
      const seen = new Set<number>();
      const repeated: RepeatedItem[] = [];
      for (const [index, item] of items.entries()) {
        const first = this.#places.get(item.itemId);
        if (first === undefined) {
          seen.add(this.#items.length);
          this.#places.set(item.itemId, this.#items.length);
          this.#items.push(item);
        } else if (isRepeated && first >= place && !seen.has(first)) {
          // It was appended by the first run of this very call.
          seen.add(first);
        } else {
          const differs = !isSameInput(this.#items[first]?.input ?? {}, item.input);
          repeated.push({ index, first, differs });
        }
      }
      return repeated;
    });
  }

  items(first: number, limit: number): Promise<readonly NewItem[]> {
    return this.#shelf.step(() => this.#items.slice(first, first + limit));
  }

  commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>> {
    return this.#shelf.step(() => {
      const present = this.#shelf.find(job.jobId);
      // A repeated commit is done once.
      if (present?.number === this.#number) return { kind: 'created', job: present.record };
      if (present !== undefined) return { kind: 'exists', job: present.record };
      this.#mustBeThere();
      const entry = newJobEntry(this.#number, newJobRecord(job, this.#items.length, now, String(this.#number)));
      for (const item of this.#items) appendItem(entry, item);
      this.#shelf.place(entry);
      return { kind: 'created', job: entry.record };
    });
  }

  drop(): Promise<void> {
    return this.#shelf.step(() => {
      this.#isDropped = true;
      this.#items = [];
      this.#places.clear();
    });
  }

  #mustBeThere(): void {
    if (this.#isDropped) throw new Error('the draft was dropped');
  }
}
