import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { Controller } from '../../src/controller/engine/controller.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { newItems, newJob } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';

const LEAD_MS = 6000;
/** This is so long that no poll finds anything in these tests. */
const POLL_MS = 3_600_000;

function startController() {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const leading = openMemoryLeadership();
  const table = { isAway: false };
  const controller = new Controller({
    ...openMemoryRecordings(),
    ...{ ledger, clock, faults: NO_FAULTS, events: new EventStream(), holder: 'controller-1' },
    leadership: {
      async lead(holder, until, now) {
        if (table.isAway) throw new Error('the table does not answer');
        return leading.lead(holder, until, now);
      },
      resign: (holder) => leading.resign(holder),
    },
    queue: openMemoryQueue(clock),
    store: openMemoryResultStore(),
    digest: (text) => hash('sha256', text),
    probe: async () => {},
    makeRoom: async () => {},
    settings: {
      ...{ leaseMs: 4000, lostAfterMs: 60_000, leadMs: LEAD_MS, reapMs: 1000, pollMs: POLL_MS },
      ...{ handoverMs: 0, probeMs: 1000, itemsPerBatch: 1, itemManifests: false },
    },
  });
  controller.start();
  return { clock, ledger, table, controller };
}

test('after a lapse of leadership every job is looked at at once, not at the next poll', async () => {
  const { clock, ledger, table, controller } = startController();
  await clock.advance(1);
  table.isAway = true;
  await clock.advance(2 * LEAD_MS);
  assert.equal(controller.standing().isLeading, false);
  await ledger.createJob(newJob(), newItems(1), clock.now());
  await clock.advance(1);
  assert.equal((await ledger.job('job-1'))?.counts.queued, 0);

  table.isAway = false;
  await clock.advance(LEAD_MS / 3);
  assert.equal(controller.standing().isLeading, true);
  assert.equal((await ledger.job('job-1'))?.counts.queued, 1);
  const stopped = controller.stop();
  await clock.advance(1);
  await stopped;
});
