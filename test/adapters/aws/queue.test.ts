import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { openSqsQueue } from '../../../src/adapters/aws/work-queue.ts';
import { startSqsInTime } from '../../support/aws/sqs-in-time.ts';
import { roomFor } from '../../support/room.ts';
import { entriesOf, HIDE_MS, idsOf, NEVER, type Opened, openQueue, receiptsOf, refs } from './queue-support.ts';

const HOUR_MS = 3_600_000;

const emulator = await startSqsInTime();
after(() => emulator.stop());

test('a thousand messages, sent, received and acknowledged in tens, cost three hundred requests', async () => {
  const { queue, calls } = await openQueue(emulator);
  await queue.send(refs(1000));
  const seen = new Set<string>();
  while (seen.size < 1000) {
    const deliveries = await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
    for (const id of idsOf(deliveries)) seen.add(id);
    await queue.ack(receiptsOf(deliveries));
  }
  const operations = ['SendMessageBatchCommand', 'ReceiveMessageCommand', 'DeleteMessageBatchCommand'] as const;
  assert.deepEqual(
    operations.map((operation) => calls(operation).length),
    [100, 100, 100],
  );
  assert.deepEqual(await queue.depth(), [
    { lane: 'http', waiting: 0, delivered: 0 },
    { lane: 'browser', waiting: 0, delivered: 0 },
  ]);
});

test('acknowledgements that come one by one share requests, and one that comes alone does not wait', async () => {
  const { clock, queue, calls } = await openQueue(emulator);
  await queue.send(refs(31));
  const receipts = receiptsOf(await queue.receive('http', roomFor(31), HIDE_MS, NEVER));
  const [alone = '', ...others] = receipts;
  await queue.ack([alone]);
  assert.equal(clock.sleepers, 0);
  await Promise.all(others.slice(0, 15).map((receipt) => queue.ack([receipt])));
  const sizes = () => calls('DeleteMessageBatchCommand').map((input) => entriesOf(input).length);
  assert.deepEqual(sizes(), [1, 10, 5]);
});

test('while a request is under way the next ones gather, and go when it is answered', async () => {
  const { clock, queue, calls, meddle } = await openQueue(emulator);
  await queue.send(refs(5));
  const receipts = receiptsOf(await queue.receive('http', roomFor(5), HIDE_MS, NEVER));
  const answered = Promise.withResolvers<void>();
  meddle('DeleteMessageBatchCommand', async ({ go }) => {
    await answered.promise;
    return go();
  });
  const acks: Promise<void>[] = [];
  for (const receipt of receipts) {
    acks.push(queue.ack([receipt]));
    await clock.turn();
    await clock.turn();
  }
  answered.resolve();
  await Promise.all(acks);
  assert.deepEqual(
    calls('DeleteMessageBatchCommand').map((input) => entriesOf(input).length),
    [1, 4],
  );
  assert.equal(clock.sleepers, 0, 'no timer is left');
});

test('a request that hangs does not hold the next ones up for longer than a moment', async () => {
  const { clock, queue, calls, meddle } = await openQueue(emulator);
  await queue.send(refs(2));
  const [one = '', two = ''] = receiptsOf(await queue.receive('http', roomFor(2), HIDE_MS, NEVER));
  const answered = Promise.withResolvers<void>();
  meddle('DeleteMessageBatchCommand', async ({ input, go }) => {
    if (calls('DeleteMessageBatchCommand')[0] === input) await answered.promise;
    return go();
  });
  const hanging = queue.ack([one]);
  await clock.turn();
  const next = queue.ack([two]);
  await clock.advance(20);
  await next;
  answered.resolve();
  await hanging;
});

test('an empty queue costs one long poll, however much is asked for', async () => {
  const { queue, calls } = await openQueue(emulator);
  const waiting = queue.receive('http', roomFor(100), HIDE_MS, NEVER);
  await queue.depth();
  assert.deepEqual(
    calls('ReceiveMessageCommand').map(({ WaitTimeSeconds }) => WaitTimeSeconds),
    [20],
  );
  await queue.send(refs(3));
  assert.ok((await waiting).length > 0);
});

test('a full queue gives as much as is asked for, and no more', async () => {
  const { queue, calls } = await openQueue(emulator);
  await queue.send(refs(100));
  assert.equal((await queue.receive('http', roomFor(32), HIDE_MS, NEVER)).length, 32);
  assert.deepEqual(
    calls('ReceiveMessageCommand').map(({ WaitTimeSeconds, MaxNumberOfMessages }) => [
      WaitTimeSeconds,
      MaxNumberOfMessages,
    ]),
    [
      [20, 10],
      [0, 10],
      [0, 10],
      [0, 2],
    ],
  );
  assert.equal((await queue.receive('http', roomFor(1000), HIDE_MS, NEVER)).length, 68);
});

test('a long poll that brings nothing is followed by the next', async () => {
  const { queue, calls, meddle } = await openQueue(emulator);
  await queue.send(refs(1));
  meddle('ReceiveMessageCommand', ({ go }) => (calls('ReceiveMessageCommand').length < 4 ? Promise.resolve({}) : go()));
  assert.deepEqual(idsOf(await queue.receive('http', roomFor(1), HIDE_MS, NEVER)), ['b-0']);
  assert.equal(calls('ReceiveMessageCommand').length, 4);
});

test('times are whole seconds for SQS: never less than asked for, never zero, never more than it takes', async () => {
  const { queue, calls } = await openQueue(emulator);
  await queue.send(refs(3));
  for (const hideMs of [1, 1001, 100 * HOUR_MS]) await queue.receive('http', roomFor(1), hideMs, NEVER);
  assert.deepEqual(
    calls('ReceiveMessageCommand').map(({ VisibilityTimeout }) => VisibilityTimeout),
    [1, 2, 43_200],
  );
});

