import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { SharedPauses } from '../../src/egress/shared-pauses.ts';
import type { HostPauses } from '../../src/ports/host-pauses.ts';
import type { WorkerHostSettings } from '../../src/ports/host-settings.ts';
import { settingsFor } from '../contract/host-settings-contract.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryHostPauses } from '../support/memory/host-pauses.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';

const YEAR_MS = 365 * 86_400_000;

/** A worker process, as far as pauses of hosts are concerned. */
function openProcess(
  worker: string,
  clock: FakeClock,
  pauses: HostPauses,
  settings: WorkerHostSettings = openMemoryHostSettings(),
) {
  const troubles: unknown[] = [];
  const onError = (_: string, error: unknown) => troubles.push(error);
  const shared = new SharedPauses({ pauses, settings, worker, clock, everyMs: 1000, onError });
  const gate = new PoliteHostGate({ clock, onHold: (...hold) => shared.note(...hold) });
  return {
    gate,
    troubles,
    look: () => shared.runOnce(gate),
    run: (signal: AbortSignal) => shared.run(gate, signal),
    /** Whether an item would get in now. */
    async isOpen(host: string): Promise<boolean> {
      return gate.enter(host, 0, new AbortController().signal).then(
        (leave) => {
          leave();
          return true;
        },
        () => false,
      );
    },
  };
}

function openTwo() {
  const clock = new FakeClock();
  const pauses = openMemoryHostPauses();
  return { clock, pauses, one: openProcess('one', clock, pauses), two: openProcess('two', clock, pauses) };
}

test('a pause that a host asked one process for is kept by all, and is reported with its reason', async () => {
  const { clock, pauses, one, two } = openTwo();
  one.gate.hold('a.gov', 60_000, 'the server says that we ask too often');
  await one.look();
  await two.look();
  assert.deepEqual(await pauses.inForce(clock.now()), [
    { host: 'a.gov', until: clock.now() + 60_000, reason: 'the server says that we ask too often', reportedBy: 1 },
  ]);
  assert.deepEqual(
    [await one.isOpen('a.gov'), await two.isOpen('a.gov'), await two.isOpen('b.gov')],
    [false, false, true],
  );
  await clock.advance(59_999);
  assert.equal(await two.isOpen('a.gov'), false);
  await clock.advance(1);
  assert.deepEqual([await one.isOpen('a.gov'), await two.isOpen('a.gov')], [true, true]);
});

test('a pause that is lifted ends in every process at its next look, even for items waiting at the gate', async () => {
  const { clock, pauses, one, two } = openTwo();
  one.gate.hold('a.gov', 3_600_000, 'later');
  await one.look();
  await two.look();
  let entered = 0;
  for (const { gate } of [one, two]) {
    void gate.enter('a.gov', Number.POSITIVE_INFINITY, new AbortController().signal).then(() => (entered += 1));
  }
  await clock.turn();
  assert.equal(entered, 0);
  await pauses.lift('a.gov', clock.now());
  await one.look();
  await two.look();
  await clock.turn();
  assert.equal(entered, 2);
  assert.equal(clock.sleepers, 0, 'a timer of the former pause is left');
});

test('a host that asks again after its pause was lifted is left alone again', async () => {
  const { clock, pauses, one, two } = openTwo();
  one.gate.hold('a.gov', 60_000, 'first');
  await one.look();
  await pauses.lift('a.gov', clock.now());
  await one.look();
  await clock.advance(1);
  one.gate.hold('a.gov', 60_000, 'again');
  await one.look();
  await two.look();
  assert.deepEqual([await one.isOpen('a.gov'), await two.isOpen('a.gov')], [false, false]);
  assert.equal((await pauses.inForce(clock.now()))[0]?.reason, 'again');
});

test('a process that had not yet reported what the host said before its pause was lifted lets its items go, too', async () => {
  const { clock, pauses, one, two } = openTwo();
  one.gate.hold('a.gov', 60_000, 'slow down');
  two.gate.hold('a.gov', 60_000, 'slow down');
  await one.look();
  await clock.advance(10);
  await pauses.lift('a.gov', clock.now());
  await two.look();
  await one.look();
  assert.deepEqual([await one.isOpen('a.gov'), await two.isOpen('a.gov')], [true, true]);
  assert.deepEqual(await pauses.inForce(clock.now()), []);
});

test('a pause that began while a process looked is not taken for the one that was lifted', async () => {
  const { clock, pauses, one } = openTwo();
  one.gate.hold('a.gov', 60_000, 'first');
  await one.look();
  await pauses.lift('a.gov', clock.now());
  const looking = one.look();
  one.gate.hold('a.gov', 120_000, 'again');
  await looking;
  assert.equal(await one.isOpen('a.gov'), false);
});

test('answers that come together make one report, and short pauses make none', async () => {
  const clock = new FakeClock();
  const memory = openMemoryHostPauses();
  let reports = 0;
  const pauses: HostPauses = {
    ...memory,
    pause: (...report) => {
      reports += 1;
      return memory.pause(...report);
    },
  };
  const { gate, look } = openProcess('one', clock, pauses);
  for (let at = 0; at < 50; at += 1) {
    gate.hold('a.gov', 60_000, 'slow down');
    gate.hold('short.gov', 9999, 'slow down');
    await clock.advance(10);
  }
  await look();
  assert.equal(reports, 1);
  gate.hold('a.gov', 60_000, 'slow down');
  await look();
  assert.equal(reports, 1, 'it ends only half a second later');
  await clock.advance(10_000);
  gate.hold('a.gov', 60_000, 'slow down');
  await look();
  assert.equal(reports, 2);
});

