import { type Key, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import type { Action, Table } from '../dynamo/table.ts';
import { type FlyingItem, packItems, unpackItems } from './batch-row.ts';
import { poolPk } from './keys.ts';

/** Items of one chunk that came back together and wait to go out again; suspects have a strike. */
export interface PoolEntry {
  readonly key: Key;
  readonly chunk: number;
  readonly suspect: boolean;
  readonly items: readonly FlyingItem[];
  readonly version: number;
}

export function poolRow(inc: string, chunk: number, suspect: boolean, id: string, items: readonly FlyingItem[]): Row {
  return {
    pk: text(poolPk(inc)),
    sk: text(`${suspect ? 'S' : 'R'}#${id}`),
    chunk: num(chunk),
    items: packItems(items),
    version: num(1),
  };
}

/** Those that came back first, suspects before the others; so many entries that they have at least `items` items. */
export async function readPool(table: Table, inc: string, items: number): Promise<readonly PoolEntry[]> {
  const entries: PoolEntry[] = [];
  let found = 0;
  for (const begins of ['S#', 'R#']) {
    for await (const rows of table.pages({ pk: poolPk(inc), begins, limit: PAGE })) {
      for (const row of rows) {
        if (found >= items || entries.length >= MOST_ENTRIES) return entries;
        const entry = entryOf(row);
        entries.push(entry);
        found += entry.items.length;
      }
    }
  }
  return entries;
}

/** Entries that are taken in one dispatch: each is an action of its transaction. */
const MOST_ENTRIES = 40;
const PAGE = 50;

function entryOf(row: Row): PoolEntry {
  const sk = textOf(row, 'sk');
  return {
    key: { pk: textOf(row, 'pk'), sk },
    chunk: numOf(row, 'chunk'),
    suspect: sk.startsWith('S#'),
    items: unpackItems(row),
    version: numOf(row, 'version'),
  };
}

/** The entry without what was taken of it. */
export function takenAction({ key, version }: PoolEntry, left: readonly FlyingItem[]): Action {
  const when = {
    expression: '#version = :ifVersion',
    with: { names: { '#version': 'version' }, values: { ':ifVersion': num(version) } },
  };
  if (left.length === 0) return { remove: key, when };
  return {
    update: key,
    change: 'SET #items = :items, #version = :version',
    with: { names: { '#items': 'items' }, values: { ':items': packItems(left), ':version': num(version + 1) } },
    when,
  };
}