test('a message is never hidden beyond twelve hours after it was received, no matter which process extends it', async () => {
  const { clock, sqs, queueUrls, queue } = await openQueue(emulator);
  await queue.send(refs(1));
  const receipts = receiptsOf(await queue.receive('http', roomFor(1), 12 * HOUR_MS, NEVER));
  // This is a queue like that of a heartbeat thread: it has not seen the message.
  const beating = openSqsQueue({ sqs, queueUrls, clock });
  const extensions = watchExtensions({ sqs });
  const ages: number[] = [];
  for (const waitMs of [0, 10 * HOUR_MS, 1.5 * HOUR_MS, 0.49 * HOUR_MS, 0.02 * HOUR_MS]) {
    await clock.advance(waitMs);
    ages.push((ages.at(-1) ?? 0) + waitMs / 1000);
    await beating.extend(receipts, HOUR_MS);
  }
  assert.deepEqual(extensions.slice(0, 2), [3600, 3600]);
  assert.equal(extensions.length, 4, 'the last one came too late');
  for (const [index, seconds] of extensions.entries()) {
    assert.ok(seconds >= 1 && (ages[index] ?? 0) + seconds <= 43_200, `${seconds} s at ${ages[index]} s`);
  }
  assert.ok((ages[2] ?? 0) + (extensions[2] ?? 0) > 43_100, 'as long as is allowed');
});

test('a receipt from a clock that is ahead is taken for a new one', async () => {
  const { clock, sqs, queue } = await openQueue(emulator);
  await queue.send(refs(1));
  const receipts = receiptsOf(await queue.receive('http', roomFor(1), HIDE_MS, NEVER));
  clock.jump(-HOUR_MS);
  const extensions = watchExtensions({ sqs });
  await queue.extend(receipts, 12 * HOUR_MS);
  assert.deepEqual(extensions, [43_170]);
});

test('ids may be as long and as strange as they are', async () => {
  const { queue } = await openQueue(emulator);
  const strange = refs(10).map((ref, index) => ({
    ...ref,
    jobId: `ü"\\'${index}`.repeat(120),
    batchId: `${index}:🦀`,
  }));
  assert.deepEqual(await queue.send(strange), { refused: [] });
  const deliveries = await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
  assert.deepEqual(
    deliveries.map(({ ref }) => ref),
    strange,
  );
});

test('messages that are not ours are reported once, never delivered, and left to the dead letters', async () => {
  const { sqs, queue, queueUrls, troubles } = await openQueue(emulator, { maxReceives: 2 });
  const bodies = [
    ...['hello', '[]', 'null', '{"v":1}', '{"v":2,"job":"j","batch":"b","lane":"http"}'],
    ...['{"v":1,"job":"j","batch":"b","lane":"browser"}', '{"v":1,"job":7,"batch":"b","lane":"http"}'],
  ];
  const Entries = bodies.map((body, index) => ({ Id: String(index), MessageBody: body }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: queueUrls.http, Entries }));
  for (const round of [1, 2]) {
    await queue.send(refs(1));
    const deliveries = await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
    assert.deepEqual(idsOf(deliveries), ['b-0'], `round ${round}`);
    await queue.ack(receiptsOf(deliveries));
    emulator.advance(HIDE_MS);
  }
  assert.equal(troubles.length, bodies.length);
  assert.match(troubles[0] ?? '', /^the http queue: message \S+ was not sent by Trawl.*"hello"$/);

  await queue.send(refs(1));
  assert.deepEqual(idsOf(await queue.receive('http', roomFor(10), HIDE_MS, NEVER)), ['b-0']);
  assert.deepEqual((await queue.depth())[0], { lane: 'http', waiting: 0, delivered: 1 });
  assert.deepEqual(await queue.takeDead('http', 100), [], 'nor are they ours as dead letters');
  assert.equal(troubles.length, bodies.length);
});

test('a queue that sets nothing aside has no dead letters, and is asked about it once', async () => {
  const { queue, calls } = await openQueue(emulator);
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await queue.takeDead('http', 10), []);
  await queue.forgetDead(['http:1:bogus', 'bogus']);
  assert.equal(calls('GetQueueAttributesCommand').length, 1);
  assert.equal(calls('ReceiveMessageCommand').length, 0);
});

test('dead letters are found, hidden while they are looked at, and gone when they are forgotten', async () => {
  const { queue } = await openQueue(emulator, { maxReceives: 1 });
  await queue.send(refs(25));
  while ((await queue.depth())[0]?.waiting !== 0) await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
  emulator.advance(HIDE_MS);
  // The next receive sets them aside.
  await queue.send(refs(1));
  await queue.receive('http', roomFor(10), HIDE_MS, NEVER);

  const dead = await queue.takeDead('http', 20);
  assert.equal(dead.length, 20);
  const rest = await queue.takeDead('http', 20);
  assert.equal(rest.length, 5);
  assert.deepEqual(await queue.takeDead('browser', 20), []);
  await queue.forgetDead(receiptsOf(dead));
  emulator.advance(60_000);
  assert.deepEqual(idsOf(await queue.takeDead('http', 20)).sort(), idsOf(rest).sort());
});

/** Seconds of every extension that is asked of SQS. */
function watchExtensions({ sqs }: Pick<Opened, 'sqs'>): number[] {
  const seconds: number[] = [];
  sqs.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === 'ChangeMessageVisibilityBatchCommand') {
          const entries = entriesOf<{ VisibilityTimeout: number }>(args.input as Record<string, unknown>);
          seconds.push(...entries.map(({ VisibilityTimeout }) => VisibilityTimeout));
        }
        return next(args);
      },
    { step: 'initialize' },
  );
  return seconds;
}
