import { type ItemHold, isHeld } from '../../../domain/job-wait.ts';
import { kindWhenBack } from '../../../domain/pending-order.ts';
import { type Key, num, numOf, type Row, text, textOf } from '../dynamo/attributes.ts';
import { sameVersion, setting } from '../dynamo/expressions.ts';
import type { Action, Table } from '../dynamo/table.ts';
import { type FlyingItem, packItems, unpackItems } from './batch-row.ts';
import { poolPk } from './keys.ts';

type PooledKind = 'suspect' | 'returned';

/** How rows begin. */
const PREFIX = { suspect: 'S#', returned: 'R#' } as const satisfies Record<PooledKind, string>;

/** … and those of items that a host holds, of both kinds. */
const HELD = 'H#';

/** Items of one chunk that came back together and wait to be dispatched again. */
export interface PoolEntry {
  readonly key: Key;
  readonly chunk: number;
  readonly kind: PooledKind;
  readonly items: readonly FlyingItem[];
  readonly version: number;
}

export function poolRow(
  inc: string,
  chunk: number,
  kind: PooledKind,
  id: string,
  items: readonly FlyingItem[],
  hold: ItemHold | null = null,
): Row {
  return {
    pk: text(poolPk(inc)),
    sk: text(`${hold === null ? PREFIX[kind] : HELD}${id}`),
    chunk: num(chunk),
    items: packItems(items),
    version: num(1),
    ...(hold !== null && { heldAt: num(hold.at), heldUntil: num(hold.until) }),
  };
}

/**
 * In the order in which they go out, each kind in the order in which it came back; so many entries that they have at least
 * `items` items. Without what a host still holds (`holds`: from when on such holds count, and the time).
 */
export async function readPool(
  table: Table,
  inc: string,
  items: number,
  holds: { readonly from: number | null; readonly now: number },
): Promise<readonly PoolEntry[]> {
  const entries: PoolEntry[] = [];
  let found = 0;
  for (const begins of [PREFIX.suspect, PREFIX.returned, HELD]) {
    for await (const rows of table.pages({ pk: poolPk(inc), begins, limit: PAGE })) {
      for (const row of rows) {
        if (found >= items || entries.length >= MOST_ENTRIES) return entries;
        if (isHeld(holdOf(row), holds.from, holds.now)) continue;
        const entry = entryOf(row);
        entries.push(entry);
        found += entry.items.length;
      }
    }
  }
  return entries;
}

function holdOf(row: Row): ItemHold | null {
  return row['heldAt'] === undefined ? null : { at: numOf(row, 'heldAt'), until: numOf(row, 'heldUntil') };
}

/** Entries that are taken in one dispatch: each is an action of its transaction. */
const MOST_ENTRIES = 40;
const PAGE = 50;

function entryOf(row: Row): PoolEntry {
  const sk = textOf(row, 'sk');
  const items = unpackItems(row);
  return {
    key: { pk: textOf(row, 'pk'), sk },
    chunk: numOf(row, 'chunk'),
    // All items of an entry are of one kind.
    kind: kindWhenBack(items[0]?.strikes ?? 0),
    items,
    version: numOf(row, 'version'),
  };
}

/** The entry without what was taken from it. */
export function takenAction({ key, version }: PoolEntry, left: readonly FlyingItem[]): Action {
  const when = sameVersion(version);
  if (left.length === 0) return { remove: key, when };
  return { update: key, ...setting({ items: packItems(left), version: num(version + 1) }), when };
}
