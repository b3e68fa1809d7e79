import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { Controller } from '../../src/controller/engine/controller.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { change, givenJob, jobOf, runAll } from '../contract/ledger/hands.ts';
import { NOW } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';

const LEAD_MS = 15_000;
const HANDOVER_MS = 60_000;
const REPLACE = { contentType: 'application/json', encoding: 'identity', ifTaken: 'replace' } as const;
const digest = (text: string) => hash('sha256', text);

/** A job that awaits its index and one that is to be deleted; another controller led until now. */
async function setUp() {
  const clock = new FakeClock({ now: NOW });
  const ledger = openMemoryLedger();
  const store = openMemoryResultStore();
  const leadership = openMemoryLeadership();
  await givenJob(ledger, { jobId: 'done', items: 3 });
  await runAll(ledger, 'done');
  await change(ledger, 'done', { kind: 'finish' });
  await givenJob(ledger, { jobId: 'unwanted', held: true });
  const { incarnation } = await jobOf(ledger, 'unwanted');
  await change(ledger, 'unwanted', { kind: 'remove', incarnation });
  await leadership.lead('former', NOW + LEAD_MS, NOW);
  const controller = new Controller({
    ...openMemoryRecordings(),
    ...{ clock, ledger, store, leadership, digest, holder: 'next', events: new EventStream() },
    ...{ queue: openMemoryQueue(clock), faults: NO_FAULTS, probe: async () => {}, makeRoom: async () => {} },
    settings: {
      ...{ leaseMs: 30_000, lostAfterMs: 600_000, leadMs: LEAD_MS, handoverMs: HANDOVER_MS },
      ...{ reapMs: 5000, pollMs: 5000, probeMs: 5000, itemsPerBatch: 3, itemManifests: false },
    },
  });
  const isDone = async () => (await jobOf(ledger, 'done')).manifest !== null && (await ledger.job('unwanted')) === null;
  const isUntouched = async () =>
    (await jobOf(ledger, 'done')).manifest === null && (await ledger.job('unwanted')) !== null;
  return { clock, ledger, store, leadership, controller, isDone, isUntouched };
}

test('a leader that took over from one that may be alive writes and removes results only when nothing from it can arrive any more', async () => {
  const { clock, store, controller, isDone, isUntouched } = await setUp();
  controller.start();
  // The other was stopped before it could resign. What it had sent arrives late, an index of an earlier round.
  await clock.advance(LEAD_MS + HANDOVER_MS - 1000);
  assert.ok(await isUntouched());
  await store.put('done/manifests/full/part-0.json', Buffer.from('{"old":true}'), REPLACE);
  await store.put('unwanted/job_metadata.json', Buffer.from('{"old":true}'), REPLACE);
  await clock.advance(3 * LEAD_MS);
  assert.ok(await isDone());
  assert.equal(await store.get('unwanted/job_metadata.json'), null);
  const report = await verifyJob({ store, digest }, 'done');
  assert.ok(report.kind === 'checked' && report.problems.length === 0, JSON.stringify(report));
  await controller.stop();
});

test('a job that the former leader paused for storage at the last moment goes on, even though the news of it was lost', async () => {
  const { clock, ledger, controller } = await setUp();
  await givenJob(ledger, { jobId: 'running', items: 3 });
  // No change that others write is announced.
  ledger.subscribe = () => () => {};
  controller.start();
  await clock.advance(LEAD_MS + 10_000);
  const reason = { code: 'storage', message: 'no room', evidence: [] } as const;
  await change(ledger, 'running', { kind: 'pause', reason });
  await clock.advance(HANDOVER_MS - 20_000);
  assert.equal((await jobOf(ledger, 'running')).status, 'paused');
  await clock.advance(25_000);
  assert.equal((await jobOf(ledger, 'running')).status, 'in_progress');
  await controller.stop();
});

test('after a leader that resigned there is nothing to wait for', async () => {
  const { clock, leadership, controller, isDone } = await setUp();
  await leadership.resign('former');
  controller.start();
  await clock.advance(6000);
  assert.ok(await isDone());
  await controller.stop();
});

test('a leader that overtook another does not resign while that one may be at work, so that the next waits as well', async () => {
  const { clock, leadership, controller } = await setUp();
  controller.start();
  await clock.advance(LEAD_MS + HANDOVER_MS / 2);
  await controller.stop();
  const soon = clock.now();
  assert.equal(await leadership.lead('third', soon + LEAD_MS, soon), false);
  const later = soon + LEAD_MS + 1;
  assert.equal(await leadership.lead('third', later + LEAD_MS, later), 'overtook');
});

test('a leader that overtook another long ago resigns', async () => {
  const { clock, leadership, controller } = await setUp();
  controller.start();
  await clock.advance(LEAD_MS + 2 * HANDOVER_MS);
  await controller.stop();
  assert.equal(await leadership.lead('third', clock.now() + LEAD_MS, clock.now()), 'leads');
});
