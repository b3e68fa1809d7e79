import { styleText } from 'node:util';
import { type Counts, finishedOf } from '../domain/counts.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate, formatSpan } from './format.ts';

/** The state of a job, for a progress line. */
export interface Progress {
  readonly counts: Counts;
  /** Failures by type, as far as they were seen; they need not add up to the total. */
  readonly failures: ReadonlyMap<string, number>;
  /** Null until there is enough data. */
  readonly perSecond: number | null;
  /** The time left, if it is known better than from the rate. */
  readonly eta: { readonly lowMs: number; readonly highMs: number } | null;
  /** Instead of a rate: `reading items`, `paused: the disk is full`. */
  readonly note: string | null;
  /** What slows the job down; null if unknown or unimportant. */
  readonly pace: Pace | null;
}

export interface Pace {
  /** Items waiting for another try, by cause, most frequent first, and how long until the first continues. */
  readonly waiting: readonly { readonly type: string; readonly items: number; readonly ms: number }[];
  /** `waiting for county.gov until …`; null unless a host keeps the whole job waiting. */
  readonly host: string | null;
  /** How many items may be in flight now, and by the policy. */
  readonly limit: number;
  readonly maxLimit: number;
}

/** Progress of bytes being sent or received. */
export interface Transfer {
  readonly bytes: number;
  /** Null if it is only known at the end. */
  readonly totalBytes: number | null;
  readonly bytesPerSecond: number | null;
  /** Lines of a list or rows of a table; null if there are none. */
  readonly lines: { readonly count: number; readonly perSecond: number | null; readonly name: string } | null;
}

/** For a pipe or a log: `1,200/2,000 60 % · 240/s · 3 failed · ETA 3 s`. */
export function progressLine(progress: Progress | Transfer): string {
  return partsOf(progress)
    .map(({ text }) => text)
    .join(SEPARATOR);
}

/** For a terminal: the same after a bar, without what does not fit, and in colours if wanted. */
export function liveLine(progress: Progress | Transfer, columns: number, colours: boolean): string {
  const parts = partsOf(progress);
  // The last column stays free: some terminals begin a new line when it is written.
  const room = columns - 1;
  const shown: Part[] = [];
  let length = 0;
  for (const part of parts) {
    const longer = length + (shown.length === 0 ? 0 : SEPARATOR.length) + part.text.length;
    if (longer > room) continue;
    shown.push(part);
    length = longer;
  }
  const text = shown.map((part) => (colours && part.style ? styleText(part.style, part.text, ANY_STREAM) : part.text));
  const cells = Math.min(BAR_CELLS, room - length - 1);
  const { done, total } = reach(progress);
  const bar = cells < 5 || total === null ? '' : `${barOf(done, total, cells)} `;
  return `${bar}${text.join(SEPARATOR)}`;
}

/** Whether there is anything to show yet. */
export function hasBegun(progress: Progress | Transfer): boolean {
  return 'counts' in progress ? progress.counts.total > 0 : progress.bytes > 0;
}

interface Part {
  readonly text: string;
  readonly style?: 'green' | 'red' | 'yellow';
}

const SEPARATOR = ' · ';
const BAR_CELLS = 24;
/** The caller, who knows the stream, has decided whether to use colours. */
const ANY_STREAM = { validateStream: false };

function partsOf(progress: Progress | Transfer): Part[] {
  return 'counts' in progress ? [position(progress.counts), ...details(progress)] : transferParts(progress);
}

function reach(progress: Progress | Transfer): { readonly done: number; readonly total: number | null } {
  if ('counts' in progress) return { done: finishedOf(progress.counts), total: progress.counts.total };
  return { done: progress.bytes, total: progress.totalBytes };
}

function transferParts({ bytes, totalBytes, bytesPerSecond, lines }: Transfer): Part[] {
  const of = totalBytes === null ? '' : ` of ${formatBytes(totalBytes)} ${formatPercent(bytes, totalBytes)}`;
  const parts: Part[] = [{ text: `${formatBytes(bytes)}${of}` }];
  if (lines !== null) {
    const rate = lines.perSecond === null ? '' : `, ${formatRate(lines.perSecond)}`;
    parts.push({ text: `${formatCount(lines.count)} ${lines.name}${rate}` });
  }
  const left = totalBytes === null ? 0 : totalBytes - bytes;
  if (left > 0 && bytesPerSecond !== null && bytesPerSecond > 0) {
    parts.push({ text: `ETA ${formatDuration((left / bytesPerSecond) * 1000)}` });
  }
  return parts;
}

