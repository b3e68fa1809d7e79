import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startSqsInTime } from '../../support/aws/sqs-in-time.ts';
import { roomFor } from '../../support/room.ts';
import {
  type Call,
  entriesOf,
  failEntries,
  HIDE_MS,
  idsOf,
  inTime,
  NEVER,
  openQueue,
  receiptsOf,
  refs,
} from './queue-support.ts';

const BUSY = { Code: 'InternalError', SenderFault: false };
const BAD = { Code: 'InvalidMessageContents', SenderFault: true };
const STALE = { Code: 'ReceiptHandleIsInvalid', SenderFault: true };

const emulator = await startSqsInTime();
after(() => emulator.stop());

test('the rest of a batch that is taken in part is sent again, and only what cannot be sent is refused', async () => {
  const { clock, queue, calls, meddle, troubles } = await openQueue(emulator);
  let isBusy = true;
  meddle(
    'SendMessageBatchCommand',
    failEntries<{ MessageBody: string }>(({ MessageBody }) => {
      if (MessageBody.includes('"b-3"')) return isBusy ? BUSY : null;
      return MessageBody.includes('"b-5"') ? BAD : null;
    }),
  );
  const sending = queue.send(refs(10));
  while (clock.sleepers === 0) await clock.turn();
  isBusy = false;
  const { refused } = await inTime(clock, sending);
  assert.deepEqual(
    refused.map(({ batchId }) => batchId),
    ['b-5'],
  );
  assert.deepEqual(
    calls('SendMessageBatchCommand').map((input) => entriesOf(input).length),
    [10, 1],
  );
  const there = idsOf(await queue.receive('http', roomFor(20), HIDE_MS, NEVER));
  assert.deepEqual(there.sort(), ['b-0', 'b-1', 'b-2', 'b-3', 'b-4', 'b-6', 'b-7', 'b-8', 'b-9']);
  assert.deepEqual(troubles.length, 1);
});

test('an entry that the service fails to take three times is refused', async () => {
  const { clock, queue, calls, meddle } = await openQueue(emulator);
  meddle(
    'SendMessageBatchCommand',
    failEntries(({ MessageBody }: { MessageBody: string }) =>
      MessageBody.includes('"b-1"') ? { Code: 'KmsThrottled', SenderFault: true } : null,
    ),
  );
  const { refused } = await inTime(clock, queue.send(refs(2)));
  assert.deepEqual(refused, refs(2).slice(1));
  assert.equal(calls('SendMessageBatchCommand').length, 3);
});

test('an entry that the answer does not mention was not taken', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  meddle('SendMessageBatchCommand', async () => ({}));
  assert.deepEqual(await inTime(clock, queue.send(refs(1))), { refused: refs(1) });
});

test('a request that fails costs its own ten messages and no others', async () => {
  const { queue, calls, meddle, troubles } = await openQueue(emulator);
  meddle('SendMessageBatchCommand', async ({ input, go }) => {
    if (calls('SendMessageBatchCommand')[1] === input) throw new Error('throttled');
    return go();
  });
  const { refused } = await queue.send([...refs(25), ...refs(3, 'browser')]);
  assert.equal(refused.length, 10);
  assert.deepEqual(
    (await queue.depth()).map(({ waiting }) => waiting),
    [15, 3],
  );
  assert.deepEqual(troubles, ['the http queue: sending: throttled']);
});

test('what was sent but never confirmed is refused, and its message is there all the same', async () => {
  const { queue, meddle } = await openQueue(emulator);
  meddle('SendMessageBatchCommand', loseReply);
  assert.deepEqual(await queue.send(refs(3)), { refused: refs(3) });
  assert.deepEqual(idsOf(await queue.receive('http', roomFor(10), HIDE_MS, NEVER)), ['b-0', 'b-1', 'b-2']);
});

test('a reply that is lost on the wire makes a message come twice, and both can be acknowledged', async () => {
  const { sqs, queue } = await openQueue(emulator);
  let attempts = 0;
  sqs.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const answer = await next(args);
        if (commandName !== 'SendMessageBatchCommand') return answer;
        attempts += 1;
        if (attempts === 1)
          throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET', name: 'TimeoutError' });
        return answer;
      },
    { step: 'deserialize', priority: 'low' },
  );
  assert.deepEqual(await queue.send(refs(1)), { refused: [] });
  assert.equal(attempts, 2);
  const twice = await queue.receive('http', roomFor(10), HIDE_MS, NEVER);
  assert.deepEqual(idsOf(twice), ['b-0', 'b-0']);
  await queue.ack(receiptsOf(twice));
  assert.deepEqual((await queue.depth())[0], { lane: 'http', waiting: 0, delivered: 0 });
});

