import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startCounty } from '../../demo/county.ts';
import { apnOf } from '../../demo/parcels.ts';
import type { Config } from '../../src/config.ts';
import type { Engine } from '../../src/main/engine.ts';
import { submit, tempDataDir, untilFinished, untilJob, withEngine } from '../flow/engine.ts';
import { testChromium } from '../support/chromium.ts';
import { processesWith } from '../support/processes.ts';
import { sized } from '../support/sized.ts';

const county = await startCounty({ parcels: 2000 });
after(() => county.close());
const chromium = await testChromium();

// This file has a folder of its own, because other test files start browsers at the same time.
const temporary = mkdtempSync(join(tmpdir(), 'trawl-lane-'));
process.env['TMPDIR'] = temporary;
after(() => rmSync(temporary, { recursive: true, force: true }));

const SETTINGS: Partial<Config> = {
  ...{ workers: 1, browserWorkers: 1, chromium: chromium.path, allowAddresses: 'loopback' },
  scrapers: [join(import.meta.dirname, 'scrapers')],
  routes: `http://demo-county.test=${county.url}`,
};

function withBrowsers<T>(use: (engine: Engine, pids: () => readonly number[]) => Promise<T>): Promise<T> {
  return withEngine({ ...SETTINGS, dataDir: tempDataDir() }, use);
}

async function endsOf(engine: Engine, jobId: string): Promise<ReadonlyMap<string, string>> {
  const { entries } = await engine.ledger.items(jobId, { status: null, errorType: null }, { after: null, limit: 1000 });
  return new Map(
    entries.map(({ itemId, status, attempts }) => [itemId, attempts.at(-1)?.failure?.type ?? String(status)]),
  );
}

/** Anything that browsers leave: files next to our data directories, and processes that were given one. */
function leftovers(): readonly (string | number)[] {
  const files = readdirSync(temporary).filter((name) => !name.startsWith('trawl-flow-'));
  return [...files, ...processesWith(temporary)];
}

test('load, accept, search, click, read and download: a county that only works in a browser', async () => {
  await withBrowsers(async (engine) => {
    const items = Array.from({ length: sized({ quick: 6, slow: 60 }) }, (_, n) => ({ input: { apn: apnOf(n) } }));
    await submit(engine, {
      ...{ job_id: 'parcels', scraper_id: 'demo-county-browser' },
      items: [...items, { input: { apn: '999-99-999' } }],
      execution_policy: { results: { screenshot: 'always' }, browser: { trace: 'on_failure' } },
    });
    const job = await untilFinished(engine, 'parcels');
    const ends = await endsOf(engine, 'parcels');
    assert.equal(job.counts.success, items.length, JSON.stringify([...ends]));
    assert.equal(ends.get('999-99-999'), 'no_results');
    const item = await engine.ledger.item('parcels', apnOf(0));
    assert.deepEqual(
      item?.artifacts.map(({ kind, contentType }) => [kind, contentType]),
      [
        ['html', 'text/html; charset=utf-8'],
        ['data', 'application/json'],
        ['metadata', 'application/json'],
        ['screenshot', 'image/png'],
        ['document', 'application/pdf'],
      ],
    );
    const failed = await engine.ledger.item('parcels', '999-99-999');
    const kept = failed?.artifacts.map(({ kind }) => kind);
    assert.deepEqual(kept, ['metadata', 'screenshot', 'failed_page', 'trace']);
  });
  assert.deepEqual(leftovers(), []);
});

/** Each kind of trouble, and how its items end. */
const ENDS: Readonly<Record<string, string>> = {
  none: 'success',
  'page-crash': 'unexpected',
  'browser-crash': 'poison',
  freeze: 'success',
  hang: 'timeout',
  dialog: 'success',
  'pop-up': 'success',
  'failing-download': 'timeout',
};

/** How many items have each trouble: 500 in all, at the full size. */
const COUNTS: Readonly<Record<string, number>> = sized({
  quick: { none: 10 },
  slow: { none: 450, 'page-crash': 8, 'browser-crash': 8, freeze: 4, hang: 8, dialog: 7, 'pop-up': 7 },
});
const KILLS = sized({ quick: 1, slow: 5 });

/** A short time limit would also end the other items on a busy machine, so there are two jobs side by side. */
const LIMITS = {
  patient: { timeouts: { request_timeout_seconds: 60, item_timeout_seconds: 300 }, retries: { max_retries: 2 } },
  impatient: {
    timeouts: { request_timeout_seconds: 2, item_timeout_seconds: 60 },
    retries: { max_retries: sized({ quick: 0, slow: 2 }) },
  },
};

test('whatever browsers do wrong, and even if a worker is killed, each item ends as it should and no files or processes are left', async () => {
  await withBrowsers(async (engine, pids) => {
    const items = Object.keys(ENDS).flatMap((trouble) =>
      Array.from({ length: COUNTS[trouble] ?? sized({ quick: 1, slow: 8 }) }, (_, n) => ({
        item_id: `${trouble}-${n}`,
        input: { trouble, item: `${trouble}-${n}` },
      })),
    );
    // They are spread, so that each kind has good neighbours.
    items.sort((a, b) => (a.item_id.split('').reverse().join('') < b.item_id.split('').reverse().join('') ? -1 : 1));
    for (const [job_id, { timeouts, retries }] of Object.entries(LIMITS)) {
      await submit(engine, {
        ...{ job_id, scraper_id: 'trouble' },
        items: items.filter(({ input }) => (ENDS[input.trouble] === 'timeout') === (job_id === 'impatient')),
        execution_policy: {
          throttling: { max_concurrent_workers: 2, adaptive: false },
          ...{ timeouts, retries: { ...retries, backoff_factor: 0.05 } },
          circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
        },
      });
    }
    const good = COUNTS['none'] ?? 0;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await untilJob(engine, 'patient', ({ counts }) => counts.success >= (good * kill) / (KILLS + 1));
      for (const pid of pids()) process.kill(pid, 'SIGKILL');
    }
    for (const jobId of Object.keys(LIMITS)) {
      await untilFinished(engine, jobId);
      for (const [itemId, end] of await endsOf(engine, jobId)) {
        const item = await engine.ledger.item(jobId, itemId);
        const tries = JSON.stringify(item?.attempts.map(({ failedTries }) => failedTries));
        assert.equal(end, ENDS[itemId.replace(/-\d+$/, '')], `${itemId}: ${tries}`);
        items.splice(
          items.findIndex(({ item_id }) => item_id === itemId),
          1,
        );
      }
    }
    assert.deepEqual(items, []);

    // An item that never ends uses up its time, and others are carried out next to it.
    await submit(engine, {
      ...{ job_id: 'endless', scraper_id: 'trouble', items: [{ item_id: 'never', input: { trouble: 'never-ends' } }] },
      execution_policy: { timeouts: { item_timeout_seconds: 3 }, retries: { max_retries: 0 } },
    });
    await submit(engine, {
      ...{ job_id: 'beside', scraper_id: 'trouble', execution_policy: LIMITS.patient },
      items: ['none', 'dialog'].map((trouble) => ({ item_id: trouble, input: { trouble } })),
    });
    const jobs = [await untilFinished(engine, 'endless'), await untilFinished(engine, 'beside')];
    assert.deepEqual(
      jobs.map(({ counts: { success, failed } }) => ({ success, failed })),
      [
        { success: 0, failed: 1 },
        { success: 2, failed: 0 },
      ],
    );
    assert.equal((await endsOf(engine, 'endless')).get('never'), 'timeout');
  });
  assert.deepEqual(leftovers(), []);
});
