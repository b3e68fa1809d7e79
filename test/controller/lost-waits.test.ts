import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endLostWaits } from '../../src/controller/engine/end-lost-waits.ts';
import { MIN_SHARED_PAUSE_MS } from '../../src/domain/host-pause.ts';
import { NO_LIMITS } from '../../src/domain/host-settings.ts';
import { givenJob, jobOf, takeOut } from '../contract/ledger/hands.ts';
import { NOW } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryHostPauses } from '../support/memory/host-pauses.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';

const HOST = 'county.gov';
const HOUR = { host: HOST, until: NOW + 3_600_000, reason: '429: Retry-After 3600' };

/** A job whose worker gave an item back because of a host. */
async function givenWait(held: typeof HOUR) {
  const ledger = openMemoryLedger();
  const clock = new FakeClock({ now: NOW });
  const deps = { ledger, clock, hostPauses: openMemoryHostPauses(), hostSettings: openMemoryHostSettings() };
  const jobId = await givenJob(ledger, { items: 2 });
  const [lease] = await takeOut(ledger, jobId);
  assert.ok(lease);
  await ledger.release(lease.token, held, NOW);
  const job = () => jobOf(ledger, jobId);
  return { deps, job, end: async () => endLostWaits(deps, [await job()]) };
}

test('a job that waits for a host which nothing pauses any more goes on', async () => {
  const { deps, job, end } = await givenWait(HOUR);
  await deps.hostPauses.pause({ ...HOUR, at: NOW }, 'w-1', NOW);
  await end();
  assert.equal((await job()).waitingFor?.host, HOST, 'the pause is in force');
  await deps.hostPauses.lift(HOST, NOW + 1);
  await end();
  assert.equal((await job()).waitingFor, undefined);
});

test("an operator's pause keeps a job waiting like the host's own", async () => {
  const { deps, job, end } = await givenWait(HOUR);
  const about = { host: HOST, note: null, changedAt: NOW, version: '1' };
  await deps.hostSettings.set({ ...NO_LIMITS, ...about, pausedUntil: HOUR.until });
  await end();
  assert.equal((await job()).waitingFor?.host, HOST);
  await deps.hostSettings.clear(HOST);
  await end();
  assert.equal((await job()).waitingFor, undefined);
});

test('a short wait is left alone: workers keep short pauses to themselves', async () => {
  const { job, end } = await givenWait({ ...HOUR, until: NOW + MIN_SHARED_PAUSE_MS - 1 });
  await end();
  assert.equal((await job()).waitingFor?.host, HOST);
});
