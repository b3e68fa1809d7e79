import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ChangingRoom } from '../../../src/domain/changing-room.ts';
import type { Room } from '../../../src/domain/slot-share.ts';
import type { BatchRef } from '../../../src/ports/work-queue.ts';
import { startSqsInTime } from '../../support/aws/sqs-in-time.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { roomFor, roomForAnyJob } from '../../support/room.ts';
import { entriesOf, HIDE_MS, idsOf, NEVER, openQueue, receiptsOf } from './queue-support.ts';

/** A receiver that has its share of the job `busy`, and room for others. */
const FULL_OF_BUSY: Room = { most: 32, freeSlots: 16, freePlaces: 48, jobs: [['busy', 16, 16]] };

const emulator = await startSqsInTime();
after(() => emulator.stop());

test('messages are grouped by job, so that SQS can prefer jobs with few in flight', async () => {
  const { queue, calls } = await openQueue(emulator);
  const long = 'x'.repeat(129);
  await queue.send([...refsOf('county-7', 2), ...refsOf('Κρήτη', 1), ...refsOf(long, 1)]);
  const [sent = {}] = calls('SendMessageBatchCommand');
  const groups = entriesOf<{ MessageGroupId: string }>(sent).map(({ MessageGroupId }) => MessageGroupId);
  assert.deepEqual(groups.slice(0, 2), ['county-7', 'county-7']);
  for (const group of groups.slice(2)) assert.match(group, /^[0-9a-f]{64}$/);
  assert.equal(new Set(groups).size, 3);
});

test('a message of another job comes although more of the busy job are there than one request brings', async () => {
  const { queue, clock, calls } = await openQueue(emulator);
  await queue.send([...refsOf('busy', 25), ...refsOf('small', 1)]);
  const receiving = queue.receive('http', new ChangingRoom(FULL_OF_BUSY), HIDE_MS, NEVER);
  await passOver(clock, receiving);
  const deliveries = await receiving;
  assert.deepEqual(
    deliveries.map(({ ref }) => ref.jobId),
    ['small'],
  );
  assert.equal(calls('ReceiveMessageCommand').length, 3);
  emulator.advance(6000);
  assert.equal((await queue.receive('http', roomFor(100), HIDE_MS, NEVER)).length, 25, 'all others are there again');
});

test('while only the busy job has messages, it is asked less and less often', async () => {
  const { queue, clock, calls } = await openQueue(emulator);
  const stop = new AbortController();
  await queue.send(refsOf('busy', 1));
  const receiving = queue.receive('http', new ChangingRoom(FULL_OF_BUSY), HIDE_MS, stop.signal);
  const waits: number[] = [];
  for (let pass = 0; pass < 4; pass += 1) {
    while (clock.sleepers === 0) await clock.turn();
    const before = clock.elapsed();
    while (clock.sleepers > 0) await clock.advance(500);
    waits.push(clock.elapsed() - before);
    emulator.advance(6000);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 5000]);
  while (clock.sleepers === 0) await clock.turn();
  stop.abort();
  assert.deepEqual(await receiving, []);
  assert.equal(calls('ReceiveMessageCommand').length, 5);
  assert.deepEqual(
    idsOf(await queue.receive('http', roomFor(1), HIDE_MS, NEVER)),
    ['busy-0'],
    'it is given back at once',
  );
});

test('what was passed over is taken at once when a slot becomes free, and stays hidden as long as asked for', async () => {
  const { queue, clock, calls } = await openQueue(emulator);
  await queue.send(refsOf('busy', 3));
  const room = new ChangingRoom(FULL_OF_BUSY);
  const receiving = queue.receive('http', room, HIDE_MS, NEVER);
  while (clock.sleepers === 0) await clock.turn();
  room.change({ ...roomForAnyJob(2), freeSlots: 2 });
  assert.equal((await receiving).length, 1, 'as many as fit into what is free');
  assert.equal(calls('ReceiveMessageCommand').length, 1);
  emulator.advance(HIDE_MS - 1000);
  assert.equal((await queue.receive('http', roomFor(10), HIDE_MS, NEVER)).length, 2);
});

test('a message that is passed over again and again does not become a dead letter', async () => {
  const { queue, clock, calls } = await openQueue(emulator, { maxReceives: 10 });
  const stop = new AbortController();
  await queue.send(refsOf('busy', 2));
  const receiving = queue.receive('http', new ChangingRoom(FULL_OF_BUSY), HIDE_MS, stop.signal);
  while (calls('ReceiveMessageCommand').length < 35) {
    while (clock.sleepers === 0) await clock.turn();
    await clock.advance(5000);
    emulator.advance(6000);
  }
  while (clock.sleepers === 0) await clock.turn();
  stop.abort();
  await receiving;
  assert.deepEqual(await queue.takeDead('http', 10), []);
  const there = await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
  assert.deepEqual(idsOf(there).sort(), ['busy-0', 'busy-1']);
  await queue.ack(receiptsOf(there));
});

test('a worker that may not send leaves such a message alone for ten minutes', async () => {
  const { queue, clock, calls, meddle, troubles } = await openQueue(emulator, { maxReceives: 10 });
  const stop = new AbortController();
  await queue.send(refsOf('busy', 1));
  meddle('SendMessageBatchCommand', async () => {
    throw Object.assign(new Error('no right to send'), { name: 'AccessDenied' });
  });
  const receiving = queue.receive('http', new ChangingRoom(FULL_OF_BUSY), HIDE_MS, stop.signal);
  const hidden = () =>
    calls('ChangeMessageVisibilityBatchCommand').map(
      (input) => entriesOf<{ VisibilityTimeout: number }>(input)[0]?.VisibilityTimeout,
    );
  while (hidden().length < 5) {
    while (clock.sleepers === 0) await clock.turn();
    await clock.advance(5000);
    emulator.advance(6000);
    for (let turn = 0; turn < 20; turn += 1) await clock.turn();
  }
  assert.deepEqual(hidden(), [2, 3, 5, 6, 600]);
  assert.match(troubles[0] ?? '', /no right to send/);
  stop.abort();
  await receiving;
});

/** Lets time pass whenever the receiver waits for it, until it has something. */
async function passOver(clock: FakeClock, receiving: Promise<unknown>): Promise<void> {
  let isThere = false;
  void receiving.then(() => (isThere = true));
  while (!isThere) {
    if (clock.sleepers > 0) await clock.advance(1000);
    else await clock.turn();
  }
}

function refsOf(jobId: string, count: number): BatchRef[] {
  return Array.from({ length: count }, (_, index) => ({ jobId, batchId: `${jobId}-${index}`, lane: 'http' }));
}
