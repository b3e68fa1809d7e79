import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startSite } from './docs/start-site.ts';
import { DOCS_SUBJECTS, SUBJECTS } from './docs/subjects.ts';
import { type Measured, measureInTurns } from './http/measure.ts';
import { makeRoom } from './http/room.ts';

const CONCURRENCY = 16;
/** By then the compiler has done its work, even for the many functions that a page goes through once. */
const WARM_UP = 3000;
/**
 * Short, because V8 reduces the memory of a process that has rested for eight seconds, and that takes a fifth more for each
 * page afterwards. No program rests in the middle of a pull.
 */
const TURNS = 12;
const TARGET = 0.9;

export interface DocsResult {
  readonly rows: readonly Measured[];
  /** Pages per second of CPU, as a share of those of the loop written by hand. Null if one of the two did not run. */
  readonly cpu_of_hand: number | null;
  readonly ok: boolean;
}

/**
 * Pages of a documentation site, each with its own text: fetched without a delay, converted to Markdown, and kept in a cache
 * and as a result on the disk; by us, from a list of URLs to the completed job, and by a loop written by hand that does the
 * same work with the same converter. Each has processes of its own. Ours with one worker process and the loop work in turns,
 * after 3,000 pages that are not counted; ours with two works afterwards, by itself. CPU and memory are those of all
 * processes of the one that is measured.
 */
export async function benchDocs(
  { items, only }: { items: number; only: readonly string[] },
  say: (line: string) => void,
): Promise<DocsResult> {
  const names = DOCS_SUBJECTS.filter((name) => only.length === 0 || only.includes(name));
  await using site = await startSite();
  const room = makeRoom('docs');
  try {
    const subjects = names.flatMap((name) => {
      const subject = SUBJECTS[name];
      if (subject === undefined) return [];
      const { flags, workers } = subject;
      const folder = mkdtempSync(join(room, `${name}-`));
      const task = { url: site.url, folder, items, workers, concurrency: CONCURRENCY, warmUp: WARM_UP };
      return [{ name, program: { file: join(import.meta.dirname, subject.file), flags }, task }];
    });
    const isPaired = ({ name }: { readonly name: string }) => name !== 'trawl-2';
    const rows = [
      ...(await measureInTurns(subjects.filter(isPaired), TURNS, say)),
      ...(await measureInTurns(
        subjects.filter((each) => !isPaired(each)),
        1,
        say,
      )),
    ];
    const share = shareOfHand(rows);
    return { rows, cpu_of_hand: share, ok: share === null || share >= TARGET };
  } finally {
    // All are removed at the end, because a removal could slow down the next subject.
    rmSync(room, { recursive: true, force: true, maxRetries: 3 });
  }
}

function shareOfHand(rows: readonly Measured[]): number | null {
  const cpuOf = (name: string) => rows.find((row) => row.name === name)?.cpu_s_per_1000;
  const [ours, hand] = [cpuOf('trawl'), cpuOf('hand')];
  return ours === undefined || hand === undefined ? null : Math.round((hand / ours) * 1000) / 1000;
}
