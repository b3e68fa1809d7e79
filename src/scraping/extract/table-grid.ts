import { type Element, isTag, type ParentNode } from 'domhandler';
import { fail } from '../scrape-failure.ts';
import { visibleText } from './visible-text.ts';

/** A table's cells in rows and columns; cells that span several are repeated in each. */
export interface Grid {
  /** Columns that a cell begins in. `colspan="99"` on a title makes no columns. */
  readonly width: number;
  readonly rows: readonly GridRow[];
}

export interface GridRow {
  readonly section: Section;
  /** One for each column. */
  readonly texts: readonly string[];
  /** Every cell is a `<th>`. */
  readonly isHeading: boolean;
  /** One cell over the whole width of several columns. */
  readonly isTitle: boolean;
}

type Section = 'thead' | 'tbody' | 'tfoot';

/** A few words can span many cells, so the expansion is limited. */
const MAX_COLUMNS = 100;
const MAX_ROWS = 10_000;
const MAX_CHARACTERS = 10_000_000;

export function readGrid(table: Element, name: string): Grid {
  const rows: RowDraft[] = [];
  const sections = sectionsOf(table);
  const limit = { rows: MAX_ROWS, characters: MAX_CHARACTERS };
  for (const { kind, rows: elements } of sections) {
    limit.rows -= elements.length;
    if (limit.rows < 0) fail('too_large', `table ${name} has more than ${MAX_ROWS} rows`);
    rows.push(...placeCells(kind, elements, limit, name));
  }
  const width = Math.max(0, ...rows.map(({ lastColumn }) => lastColumn + 1));
  return {
    width,
    rows: rows.map(({ section, texts, cells, firstSpan, isHeading }) => ({
      section,
      texts: Array.from({ length: width }, (_, column) => texts[column] ?? ''),
      isHeading,
      isTitle: cells === 1 && width > 1 && firstSpan >= width,
    })),
  };
}

/** The cells of a row, whatever is around them, but not those of a nested table. */
export function cellsOf(row: ParentNode): Element[] {
  return row.children.filter(isTag).flatMap((child) => {
    if (child.name === 'td' || child.name === 'th') return [child];
    return child.name === 'table' ? [] : cellsOf(child);
  });
}

interface SectionRows {
  readonly kind: Section;
  readonly rows: Element[];
}

/**
 * The rows of each section, in document order. Forms and other misplaced elements are looked through, as a browser
 * does; nested tables are not.
 */
function sectionsOf(table: Element): SectionRows[] {
  const sections: SectionRows[] = [];
  const visit = (parent: ParentNode, section: SectionRows) => {
    for (const child of parent.children) {
      if (!isTag(child)) continue;
      if (child.name === 'tr') section.rows.push(child);
      else if (isSection(child.name)) visit(child, open(child.name));
      else if (child.name !== 'table' && child.name !== 'td' && child.name !== 'th') visit(child, section);
    }
  };
  const open = (kind: Section): SectionRows => {
    const section = { kind, rows: [] };
    sections.push(section);
    return section;
  };
  visit(table, open(isSection(table.name) ? table.name : 'tbody'));
  return sections;
}

function isSection(name: string): name is Section {
  return name === 'thead' || name === 'tbody' || name === 'tfoot';
}

interface RowDraft {
  readonly section: Section;
  readonly texts: string[];
  readonly cells: number;
  readonly firstSpan: number;
  readonly lastColumn: number;
  readonly isHeading: boolean;
}

/** A cell that spans rows ends with its section. */
function placeCells(
  section: Section,
  rows: readonly Element[],
  limit: { characters: number },
  name: string,
): RowDraft[] {
  const fromAbove: { text: string; untilRow: number }[] = [];
  return rows.map((row, rowNumber) => {
    const texts: string[] = [];
    const put = (column: number, text: string) => {
      texts[column] = text;
      limit.characters -= text.length;
      if (limit.characters < 0) fail('too_large', `table ${name} has more than ${MAX_CHARACTERS} characters`);
    };
    const isCovered = (column: number) => (fromAbove[column]?.untilRow ?? 0) > rowNumber;
    fromAbove.forEach(({ text }, column) => {
      if (isCovered(column)) put(column, text);
    });
    const cells = cellsOf(row);
    let column = 0;
    let lastColumn = -1;
    for (const cell of cells) {
      while (isCovered(column)) column += 1;
      if (column >= MAX_COLUMNS) fail('too_large', `table ${name} has more than ${MAX_COLUMNS} columns`);
      lastColumn = column;
      const text = visibleText(cell);
      const end = column + spanOf(cell, 'colspan', 1);
      const untilRow = rowNumber + spanOf(cell, 'rowspan', rows.length);
      for (; column < end; column += 1) {
        if (column >= MAX_COLUMNS) continue;
        put(column, text);
        fromAbove[column] = { text, untilRow };
      }
    }
    return {
      section,
      texts,
      cells: cells.length,
      firstSpan: cells[0] === undefined ? 0 : spanOf(cells[0], 'colspan', 1),
      lastColumn,
      isHeading: cells.length > 0 && cells.every((cell) => cell.name === 'th'),
    };
  });
}

/** As browsers read it: anything that is not a number is 1, and nothing spans more than 1,000. */
export function spanOf(cell: Element, attribute: 'colspan' | 'rowspan', whenZero: number): number {
  const span = Number.parseInt(cell.attribs[attribute] ?? '1', 10);
  if (Number.isNaN(span) || span < 0) return 1;
  return span === 0 ? whenZero : Math.min(span, attribute === 'colspan' ? 1000 : MAX_ROWS);
}
