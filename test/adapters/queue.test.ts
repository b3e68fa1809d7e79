import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import type { Delivery } from '../../src/ports/work-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { roomFor } from '../support/room.ts';
import { batches } from './socket-owner.ts';

const HIDE_MS = 10_000;
const NEVER = new AbortController().signal;

function openQueue() {
  const clock = new FakeClock();
  return { clock, queue: new EmbeddedWorkQueue(clock) };
}

function idsOf(deliveries: readonly Delivery[]): string[] {
  return deliveries.map(({ ref }) => ref.batchId);
}

test('a waiting receiver is served by the send itself, without a timer', async () => {
  const { clock, queue } = openQueue();
  const waiting = queue.receive('http', roomFor(10), HIDE_MS, NEVER);
  assert.equal(clock.sleepers, 0);
  await queue.send(batches('a'));
  assert.deepEqual(idsOf(await waiting), ['a']);
});

test('several waiting receivers share what comes, so that none idles while another has everything', async () => {
  const { queue } = openQueue();
  const waiting = [1, 2, 3].map(() => queue.receive('http', roomFor(100), HIDE_MS, NEVER));
  await queue.send(batches('a', 'b', 'c', 'd', 'e', 'f', 'g'));
  assert.deepEqual((await Promise.all(waiting)).map(idsOf), [
    ['a', 'b', 'c'],
    ['d', 'e'],
    ['f', 'g'],
  ]);
});

test('the receiver that came first is served first, and none is overtaken by one that comes later', async () => {
  const { queue } = openQueue();
  const served: string[] = [];
  const receive = (name: string) => queue.receive('http', roomFor(1), HIDE_MS, NEVER).then(() => served.push(name));
  const waiting = [receive('first'), receive('second'), receive('third')];
  await queue.send(batches('a', 'b'));
  await queue.send(batches('c'));
  await Promise.all(waiting);
  assert.deepEqual(served, ['first', 'second', 'third']);
});

test('a timer runs only while a receiver waits for something hidden', async () => {
  const { clock, queue } = openQueue();
  await queue.send(batches('a'));
  const [delivery] = await queue.receive('http', roomFor(1), HIDE_MS, NEVER);
  assert.equal(clock.sleepers, 0, 'nobody waits');
  const stop = new AbortController();
  const waiting = queue.receive('http', roomFor(1), HIDE_MS, stop.signal);
  assert.equal(clock.sleepers, 1);
  stop.abort();
  assert.deepEqual(await waiting, []);
  assert.equal(clock.sleepers, 0, 'nobody waits any more');

  const served = queue.receive('http', roomFor(1), HIDE_MS, NEVER);
  assert.equal(clock.sleepers, 1);
  await queue.giveBack([delivery?.receipt ?? '']);
  await served;
  assert.equal(clock.sleepers, 0, 'everybody is served');
});

test('a wall clock that jumps neither shows nor hides a message', async () => {
  const { clock, queue } = openQueue();
  await queue.send(batches('a'));
  await queue.receive('http', roomFor(1), HIDE_MS, NEVER);
  clock.jump(10 * HIDE_MS);
  assert.equal((await queue.depth())[0]?.delivered, 1);
  clock.jump(-20 * HIDE_MS);
  await clock.advance(HIDE_MS);
  assert.equal((await queue.depth())[0]?.waiting, 1);
});

test('a receipt of an earlier life of the queue means nothing to the next one', async () => {
  const clock = new FakeClock();
  const [old, young] = [new EmbeddedWorkQueue(clock), new EmbeddedWorkQueue(clock)];
  for (const queue of [old, young]) await queue.send(batches('a'));
  const [delivery] = await old.receive('http', roomFor(1), HIDE_MS, NEVER);
  await young.receive('http', roomFor(1), HIDE_MS, NEVER);
  await young.ack([delivery?.receipt ?? '']);
  assert.equal((await young.depth())[0]?.delivered, 1);
});
