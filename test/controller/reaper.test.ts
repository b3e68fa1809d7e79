import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Reaper } from '../../src/controller/engine/reaper.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { itemOf, jobOf, takeOne } from '../contract/ledger/hands.ts';
import { newItems, newJob } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';

const LEASE_MS = 4000;
const HOUR = 3_600_000;

async function setUp() {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  await ledger.createJob(newJob(), newItems(1), clock.now());
  const parts = { ledger, clock, faults: NO_FAULTS, events: new EventStream(), mayWork: () => true };
  const reaper = new Reaper({ ...parts, leaseMs: LEASE_MS, lostAfterMs: 60_000 });
  const lease = await takeOne(ledger, 'job-1', { now: clock.now() });
  await ledger.renew([lease.token], clock.now() + LEASE_MS);
  /** Time passes in the steps of a controller, while the worker is alive or dead. */
  async function pass(ms: number, { isWorkerAlive = true } = {}): Promise<number> {
    let reaped = 0;
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.advance(500);
      reaped += (await reaper.runOnce()).leases;
      if (isWorkerAlive && passed % 1000 === 0) await ledger.renew([lease.token], clock.now() + LEASE_MS);
    }
    return reaped;
  }
  return { clock, ledger, lease, reaper, pass };
}

test('a wall clock set forward by an hour, three times, costs a living worker no lease', async () => {
  const { clock, ledger, pass } = await setUp();
  await pass(2000);
  for (let jump = 1; jump <= 3; jump += 1) {
    clock.jump(HOUR);
    assert.equal(await pass(10_000), 0, `jump ${jump}`);
  }
  assert.equal((await jobOf(ledger, 'job-1')).counts.inProgress, 1);
  assert.equal((await itemOf(ledger, 'job-1', 'p-0')).deliveries, 1);
});

test('clock steps too small to be noticed one by one add up until they are', async () => {
  const { clock, pass } = await setUp();
  await pass(2000);
  for (let step = 1; step <= 40; step += 1) {
    clock.jump(LEASE_MS / 10);
    assert.equal(await pass(500, { isWorkerAlive: step % 5 === 0 }), 0, `step ${step}`);
  }
});

test('a clock that is set while the ledger is on its way to the leases costs none', async () => {
  const { clock, ledger, lease, reaper } = await setUp();
  await reaper.runOnce();
  const expire = ledger.expire.bind(ledger);
  ledger.expire = async (readTimes, limit) => {
    clock.jump(HOUR);
    return expire(readTimes, limit);
  };
  assert.equal((await reaper.runOnce()).leases, 0);
  assert.deepEqual(await ledger.renew([lease.token], clock.now() + LEASE_MS), [], 'it is still held');
});

test('a ledger that takes long to correct times does not cut short leases that were granted meanwhile', async () => {
  const { clock, ledger, lease, reaper } = await setUp();
  const clampTimes = ledger.clampTimes.bind(ledger);
  let corrected = -1;
  ledger.clampTimes = async (readLatest) => {
    await clock.advance(3 * LEASE_MS);
    await ledger.renew([lease.token], clock.now() + LEASE_MS);
    corrected = await clampTimes(readLatest);
    return corrected;
  };
  assert.equal((await reaper.runOnce()).leases, 0);
  assert.equal(corrected, 0);
  assert.deepEqual(await ledger.renew([lease.token], clock.now() + LEASE_MS), [], 'it is still held');
});

for (const [direction, ms] of [
  ['forward', HOUR],
  ['back', -HOUR],
] as const) {
  test(`the lease of a worker that died is reaped within seconds when the clock is set ${direction}`, async () => {
    const { clock, ledger, pass } = await setUp();
    await pass(2000);
    clock.jump(ms);
    assert.equal(await pass(5 * LEASE_MS, { isWorkerAlive: false }), 1);
    assert.equal((await jobOf(ledger, 'job-1')).counts.inProgress, 0);
  });
}
