import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { WorkSource } from '../../src/ports/work-source.ts';
import type { ScraperRegistry } from '../../src/scraping/registry.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';
import { Worker } from '../../src/worker/worker.ts';
import { allItems, dispatch, givenJob, jobOf, LEASE_MS, NEVER_QUEUED_TOO_LONG } from '../contract/ledger/hands.ts';
import { dueBy } from '../support/due-by.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { inProcessHeartbeat } from '../support/in-process-heartbeat.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

/** A worker whose queue delivers one batch, whose site never answers, and whose queue can then be taken away. */
async function startWorker() {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const jobId = await givenJob(ledger, { items: 3 });
  const refs = await dispatch(ledger, jobId, 3, clock.now());
  const queueIsGone = Promise.withResolvers<never>();
  let isDelivered = false;
  const source: WorkSource = {
    async take() {
      if (isDelivered) return queueIsGone.promise;
      isDelivered = true;
      const answers = await ledger.claim(refs, 'worker-1', clock.now() + LEASE_MS, clock.now());
      return refs.flatMap((ref, index) => {
        const answer = answers[index];
        return answer === undefined ? [] : [{ delivery: { ref, receipt: `message ${index}` }, answer }];
      });
    },
  };
  const scraper = {
    ...{ id: 'demo', name: '', version: '1.0.0', description: '', lane: 'http' },
    scrape: () => new Promise(() => {}),
  } as unknown as Scraper;
  const queue = { ack: async () => {}, extend: async () => {} };
  const worker = new Worker({
    ...openMemoryRecordings(),
    ...{ id: 'worker-1', clock, source, queue, leases: ledger, store: openMemoryResultStore(), faults: NO_FAULTS },
    ...{ digest: (text: string) => text, tools: NO_TOOLS, onError: () => {}, onWait() {}, onSteps() {} },
    isStillHeld: async () => true,
    scrapers: { find: async () => scraper } as unknown as ScraperRegistry,
    heartbeat: inProcessHeartbeat({ leases: ledger, queue, clock, leaseMs: LEASE_MS, onTrouble: () => {} }),
    settings: { lane: 'http', slots: 4, leaseMs: LEASE_MS, drainGraceMs: 1000, settleEveryMs: 1000, orderGoodMs: 5000 },
  });
  const running = worker.run(new AbortController().signal);
  running.catch(() => {});
  await clock.advance(10);
  assert.ok((await jobOf(ledger, jobId)).counts.inProgress > 0);
  return { clock, ledger, jobId, running, loseQueue: () => queueIsGone.reject(new Error('the queue is gone')) };
}

test('a worker that lost its queue gives its work back to the ledger, so that no item is charged for it', async () => {
  const { clock, ledger, jobId, running, loseQueue } = await startWorker();
  loseQueue();
  await clock.advance(10);
  await assert.rejects(running, /the queue is gone/);
  const { counts } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.inProgress, counts.queued], [0, 0]);
  for (const { strikes } of await allItems(ledger, jobId)) assert.equal(strikes, 0);
});

test('a worker that lost queue and ledger ends all the same', async () => {
  const { clock, ledger, running, loseQueue } = await startWorker();
  ledger.release = () => new Promise(() => {});
  loseQueue();
  await clock.advance(LEASE_MS);
  await assert.rejects(running, /the queue is gone/);
});

test('a lease is kept alive until its release was answered, so that a slow ledger charges no item either', async () => {
  const { clock, ledger, jobId, running, loseQueue } = await startWorker();
  const release = ledger.release.bind(ledger);
  ledger.release = async (...asked) => {
    await clock.sleep(0.9 * LEASE_MS);
    return release(...asked);
  };
  await clock.advance(LEASE_MS / 5);
  loseQueue();
  for (let beat = 0; beat < 8; beat += 1) {
    await clock.advance(LEASE_MS / 8);
    const { leases } = await ledger.expire(dueBy(clock.now(), NEVER_QUEUED_TOO_LONG), 10);
    assert.equal(leases, 0);
  }
  await assert.rejects(running, /the queue is gone/);
  const { counts } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.inProgress, counts.queued], [0, 0]);
});

test('a release whose request was lost is asked for again', async () => {
  const { clock, ledger, jobId, running, loseQueue } = await startWorker();
  const release = ledger.release.bind(ledger);
  let asked = 0;
  ledger.release = async (...args) => {
    asked += 1;
    if (asked === 1) throw new Error('no answer');
    return release(...args);
  };
  loseQueue();
  await clock.advance(10);
  await assert.rejects(running, /the queue is gone/);
  const { counts } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.inProgress, counts.queued], [0, 0]);
});
