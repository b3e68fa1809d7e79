import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryQueue } from '../support/memory/work-queue.ts';
import { roomFor } from '../support/room.ts';

const ref = { jobId: 'job-1', batchId: 'b-1', lane: 'http' } as const;

test('a queue at which no receiver waits holds no timer', async () => {
  const clock = new FakeClock();
  const queue = openMemoryQueue(clock);
  const stop = new AbortController();
  await queue.send([ref]);
  await queue.receive('http', roomFor(1), 1000, stop.signal);
  assert.equal(clock.sleepers, 0);
  const waiting = queue.receive('http', roomFor(1), 1000, stop.signal);
  await clock.turn();
  assert.equal(clock.sleepers, 1);
  stop.abort();
  await waiting;
  assert.equal(clock.sleepers, 0);
});

test('however many wait, one timer is enough', async () => {
  const clock = new FakeClock();
  const queue = openMemoryQueue(clock);
  const stop = new AbortController();
  await queue.send([ref]);
  await queue.receive('http', roomFor(1), 1000, stop.signal);
  const waiting = [1, 2, 3].map(() => queue.receive('http', roomFor(1), 1000, stop.signal));
  await clock.turn();
  assert.equal(clock.sleepers, 1);
  await clock.advance(1000);
  stop.abort();
  assert.equal((await Promise.all(waiting)).flat().length, 1);
});

test('two queues do not know each other’s receipts', async () => {
  const clock = new FakeClock();
  const [before, after] = [openMemoryQueue(clock), openMemoryQueue(clock)];
  const { signal } = new AbortController();
  await before.send([ref]);
  await after.send([ref]);
  const [old] = await before.receive('http', roomFor(1), 1000, signal);
  const [current] = await after.receive('http', roomFor(1), 1000, signal);
  assert.notEqual(old?.receipt, current?.receipt);
});
