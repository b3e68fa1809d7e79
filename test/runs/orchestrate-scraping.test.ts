import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { orchestrateScraping } from 'trawl/runs';
import { tempFolder } from '../cli/trawl.ts';
import { openEtlServer } from './etl-server.ts';

const SCRAPERS = fileURLToPath(new URL('../api/scrapers', import.meta.url));

test('a program carries out a run with workers of its own, and learns how it ended', async (t) => {
  const server = await openEtlServer(t, { ids: 'id', names: 'snake', one: 'data', list: 'runs', batches: 'refused' });
  const env = {
    ...{ ETL_API_ENDPOINT: server.endpoint, ETL_API_KEY: 'etl-secret', TRAWL_SCRAPERS: SCRAPERS, TRAWL_WORKERS: '1' },
    TRAWL_DATA_DIR: join(tempFolder(), 'data'),
  };
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const options = { scraperId: 'test-run-pages', sessions: 2, maxItemsPerSession: 2 };
  await assert.rejects(orchestrateScraping('county.test', options), /has no active run: give urls/);
  // Without items per session, distributing them would never end.
  const wrong = { ...options, sessions: 0, maxItemsPerSession: 0, urls: ['/relative'] };
  await assert.rejects(
    orchestrateScraping('county.test', wrong),
    /urls\.0: must be .*; sessions: .*; max_items_per_session: /,
  );
  const urls = Array.from({ length: 7 }, (_, at) => `https://county.test/${at}${at === 5 ? '?end=missing' : ''}`);
  const { runId, items, carried, jobIds, endTime } = await orchestrateScraping('county.test', { ...options, urls });
  assert.deepEqual([runId, carried, jobIds], ['run-1', null, ['run-run-1-1']]);
  assert.deepEqual(items, { total: 7, completed: 6, failed: 1, pending: 0 });
  assert.ok(endTime !== null);
  await assert.rejects(orchestrateScraping('county.test', { ...options, scraperId: 'nobody' }), /no scraper nobody/);
});