test('a pause is shared while there are fewer than five hundred others', async () => {
  const { clock, pauses, one } = openTwo();
  for (let at = 0; at < 600; at += 1) one.gate.hold(`host-${at}.gov`, 60_000, 'slow down');
  await one.look();
  assert.equal((await pauses.inForce(clock.now())).length, 500);
  assert.equal(await one.isOpen('host-599.gov'), false, 'its own gate keeps all of them');
});

test('while pauses can be neither reported nor read, the gate keeps to what it knows and reports later', async () => {
  const clock = new FakeClock();
  const memory = openMemoryHostPauses();
  let isBroken = true;
  const pauses: HostPauses = {
    ...memory,
    pause: async (...report) => {
      if (isBroken) throw new Error('no connection');
      await memory.pause(...report);
    },
  };
  const one = openProcess('one', clock, pauses);
  const stop = new AbortController();
  const running = one.run(stop.signal);
  one.gate.hold('a.gov', 60_000, 'slow down');
  await clock.advance(5000);
  assert.equal(one.troubles.length, 1, 'it is told once');
  assert.equal(await one.isOpen('a.gov'), false);
  isBroken = false;
  await clock.advance(1000);
  assert.equal((await memory.inForce(clock.now())).length, 1);
  stop.abort();
  await running;
  assert.equal(clock.sleepers, 0);
});

test('a pause that another process set by a wrong clock is kept for at most a day', async () => {
  const { clock, one } = openTwo();
  const pauses: HostPauses = {
    ...openMemoryHostPauses(),
    inForce: async (now) => [{ host: 'a.gov', until: now + YEAR_MS, reason: 'x', reportedBy: 1 }],
  };
  const misled = openProcess('misled', clock, pauses);
  await misled.look();
  await clock.advance(86_400_000);
  assert.deepEqual([await misled.isOpen('a.gov'), await one.isOpen('a.gov')], [true, true]);
});

test('an operator pauses a host for all processes, with a note as the reason, and ends it', async () => {
  const clock = new FakeClock();
  const [pauses, settings] = [openMemoryHostPauses(), openMemoryHostSettings()];
  const one = openProcess('one', clock, pauses, settings);
  const paused = settingsFor('a.gov', 'v1', { pausedUntil: clock.now() + YEAR_MS, note: 'maintenance' });
  await settings.set(paused);
  await one.look();
  await assert.rejects(one.gate.enter('a.gov', 1000, new AbortController().signal), {
    ...{ name: 'HostHeld', why: 'maintenance' },
  });
  assert.deepEqual(await pauses.inForce(clock.now()), [], 'it is not taken for a pause that the host asked for');

  // This is longer than any host may ask for: each look keeps it up.
  await clock.advance(25 * 3_600_000);
  await one.look();
  assert.equal(await one.isOpen('a.gov'), false);

  await settings.set({ ...paused, pausedUntil: null, version: 'v2' });
  await one.look();
  assert.equal(await one.isOpen('a.gov'), true);
});

test('after an operator ended a pause, the one that the host asked for still holds, and the other way round', async () => {
  const clock = new FakeClock();
  const [pauses, settings] = [openMemoryHostPauses(), openMemoryHostSettings()];
  const [one, two] = [openProcess('one', clock, pauses, settings), openProcess('two', clock, pauses, settings)];
  await settings.set(settingsFor('a.gov', 'v1', { pausedUntil: clock.now() + 100_000 }));
  await two.look();
  one.gate.hold('a.gov', 60_000, 'slow down');
  await one.look();
  await two.look();
  await settings.clear('a.gov');
  await one.look();
  await two.look();
  assert.deepEqual([await one.isOpen('a.gov'), await two.isOpen('a.gov')], [false, false]);
  await clock.advance(60_000);
  assert.deepEqual([await one.isOpen('a.gov'), await two.isOpen('a.gov')], [true, true]);

  one.gate.hold('b.gov', 60_000, 'slow down');
  await settings.set(settingsFor('b.gov', 'v1', { pausedUntil: clock.now() + 30_000 }));
  await one.look();
  await pauses.lift('b.gov', clock.now() + 1);
  await one.look();
  assert.equal(await one.isOpen('b.gov'), false);
  await clock.advance(30_000);
  assert.equal(await one.isOpen('b.gov'), true);
});

test('limits that an operator sets are those of every gate at its next look, until they are cleared', async () => {
  const clock = new FakeClock();
  const [pauses, settings] = [openMemoryHostPauses(), openMemoryHostSettings()];
  const { gate, look } = openProcess('one', clock, pauses, settings);
  const entered: string[] = [];
  const { signal } = new AbortController();
  const enter = (name: string) => void gate.enter('a.gov', 0, signal).then(() => entered.push(name));
  await settings.set(settingsFor('a.gov', 'v1', { maxConcurrent: 2 }));
  await look();
  for (const name of ['a', 'b', 'c', 'd']) enter(name);
  await clock.advance(0);
  assert.deepEqual(entered, ['a', 'b']);
  await settings.set(settingsFor('a.gov', 'v2', { maxConcurrent: 3 }));
  await look();
  await clock.advance(0);
  assert.deepEqual(entered, ['a', 'b', 'c']);
  await settings.clear('a.gov');
  await look();
  await clock.advance(0);
  assert.deepEqual(entered, ['a', 'b', 'c', 'd']);

  await settings.set(settingsFor('a.gov', 'v3', { requestsPerSecond: 2, minDelayMs: 100 }));
  await look();
  for (const name of ['e', 'f']) enter(name);
  await clock.advance(499);
  assert.equal(entered.includes('e'), false);
  await clock.advance(1);
  assert.equal(entered.at(-1), 'e');
  await clock.advance(500);
  assert.equal(entered.at(-1), 'f');
});
