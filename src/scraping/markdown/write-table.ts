import type { Element } from 'domhandler';
import type { TableRow } from './read-table.ts';

/** Browsers accept a thousand; each spanned column is written, so a hostile page could produce much from little. */
const MAX_SPAN = { colspan: 64, rowspan: 1000 };
const MAX_COLUMNS = 512;

/**
 * A table of GitHub's Markdown. It must have a head: if the page has none, its cells are empty. A cell that spans
 * columns or rows is written once, and the others that it covers are empty. Short rows are not filled up: readers do
 * that.
 */
export function writeTable(rows: readonly TableRow[], writeCell: (cell: Element) => string): string {
  const covered: number[] = [];
  const grid = rows.map(({ cells }) => writeRow(cells, covered, writeCell));
  const columns = grid.reduce((most, { length }) => Math.max(most, length), 1);
  const hasHead = rows[0]?.isHead === true;
  const head = hasHead ? (grid[0] ?? []) : [];
  const lines = [
    line(Array.from({ length: columns }, (_, index) => head[index] ?? '')),
    line(readAlignments(rows[0]?.cells ?? [], columns)),
    ...grid.slice(hasHead ? 1 : 0).map(line),
  ];
  return lines.join('\n');
}

/** `covered` counts, by column, the rows that a cell above still extends into. */
function writeRow(cells: readonly Element[], covered: number[], writeCell: (cell: Element) => string): string[] {
  const row: string[] = [];
  const skipCovered = (): void => {
    for (let rest = covered[row.length] ?? 0; rest > 0; rest = covered[row.length] ?? 0) {
      covered[row.length] = rest - 1;
      row.push('');
    }
  };
  for (const cell of cells) {
    skipCovered();
    if (row.length >= MAX_COLUMNS) break;
    const columns = span(cell, 'colspan');
    const rows = span(cell, 'rowspan');
    const text = writeCell(cell).replaceAll('|', '\\|').replaceAll('\n', ' ');
    for (let index = 0; index < columns; index += 1) {
      covered[row.length] = rows - 1;
      row.push(index === 0 ? text : '');
    }
  }
  skipCovered();
  return row;
}

function span({ attribs }: Element, name: 'colspan' | 'rowspan'): number {
  const number = Number.parseInt(attribs[name] ?? '1', 10);
  return number > 1 ? Math.min(number, MAX_SPAN[name]) : 1;
}

function readAlignments(cells: readonly Element[], columns: number): string[] {
  const signs: string[] = [];
  for (const cell of cells) {
    const sign = alignment(cell);
    for (let index = span(cell, 'colspan'); index > 0; index -= 1) signs.push(sign);
  }
  return Array.from({ length: columns }, (_, index) => signs[index] ?? '---');
}

function alignment({ attribs }: Element): string {
  const named = attribs['align'] ?? /text-align\s*:\s*(\w+)/.exec(attribs['style'] ?? '')?.[1];
  if (named === 'center') return ':-:';
  if (named === 'right') return '--:';
  return named === 'left' ? ':--' : '---';
}

function line(cells: readonly string[]): string {
  return cells.length === 0 ? '| |' : `| ${cells.join(' | ')} |`;
}
