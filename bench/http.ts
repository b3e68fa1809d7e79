import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startCounty } from './http/county.ts';
import { type Measured, measureInTurns } from './http/measure.ts';
import { makeRoom } from './http/room.ts';
import type { Task } from './http/subject.ts';
import { HTTP_SUBJECTS, SUBJECTS } from './http/subjects.ts';
import { installPeers } from './peers.ts';

const CONCURRENCY = 16;
const WARM_UP = 300;
const TURNS = 5;

/**
 * Pages of the demo county, 25 KB each: fetched, parsed, ten fields taken, and packed HTML, data and metadata kept on the
 * disk; by us, who keep a durable ledger of it as well, by a script written by hand, and by Crawlee. Each has a process
 * of its own, and they work in turns, against the same county, after 300 pages that are not counted. Ours counts from the
 * job handed in to its completion. CPU and memory are those of all processes of the one that is measured. How hard
 * the HTML is packed differs: ours at the level we keep pages at, the others at zlib's own (see packing.ts).
 */
export async function benchHttp(
  { items, only }: { items: number; only: readonly string[] },
  say: (line: string) => void,
): Promise<{ rows: Measured[] }> {
  const names = HTTP_SUBJECTS.filter((name) => only.length === 0 || only.includes(name));
  if (names.some((name) => !name.startsWith('trawl'))) installPeers(['@crawlee/cheerio'], say);
  await using county = await startCounty();
  const room = makeRoom('http');
  try {
    await county.warmUp();
    const subjects = names.flatMap((name) => {
      const subject = SUBJECTS[name];
      if (subject === undefined) return [];
      const folder = mkdtempSync(join(room, `${name}-`));
      const { flags, workers } = subject;
      const task: Task = { url: county.url, folder, items, workers, concurrency: CONCURRENCY, warmUp: WARM_UP };
      return [{ name, program: { file: join(import.meta.dirname, subject.file), flags }, task }];
    });
    return { rows: await measureInTurns(subjects, TURNS, say) };
  } finally {
    // All are removed at the end, because a removal could slow down the next subject.
    rmSync(room, { recursive: true, force: true, maxRetries: 3 });
  }
}
