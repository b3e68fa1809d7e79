import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startCounty } from '../../demo/county.ts';
import { apnOf } from '../../demo/parcels.ts';
import { submit, tempDataDir, untilFinished, withEngine } from '../flow/engine.ts';
import { testChromium } from '../support/chromium.ts';
import { sized } from '../support/sized.ts';

const { rounds, pages, growth } = sized({
  quick: { rounds: 3, pages: 6, growth: { files: 30, megabytes: 150 } },
  slow: { rounds: 20, pages: 100, growth: { files: 20, megabytes: 100 } },
});

const county = await startCounty({ parcels: rounds * pages });
after(() => county.close());

interface Sample {
  readonly files: number;
  readonly megabytes: number;
}

/** Open files and memory of processes and all that they started. Pages that processes share are counted once. */
function sample(roots: readonly number[]): Sample {
  const parents = new Map(pids().map((pid) => [pid, Number(/\) . (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1])]));
  const family = [...roots];
  for (const pid of family) family.push(...[...parents].filter(([, parent]) => parent === pid).map(([child]) => child));
  const sizes = family.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  const files = family.map((pid) => listed(`/proc/${pid}/fd`).length);
  return { files: sum(files), megabytes: Math.round(sum(sizes) / 1024) };
}

function pids(): readonly number[] {
  return listed('/proc').map(Number).filter(Number.isInteger);
}

/** Lists a folder that may be gone, since processes end while they are being looked at. */
function listed(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

test('memory and open files of a worker and its browsers do not grow with the pages they have opened', async (t) => {
  const { path } = await testChromium();
  const settings = {
    ...{ workers: 1, browserWorkers: 1, chromium: path, allowAddresses: 'loopback', dataDir: tempDataDir() },
    scrapers: [join(import.meta.dirname, '..', '..', 'bench', 'browser', 'scrapers')],
    routes: `http://demo-county.test=${county.url}`,
  };
  const samples: Sample[] = [];
  await withEngine(settings, async (engine, workers) => {
    for (let round = 0; round < rounds; round += 1) {
      const job_id = `round-${round}`;
      const apns = Array.from({ length: pages }, (_, n) => apnOf(round * pages + n));
      await submit(engine, { job_id, scraper_id: 'bench-profile', items: apns.map((apn) => ({ input: { apn } })) });
      const { counts } = await untilFinished(engine, job_id);
      assert.equal(counts.success, pages, JSON.stringify(counts));
      samples.push(sample(workers()));
    }
  });
  t.diagnostic(samples.map(({ files, megabytes }) => `${files} files ${megabytes} MB`).join(', '));
  // The first third is the warm-up: compilers, caches, the first browser.
  const third = Math.max(1, Math.floor(rounds / 3));
  const [early, late] = [samples.slice(third, 2 * third), samples.slice(-third)];
  for (const what of ['files', 'megabytes'] as const) {
    const grown = middle(late.map((each) => each[what])) - middle(early.map((each) => each[what]));
    assert.ok(grown < growth[what], `${grown} more ${what} after the warm-up`);
  }
});
