import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeFrame, FrameReader, MAX_FRAME_BYTES, ProtocolError } from '../../src/adapters/embedded/socket/frame.ts';
import { OwnerGone } from '../../src/adapters/embedded/socket/owner-line.ts';
import { HELLO_MS, PROTOCOL_VERSION } from '../../src/adapters/embedded/socket/protocol.ts';
import { connectToOwner } from '../../src/adapters/embedded/socket/socket-client.ts';
import { NO_LIMITS } from '../../src/domain/line-limits.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { roomFor, roomForAnyJob } from '../support/room.ts';
import { batches, framesOf, helloOf, withOwner } from './socket-owner.ts';

const HIDE_MS = 30_000;

test('frames come out as they went in, however the stream is cut into pieces', () => {
  const pieces = fc.array(fc.nat(40), { maxLength: 30 });
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), pieces, (messages, sizes) => {
      const stream = framesOf(...messages);
      const reader = new FrameReader();
      const read: unknown[] = [];
      let at = 0;
      for (const size of [...sizes, stream.length]) {
        read.push(...reader.read(stream.subarray(at, Math.min(at + size, stream.length))));
        at = Math.min(at + size, stream.length);
      }
      assert.deepEqual(JSON.stringify(read), JSON.stringify(messages));
      assert.equal(reader.isInsideFrame, false);
    }),
  );
});

test('a frame over the limit is refused by its head, before anything of it is kept', () => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(MAX_FRAME_BYTES + 1);
  assert.throws(() => new FrameReader().read(head), ProtocolError);
  assert.throws(() => encodeFrame('x'.repeat(MAX_FRAME_BYTES + 1)), ProtocolError);
});

const GARBAGE: Record<string, Buffer> = {
  'an HTTP request': Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  zeros: Buffer.alloc(100),
  'a frame that is not JSON': Buffer.concat([Buffer.from([0, 0, 0, 3]), Buffer.from('{x}')]),
  'bytes that are not text': Buffer.concat([Buffer.from([0, 0, 0, 4]), Buffer.from([0xff, 0xfe, 0x80, 0x81])]),
  'a call before hello': framesOf(['calls', [1, 'begin', 'a', 1]]),
  'hello without a name': framesOf(['hello', { protocol: PROTOCOL_VERSION, worker: '', role: 'main' }]),
  'hello in an unknown role': framesOf(['hello', { protocol: PROTOCOL_VERSION, worker: 'w', role: 'owner' }]),
  null: framesOf(null),
  'after hello, a value that is not a list': framesOf(helloOf('bad'), 5),
  'after hello, an unknown kind': framesOf(helloOf('bad'), ['orders', 1]),
  'after hello, a call without a number': framesOf(helloOf('bad'), ['calls', ['x', 'begin']]),
  'after hello, a call that is not a list': framesOf(helloOf('bad'), ['calls', 'begin']),
  'a second hello': framesOf(helloOf('bad'), helloOf('bad')),
};

for (const [what, bytes] of Object.entries(GARBAGE)) {
  withOwner(`${what}: the sender is cut off, and no other worker notices`, async (owner) => {
    const worker = await owner.worker('good');
    const stranger = await owner.stranger();
    stranger.socket.write(bytes);
    await stranger.closed;
    assert.equal(await worker.leases.begin('a', 1), true);
    assert.deepEqual(owner.calls('begin'), [['a', 1]]);
  });
}

withOwner('random bytes end their connection or wait for more, and no other worker notices', async (owner) => {
  const worker = await owner.worker('good');
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, isGreeted) => {
      const stranger = await owner.stranger();
      if (isGreeted) stranger.say(helloOf('bad'));
      stranger.socket.end(bytes);
      await stranger.closed;
      assert.equal(await worker.leases.begin('a', 1), true);
    }),
    { numRuns: 100 },
  );
});

const HOST_ASK = { line: 'host a.gov', limits: NO_LIMITS, leaseMs: 1000, inside: 0, demands: [] };
const NO_NEWS = { good: 0, goodMs: null, failures: 0, failingMs: 0, failedMs: 0, pauses: 0, pausedMs: 0 };

for (const call of [
  ['sudo'],
  ['constructor'],
  ['__proto__'],
  ['cancel', {}],
  ['ack'],
  ['ack', 'x'],
  ['take', 'http', {}, 1],
  ['settle', [{}], 1],
  ['reserve', [{ ...HOST_ASK, news: { good: -1 } }], 1],
  ['reserve', [{ ...HOST_ASK, news: { ...NO_NEWS, refusal: { agoMs: 1, acceptedPerSecond: null, latencyMs: 1 } } }], 1],
]) {
  withOwner(`a call ${JSON.stringify(call)} is answered with an error, or not at all`, async (owner) => {
    const stranger = await owner.stranger();
    stranger.say(helloOf('bad'), ['calls', [1, ...call], [2, 'begin', 'a', 1]]);
    const [, replies] = await stranger.hears(2);
    const answers = (replies as unknown[]).slice(1) as unknown[][];
    assert.deepEqual(
      answers.find(([id]) => id === 2),
      [2, true],
    );
    const bad = answers.find(([id]) => id === 1);
    if (bad !== undefined) assert.equal((bad[2] as { name: string }).name, 'BadCall');
  });
}

