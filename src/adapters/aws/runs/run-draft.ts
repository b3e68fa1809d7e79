import type { NewRun, RunRecord } from '../../../domain/scrape-run.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { RunDraft } from '../../../ports/run-book.ts';
import { IS_NEW } from '../dynamo/expressions.ts';
import type { Table } from '../dynamo/table.ts';
import type { RunGarbage } from './run-garbage.ts';
import { runIdFor, urlKey } from './run-keys.ts';
import { chunkRows, cutIntoChunks, newRunRow, storedRunOf } from './run-rows.ts';

/**
 * Items of a run that does not exist yet. Only this process knows of them, so they are written without conditions, one
 * write unit each and little more; the row of the run makes all of them visible.
 */
export class DynamoRunDraft implements RunDraft {
  readonly #table: Table;
  readonly #garbage: RunGarbage;
  readonly #clock: Clock;
  readonly #inc: string;
  #isNoted = false;
  #total = 0;
  #chunks = 0;

  constructor(table: Table, garbage: RunGarbage, clock: Clock) {
    this.#table = table;
    this.#garbage = garbage;
    this.#clock = clock;
    this.#inc = clock.id();
  }

  async add(urls: readonly string[]): Promise<void> {
    const different = [...new Set(urls)];
    const known = await this.#table.getAll(different.map((url) => urlKey(this.#inc, url)));
    const fresh = different.filter((_, index) => known[index] === null);
    if (fresh.length === 0) return;
    if (!this.#isNoted) await this.#garbage.noteDraft(this.#inc);
    this.#isNoted = true;
    const chunks = [...cutIntoChunks(fresh)].map((chunk, at) =>
      chunkRows(this.#inc, this.#chunks + at, chunk, this.#clock.id()),
    );
    await this.#table.putAll(chunks.flatMap(({ items }) => items));
    await this.#table.putAll(chunks.flatMap((chunk) => chunk.urls));
    this.#chunks += chunks.length;
    this.#total += fresh.length;
  }

  async commit(run: NewRun, now: number): Promise<RunRecord> {
    const size = { total: this.#total, chunks: this.#chunks };
    const row = newRunRow(runIdFor(this.#inc, run.domain), run, now, size);
    const keep = this.#isNoted ? [this.#garbage.keepAction(this.#inc)] : [];
    const answer = await this.#table.transact([{ put: row, when: IS_NEW }, ...keep]);
    if (answer.kind === 'refused') throw new Error('the draft of a scrape run was removed before it was committed');
    this.#isNoted = false;
    return storedRunOf(row).run;
  }

  async drop(): Promise<void> {
    if (this.#isNoted) await this.#garbage.drop(this.#inc);
    this.#isNoted = false;
  }
}
