import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTrawl, tempFolder, trawl } from './trawl.ts';

const LOG = { TRAWL_LOG_TO: 'stderr' };

async function startController(dataDir: string) {
  const controller = startTrawl(['controller', '--port', '0', '--data-dir', dataDir], LOG);
  const [, url = ''] = await controller.shows(/"url":"([^"]+)"/);
  return { ...controller, url };
}

async function runJob(url: string, jobId: string): Promise<unknown> {
  const made = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      job_id: jobId,
      scraper_id: 'example-noop',
      items: [{ input: { a: 1 } }, { input: { a: 2 } }],
    }),
  });
  assert.equal(made.status, 201, await made.text());
  // The stream ends when the job is over.
  const events = await (await fetch(`${url}/jobs/${jobId}/events`)).text();
  assert.match(events, /event: end/);
  return (await fetch(`${url}/jobs/${jobId}/status`)).json();
}

test('a worker that was started separately outlives its controller, works for the next one, and ends when asked to', async () => {
  const dataDir = join(tempFolder(), 'data');
  // No controller is there yet to work for.
  const worker = startTrawl(['worker', '--data-dir', dataDir], LOG);
  await worker.shows(/waiting for a controller/);
  const first = await startController(dataDir);
  assert.deepEqual(await runJob(first.url, 'one'), {
    job_id: 'one',
    status: 'completed',
    summary: { pending: 0, queued: 0, in_progress: 0, success: 2, failed: 0, skipped: 0, cancelled: 0, total: 2 },
    waiting_for: null,
  });
  first.signalGroup('SIGKILL');
  await first.ended;

  const second = await startController(dataDir);
  const { status } = (await runJob(second.url, 'two')) as { status: string };
  assert.equal(status, 'completed');
  second.signalGroup('SIGTERM');
  assert.equal((await second.ended).code, 0);
  worker.signalGroup('SIGTERM');
  assert.equal((await worker.ended).code, 0);
});

test('an address that the API may not have is refused before anything is created', async () => {
  const dataDir = join(tempFolder(), 'data');
  const { code, stderr } = await trawl(['serve', '--host', '0.0.0.0', '--data-dir', dataDir]);
  assert.equal(code, 2);
  assert.match(stderr, /without an API key the server only listens on this machine: set TRAWL_API_KEY/);
  assert.ok(!existsSync(dataDir));
});
