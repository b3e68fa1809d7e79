import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type BeatDeps, beatOnce } from '../../src/worker/heartbeat.ts';
import { type Held, LeaseTable } from '../../src/worker/lease-table.ts';
import { FRESH_WATCH, type Watch, watch } from '../../src/worker/watchdog.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { inProcessHeartbeat } from '../support/in-process-heartbeat.ts';

const LEASE_MS = 8000;

function held(name: string): Held {
  return { token: `token-${name}`, receipt: `receipt-${name}` };
}

/** A ledger and a queue that record what they are asked, and give the answers that a test sets. */
function openBeat(answer: { lost?: readonly string[]; renewFails?: boolean; extendFails?: boolean } = {}) {
  const clock = new FakeClock();
  const heard: unknown[][] = [];
  const parts: BeatDeps = {
    clock,
    leaseMs: LEASE_MS,
    leases: {
      async renew(tokens, until) {
        heard.push(['renew', tokens, until]);
        if (answer.renewFails) throw new Error('no ledger');
        return answer.lost ?? [];
      },
    },
    queue: {
      async extend(receipts, hideMs) {
        heard.push(['extend', receipts, hideMs]);
        if (answer.extendFails) throw new Error('no queue');
      },
    },
  };
  return { clock, heard, parts, answer };
}

test('a beat renews every lease and hides every message again', async () => {
  const { clock, heard, parts } = openBeat({ lost: ['token-b'] });
  assert.deepEqual(await beatOnce([held('a'), held('b')], parts), ['token-b']);
  assert.deepEqual(heard.sort(), [
    ['extend', ['receipt-a', 'receipt-b'], LEASE_MS],
    ['renew', ['token-a', 'token-b'], clock.now() + LEASE_MS],
  ]);
});

test('with nothing in hand there is nothing to ask', async () => {
  const { heard, parts } = openBeat();
  assert.deepEqual(await beatOnce([], parts), []);
  assert.deepEqual(heard, []);
});

test('a ledger that cannot be asked is an error, a queue that cannot be asked is not', async () => {
  await assert.rejects(beatOnce([held('a')], openBeat({ renewFails: true }).parts), /no ledger/);
  assert.deepEqual(await beatOnce([held('a')], openBeat({ extendFails: true, lost: ['x'] }).parts), ['x']);
});

test('a queue that hangs does not cost a lease', async () => {
  const { parts } = openBeat({ lost: ['x'] });
  const hanging = { extend: () => new Promise<void>(() => {}) };
  assert.deepEqual(await beatOnce([held('a')], { ...parts, queue: hanging }), ['x']);
});

test('it beats four times in the life of a lease, for what is held at the time', async () => {
  const { clock, heard, parts } = openBeat();
  const heartbeat = inProcessHeartbeat({ ...parts, onTrouble: assert.ifError });
  const renewals = () => heard.filter(([kind]) => kind === 'renew').map(([, tokens]) => tokens);
  heartbeat.hold(0, held('a'));
  await clock.advance(LEASE_MS / 4 - 1);
  assert.deepEqual(renewals(), []);
  await clock.advance(1);
  heartbeat.hold(1, held('b'));
  heartbeat.drop(0);
  await clock.advance(LEASE_MS / 4);
  heartbeat.hold(1, held('c'));
  await clock.advance(LEASE_MS / 2);
  assert.deepEqual(renewals(), [['token-a'], ['token-b'], ['token-c'], ['token-c']]);
  await heartbeat.stop();
  assert.equal(clock.sleepers, 0);
});

test('a lost lease is reported, unless its slot has let it go meanwhile', async () => {
  const { clock, parts } = openBeat({ lost: ['token-a', 'token-b', 'token-x'] });
  const heartbeat = inProcessHeartbeat({ ...parts, onTrouble: assert.ifError });
  const lost: string[] = [];
  heartbeat.onLost((token) => lost.push(token));
  heartbeat.hold(0, held('a'));
  heartbeat.hold(1, held('b'));
  heartbeat.drop(1);
  await clock.advance(LEASE_MS / 4);
  assert.deepEqual(lost, ['token-a']);
  await heartbeat.stop();
});

test('a beat that fails is reported, and the next one comes all the same', async () => {
  const { clock, heard, parts, answer } = openBeat({ renewFails: true });
  const troubles: unknown[] = [];
  const heartbeat = inProcessHeartbeat({ ...parts, onTrouble: (error) => troubles.push(error) });
  heartbeat.hold(0, held('a'));
  await clock.advance(LEASE_MS / 4);
  assert.equal(troubles.length, 1);
  answer.renewFails = false;
  await clock.advance(LEASE_MS / 4);
  assert.equal(troubles.length, 1);
  assert.equal(heard.filter(([kind]) => kind === 'renew').length, 2);
  await heartbeat.stop();
});

