import { styleText } from 'node:util';
import { printable } from '../format.ts';

/** Columns as wide as they need to be; the last one is not filled up. Colours only where the terminal has them. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = [headers, ...rows].map((row) => row.map((cell) => printable(cell)));
  const widths = headers.map((_, column) => Math.max(...clean.map((row) => row[column]?.length ?? 0)));
  const lines = clean.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const [head = '', ...body] = lines;
  return `${[styleText('bold', head), ...body].join('\n')}\n`;
}
