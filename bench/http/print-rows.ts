import type { Measured } from './measure.ts';

/** Ratios say more than figures: they hold on another machine. */
export function printRows({ rows }: { readonly rows: readonly Measured[] }): void {
  const hand = rows.find(({ name }) => name === 'hand');
  const lines = rows.map(({ name, pages_per_second, cpu_s_per_1000, rss_mb }) => [
    name,
    pages_per_second < 100 ? pages_per_second.toFixed(1) : String(Math.round(pages_per_second)),
    cpu_s_per_1000.toFixed(2),
    String(rss_mb),
    hand === undefined ? '' : (pages_per_second / hand.pages_per_second).toFixed(2),
    hand === undefined ? '' : (hand.cpu_s_per_1000 / cpu_s_per_1000).toFixed(2),
  ]);
  const table = [['', 'pages/s', 'CPU s/1000', 'RSS MB', 'pages/s ÷ hand', 'pages/CPU s ÷ hand'], ...lines];
  for (const line of table)
    console.log(line.map((cell, index) => (index === 0 ? cell.padEnd(16) : cell.padStart(20))).join(''));
}
