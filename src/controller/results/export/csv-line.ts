import type { ResultRow } from '../result-rows.ts';
import type { Table } from './columns.ts';
import { type MakeCell, rowCells } from './row-cells.ts';
import { safeText } from './safe-text.ts';

/**
 * RFC 4180, written by hand: the library that we have only reads it, and this is all there is to it. A text without
 * characters is `""` and a value that is not there is nothing at all, which some readers tell apart.
 */
export function csvHeader(table: Table): string {
  return `${table.columns.map(({ name }) => quoted(safeText(name))).join(',')}\r\n`;
}

export function csvLine(table: Table, row: ResultRow): string {
  return `${rowCells(table, row, csvCell).join(',')}\r\n`;
}

/** A column of CSV has no type: texts are there as they are, numbers and truth as JSON has them, and so what is nested. */
const csvCell: MakeCell<string> = (value) => {
  if (typeof value === 'string') return value.isWellFormed() ? quoted(safeText(value)) : null;
  return typeof value === 'object' ? quoted(JSON.stringify(value)) : String(value);
};

function quoted(text: string): string {
  return text === '' || NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** White space at the ends would be cut off by some readers; the other separators are for those that guess. */
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/;
