import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { loadConfig } from '../src/config.ts';
import { installChromium } from '../src/main/chromium.ts';
import { startCounty } from './http/county.ts';
import { type Measured, measure } from './http/measure.ts';
import { makeRoom } from './http/room.ts';
import type { RecordingTask } from './recordings/trawl.ts';

const OURS = ['--max-semi-space-size=8'];
const ADOPT_ORPHANS = ['python3', join(import.meta.dirname, 'browser', 'adopt-orphans.py')];

interface RecordingRow extends Measured {
  readonly items: number;
  /** Items whose data are those of the bespoke scraper, field by field. */
  readonly fields_equal: number;
}

/**
 * The demo county by its recording (search form, result list, detail page, PDF): over HTTP and in a browser, beside the scraper
 * that was written for it. Each has processes of its own, after a warm-up that is not counted. CPU is that of all of its
 * processes, those of the browser included; the county's is not counted.
 */
export async function benchRecordings(
  { items, browserItems }: { items: number; browserItems: number },
  say: (line: string) => void,
): Promise<{ rows: RecordingRow[]; http_is_cheaper_by: number; ok: boolean }> {
  const { path } = await installChromium(loadConfig(), say);
  await using county = await startCounty();
  const room = makeRoom('recordings');
  const file = join(import.meta.dirname, 'recordings', 'trawl.ts');
  try {
    await county.warmUp();
    const runs = [
      { name: 'bespoke', lane: 'http', scraperId: 'demo-county', items, concurrency: 64, warmUp: 200 },
      { name: 'http', lane: 'http', scraperId: 'bench-http', items, concurrency: 64, warmUp: 200 },
      {
        name: 'browser',
        lane: 'browser',
        scraperId: 'bench-browser',
        items: browserItems,
        concurrency: 4,
        warmUp: 20,
      },
    ] as const;
    const measured: { row: Measured; data: Map<string, unknown>; items: number }[] = [];
    for (const { name, ...run } of runs) {
      const folder = mkdtempSync(join(room, `${name}-`));
      const task: RecordingTask = { ...run, url: county.url, folder, workers: 1, chromium: path };
      say(`${name} …`);
      const row = await measure(name, { file, flags: OURS, under: ADOPT_ORPHANS }, task);
      measured.push({ row, data: readData(folder), items: run.items });
    }
    const expected = measured[0]?.data ?? new Map();
    const rows = measured.map(({ row, data, items: count }) => ({
      ...row,
      items: count,
      fields_equal: countEqual(data, expected),
    }));
    const isEqual = measured.every(({ data }, at) => {
      const { items: count, fields_equal } = rows[at] ?? { items: 0, fields_equal: -1 };
      return fields_equal === data.size && fields_equal >= count;
    });
    const cost = (wanted: string) => rows.find(({ name }) => name === wanted)?.cpu_s_per_1000 ?? Number.NaN;
    const cheaper = Math.round((10 * cost('browser')) / cost('http')) / 10;
    return { rows, http_is_cheaper_by: cheaper, ok: isEqual && cheaper >= 20 };
  } finally {
    rmSync(room, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** By item; those of the warm-up are among them. */
function readData(folder: string): Map<string, unknown> {
  const data = new Map<string, unknown>();
  for (const entry of readdirSync(join(folder, 'results'), { recursive: true, withFileTypes: true })) {
    if (!/^data\.json(?:\.gz)?$/.test(entry.name)) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    const value = JSON.parse((entry.name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
    data.set(value.apn, value);
  }
  return data;
}

function countEqual(data: ReadonlyMap<string, unknown>, expected: ReadonlyMap<string, unknown>): number {
  return [...data].filter(([apn, value]) => isDeepStrictEqual(value, expected.get(apn))).length;
}
