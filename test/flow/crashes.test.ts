import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsOf, nextEvent, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const SLOW = { scraper_id: 'example-slow', execution_policy: { throttling: { max_concurrent_workers: 12 } } };

test('the work of a worker that was killed is done by others, without waiting for its leases to run out', async () => {
  await withEngine({ dataDir: tempDataDir(), workers: 2, leaseMs: 60_000 }, async (engine, pids) => {
    await submit(engine, { ...SLOW, job_id: 'killed', items: itemsOf(400, () => ({ ms: 10 })) });
    await untilJob(engine, 'killed', ({ counts }) => counts.success >= 50);
    const left = nextEvent(engine, ({ kind }) => kind === 'worker-left');
    const [victim] = pids();
    assert.ok(victim);
    process.kill(victim, 'SIGKILL');
    await left;
    const job = await untilFinished(engine, 'killed');
    assert.equal(job.counts.success, 400);
    assert.equal(job.counts.failed, 0);
  });
});

test('an item that kills its worker three times is poison, and its neighbours go on', async () => {
  await withEngine({ dataDir: tempDataDir() }, async (engine) => {
    let deaths = 0;
    engine.events.subscribe(({ kind }) => {
      if (kind === 'worker-left') deaths += 1;
    });
    await submit(engine, {
      job_id: 'poison',
      scraper_id: 'example-killer',
      items: itemsOf(60, (index) => ({ kill: index === 7 })),
      execution_policy: { throttling: { max_concurrent_workers: 8 } },
    });
    const job = await untilFinished(engine, 'poison');
    assert.equal(job.counts.success, 59);
    assert.equal(job.counts.failed, 1);
    const guilty = await engine.ledger.item('poison', 'item-7');
    assert.equal(guilty?.attempts.at(-1)?.failure?.type, 'poison');
    assert.equal(deaths, 3);
  });
});

test('a stop in the middle costs no item an attempt, and the next start finishes the job', async () => {
  const dataDir = tempDataDir();
  await withEngine({ dataDir, drainGraceMs: 0 }, async (engine) => {
    await submit(engine, {
      ...SLOW,
      job_id: 'drained',
      items: itemsOf(300, (index) => ({ ms: index % 3 === 0 ? 5 : 100 })),
    });
    await untilJob(engine, 'drained', ({ counts }) => counts.success >= 20 && counts.inProgress >= 4);
  });
  await withEngine({ dataDir }, async (engine) => {
    const job = await untilFinished(engine, 'drained');
    assert.equal(job.counts.success, 300);
    assert.equal(job.fenced, 0);
    const page = await engine.ledger.items('drained', { status: null, errorType: null }, { after: null, limit: 300 });
    assert.deepEqual(new Set(page.entries.map(({ strikes }) => strikes)), new Set([0]));
    assert.deepEqual(new Set(page.entries.map(({ attempts }) => attempts.length)), new Set([1]));
  });
});
