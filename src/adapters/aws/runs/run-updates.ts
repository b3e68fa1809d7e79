import {
  afterItemChanges,
  countItemChange,
  NO_RUN_COUNTS,
  type RunItem,
  type RunItemUpdate,
} from '../../../domain/scrape-run.ts';
import type { Clock } from '../../../ports/clock.ts';
import { type Key, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { type Change, IS_THERE, setting } from '../dynamo/expressions.ts';
import { rowBytes } from '../dynamo/row-size.ts';
import type { Action, Table } from '../dynamo/table.ts';
import { partsOfPlace, runItemsPk, statesSk, urlKey } from './run-keys.ts';
import { stateAttributes, statesOf } from './run-rows.ts';

/** With the row of the run, within the hundred actions of a transaction. */
const CHUNKS_PER_TRANSACTION = 90;
/** A transaction has at most 4 MB. */
const BYTES_PER_TRANSACTION = 2_000_000;

interface PlacedUpdate {
  readonly index: number;
  readonly update: RunItemUpdate;
}

interface ChunkUpdates {
  readonly chunk: number;
  readonly updates: readonly PlacedUpdate[];
}

/**
 * Changes items and the counters of their run in one transaction, which is conditional on the rows of the items being
 * unchanged since they were read: so counters are exact, whoever else writes, and however often a reply is lost. Changes
 * of up to ninety chunks share a transaction. A chunk is two or more write units, whatever the number of its items that
 * change.
 */
export class RunUpdates {
  readonly #table: Table;
  readonly #clock: Clock;

  constructor(table: Table, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Null if the run is gone. */
  async apply(key: Key, inc: string, updates: readonly RunItemUpdate[], now: number) {
    const places = await this.#table.getAll(updates.map(({ url }) => urlKey(inc, url)));
    const chunks = new Map<number, PlacedUpdate[]>();
    const unknown: string[] = [];
    for (const [at, update] of updates.entries()) {
      const place = places[at] ?? null;
      if (place === null) {
        unknown.push(update.url);
        continue;
      }
      const { chunk, index } = partsOfPlace(numOf(place, 'place'));
      chunks.set(chunk, [...(chunks.get(chunk) ?? []), { index, update }]);
    }
    const waiting = [...chunks].map(([chunk, some]): ChunkUpdates => ({ chunk, updates: some }));
    const changed: RunItem[] = [];
    for (let at = 0; at < waiting.length; ) {
      const done = await this.#applySome(key, inc, waiting.slice(at, at + CHUNKS_PER_TRANSACTION), now);
      if (done === null) return null;
      changed.push(...done.changed);
      at += done.chunks;
    }
    return { changed, unknown };
  }

  /** As many as fit into a transaction; null if the run is gone. */
  async #applySome(run: Key, inc: string, waiting: readonly ChunkUpdates[], now: number) {
    const pk = runItemsPk(inc);
    for (let tries = 0; ; tries += 1) {
      const rows = await this.#table.getAll(waiting.map(({ chunk }) => ({ pk, sk: statesSk(chunk) })));
      const actions: Action[] = [];
      const changed: RunItem[] = [];
      let counts = NO_RUN_COUNTS;
      let size = 0;
      let chunks = 0;
      for (const [at, { updates }] of waiting.entries()) {
        const row = rows[at] ?? null;
        // Rows of items go after the run itself.
        if (row === null) return null;
        size += rowBytes(row);
        if (chunks > 0 && size > BYTES_PER_TRANSACTION) break;
        chunks += 1;
        const next = afterUpdates(row, updates);
        if (next.changed.length === 0) continue;
        changed.push(...next.changed.map(({ to }) => to));
        for (const { from, to } of next.changed) counts = countItemChange(counts, from, to);
        const sk = textOf(row, 'sk');
        actions.push({
          ...setting({ ...next.attributes, mark: text(this.#clock.id()) }),
          update: { pk, sk },
          when: { expression: '#mark = :ifMark', values: { ':ifMark': text(textOf(row, 'mark')) } },
        });
      }
      if (actions.length === 0) return { chunks, changed };
      const answer = await this.#table.transact([
        { ...counting(counts, now), update: run, when: IS_THERE },
        ...actions,
      ]);
      if (answer.kind === 'done') return { chunks, changed };
      if (answer.at.includes(0)) return null;
      await this.#table.pause(tries);
    }
  }
}

/** The items that are different after all updates of a chunk, and the attributes to write. */
function afterUpdates(row: Row, updates: readonly PlacedUpdate[]) {
  const before = statesOf(row);
  const after = [...before];
  const urls = new Map<number, string>();
  for (const { index, update } of updates) {
    const { url, changes } = update;
    const known = after[index];
    if (known === undefined) throw new Error(`a chunk of items has no place ${index}`);
    after[index] = afterItemChanges({ ...known, url }, changes);
    urls.set(index, url);
  }
  const changed = [...urls].flatMap(([index, url]) => {
    const [from, to] = [before[index], after[index]];
    if (from === undefined || to === undefined) return [];
    const item = { ...from, url };
    // Two updates may have undone each other.
    const next = afterItemChanges(item, to);
    return next === item ? [] : [{ from: item, to: next }];
  });
  return { changed, attributes: stateAttributes(after) };
}

function counting({ completed, failed, invalid }: typeof NO_RUN_COUNTS, now: number): Change {
  return {
    change:
      'SET #updatedAt = :updatedAt, #begun = :begun ADD #completed :completed, #failed :failed, #invalid :invalid',
    values: {
      ':updatedAt': num(now),
      ':begun': { BOOL: true },
      ':completed': num(completed),
      ':failed': num(failed),
      ':invalid': num(invalid),
    },
  };
}
