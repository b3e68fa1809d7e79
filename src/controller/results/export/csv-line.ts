import type { ResultRow } from '../result-rows.ts';
import type { Table } from './columns.ts';
import { type MakeCell, rowCells } from './row-cells.ts';
import { safeText } from './safe-text.ts';

/**
 * RFC 4180, written by hand: our library only reads CSV, and this is all there is to it. An empty text is `""` and a
 * missing value is nothing at all, which some readers distinguish.
 */
export function csvHeader(table: Table): string {
  return `${table.columns.map(({ name }) => quoted(safeText(name))).join(',')}\r\n`;
}

export function csvLine(table: Table, row: ResultRow): string {
  return `${rowCells(table, row, csvCell).join(',')}\r\n`;
}

/** A CSV column has no type: texts are written unchanged, numbers, booleans and nested values as JSON. */
const csvCell: MakeCell<string> = (value) => {
  if (typeof value === 'string') return value.isWellFormed() ? quoted(safeText(value)) : null;
  return typeof value === 'object' ? quoted(JSON.stringify(value)) : String(value);
};

function quoted(text: string): string {
  return text === '' || NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Some readers would trim white space at the ends; the other separators are for readers that guess. */
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/;
