import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startCounty } from './http/county.ts';
import { type Measured, measure } from './http/measure.ts';
import type { Task } from './http/subject.ts';
import { HTTP_SUBJECTS, SUBJECTS } from './http/subjects.ts';

const CONCURRENCY = 16;

/**
 * Pages of the demo county, 25 KB each: fetched, parsed, ten fields taken, and packed HTML, data and metadata kept on the
 * disk; by us, who keep a durable ledger of it as well, by a script written by hand, and by Crawlee. Each has a process
 * of its own, one after the other, against the same county, after 300 pages that are not counted. Ours counts from the
 * job handed in to its completion. CPU and memory are those of all processes of the one that is measured. Not the same for
 * all is how hard the HTML is packed: ours at the level we keep pages at, the others at zlib's own (see packing.ts).
 */
export async function benchHttp(
  { items, only }: { items: number; only: readonly string[] },
  say: (line: string) => void,
): Promise<{ rows: Measured[] }> {
  const names = HTTP_SUBJECTS.filter((name) => only.length === 0 || only.includes(name));
  if (names.some((name) => !name.startsWith('trawl'))) installPeers(say);
  await using county = await startCounty();
  const room = makeRoom();
  try {
    await county.warmUp();
    const rows: Measured[] = [];
    for (const name of names) {
      const subject = SUBJECTS[name];
      if (subject === undefined) continue;
      const folder = mkdtempSync(join(room, `${name}-`));
      const { flags, workers } = subject;
      const task: Task = { url: county.url, folder, items, workers, concurrency: CONCURRENCY };
      say(`${name} …`);
      rows.push(await measure(name, { file: join(import.meta.dirname, subject.file), flags }, task));
    }
    return { rows };
  } finally {
    // All at the end: a removal could slow down the next subject.
    rmSync(room, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * On the disk that the project is on, because `/tmp` is none on many machines. An ext4 without a journal makes new files
 * ten times as slowly where many were removed in the last minutes, by a test for example; the attribute lets it put each
 * folder in a place of its own. Other file systems do not know it, and need not.
 */
function makeRoom(): string {
  const data = join(import.meta.dirname, '.trawl');
  mkdirSync(data, { recursive: true });
  const room = mkdtempSync(join(data, 'http-'));
  spawnSync('chattr', ['+T', room], { stdio: 'ignore' });
  return room;
}

/** Ratios say more than figures: they hold on another machine. */
export function printHttp({ rows }: { rows: readonly Measured[] }): void {
  const hand = rows.find(({ name }) => name === 'hand');
  const lines = rows.map(({ name, pages_per_second, cpu_s_per_1000, rss_mb }) => [
    name,
    String(Math.round(pages_per_second)),
    cpu_s_per_1000.toFixed(2),
    String(rss_mb),
    hand === undefined ? '' : (pages_per_second / hand.pages_per_second).toFixed(2),
    hand === undefined ? '' : (hand.cpu_s_per_1000 / cpu_s_per_1000).toFixed(2),
  ]);
  const table = [['', 'pages/s', 'CPU s/1000', 'RSS MB', 'pages/s ÷ hand', 'pages/CPU s ÷ hand'], ...lines];
  for (const line of table)
    console.log(line.map((cell, index) => (index === 0 ? cell.padEnd(16) : cell.padStart(20))).join(''));
}

/** Trawl does not depend on what it is measured against, so that is installed here, the first time. */
function installPeers(say: (line: string) => void): void {
  const folder = import.meta.dirname;
  if (existsSync(join(folder, 'node_modules', '@crawlee', 'cheerio'))) return;
  say('installing what Trawl is measured against …');
  const { status } = spawnSync('npm', ['ci', '--prefix', folder], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm ci --prefix bench failed; its output is above');
}
