export { formatBytes } from '../domain/format-bytes.ts';

/** `1,234,567` */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 item`, `2,000 items` */
export function formatItems(count: number, one = 'item'): string {
  return `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h` */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return two(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(whole / 60);
  if (minutes < 24 * 60) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** A range of durations in one unit: `12–15 s`, `3–4 min`, `2–5 h`. */
export function formatSpan(lowMs: number, highMs: number): string {
  const [unit, unitMs] = SPANS.find(([, , from]) => highMs >= from) ?? SECONDS;
  const [low, high] = [lowMs, highMs].map((ms) => Math.max(0, Math.round(ms / unitMs)));
  return low === high ? `${high} ${unit}` : `${low}–${high} ${unit}`;
}

const SECONDS = ['s', 1000, 0] as const;
/** Each unit is used from twice its length. */
const SPANS = [
  ['d', 86_400_000, 172_800_000] as const,
  ['h', 3_600_000, 7_200_000] as const,
  ['min', 60_000, 120_000] as const,
];

/** For durations that are mostly short: `12 ms`, otherwise as `formatDuration`. */
export function formatTook(ms: number): string {
  return ms < 999.5 ? `${Math.round(ms)} ms` : formatDuration(ms);
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** In the currency of the configured prices: `1.84`, `12,300`. */
export function formatCost(cost: number): string {
  return cost.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** `240/s`, `2.5/s`, `0.04/s` */
export function formatRate(perSecond: number): string {
  if (perSecond >= 10) return `${formatCount(Math.round(perSecond))}/s`;
  return `${Number(perSecond.toPrecision(2))}/s`;
}

/** Never `100 %` before the end, nor `0 %` after the beginning. */
export function formatPercent(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const percent = Math.floor((part / whole) * 100);
  return part > 0 && percent === 0 ? '<1 %' : `${percent} %`;
}

/** A command that can be pasted into a POSIX shell. */
export function formatCommand(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** Control characters, line endings, and characters that change the direction of the text. */
export const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

/** Text from a site or a file must not be able to control the terminal. */
export function printable(text: string, max = 300): string {
  const clean = text.replaceAll(STEERING, ' ').trim();
  return clean.length <= max ? clean : `${clean.slice(0, max - 1)}…`;
}
