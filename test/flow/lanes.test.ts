import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService } from '../api/service.ts';
import { untilJob } from './engine.ts';

const scrapers = [join(import.meta.dirname, 'scrapers')];

interface Created {
  readonly job_id: string;
  readonly warnings: readonly { readonly path: string; readonly code: string; readonly message: string }[];
}

function jobFor(scraperId: string) {
  const items = ['a', 'b', 'c'].map((id) => ({ item_id: id, input: {} }));
  return { json: { scraper_id: scraperId, items } };
}

test('a job of the browser lane is run by the browser workers of the service, and by no others', async () => {
  const { ask, engine } = await startService({ workers: 1, browserWorkers: 1, scrapers });
  for (const scraper of ['lane-of-process', 'changing-page']) {
    const { json } = await ask('POST', '/jobs', jobFor(scraper));
    const { job_id: jobId, warnings } = json as Created;
    assert.deepEqual(warnings, []);
    const { counts } = await untilJob(engine, jobId, ({ status }) => status === 'completed');
    assert.deepEqual([counts.success, counts.failed], [3, 0], scraper);
  }
});

test('a job whose lane has no workers is taken with a warning, and waits while others are run', async () => {
  const { ask, engine } = await startService({ workers: 1, scrapers });
  const waiting = (await ask('POST', '/jobs', jobFor('lane-of-process'))).json as Created;
  assert.deepEqual(waiting.warnings, [
    {
      path: 'scraper_id',
      code: 'no_workers',
      message: 'no workers serve the browser lane; start one with trawl worker --lane browser',
    },
  ]);
  const running = (await ask('POST', '/jobs', jobFor('changing-page'))).json as Created;
  assert.deepEqual(running.warnings, []);
  await untilJob(engine, running.job_id, ({ status }) => status === 'completed');
  const job = await engine.ledger.job(waiting.job_id);
  assert.deepEqual([job?.status, job?.counts.success], ['in_progress', 0]);
});
