import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { finishedOf } from '../../src/domain/counts.ts';
import type { Engine } from '../../src/main/engine.ts';
import { type HostileServer, openHostileServer } from '../egress/hostile-server.ts';
import { submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

/** Far less than the hanging items are given: a job that waits for them fails by this. */
const PATIENCE = { timeout: 240_000 };

const LOOPBACK = { allowAddresses: 'loopback', drainGraceMs: 0 };

let hanging: HostileServer;
let healthy: HostileServer;
before(async () => {
  hanging = await openHostileServer({});
  healthy = await openHostileServer({});
});
after(async () => {
  await hanging.close();
  await healthy.close();
});

test('a small job is done while a job whose site hangs has more in flight than all slots', PATIENCE, async () => {
  const config = { ...LOOPBACK, dataDir: tempDataDir(), workers: 2, slots: 4, hostConcurrency: 100 };
  await withEngine(config, async (engine) => {
    await submitHanging(engine, 200);
    await untilJob(engine, 'hanging', ({ counts }) => counts.inProgress === 8);
    const small = await untilFinished(engine, await submitSmall(engine));
    assert.equal(small.counts.success, 5);
    const { counts } = await untilJob(engine, 'hanging', () => true);
    assert.deepEqual([counts.inProgress, counts.queued, finishedOf(counts)], [8, 192, 0]);
  });
});

test('an item that waits at the gate of its host has no slot: others begin', PATIENCE, async () => {
  const config = { ...LOOPBACK, dataDir: tempDataDir(), workers: 1, slots: 2, hostConcurrency: 1 };
  await withEngine(config, async (engine) => {
    await submitHanging(engine, 50);
    // One is at the site and three are parked: twice as many as one job has slots.
    await untilJob(engine, 'hanging', ({ counts }) => counts.inProgress === 4);
    const small = await untilFinished(engine, await submitSmall(engine));
    assert.equal(small.counts.success, 5);
    const { counts } = await untilJob(engine, 'hanging', () => true);
    assert.deepEqual([counts.inProgress, counts.queued, finishedOf(counts)], [4, 46, 0]);
  });
});

function submitHanging(engine: Engine, items: number): Promise<string> {
  return submit(engine, {
    job_id: 'hanging',
    scraper_id: 'example-http',
    items: visits(items, `${hanging.url}never`),
    execution_policy: {
      throttling: { max_concurrent_workers: items, adaptive: false },
      timeouts: { request_timeout_seconds: 600, item_timeout_seconds: 600 },
      circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
    },
  });
}

function submitSmall(engine: Engine): Promise<string> {
  return submit(engine, { job_id: 'small', scraper_id: 'example-http', items: visits(5, `${healthy.url}good`) });
}

function visits(count: number, url: string) {
  return Array.from({ length: count }, (_, index) => ({ item_id: `item-${index}`, input: { url: `${url}/${index}` } }));
}
