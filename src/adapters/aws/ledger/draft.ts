import type { NewItem, RepeatedItem } from '../../../domain/item.ts';
import { type JobRecord, type NewJob, newJobRecord } from '../../../domain/job.ts';
import type { CreateAnswer, JobDraft } from '../../../ports/ledger.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { num } from '../dynamo/attributes.ts';
import { IS_NEW, setting } from '../dynamo/expressions.ts';
import type { Action } from '../dynamo/table.ts';
import type { RunRef } from '../ids/id-index.ts';
import type { Books } from './books.ts';
import { inputRows, readInputs } from './chunk.ts';
import { directoryActions } from './directories.ts';
import { draftRow, garbageRow, IS_KEPT, keepAction, markAsTaken, type Purge } from './garbage.ts';
import { type Groups, readGroups } from './item-groups.ts';
import { hotRow, type JobRows, metaRow } from './job-rows.ts';
import { chunkOf, GARBAGE } from './keys.ts';
import { knownItems } from './known-items.ts';

/**
 * A job being created: items under an incarnation to which nothing refers but a note of what to remove if the job is
 * never created. The note is renewed as items arrive, so that no other process considers the draft dead; the
 * transaction that creates the job deletes it, and is refused if the note was taken anyway.
 */
export class DynamoJobDraft implements JobDraft {
  readonly #books: Books;
  readonly #purge: Purge;
  readonly #inc: string;
  #total = 0;
  /** Items whose rows may exist, including those of a failed call. */
  #written = 0;
  #runs: readonly RunRef[] = [];
  #hasGroups = false;
  /** What the note says: for how many items, and since when. */
  #noted: { readonly total: number; readonly at: number };
  /** Another process considered this one dead and is removing what it wrote: the job was certainly not created. */
  #isTaken = false;

  private constructor(books: Books, purge: Purge, inc: string, now: number) {
    this.#books = books;
    this.#purge = purge;
    this.#inc = inc;
    this.#noted = { total: NOTED_AHEAD, at: now };
  }

  static async begin(books: Books, purge: Purge): Promise<DynamoJobDraft> {
    const inc = books.clock.id();
    const now = books.clock.now();
    // Its id comes with the commit.
    await books.table.put(draftRow({ inc, jobId: '', total: NOTED_AHEAD }, now));
    return new DynamoJobDraft(books, purge, inc, now);
  }

  async add(place: number, items: readonly NewItem[]): Promise<readonly RepeatedItem[]> {
    const { table, ids } = this.#books;
    const job = { inc: this.#inc, runs: this.#runs };
    const repeated = await knownItems(this.#books, job, place, items);
    if (repeated === 'moved') throw this.#taken();
    const isRepeated = new Set(repeated.map(({ index }) => index));
    const fresh = items.filter((_, index) => !isRepeated.has(index));
    if (this.#total === place + fresh.length) return repeated;
    if (this.#total !== place) throw new Error(`the draft has ${this.#total} items, and not ${place}`);
    await this.#renewNote(place + fresh.length);
    this.#written = place + fresh.length;
    this.#hasGroups ||= fresh.some(({ group }) => group !== undefined);
    await table.putAll(inputRows(this.#inc, place, fresh));
    const index = await ids.append(
      job,
      fresh.map(({ itemId }) => itemId),
    );
    if (index === 'moved') throw this.#taken();
    this.#runs = index.runs;
    this.#total = place + fresh.length;
    await index.committed();
    return repeated;
  }

  async items(first: number, limit: number): Promise<readonly NewItem[]> {
    const count = Math.min(limit, ITEMS_AT_ONCE, this.#total - first);
    if (count <= 0) return [];
    const places = Array.from({ length: count }, (_, index) => first + index);
    const inputs = await readInputs(this.#books.table, this.#inc, places);
    const groups = await this.#groupsOf(places);
    return places.flatMap((place) => {
      const item = inputs.get(place);
      const group = groups.get(place);
      return item === undefined ? [] : [group === undefined ? item : { ...item, group }];
    });
  }

  async commit(job: NewJob, now: number): Promise<Exclude<CreateAnswer, { kind: 'duplicates' }>> {
    const record = newJobRecord(job, this.#total, now, this.#inc);
    const answer = await this.#books.table.transact([
      ...makeActions(record, this.#inc, this.#runs),
      keepAction(this.#inc),
    ]);
    if (answer.kind !== 'refused') {
      this.#books.tellJob(record, 'created');
      return { kind: 'created', job: record };
    }
    const present = await this.#books.readJob(job.jobId);
    // It may have been refused because it had already been applied, and its reply was lost.
    if (present?.inc === this.#inc) return { kind: 'created', job: present.record };
    if (present !== null) return { kind: 'exists', job: present.record };
    throw this.#taken();
  }

  /** The note is marked first: a commit still on its way is then refused. */
  async drop(): Promise<void> {
    const garbage = { inc: this.#inc, jobId: '', total: this.#written };
    const { table, clock } = this.#books;
    const isMarked = await markAsTaken(table, this.#inc);
    // Without a note it was committed, or removed by others, which cannot know what was written after they looked.
    if (!isMarked && !this.#isTaken) return;
    if (!isMarked) await table.put(garbageRow(garbage, clock.now()));
    await this.#purge.begin(garbage);
  }

  async #groupsOf(places: readonly number[]): Promise<Groups> {
    if (!this.#hasGroups) return new Map();
    return await readGroups(this.#books.table, this.#inc, [...new Set(places.map(chunkOf))]);
  }

  async #renewNote(total: number): Promise<void> {
    const { table, clock } = this.#books;
    const now = clock.now();
    if (total <= this.#noted.total && now - this.#noted.at < RENEW_NOTE_MS) return;
    const noted = { total: total + NOTED_AHEAD, at: now };
    const note = setting({ total: num(noted.total), since: num(noted.at) });
    if (!(await table.update({ pk: GARBAGE, sk: this.#inc }, note, IS_KEPT))) throw this.#taken();
    this.#noted = noted;
  }

  #taken(): StorageTrouble {
    this.#isTaken = true;
    return new StorageTrouble('io', 'another process removed the unfinished job before it was created: try again');
  }
}

/** Makes a job visible whose items already exist. */
export function makeActions(record: JobRecord, inc: string, runs: readonly RunRef[]): Action[] {
  const rows: JobRows = {
    ...{ record, inc, runs },
    ...{ epoch: 1, dispatches: 0, changes: 0, cursor: 0, pooled: 0, isShut: false },
  };
  return [
    { put: metaRow(rows), when: IS_NEW },
    { put: hotRow(rows), when: IS_NEW },
    ...directoryActions(inc, record.jobId, null, record),
  ];
}

/** A note is not written with every chunk. Noting too many items costs a look at empty keys when they are removed. */
const NOTED_AHEAD = 10_000;
/** Well within the time after which an unrenewed note counts as that of a dead process. */
const RENEW_NOTE_MS = 600_000;
const ITEMS_AT_ONCE = 100;