test('a renewal that is never answered does not stop the beats, and all the others are heard', async () => {
  const { clock, parts } = openBeat();
  const asked: number[] = [];
  const leases = {
    renew: (): Promise<readonly string[]> => {
      asked.push(clock.elapsed());
      return asked.length === 1 ? new Promise(() => {}) : Promise.resolve(['token-a']);
    },
  };
  const troubles: string[] = [];
  const heartbeat = inProcessHeartbeat({ ...parts, leases, onTrouble: (error) => troubles.push(String(error)) });
  const lost: string[] = [];
  heartbeat.onLost((token) => lost.push(token));
  heartbeat.hold(0, held('a'));
  await clock.advance(LEASE_MS / 2 - 1);
  assert.deepEqual([asked.length, lost], [1, []]);
  await clock.advance(1);
  assert.deepEqual([asked.length, lost], [2, ['token-a']]);
  assert.deepEqual(troubles, [`NotAnswered: a renewal of leases was not answered within ${LEASE_MS / 4} ms`]);
  await heartbeat.stop();
  assert.equal(clock.sleepers, 0);
});

test('an answer that comes late still says what is lost, and an error that comes late is not reported again', async () => {
  const { clock, parts } = openBeat();
  const answers: ((lost: readonly string[]) => void)[] = [];
  const failures: ((error: Error) => void)[] = [];
  const leases = {
    renew() {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      answers.push(resolve);
      failures.push(reject);
      return promise;
    },
  };
  const troubles: unknown[] = [];
  const heartbeat = inProcessHeartbeat({ ...parts, leases, onTrouble: (error) => troubles.push(error) });
  const lost: string[] = [];
  heartbeat.onLost((token) => lost.push(token));
  heartbeat.hold(0, held('a'));
  heartbeat.hold(1, held('b'));
  await clock.advance(LEASE_MS);
  heartbeat.drop(1);
  heartbeat.hold(1, held('c'));
  answers[0]?.(['token-a', 'token-b']);
  const told = troubles.length;
  failures[1]?.(new Error('too late'));
  await clock.advance(1);
  assert.deepEqual([lost, troubles.length], [['token-a'], told], 'the slot of b has another lease by now');
  await heartbeat.stop();
});

test('a table shows what its slots hold, and only that', () => {
  const table = LeaseTable.of(3);
  assert.deepEqual(table.read(), []);
  table.hold(0, held('a'));
  table.hold(2, { token: 'tökén', receipt: '' });
  assert.deepEqual(table.read(), [held('a'), { token: 'tökén', receipt: '' }]);
  table.hold(0, held('longer-than-before'));
  table.drop(2);
  assert.deepEqual(table.read(), [held('longer-than-before')]);
  assert.deepEqual(new LeaseTable(table.buffer).read(), [held('longer-than-before')], 'another view sees the same');
  assert.equal(new LeaseTable(table.buffer).slots, 3);
});

test('what does not fit into a slot is refused and changes nothing', () => {
  const table = LeaseTable.of(1);
  table.hold(0, held('a'));
  assert.throws(() => table.hold(0, { token: 't'.repeat(600), receipt: 'r'.repeat(1024) }), RangeError);
  assert.throws(() => table.hold(1, held('b')), RangeError);
  assert.throws(() => table.drop(-1), RangeError);
  assert.deepEqual(table.read(), [held('a')]);
  table.hold(0, { token: 't'.repeat(500), receipt: 'r'.repeat(1024) });
  assert.equal(table.read()[0]?.receipt.length, 1024, 'the longest receipts there are');
});

test('a thread that reads while another writes never sees a mixture', { timeout: 120_000 }, async () => {
  const table = LeaseTable.of(2);
  const reader = new Worker(new URL('heartbeat-reader.ts', import.meta.url), { workerData: table.buffer });
  const read = new Promise<{ reads: number; mixtures: number }>((resolve, reject) => {
    reader.once('message', resolve);
    reader.once('error', reject);
  });
  await new Promise<void>((resolve) => reader.once('online', resolve));
  for (let round = 0; round < 400_000; round += 1) {
    const token = 'abcdefgh'[round % 8]?.repeat(1 + (round % 90)) ?? '';
    table.hold(round % 2, { token, receipt: `${token}/${'r'.repeat(token.length)}` });
    // Now and then the reader gets time, if there is only one core for both.
    if (round % 1000 === 0) await new Promise(setImmediate);
  }
  table.tick();
  const { reads, mixtures } = await read;
  assert.equal(mixtures, 0);
  assert.ok(reads > 100, `only ${reads} reads`);
});

const EVERY_MS = 100;

function watched(seen: readonly { ticks: number; isHolding: boolean; at: number }[]): Watch {
  return seen.reduce((state, now) => watch(state, now, EVERY_MS), FRESH_WATCH);
}

test('a main thread that holds work and does not tick is silent from then on', () => {
  const looks = [0, 100, 200, 300].map((at) => ({ ticks: 7, isHolding: true, at }));
  assert.equal(watched(looks).silentMs, 300);
  assert.equal(watched([...looks, { ticks: 8, isHolding: true, at: 400 }]).silentMs, 0);
});

test('a main thread without work may be silent', () => {
  const looks = [0, 100, 200, 300].map((at) => ({ ticks: 7, isHolding: at > 250, at }));
  assert.equal(watched(looks).silentMs, 100);
});

test('time in which the whole process was stopped does not count', () => {
  const stopped = [
    { ticks: 7, isHolding: true, at: 0 },
    { ticks: 7, isHolding: true, at: 3_600_000 },
  ];
  assert.equal(watched(stopped).silentMs, 2 * EVERY_MS);
});
