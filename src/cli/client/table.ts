import { stripVTControlCharacters, styleText } from 'node:util';
import { printable } from '../format.ts';

/** The properties of stdout that are used here. */
interface TableScreen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

export interface Column {
  readonly name: string;
  /** Numbers are right-aligned. */
  readonly isNumber?: boolean;
  /** Shortened when the terminal is too narrow. */
  readonly isFlexible?: boolean;
  /** Longest cell on a terminal. */
  readonly max?: number;
  readonly style?: (cell: string) => Style | null;
}

type Style = 'bold' | 'green' | 'red' | 'yellow' | 'dim' | 'cyan';

const GAP = '  ';
const LEAST_WIDTH = 8;

/**
 * Aligned columns: on a terminal fitted to its width and coloured if it has colours, complete and plain everywhere else.
 * Cells are made printable here, so that nothing from a server can control a terminal.
 */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  screen: TableScreen = process.stdout,
  { hasHead = true }: { readonly hasHead?: boolean } = {},
): string {
  const isTerminal = screen.isTTY === true;
  const hasColours = isTerminal && screen.hasColors?.() === true;
  const cells = rows.map((row) => columns.map((column, at) => cellOf(row[at] ?? '', column, isTerminal)));
  const wanted = columns.map(({ name }, at) => Math.max(name.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const widths = isTerminal ? fitted(columns, wanted, screen.columns || 80) : wanted;
  const head = columns.map(({ name }, at) => fill(name, widths[at] ?? 0, columns[at]));
  const lines = cells.map((row) =>
    row.map((cell, at) => {
      const filled = fill(cell, widths[at] ?? 0, columns[at]);
      const style = hasColours ? columns[at]?.style?.(cell) : null;
      return style ? styled(style, filled) : filled;
    }),
  );
  const first = head.join(GAP).trimEnd();
  const shown = [
    ...(hasHead ? [hasColours ? styled('bold', first) : first] : []),
    ...lines.map((line) => trimmed(line.join(GAP))),
  ];
  return shown.map((line) => `${line}\n`).join('');
}

/** In colours if `screen` has them. */
export function coloured(style: Style, text: string, screen: TableScreen = process.stdout): string {
  return screen.isTTY === true && screen.hasColors?.() === true ? styled(style, text) : text;
}

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  completed: 'green',
  success: 'green',
  failed: 'red',
  in_progress: 'cyan',
  queued: 'cyan',
  paused: 'yellow',
  skipped: 'yellow',
  cancelled: 'dim',
  pending: 'dim',
  held: 'yellow',
};

/** Colour of a job's or an item's status. */
export function statusStyle(status: string): Style | null {
  return Object.hasOwn(STATUS_STYLES, status) ? (STATUS_STYLES[status] ?? null) : null;
}

/** A program that reads a pipe wants complete cells, within reason. */
function cellOf(text: string, { max = 300 }: Column, isTerminal: boolean): string {
  return printable(text, isTerminal ? max : 10_000) || '-';
}

/** Excess width is taken from the flexible columns, the widest first. */
function fitted(columns: readonly Column[], wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - (room - 1);
  while (excess > 0) {
    const widest = columns.reduce<number | null>((best, column, at) => {
      const width = widths[at] ?? 0;
      if (column.isFlexible !== true || width <= LEAST_WIDTH) return best;
      return best === null || width > (widths[best] ?? 0) ? at : best;
    }, null);
    if (widest === null) return widths;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function fill(text: string, width: number, column: Column | undefined): string {
  const cut = text.length <= width ? text : `${text.slice(0, width - 1)}…`;
  return column?.isNumber === true ? cut.padStart(width) : cut.padEnd(width);
}

function trimmed(line: string): string {
  return stripVTControlCharacters(line) === line ? line.trimEnd() : line;
}

function styled(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}