test('an acknowledgement that fails is retried; one that never succeeds is reported, and no caller waits for it', async () => {
  const { clock, queue, meddle, troubles } = await openQueue(emulator);
  await queue.send(refs(4));
  const [once = '', never = '', stale = '', good = ''] = receiptsOf(
    await queue.receive('http', roomFor(4), HIDE_MS, NEVER),
  );
  const tries = new Map<string, number>();
  meddle(
    'DeleteMessageBatchCommand',
    failEntries<{ ReceiptHandle: string }>(({ ReceiptHandle: handle }) => {
      tries.set(handle, (tries.get(handle) ?? 0) + 1);
      if (never.endsWith(handle)) return BUSY;
      if (stale.endsWith(handle)) return STALE;
      return once.endsWith(handle) && tries.get(handle) === 1 ? BUSY : null;
    }),
  );
  await inTime(clock, queue.ack([once, never, stale, good]));
  assert.deepEqual([...tries.values()], [2, 3, 1, 1]);
  assert.deepEqual(troubles, ['the http queue: acknowledging: SQS did not take an entry: InternalError, no word why']);
  emulator.advance(HIDE_MS);
  assert.deepEqual(idsOf(await queue.receive('http', roomFor(10), HIDE_MS, NEVER)).sort(), ['b-1', 'b-2']);
});

test('an acknowledgement whose reply was lost is reported, and does not hold up the next ones', async () => {
  const { queue, meddle, troubles } = await openQueue(emulator);
  await queue.send(refs(2));
  const [one = '', two = ''] = receiptsOf(await queue.receive('http', roomFor(2), HIDE_MS, NEVER));
  meddle('DeleteMessageBatchCommand', loseReply);
  await queue.ack([one]);
  await queue.ack([two]);
  assert.equal(troubles.length, 2);
  assert.equal((await queue.depth())[0]?.delivered, 0);
});

test('a bad receipt among many does not keep the others from being extended or given back', async () => {
  const { queue, troubles } = await openQueue(emulator);
  await queue.send(refs(15));
  const receipts = receiptsOf(await queue.receive('http', roomFor(15), HIDE_MS, NEVER));
  const withBad = ['http:1:no-such-handle', 'nonsense', 'dns:1:handle', '', ...receipts];
  await queue.extend(withBad, 2 * HIDE_MS);
  emulator.advance(HIDE_MS);
  assert.equal((await queue.depth())[0]?.delivered, 15);
  await queue.giveBack(withBad);
  assert.equal((await queue.depth())[0]?.waiting, 15);
  assert.deepEqual(troubles, []);
});

test('a receiver survives a queue that does not answer, and asks less and less often', async () => {
  const { clock, queue, calls, meddle, troubles } = await openQueue(emulator);
  await queue.send(refs(1));
  const askedAt: number[] = [];
  meddle('ReceiveMessageCommand', ({ go }) => {
    askedAt.push(clock.elapsed());
    return calls('ReceiveMessageCommand').length <= 12 ? Promise.reject(new Error('throttled')) : go();
  });
  assert.deepEqual(idsOf(await inTime(clock, queue.receive('http', roomFor(1), HIDE_MS, NEVER))), ['b-0']);
  assert.equal(troubles.length, 12);
  const pauses = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
  for (const [index, pause] of pauses.entries()) {
    const longest = Math.min(20_000, 100 * 2 ** index);
    assert.ok(pause >= longest / 2 && pause <= longest + 50, `pause ${index}: ${pause} ms`);
  }
});

test('a receiver that has its first ten does not lose them when the next request fails', async () => {
  const { queue, meddle } = await openQueue(emulator);
  await queue.send(refs(20));
  meddle('ReceiveMessageCommand', ({ input: { WaitTimeSeconds }, go }) =>
    WaitTimeSeconds === 0 ? Promise.reject(new Error('throttled')) : go(),
  );
  assert.equal((await queue.receive('http', roomFor(20), HIDE_MS, NEVER)).length, 10);
});

test('a receiver that is stopped while the queue does not answer stops at once', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  meddle('ReceiveMessageCommand', () => Promise.reject(new Error('throttled')));
  const stop = new AbortController();
  const waiting = queue.receive('http', roomFor(1), HIDE_MS, stop.signal);
  while (clock.sleepers === 0) await clock.turn();
  stop.abort();
  assert.deepEqual(await waiting, []);
  assert.equal(clock.sleepers, 0);
});

test('a message that was on its way to a stopped receiver is given back at once', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  await queue.send(refs(1));
  const delivered = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  meddle('ReceiveMessageCommand', async ({ go }) => {
    const answer = await go();
    delivered.resolve();
    await arrives.promise;
    return answer;
  });
  const stop = new AbortController();
  const stopped = queue.receive('http', roomFor(1), 1000 * HIDE_MS, stop.signal);
  await delivered.promise;
  stop.abort();
  assert.deepEqual(await stopped, [], 'it does not wait for what is on its way');
  assert.equal((await queue.depth())[0]?.delivered, 1);
  arrives.resolve();
  assert.deepEqual(idsOf(await queue.receive('http', roomFor(1), HIDE_MS, NEVER)), ['b-0']);
  assert.equal(clock.sleepers, 0, 'no timer is left');
});

