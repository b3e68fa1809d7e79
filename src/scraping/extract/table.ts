import { type Element, isTag, type ParentNode } from 'domhandler';
import { fail, type ScrapeFailure } from '../scrape-failure.ts';
import { type Grid, type GridRow, readGrid } from './table-grid.ts';
import { uniqueNames } from './unique-names.ts';

/** A table as a person reads it: by the names over its columns. */
export interface Table {
  /** Each once: a second `Tax` is `Tax (2)`. An unnamed column is `column 3`. */
  readonly headers: readonly string[];
  /** By header. A cell that spans columns or rows is in each of them; a short row has '' for the rest. */
  readonly rows: readonly Record<string, string>[];
  /** The same rows without names. */
  readonly cells: readonly (readonly string[])[];
  /** The content of `<tfoot>`: totals are separate, so that they are not added up again. */
  readonly footer: readonly Record<string, string>[];
  /** From top to bottom. Fails when there is no such column. */
  column(header: string): string[];
}

/** Null if there is no row in it. `element` is a table, a part of one, or something around exactly one. */
export function readTable(
  element: Element,
  name: string,
  absentColumn: (header: string) => ScrapeFailure,
): Table | null {
  const table = tableIn(element, name);
  const grid = table && readGrid(table, name);
  if (grid === null || grid.width === 0) return null;
  const { header, body, footer } = partsOf(grid);
  const headers = uniqueNames(columnNames(header, grid.width));
  const named = ({ texts }: GridRow) => Object.fromEntries(headers.map((each, column) => [each, texts[column] ?? '']));
  return {
    headers,
    rows: body.map(named),
    cells: body.map(({ texts }) => texts),
    footer: footer.map(named),
    column(wanted) {
      const column = headers.indexOf(wanted.replace(/\s+/g, ' ').trim());
      if (column < 0) throw absentColumn(wanted);
      return body.map(({ texts }) => texts[column] ?? '');
    },
  };
}

function tableIn(element: Element, name: string): Element | null {
  if (['table', 'thead', 'tbody', 'tfoot'].includes(element.name)) return element;
  const tables = outermostTables(element);
  if (tables.length > 1) fail('structure_changed', `${name} holds ${tables.length} tables: select one of them`);
  return tables[0] ?? null;
}

function outermostTables(parent: ParentNode): Element[] {
  return parent.children.filter(isTag).flatMap((child) => (child.name === 'table' ? [child] : outermostTables(child)));
}

/**
 * Names come from `<thead>`; without one from the rows of `<th>` at the top; without those from the first row. A title
 * over the whole width names no column.
 */
function partsOf({ rows }: Grid): { header: readonly GridRow[]; body: readonly GridRow[]; footer: readonly GridRow[] } {
  const footer = rows.filter(({ section }) => section === 'tfoot');
  const body = rows.filter(({ section }) => section === 'tbody');
  const header = rows.filter(({ section, isTitle }) => section === 'thead' && !isTitle);
  if (header.length > 0) return { header, body, footer };
  const start = Math.max(
    0,
    body.findIndex(({ isTitle }) => !isTitle),
  );
  let end = start + 1;
  if (body[start]?.isHeading) while (body[end]?.isHeading && !body[end]?.isTitle) end += 1;
  return { header: body.slice(start, end), body: body.slice(end), footer };
}

/** `2025 Tax` if a heading spans others below it. */
function columnNames(header: readonly GridRow[], width: number): string[] {
  return Array.from({ length: width }, (_, column) => {
    const words = header.map(({ texts }) => texts[column] ?? '').filter(Boolean);
    return words.filter((word, index) => word !== words[index - 1]).join(' ') || `column ${column + 1}`;
  });
}
