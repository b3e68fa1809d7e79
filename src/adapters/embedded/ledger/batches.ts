import { jobNumOf, rowKey } from './row-key.ts';
import type { Statements } from './statements.ts';

/**
 * Some items of a job that go out together. It is given to a worker at most once: returned items go out in another
 * batch.
 */
export interface Batch {
  readonly key: number;
  readonly suspect: boolean;
  /** When it was queued, or when its lease ends. */
  dueAt: number;
  /** Null while it is queued. */
  hold: Hold | null;
  /** Unsettled, in the order in which they are to be carried out. */
  readonly items: BatchItem[];
  /** Whether it has a row. */
  isStored: boolean;
}

interface Hold {
  readonly worker: string;
  readonly claimedAt: number;
  begunSeq: number | null;
  /** Its worker may have died with an owner of this ledger; then no item is to blame. */
  blameless: boolean;
}

export type HeldBatch = Batch & { hold: Hold };

export function isHeld(batch: Batch): batch is HeldBatch {
  return batch.hold !== null;
}

export interface BatchItem {
  readonly seq: number;
  /** Counted when the batch is given to a worker. */
  deliveries: number;
  strikes: number;
  /** Earlier attempts, as JSON. */
  readonly history: string | null;
  /** Remembered when it is read for a worker, so that its end can be reported without another read. Not in the row. */
  itemId: string | null;
}

/**
 * What is in flight. It is all in memory, because it is little and hot; the table is for the next process. A group of
 * changes writes each batch once: one that was queued, claimed and settled within a group is never written.
 */
export class Batches {
  readonly #sql: Statements;
  #byKey: Map<number, Batch> | null = null;
  #byJob = new Map<number, Set<Batch>>();
  readonly #dirty = new Set<Batch>();
  readonly #gone: number[] = [];

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  get(key: number): Batch | undefined {
    return this.#all().get(key);
  }

  /** In the order in which they were made. */
  all(): Iterable<Batch> {
    return this.#all().values();
  }

  ofJob(jobNum: number): Iterable<Batch> {
    this.#all();
    return this.#byJob.get(jobNum) ?? [];
  }

  add(jobNum: number, number: number, batch: Pick<Batch, 'suspect' | 'dueAt' | 'items'>): Batch {
    const made: Batch = { key: rowKey(jobNum, number), ...batch, hold: null, isStored: false };
    this.#put(this.#all(), made);
    this.#dirty.add(made);
    return made;
  }

  changed(batch: Batch): void {
    this.#dirty.add(batch);
  }

  remove(batch: Batch): void {
    this.#all().delete(batch.key);
    const jobNum = jobNumOf(batch.key);
    const siblings = this.#byJob.get(jobNum);
    siblings?.delete(batch);
    if (siblings?.size === 0) this.#byJob.delete(jobNum);
    this.#dirty.delete(batch);
    if (batch.isStored) this.#gone.push(batch.key);
  }

  flush(): void {
    this.#deleteGone();
    for (const batch of this.#dirty) {
      if (!batch.isStored) this.#insert(batch);
      if (batch.isStored || batch.hold !== null) this.#update(batch);
      batch.isStored = true;
    }
    this.#dirty.clear();
  }

  forget(): void {
    this.#byKey = null;
    this.#byJob = new Map();
    this.#dirty.clear();
    this.#gone.length = 0;
  }

  /** Batches that went out together mostly end together, and have numbers in a row. */
  #deleteGone(): void {
    const gone = this.#gone.sort((one, other) => one - other);
    for (let at = 0; at < gone.length; ) {
      const first = gone[at] ?? 0;
      let length = 1;
      while (gone[at + length] === first + length) length += 1;
      this.#sql.deleteBatchesBetween.run(first, first + length - 1);
      at += length;
    }
    gone.length = 0;
  }

  #insert({ key, suspect, dueAt, items }: Batch): void {
    this.#sql.insertBatch.run(key, Number(suspect), dueAt, encodeItems(items));
  }

  #update({ key, dueAt, hold, items }: Batch): void {
    this.#sql.updateBatch.run(
      dueAt,
      hold?.worker ?? null,
      hold?.claimedAt ?? null,
      hold?.begunSeq ?? null,
      Number(hold?.blameless ?? false),
      encodeItems(items),
      key,
    );
  }

  #all(): Map<number, Batch> {
    return this.#byKey ?? this.#load();
  }

  #load(): Map<number, Batch> {
    const byKey = new Map<number, Batch>();
    this.#byJob = new Map();
    for (const row of this.#sql.allBatches.all() as unknown as BatchRow[]) this.#put(byKey, decode(row));
    this.#byKey = byKey;
    return byKey;
  }

  #put(byKey: Map<number, Batch>, batch: Batch): void {
    byKey.set(batch.key, batch);
    const jobNum = jobNumOf(batch.key);
    const siblings = this.#byJob.get(jobNum);
    if (siblings === undefined) this.#byJob.set(jobNum, new Set([batch]));
    else siblings.add(batch);
  }
}

interface BatchRow {
  readonly key: number;
  readonly suspect: number;
  readonly due_at: number;
  readonly worker: string | null;
  readonly claimed_at: number | null;
  readonly begun_seq: number | null;
  readonly blameless: number;
  readonly items: string;
}

function decode(row: BatchRow): Batch {
  return {
    key: row.key,
    suspect: row.suspect === 1,
    dueAt: row.due_at,
    hold:
      row.worker === null
        ? null
        : {
            worker: row.worker,
            claimedAt: row.claimed_at ?? row.due_at,
            begunSeq: row.begun_seq,
            blameless: row.blameless === 1,
          },
    items: decodeItems(row.items),
    isStored: true,
  };
}

/** Neighbours that are alike are one entry: a batch of a hundred items that go out for the first time is `[[7,100,0,0]]`. */
type Packed = [firstSeq: number, length: number, deliveries: number, strikes: number, history?: string];

function encodeItems(items: readonly BatchItem[]): string {
  const packed: Packed[] = [];
  let last: Packed | undefined;
  for (const { seq, deliveries, strikes, history } of items) {
    const isNext = last?.[0] !== undefined && last[0] + last[1] === seq;
    if (last && isNext && last[2] === deliveries && last[3] === strikes && last.length === 4 && history === null) {
      last[1] += 1;
      continue;
    }
    last = history === null ? [seq, 1, deliveries, strikes] : [seq, 1, deliveries, strikes, history];
    packed.push(last);
  }
  return JSON.stringify(packed);
}

function decodeItems(text: string): BatchItem[] {
  const packed: readonly Packed[] = JSON.parse(text);
  return packed.flatMap(([firstSeq, length, deliveries, strikes, history = null]) =>
    Array.from({ length }, (_, index) => ({ seq: firstSeq + index, deliveries, strikes, history, itemId: null })),
  );
}
