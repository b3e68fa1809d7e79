import type { Clock } from '../../../ports/clock.ts';
import { num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { type Condition, IS_THERE, setting } from '../dynamo/expressions.ts';
import type { Action, Table } from '../dynamo/table.ts';
import { RUN_GARBAGE, runItemsPk, urlKey } from './run-keys.ts';
import { urlsOf } from './run-rows.ts';

/** A draft whose note is older than this was left by a process that died. */
const ABANDONED_MS = 24 * 3_600_000;

const IS_KEPT: Condition = { expression: 'attribute_exists(#pk) AND attribute_not_exists(#taken)' };

/**
 * Rows of items that belong to no run: of drafts, and of runs that were removed. A note says so before they are written,
 * or with the removal of the run. Only rows whose note is marked as taken are removed, and a draft whose note is taken is
 * not committed, so that a process that was suspended for a day does not make a run visible whose rows are gone.
 */
export class RunGarbage {
  readonly #table: Table;
  readonly #clock: Clock;

  constructor(table: Table, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  async noteDraft(inc: string): Promise<void> {
    await this.#table.put(this.#note(inc));
  }

  keepAction(inc: string): Action {
    return { remove: noteKey(inc), when: IS_KEPT };
  }

  removedAction(inc: string): Action {
    return { put: { ...this.#note(inc), taken: { BOOL: true } } };
  }

  /** Removes the rows of a draft, unless it was committed. */
  async drop(inc: string): Promise<void> {
    if (await this.#table.update(noteKey(inc), setting({ taken: { BOOL: true } }), IS_THERE)) await this.purge(inc);
  }

  async sweep(): Promise<void> {
    for (const row of await this.#table.all({ pk: RUN_GARBAGE })) {
      const inc = textOf(row, 'sk');
      if (row['taken'] !== undefined) await this.purge(inc);
      else if (this.#clock.now() - numOf(row, 'since') > ABANDONED_MS) await this.drop(inc);
    }
  }

  /** The note goes last: what a process had to leave is found by the next sweep. */
  async purge(inc: string): Promise<void> {
    const pk = runItemsPk(inc);
    // Rows of URLs are found by those of their chunk, so they go first.
    for await (const rows of this.#table.pages({ pk, begins: 'U#' })) {
      for (const row of rows) await this.#table.removeAll(urlsOf(row).map((url) => urlKey(inc, url)));
    }
    for await (const rows of this.#table.pages({ pk })) {
      await this.#table.removeAll(rows.map((row) => ({ pk, sk: textOf(row, 'sk') })));
    }
    await this.#table.remove(noteKey(inc));
  }

  #note(inc: string): Row {
    return { pk: text(RUN_GARBAGE), sk: text(inc), since: num(this.#clock.now()) };
  }
}

function noteKey(inc: string) {
  return { pk: RUN_GARBAGE, sk: inc };
}
