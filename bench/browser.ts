import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { installChromium } from '../src/main/chromium.ts';
import type { BrowserTask } from './browser/subject.ts';
import { BROWSER_SUBJECTS, SUBJECTS } from './browser/subjects.ts';
import { startCounty } from './http/county.ts';
import { type Measured, measureInTurns, type Subject } from './http/measure.ts';
import { makeRoom } from './http/room.ts';
import { installPeers } from './peers.ts';

/** Pages at a time, which is what a worker of the lane `browser` has on two cores. Crawlee scales itself. */
const CONCURRENCY = 4;
const WARM_UP = 40;
/** Crawlee starts a browser in each, which takes less CPU than two pages. */
const TURNS = 2;
const ADOPT_ORPHANS = ['python3', join(import.meta.dirname, 'browser', 'adopt-orphans.py')];

/**
 * Profiles of the demo county, made by its script in a browser: opened, waited for, read once, eight fields taken, and packed
 * HTML, data and metadata kept on the disk; by us, by a pool of pages written by hand, and by Crawlee. All of them use the
 * same Chromium and a new context for each item. Each has processes of its own, which work in turns, after 40 pages that
 * are not counted. CPU is that of all of its processes, those of the browser included, also of those that have ended.
 */
export async function benchBrowser(
  { items, only }: { items: number; only: readonly string[] },
  say: (line: string) => void,
): Promise<{ rows: Measured[] }> {
  const names = BROWSER_SUBJECTS.filter((name) => only.length === 0 || only.includes(name));
  if (names.includes('crawlee')) installPeers(['@crawlee/playwright'], say);
  const { path, sandbox } = await installChromium(loadConfig(), say);
  await using county = await startCounty();
  const room = makeRoom('browser');
  try {
    await county.warmUp();
    const subjects = names.flatMap((name): Subject[] => {
      const subject = SUBJECTS[name];
      if (subject === undefined) return [];
      const { file, flags, isolation } = subject;
      const task: BrowserTask = {
        ...{ url: county.url, folder: mkdtempSync(join(room, `${name}-`)), items, isolation },
        ...{ workers: 1, concurrency: CONCURRENCY, warmUp: WARM_UP, chromium: { path, sandbox } },
      };
      return [{ name, program: { file: join(import.meta.dirname, file), flags, under: ADOPT_ORPHANS }, task }];
    });
    return { rows: await measureInTurns(subjects, TURNS, say) };
  } finally {
    rmSync(room, { recursive: true, force: true, maxRetries: 3 });
  }
}
