import type { Clock } from '../../../ports/clock.ts';
import { atOnce } from '../at-once.ts';
import { num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { type Condition, IS_THERE, setting } from '../dynamo/expressions.ts';
import type { Action, Table } from '../dynamo/table.ts';
import type { IdIndex } from '../ids/id-index.ts';
import { chunkOf, chunkPk, GARBAGE, groupPk, markPk, metaKey, poolPk, seenPk, stepsPk } from './keys.ts';

/** What is left of a job that is gone, or was never created. */
export interface Garbage {
  readonly inc: string;
  readonly jobId: string;
  readonly total: number;
}

/** The note for rows that are written before the job that makes them visible: garbage if it is never created. */
export function draftRow({ inc, jobId, total }: Garbage, since: number): Row {
  return { pk: text(GARBAGE), sk: text(inc), job: text(jobId), total: num(total), since: num(since) };
}

/** The note of rows that are no longer visible to anyone. */
export function garbageRow(garbage: Garbage, since: number): Row {
  return { ...draftRow(garbage, since), taken: { BOOL: true } };
}

/** The note exists, and no process has considered the writer dead and begun to remove the rows. */
export const IS_KEPT: Condition = { expression: 'attribute_exists(#pk) AND attribute_not_exists(#taken)' };

/** The job is created, and its rows are kept. */
export function keepAction(inc: string): Action {
  return { remove: { pk: GARBAGE, sk: inc }, when: IS_KEPT };
}

/** From now on the job can no longer be created. False if there is no note: it was created, or removed by others. */
export function markAsTaken(table: Table, inc: string): Promise<boolean> {
  return table.update({ pk: GARBAGE, sk: inc }, setting({ taken: { BOOL: true } }), IS_THERE);
}

/**
 * Removes the rows of jobs that are gone: they are no longer visible, so it may take its time. What a process had to
 * leave, because it died or the table was in trouble, is found by the next sweep: its note is deleted last. Two
 * processes may work on the same job, because deleting a row that is gone does no harm.
 */
export class Purge {
  readonly #deps: PurgeDeps;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #sweeping: Promise<void>;

  constructor(deps: PurgeDeps) {
    this.#deps = deps;
    this.#sweeping = deps.sweepEveryMs === null ? Promise.resolve() : this.#sweepEvery(deps.sweepEveryMs);
  }

  /** Resolves when it is done if the job is small, and at once, with the work under way, if it is large. */
  async begin(garbage: Garbage): Promise<void> {
    const work = this.#work(garbage);
    if (garbage.total <= SMALL_JOB) await work;
  }

  /** Ends what is left, one after the other. */
  async sweep(): Promise<void> {
    for (const row of await this.#deps.table.all({ pk: GARBAGE })) {
      if (this.#stop.signal.aborted) return;
      if (await this.#take(row)) await this.#work(garbageOf(row));
    }
  }

  /** Work under way stops at the next chunk. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#sweeping, ...this.#running.values()]);
  }

  async #sweepEvery(everyMs: number): Promise<void> {
    const { clock, onTrouble } = this.#deps;
    const { signal } = this.#stop;
    for (;;) {
      await clock.sleep(everyMs, signal);
      if (signal.aborted) return;
      await this.sweep().catch((error: unknown) => onTrouble('removal of rows', error));
    }
  }

  /**
   * A young note may belong to a job that is just being created. So may an older one: a suspended process continues where
   * it was. So the note is marked before the first row is deleted, and a job whose note is marked is not created.
   */
  async #take(row: Row): Promise<boolean> {
    const { table, clock } = this.#deps;
    if (row['taken'] !== undefined) return true;
    if (clock.now() - numOf(row, 'since') <= YOUNG_MS) return false;
    const { inc, jobId } = garbageOf(row);
    const meta = await table.get(metaKey(jobId));
    if (meta !== null && textOf(meta, 'inc') === inc) return false;
    return await markAsTaken(table, inc);
  }

  /** Never rejects. */
  #work(garbage: Garbage): Promise<void> {
    const { inc } = garbage;
    const running = this.#running.get(inc);
    if (running !== undefined) return running;
    const work = this.#remove(garbage)
      .catch((error: unknown) => this.#deps.onTrouble('removal of rows', error))
      .finally(() => this.#running.delete(inc));
    this.#running.set(inc, work);
    return work;
  }

  async #remove({ inc, total }: Garbage): Promise<void> {
    const { table, ids } = this.#deps;
    const chunks = Array.from({ length: chunkOf(Math.max(0, total - 1)) + 1 }, (_, chunk) => chunkPk(inc, chunk));
    const others = [poolPk(inc), groupPk(inc), markPk(inc), seenPk(inc), stepsPk(inc)];
    await atOnce(KEYS_AT_ONCE, [...chunks, ...others], (pk) => this.#removeKey(pk));
    await ids.remove(inc);
    if (!this.#stop.signal.aborted) await table.remove({ pk: GARBAGE, sk: inc });
  }

  async #removeKey(pk: string): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { table } = this.#deps;
    for await (const rows of table.pages({ pk })) {
      await table.removeAll(rows.map((row) => ({ pk, sk: textOf(row, 'sk') })));
    }
  }
}

function garbageOf(row: Row): Garbage {
  return { inc: textOf(row, 'sk'), jobId: textOf(row, 'job'), total: numOf(row, 'total') };
}

interface PurgeDeps {
  readonly table: Table;
  readonly ids: IdIndex;
  readonly clock: Clock;
  /** Null: other processes do it. */
  readonly sweepEveryMs: number | null;
  readonly onTrouble: (where: string, error: unknown) => void;
}

const SMALL_JOB = 10_000;
const YOUNG_MS = 3_600_000;
const KEYS_AT_ONCE = 8;