withOwner(
  'a worker loses nothing at whatever byte it dies: its messages and its leases are free again',
  async (owner) => {
    const words = framesOf(
      helloOf('doomed'),
      ['calls', [1, 'take', 'http', roomForAnyJob(10), HIDE_MS], [2, 'begin', 'a', 1]],
      ['calls', [3, 'renew', ['a'], 9]],
    );
    await owner.queue.send(batches('a', 'b'));
    const hello = framesOf(helloOf('doomed')).length;
    for (let length = 1; length <= words.length; length += 1) {
      const before = owner.calls('abandon').length;
      const events = owner.events.length;
      const stranger = await owner.stranger();
      stranger.socket.end(words.subarray(0, length));
      await owner.until(() => owner.events.slice(events).some(({ kind }) => kind !== 'worker-joined'));
      assert.equal(owner.calls('abandon').length - before, length < hello ? 0 : 1, `${length} bytes`);
      // The event is emitted just before the messages are given back.
      await owner.queue.ack([]);
      const [http] = await owner.queue.depth();
      assert.deepEqual(http, { lane: 'http', waiting: 2, delivered: 0 }, `${length} bytes`);
    }
  },
);

withOwner('a peer that says nothing is cut off after a while', async (owner) => {
  const stranger = await owner.stranger();
  const worker = await owner.worker();
  await owner.clock.advance(HELLO_MS - 1);
  assert.equal(owner.events.length, 1);
  await owner.clock.advance(1);
  await stranger.closed;
  assert.match(await owner.trouble(), /no hello arrived/);
  assert.equal(await worker.leases.begin('a', 1), true, 'whoever said hello stays');
});

withOwner('a connection that ends in the middle of a frame is reported as such', async (owner) => {
  const stranger = await owner.stranger();
  stranger.socket.end(framesOf(helloOf('doomed'), ['calls']).subarray(0, -1));
  assert.match((await owner.left('doomed')).reason, /middle of a frame/);
});

const LARGE = 'x'.repeat(5000);
withOwner(
  'a worker that asks and does not listen is no longer read from, and gets its answers when it does listen',
  async (owner) => {
    const stranger = await owner.stranger();
    stranger.say(helloOf('deaf'));
    await stranger.hears(1);
    stranger.socket.pause();
    const count = 8000;
    for (let id = 1; id <= count; id += 1) stranger.say(['calls', [id, 'renew', ['a'], 1]]);
    // Others are served meanwhile, and far fewer of the calls are carried out than would fill the memory.
    const worker = await owner.worker();
    for (let round = 0; round < 50; round += 1) await worker.leases.begin('a', 1);
    const carriedOut = owner.calls('renew').length;
    assert.ok(carriedOut < count / 2, `${carriedOut} of ${count}`);
    stranger.socket.resume();
    await owner.until(() => owner.calls('renew').length === count);
  },
  { renew: async () => [LARGE] },
);

/** An owner that greets, and then sends the bytes it is given. */
async function withFakeOwner(words: Buffer, body: (path: string) => Promise<void>, path: string): Promise<void> {
  const fake = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(framesOf(['welcome', { protocol: PROTOCOL_VERSION }]));
      socket.once('data', () => socket.end(words));
    });
  });
  fake.listen(path);
  await once(fake, 'listening');
  try {
    await body(path);
  } finally {
    fake.close();
  }
}

const OWNER_GARBAGE: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'half an answer': framesOf(['replies', [1, true]]).subarray(0, -3),
  'something that is not JSON': Buffer.concat([Buffer.from([0, 0, 0, 3]), Buffer.from('{x}')]),
  'an answer to no call': framesOf(['replies', [99, true]]),
  'something else': framesOf(['orders']),
  'a frame without end': Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]),
};

for (const [what, words] of Object.entries(OWNER_GARBAGE)) {
  withOwner(`an owner that answers ${what} is gone for the worker: every open call is rejected`, async (owner) => {
    await owner.server?.close();
    await withFakeOwner(
      words,
      async () => {
        const worker = await owner.worker();
        const calls = [
          worker.leases.begin('a', 1),
          worker.queue.ack([]),
          worker.source.take('http', roomFor(1), 1, NEVER),
        ];
        for (const call of calls) await assert.rejects(call, OwnerGone);
        await worker.closed;
        await assert.rejects(worker.leases.begin('a', 1), OwnerGone);
      },
      owner.socketPath,
    );
  });
}

const NEVER = new AbortController().signal;

withOwner('an owner that does not answer hello is given up on after a while', async (owner) => {
  await owner.server?.close();
  const mute = createServer((socket) => socket.on('error', () => {}));
  mute.listen(owner.socketPath);
  await once(mute, 'listening');
  const refused = assert.rejects(owner.worker(), /does not answer/);
  await owner.clock.advance(HELLO_MS);
  await refused;
  mute.close();
});

withOwner('a worker that is stopped while it connects does not wait', async (owner) => {
  await owner.server?.close();
  const mute = createServer((socket) => socket.on('error', () => {}));
  mute.listen(owner.socketPath);
  await once(mute, 'listening');
  const stop = new AbortController();
  const { socketPath, clock } = owner;
  const connecting = connectToOwner({ socketPath, workerId: 'w', role: 'main', clock, signal: stop.signal });
  stop.abort();
  await assert.rejects(connecting, OwnerGone);
  mute.close();
});

test('when the owner is killed its workers know at once', { timeout: 120_000 }, async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'socket-owner-process.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const socketPath = line.toString().trim();
  try {
    const parts = { socketPath, workerId: 'w', role: 'main', clock: new FakeClock() } as const;
    const worker = await connectToOwner({ ...parts, signal: NEVER });
    assert.equal(await worker.leases.begin('a', 1), true);
    const refused = assert.rejects(worker.source.take('http', roomFor(1), 1, NEVER), OwnerGone);
    child.kill('SIGKILL');
    await refused;
    await worker.closed;
  } finally {
    child.kill('SIGKILL');
    await rm(dirname(socketPath), { recursive: true });
  }
});
