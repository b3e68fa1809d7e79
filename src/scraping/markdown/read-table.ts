import { type Element, isTag, isText, type ParentNode } from 'domhandler';
import { KINDS } from './elements.ts';

export interface TableRow {
  readonly cells: readonly Element[];
  /** In a `<thead>`, or of `<th>` alone. */
  readonly isHead: boolean;
}

export interface TableParts {
  readonly caption: Element | null;
  readonly rows: readonly TableRow[];
  /** Something is in the table but in no cell. A browser would put it before the table. */
  readonly hasStray: boolean;
}

const SECTIONS = new Set(['thead', 'tbody', 'tfoot']);
/** Elements that a cell of Markdown cannot contain, or only in another form. */
const TOO_MUCH = new Set(['table', 'pre', 'h1', 'h2', 'h3', 'h4', 'blockquote', 'hr']);

export function readTable(table: Element, isLeftOut: (element: Element) => boolean): TableParts {
  let caption: Element | null = null;
  let hasStray = false;
  const rows: TableRow[] = [];
  const readRows = (parent: ParentNode, isInHead: boolean): void => {
    for (const child of parent.children) {
      if (isText(child) && child.data.trim() !== '') hasStray = true;
      if (!isTag(child) || KINDS.get(child.name) === 'skip' || isLeftOut(child)) continue;
      if (child.name === 'caption') caption ??= child;
      else if (child.name === 'tr') rows.push({ cells: readCells(child), isHead: isInHead });
      else if (parent === table && SECTIONS.has(child.name)) readRows(child, child.name === 'thead');
      else hasStray = true;
    }
  };
  const readCells = (row: Element): Element[] => {
    const cells: Element[] = [];
    for (const child of row.children) {
      if (isText(child) && child.data.trim() !== '') hasStray = true;
      if (!isTag(child) || KINDS.get(child.name) === 'skip' || isLeftOut(child)) continue;
      if (child.name === 'td' || child.name === 'th') cells.push(child);
      else hasStray = true;
    }
    return cells;
  };
  readRows(table, false);
  return { caption, rows: rows.filter(({ cells }) => cells.length > 0).map(markHead), hasStray };
}

function markHead({ cells, isHead }: TableRow): TableRow {
  return { cells, isHead: isHead || cells.every(({ name }) => name === 'th') };
}

/**
 * Whether a table is only used for layout, or contains what a cell of Markdown cannot: multi-line code, another table.
 * Its cells are then written one after the other. The search ends at the first inner table, so that nested tables are
 * searched once.
 */
export function isLayoutTable(table: Element, { rows, hasStray }: TableParts): boolean {
  const role = table.attribs['role'];
  if (hasStray || role === 'presentation' || role === 'none') return true;
  if (rows.every(({ cells }) => cells.length === 1)) return true;
  return rows.some(({ cells }) => cells.some(holdsTooMuch));
}

function holdsTooMuch(node: ParentNode): boolean {
  return node.children.some((child) => isTag(child) && (TOO_MUCH.has(child.name) || holdsTooMuch(child)));
}