test('a receiver that is stopped between two requests keeps nothing of the first', async () => {
  const { queue, meddle } = await openQueue(emulator);
  await queue.send(refs(20));
  const stop = new AbortController();
  meddle('ReceiveMessageCommand', ({ input: { WaitTimeSeconds }, go }) => {
    if (WaitTimeSeconds === 0) stop.abort();
    return go();
  });
  assert.deepEqual(await queue.receive('http', roomFor(20), HIDE_MS, stop.signal), []);
  assert.deepEqual((await queue.depth())[0], { lane: 'http', waiting: 20, delivered: 0 });
});

test('the long poll of a stopped receiver is cut when nothing comes within a moment', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  const ended = Promise.withResolvers<string>();
  meddle('ReceiveMessageCommand', async ({ go }) => {
    try {
      return await go();
    } catch (error) {
      ended.resolve((error as Error).name);
      throw error;
    }
  });
  const stop = new AbortController();
  const stopped = queue.receive('http', roomFor(1), HIDE_MS, stop.signal);
  await queue.depth();
  stop.abort();
  assert.deepEqual(await stopped, []);
  await clock.advance(1000);
  assert.equal(await ended.promise, 'AbortError');
});

test('closing waits until what was on its way to a stopped receiver is given back', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  await queue.send(refs(1));
  const delivered = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  meddle('ReceiveMessageCommand', async ({ go }) => {
    const answer = await go();
    delivered.resolve();
    await arrives.promise;
    return answer;
  });
  const stop = new AbortController();
  const stopped = queue.receive('http', roomFor(1), 1000 * HIDE_MS, stop.signal);
  await delivered.promise;
  stop.abort();
  const closing = tracked(queue.close());
  assert.deepEqual(await stopped, []);
  await clock.advance(999);
  assert.equal(closing.isOver, false);
  arrives.resolve();
  await closing.end;
  assert.deepEqual((await queue.depth())[0], { lane: 'http', waiting: 1, delivered: 0 });
  assert.equal(clock.sleepers, 0, 'no timer is left');
});

test('closing waits for acknowledgements, and for changes of visibility that no caller waits for', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  await queue.send(refs(2));
  const [one = '', two = ''] = receiptsOf(await queue.receive('http', roomFor(2), HIDE_MS, NEVER));
  const answered = Promise.withResolvers<void>();
  for (const operation of ['DeleteMessageBatchCommand', 'ChangeMessageVisibilityBatchCommand'] as const) {
    meddle(operation, async ({ go }) => {
      await answered.promise;
      return go();
    });
  }
  void queue.ack([one]);
  void queue.giveBack([two]);
  const closing = tracked(queue.close());
  await clock.advance(1000);
  assert.equal(closing.isOver, false);
  answered.resolve();
  await closing.end;
  assert.deepEqual((await queue.depth())[0], { lane: 'http', waiting: 1, delivered: 0 });
  assert.equal(clock.sleepers, 0, 'no timer is left');
});

test('closing takes a second and a half at most, and no time at all when nothing is under way', async () => {
  const { clock, queue, meddle } = await openQueue(emulator);
  await queue.close();
  assert.equal(clock.elapsed(), 0);
  meddle('DeleteMessageBatchCommand', () => new Promise(() => {}));
  void queue.ack(['http:1:handle']);
  const closing = tracked(queue.close());
  await clock.advance(1499);
  assert.equal(closing.isOver, false);
  await clock.advance(1);
  await closing.end;
});

test('the long poll of a stopped receiver is over when closing is, and its client can be closed', async () => {
  const { clock, queue } = await openQueue(emulator);
  const stop = new AbortController();
  const stopped = queue.receive('http', roomFor(1), HIDE_MS, stop.signal);
  await queue.depth();
  stop.abort();
  const closing = tracked(queue.close());
  assert.deepEqual(await stopped, []);
  await clock.advance(1000);
  await closing.end;
  assert.equal(clock.sleepers, 0, 'it was cut, and not left behind');
});

test('the queue asks again where the dead letters are when there was no answer', async () => {
  const { queue, calls, meddle } = await openQueue(emulator, { maxReceives: 1 });
  meddle('GetQueueAttributesCommand', ({ go }) =>
    calls('GetQueueAttributesCommand').length === 1 ? Promise.reject(new Error('throttled')) : go(),
  );
  await assert.rejects(queue.takeDead('http', 10), /throttled/);
  assert.deepEqual(await queue.takeDead('http', 10), []);
  assert.deepEqual(await queue.takeDead('http', 10), []);
  assert.equal(calls('GetQueueAttributesCommand').length, 2);
});

function tracked(end: Promise<void>) {
  const closing = { isOver: false, end };
  void end.then(() => {
    closing.isOver = true;
  });
  return closing;
}

async function loseReply({ go }: Call): Promise<never> {
  await go();
  throw new Error('no reply');
}
