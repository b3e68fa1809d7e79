import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JOB_UNSEEN, worstOf } from '../../src/domain/compliance.ts';
import { HostWatch, MAX_WATCHED } from '../../src/domain/host-watch.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { SeenReports } from '../../src/egress/seen-reports.ts';
import type { SeenReport } from '../../src/ports/host-records.ts';
import { WatchedGate } from '../../src/worker/watched-gate.ts';
import { FakeClock } from '../support/fake-clock.ts';

const { signal: NEVER } = new AbortController();

function openProcess() {
  const clock = new FakeClock();
  const sent: SeenReport[] = [];
  const troubles: unknown[] = [];
  const store = { isFailing: false };
  const records = {
    async report(reports: readonly SeenReport[]) {
      if (store.isFailing) throw new Error('the table is away');
      sent.push(...reports);
    },
  };
  const watch = new HostWatch();
  const onError = (_: string, error: unknown) => troubles.push(error);
  const reports = new SeenReports({ watch, records, clock, everyMs: 1000, onError });
  const gate = new PoliteHostGate({ clock });
  return {
    clock,
    sent,
    troubles,
    store,
    reports,
    watch,
    gateOf: (job: string) => new WatchedGate(gate, job, watch, clock),
  };
}

function told({ jobId, host, seen }: SeenReport) {
  const job = seen.jobs.get(jobId) ?? JOB_UNSEEN;
  const { atMostConcurrent, duringPause } = worstOf(job, seen.pauses);
  return { jobId, host, requests: job.requests, concurrent: atMostConcurrent, duringPause };
}

test('requests are reported by job and host, every second, and once', async () => {
  const { clock, sent, reports, gateOf } = openProcess();
  const stop = new AbortController();
  const running = reports.run(stop.signal);
  const [taxes, deeds] = [gateOf('taxes'), gateOf('deeds')];
  const leaves = [
    await taxes.enter('a.gov', 0, NEVER),
    await taxes.enter('a.gov', 0, NEVER),
    await deeds.enter('a.gov', 0, NEVER),
  ];
  await clock.advance(100);
  for (const leave of leaves) leave();
  // Leaving twice is harmless.
  leaves[0]?.();
  await clock.advance(1900);
  const usual = { host: 'a.gov', duringPause: 0 };
  assert.deepEqual(sent.map(told), [
    { ...usual, jobId: 'taxes', requests: 2, concurrent: 2 },
    { ...usual, jobId: 'deeds', requests: 1, concurrent: 1 },
  ]);
  await clock.advance(10_000);
  assert.equal(sent.length, 2);

  const leave = await taxes.enter('b.gov', 0, NEVER);
  leave();
  stop.abort();
  await clock.advance(0);
  await running;
  assert.deepEqual(sent.slice(2).map(told), [{ ...usual, host: 'b.gov', jobId: 'taxes', requests: 1, concurrent: 1 }]);
});

test('a caller that was turned away is not a request, and a pause is reported with what others did in it', async () => {
  const { clock, sent, reports, watch, gateOf } = openProcess();
  const gate = gateOf('taxes');
  gate.hold('a.gov', 60_000, 'slow down');
  await assert.rejects(gate.enter('a.gov', 0, NEVER), { name: 'HostHeld' });
  // As another process would that does not know of the pause yet.
  watch.started('a.gov', 'taxes', clock.now() + 5000);
  watch.ended('a.gov', 'taxes', clock.now() + 5100);
  await reports.runOnce(clock.now() + 10_000);
  assert.deepEqual(sent.map(told), [{ jobId: 'taxes', host: 'a.gov', requests: 1, concurrent: 1, duringPause: 1 }]);
});

test('a failed report is sent later, together with what happened since, and the trouble is reported once', async () => {
  const { clock, sent, troubles, store, reports, gateOf } = openProcess();
  const gate = gateOf('taxes');
  store.isFailing = true;
  for (const _ of [1, 2, 3]) {
    (await gate.enter('a.gov', 0, NEVER))();
    await clock.advance(1000);
    await reports.runOnce(clock.now());
  }
  assert.deepEqual([sent.length, troubles.length], [0, 1]);
  store.isFailing = false;
  await reports.runOnce(clock.now());
  assert.deepEqual(sent.map(told), [{ jobId: 'taxes', host: 'a.gov', requests: 3, concurrent: 1, duringPause: 0 }]);
});

test('a wide crawl has a limited number of hosts watched, and enters all of them', async () => {
  const { clock, sent, reports, gateOf } = openProcess();
  const gate = gateOf('taxes');
  for (let host = 0; host < MAX_WATCHED + 50; host += 1) (await gate.enter(`${host}.gov`, 0, NEVER))();
  await clock.advance(1000);
  await reports.runOnce(clock.now());
  assert.equal(sent.length, MAX_WATCHED);
  (await gate.enter('later.gov', 0, NEVER))();
  await reports.runOnce(clock.now() + 1000);
  assert.equal(sent.length, MAX_WATCHED + 1);
});
