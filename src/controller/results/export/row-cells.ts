import { isRecord } from '../../../domain/is-record.ts';
import { FILE_KINDS, type ResultRow } from '../result-rows.ts';
import type { ColumnType } from './column-types.ts';
import { childFields, FIXED_COLUMNS, PATH_COLUMNS, type Table } from './columns.ts';

/** A value in the form for a column of that type; null if such a column cannot represent it. */
export type MakeCell<Cell> = (value: string | number | boolean | object, type: ColumnType) => Cell | null;

/**
 * A row as the cells of a table; null is an empty one. What fits into no cell goes into the last one as JSON: an object
 * with the rest of the row, in the shape of a line of JSONL. That covers the cause of an error, the reason for a skip,
 * data that are not an object, and an id with a lone surrogate, whose cell has a substitute.
 */
export function rowCells<Cell>(table: Table, row: ResultRow, makeCell: MakeCell<Cell>): (Cell | null)[] {
  const cells: (Cell | null)[] = new Array(table.columns.length).fill(null);
  const more: [string, unknown][] = [];
  const { item_id: itemId, status, error, input, data, data_problem: problem } = row;
  const used = [row.requests, row.bytes_up, row.bytes_down];
  const fixed = [itemId, status, error?.type, error?.message, error?.retryable, ...used];
  for (const [place, { type }] of FIXED_COLUMNS.entries()) {
    const value = fixed[place];
    if (value !== undefined) cells[place] = makeCell(typeof value === 'string' ? value.toWellFormed() : value, type);
  }
  if (!itemId.isWellFormed()) more.push(['item_id', itemId]);
  if (row.skip_reason !== undefined) more.push(['skip_reason', row.skip_reason]);

  const rest = fill(cells, table, table.input, input, makeCell);
  if (rest !== null) more.push(['input', rest]);
  if (error !== null && error.cause !== null) more.push(['error', { cause: error.cause }]);
  const left = isRecord(data) ? fill(cells, table, table.data, data, makeCell) : data;
  const ofChild = fillChild(cells, table, row, makeCell);
  if (left !== null || ofChild !== null) more.push(['data', ofChild === null ? left : { ...(left ?? {}), ...ofChild }]);
  if (problem !== undefined) more.push(['data_problem', problem]);
  const otherPages = fill(cells, table, table.pages, row.page_paths ?? {}, makeCell);
  if (otherPages !== null) more.push(['page_paths', otherPages]);
  const firstPath = cells.length - 1 - PATH_COLUMNS.length;
  for (const [at, kind] of FILE_KINDS.entries()) {
    const path = row[`${kind}_path`];
    if (path !== undefined) cells[firstPath + at] = makeCell(path, 'text');
  }
  // Not by assignment, because a field may be called __proto__.
  if (more.length > 0) cells[cells.length - 1] = makeCell(JSON.stringify(Object.fromEntries(more)), 'text');
  return cells;
}

/** What is left of a child record, under the name of its list; null if nothing is. */
function fillChild<Cell>(
  cells: (Cell | null)[],
  table: Table,
  { child }: ResultRow,
  makeCell: MakeCell<Cell>,
): object | null {
  if (table.child === null || child === undefined) return null;
  cells[table.child.index] = makeCell(child.index, 'number');
  const left = fill(cells, table, table.child.places, childFields(child.value), makeCell);
  return left === null ? null : Object.fromEntries([[child.field, left]]);
}

/** What is left over; null if nothing is. */
function fill<Cell>(
  cells: (Cell | null)[],
  table: Table,
  places: ReadonlyMap<string, number>,
  values: Readonly<Record<string, unknown>>,
  makeCell: MakeCell<Cell>,
): object | null {
  let left: [string, unknown][] | null = null;
  for (const [field, value] of Object.entries(values)) {
    const place = places.get(field);
    const column = place === undefined ? undefined : table.columns[place];
    if (place !== undefined && column !== undefined) {
      if (value === null || value === undefined) continue;
      const cell = makeCell(value, column.type);
      cells[place] = cell;
      if (cell !== null) continue;
    }
    left ??= [];
    left.push([field, value]);
  }
  return left === null ? null : Object.fromEntries(left);
}
