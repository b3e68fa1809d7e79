import type { Clock } from '../../ports/clock.ts';
import { atOnce } from './at-once.ts';
import { num, numOf, type Row, text, textOf } from './attributes.ts';
import type { IdIndex } from './id-index.ts';
import { chunkOf, chunkPk, GARBAGE, groupPk, markPk, metaKey, poolPk } from './keys.ts';
import type { Table } from './table.ts';

/** What is left of a job that is gone, or of one that never came to be. */
export interface Garbage {
  readonly inc: string;
  readonly jobId: string;
  readonly total: number;
}

export function garbageRow({ inc, jobId, total, since }: Garbage & { readonly since: number }): Row {
  return { pk: text(GARBAGE), sk: text(inc), job: text(jobId), total: num(total), since: num(since) };
}

/**
 * Removes the rows of jobs that are gone: nobody can see them any more, so it may take its time, and whoever starts next
 * goes on where a process that died had to leave off.
 */
export class Purge {
  readonly #parts: PurgeParts;
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(parts: PurgeParts) {
    this.#parts = parts;
  }

  /** Resolves when it is done if the job is small, and at once, with the work under way, if it is large. */
  async begin(garbage: Garbage): Promise<void> {
    const work = this.#remove(garbage)
      .catch((error: unknown) => this.#parts.onTrouble('removal of rows', error))
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
    if (garbage.total <= SMALL_JOB) await work;
  }

  /** Ends what processes that died have left. What is young may be a job that is just being made. */
  async sweep(): Promise<void> {
    const { table, clock } = this.#parts;
    for (const row of await table.all({ pk: GARBAGE })) {
      if (this.#isClosed) return;
      const garbage = { inc: textOf(row, 'sk'), jobId: textOf(row, 'job'), total: numOf(row, 'total') };
      const meta = await table.get(metaKey(garbage.jobId));
      const isAlive = meta !== null && textOf(meta, 'inc') === garbage.inc;
      if (!isAlive && clock.now() - numOf(row, 'since') > YOUNG_MS) await this.begin(garbage);
    }
  }

  /** What is under way stops at the next chunk. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
  }

  async #remove({ inc, total }: Garbage): Promise<void> {
    const { table, ids } = this.#parts;
    const chunks = Array.from({ length: chunkOf(Math.max(0, total - 1)) + 1 }, (_, chunk) => chunkPk(inc, chunk));
    const others = [poolPk(inc), groupPk(inc), markPk(inc)];
    await atOnce(KEYS_AT_ONCE, [...chunks, ...others], (pk) => this.#removeKey(pk));
    await ids.remove(inc);
    if (!this.#isClosed) await table.remove({ pk: GARBAGE, sk: inc });
  }

  async #removeKey(pk: string): Promise<void> {
    if (this.#isClosed) return;
    const { table } = this.#parts;
    for await (const rows of table.pages({ pk })) {
      await table.removeAll(rows.map((row) => ({ pk, sk: textOf(row, 'sk') })));
    }
  }
}

export interface PurgeParts {
  readonly table: Table;
  readonly ids: IdIndex;
  readonly clock: Clock;
  readonly onTrouble: (where: string, error: unknown) => void;
}

const SMALL_JOB = 10_000;
const YOUNG_MS = 3_600_000;
const KEYS_AT_ONCE = 8;