function position(counts: Counts): Part {
  const finished = finishedOf(counts);
  return {
    text: `${formatCount(finished)}/${formatCount(counts.total)} ${formatPercent(finished, counts.total)}`,
  };
}

function details({ counts, failures, perSecond, eta, note, pace }: Progress): Part[] {
  const parts: Part[] = [];
  const left = counts.total - finishedOf(counts);
  if (note !== null) parts.push({ text: note, style: 'yellow' });
  else if (perSecond !== null) parts.push({ text: formatRate(perSecond) });
  if (pace !== null && left > 0) parts.push(...paceParts(pace));
  if (counts.failed > 0) parts.push({ text: `${formatCount(counts.failed)} failed${byType(failures)}`, style: 'red' });
  if (note === null && left > 0 && perSecond !== null && perSecond > 0) {
    const range = eta === null ? formatDuration((left / perSecond) * 1000) : formatSpan(eta.lowMs, eta.highMs);
    parts.push({ text: `ETA ${range}` });
  }
  if (counts.skipped > 0) parts.push({ text: `${formatCount(counts.skipped)} skipped` });
  if (counts.success > 0) parts.push({ text: `${formatCount(counts.success)} ok`, style: 'green' });
  return parts;
}

/** `3 waiting: rate_limited, 40 s` and `5 → 2 at a time`. */
function paceParts({ waiting, host, limit, maxLimit }: Pace): Part[] {
  const parts: Part[] = [];
  if (host !== null) parts.push({ text: host, style: 'yellow' });
  const items = waiting.reduce((sum, each) => sum + each.items, 0);
  if (items > 0) {
    const soonest = Math.min(...waiting.map(({ ms }) => ms));
    const why = commonest(waiting.map((each) => [each.type, each.items]));
    parts.push({ text: `${formatCount(items)} waiting: ${why}, ${formatDuration(soonest)}`, style: 'yellow' });
  }
  if (limit < maxLimit) {
    parts.push({ text: `${formatCount(maxLimit)} → ${formatCount(limit)} at a time`, style: 'yellow' });
  }
  return parts;
}

/** ` (3 blocked, 1 timeout)`. */
function byType(failures: ReadonlyMap<string, number>): string {
  const types = commonest([...failures]);
  return types === '' ? '' : ` (${types})`;
}

/** `3 blocked, 1 timeout`; a single type needs no count, and of many only the most common are shown. */
function commonest(types: readonly (readonly [string, number])[]): string {
  const sorted = types.filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  if (sorted.length <= 1) return sorted[0]?.[0] ?? '';
  const shown = sorted.slice(0, 3).map(([type, count]) => `${formatCount(count)} ${type}`);
  return `${shown.join(', ')}${sorted.length > 3 ? ' …' : ''}`;
}

function barOf(done: number, total: number, cells: number): string {
  const full = total === 0 ? 0 : Math.floor((done / total) * cells);
  return '█'.repeat(full) + '░'.repeat(cells - full);
}

const WINDOW_MS = 10_000;
const LEAST_MS = 300;

/** Items per second over the last ten seconds, so that a slowdown becomes visible. */
export class RateWindow {
  #samples: { readonly at: number; readonly finished: number }[] = [];

  /** `at` comes from a clock that never goes back. */
  add(at: number, finished: number): void {
    // Time before the first item is spent starting workers, and says nothing about the rate.
    if (this.#samples.length === 1 && this.#samples[0]?.finished === finished) this.#samples = [];
    this.#samples.push({ at, finished });
    // One sample older than the window stays, so that the window is covered.
    while (this.#samples.length > 2 && (this.#samples[1]?.at ?? at) <= at - WINDOW_MS) this.#samples.shift();
  }

  perSecond(): number | null {
    const first = this.#samples.at(0);
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < LEAST_MS) return null;
    // Items may be reopened meanwhile.
    return Math.max(0, last.finished - first.finished) / ((last.at - first.at) / 1000);
  }
}
