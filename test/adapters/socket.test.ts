import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { FrameReader } from '../../src/adapters/embedded/socket/frame.ts';
import { OwnerGone, OwnerRefused } from '../../src/adapters/embedded/socket/owner-line.ts';
import { PROTOCOL_VERSION } from '../../src/adapters/embedded/socket/protocol.ts';
import type { ServeDeps } from '../../src/adapters/embedded/socket/socket-server.ts';
import type { ClaimAnswer, SettlePart } from '../../src/ports/ledger.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import { roomFor, roomForAnyJob } from '../support/room.ts';
import { batches, framesOf, helloOf, type TestOwner, withOwner } from './socket-owner.ts';

const HIDE_MS = 30_000;
const NEVER = new AbortController().signal;

function settlement(seq: number): SettlePart {
  return {
    token: `token-${seq}`,
    jobId: 'job-1',
    items: [{ seq, attempt: 1, tries: 1, startedAt: 1, durationMs: 2, outcome: { kind: 'scraped', artifacts: [] } }],
  };
}

/** A settlement of an item whose failed tries differ like this from one that the owner takes. */
function retried(...changes: readonly object[]) {
  const failed = { number: 1, type: 'timeout', message: 'x'.repeat(160), at: 1, waitMs: null };
  const failedTries = changes.map((change) => ({ ...failed, ...change }));
  return { ...settlement(1), items: settlement(1).items.map((item) => ({ ...item, failedTries })) };
}

/** Takes the owner's place, answers `true` to every call, and hands out the calls of each frame that it got. */
async function spyInPlaceOf(owner: TestOwner) {
  const frames: (readonly unknown[])[][] = [];
  const spy = createServer((socket) => {
    const reader = new FrameReader();
    socket.on('data', (piece: Buffer) => {
      for (const [kind, ...calls] of reader.read(piece) as [string, ...(readonly unknown[])[]][]) {
        if (kind === 'hello') socket.write(framesOf(['welcome', { protocol: PROTOCOL_VERSION }]));
        if (kind !== 'calls') continue;
        frames.push(calls);
        const answered = calls.filter(([id]) => id !== 0);
        socket.write(framesOf(['replies', ...answered.map(([id]) => [id, true])]));
      }
    });
  });
  await owner.server?.close();
  spy.listen(owner.socketPath);
  await once(spy, 'listening');
  return { frames, close: () => spy.close() };
}

withOwner('calls made in one turn travel together, and so do their answers', async (owner) => {
  const spy = await spyInPlaceOf(owner);
  const worker = await owner.worker();
  await Promise.all(Array.from({ length: 1000 }, (_, seq) => worker.leases.begin(`token-${seq}`, seq)));
  assert.deepEqual(
    spy.frames.map((calls) => calls.length),
    [1000],
  );
  await worker.close();
  spy.close();
});

withOwner('acknowledgements made in one turn are one call, and each knows when it is answered', async (owner) => {
  const spy = await spyInPlaceOf(owner);
  const worker = await owner.worker();
  const ack = async (receipt: string) => {
    // Batches that were settled together do so: some have a few more steps to go than others.
    for (let step = 0; step < receipt.length; step += 1) await null;
    await worker.queue.ack([receipt]);
    return spy.frames.length;
  };
  assert.deepEqual(await Promise.all([ack('a'), ack('bbb'), ack('cc')]), [1, 1, 1]);
  assert.deepEqual(spy.frames, [[[1, 'ack', ['a', 'cc', 'bbb']]]]);
  await ack('d');
  assert.deepEqual(spy.frames[1], [[2, 'ack', ['d']]]);
  await worker.close();
  spy.close();
});

const ASSET = {
  kind: 'asset',
  key: { site: 'docs', path: '/a.pdf', method: 'asset' },
  url: 'https://docs.test/a.pdf',
  at: 1,
} as const;

withOwner('what needs no answer travels with the next call, before it', async (owner) => {
  const spy = await spyInPlaceOf(owner);
  const worker = await owner.worker();
  await worker.siteData.pages.tell([ASSET]);
  await worker.leases.begin('token', 1);
  assert.deepEqual(spy.frames, [
    [
      [0, 'notePages', [ASSET]],
      [1, 'begin', 'token', 1],
    ],
  ]);
  await worker.close();
  spy.close();
});

withOwner('a worker that leaves has said everything', async (owner) => {
  const worker = await owner.worker();
  await worker.siteData.pages.tell([ASSET]);
  await worker.close();
  await owner.left();
  const next = await owner.worker();
  assert.equal((await next.siteData.pages.look([ASSET.key]))[0]?.type, 'asset');
});

withOwner('only what can be lost may be said without waiting for the answer', async (owner) => {
  const stranger = await owner.stranger();
  stranger.say(helloOf('worker-1'), ['calls', [0, 'begin', 'token', 1]]);
  await owner.left();
  const [reason] = owner.events.flatMap((event) => (event.kind === 'worker-left' ? [event.reason] : []));
  assert.match(reason ?? '', /begin needs an answer/);
});

withOwner('the owner answers the calls of one frame in few frames', async (owner) => {
  const stranger = await owner.stranger();
  const calls = Array.from({ length: 500 }, (_, seq) => [seq + 1, 'begin', `token-${seq}`, seq]);
  stranger.say(helloOf('worker-1'), ['calls', ...calls]);
  const [, replies] = await stranger.hears(2);
  assert.equal((replies as unknown[]).length, 501);
});

withOwner('the owner knows from which lanes its workers take work, until they leave', async (owner) => {
  const lanes = () => [...(owner.server?.lanes() ?? [])];
  const worker = await owner.worker();
  assert.deepEqual(lanes(), []);
  const stop = new AbortController();
  const taking = worker.source.take('browser', roomFor(1), HIDE_MS, stop.signal);
  await worker.queue.ack([]);
  assert.deepEqual(lanes(), ['browser']);
  stop.abort();
  await taking;
  await worker.queue.ack([]);
  assert.deepEqual(lanes(), ['browser'], 'it is at work');
  await worker.close();
  await owner.left();
  assert.deepEqual(lanes(), []);
});

withOwner('what is taken is claimed under the name that the worker gave when it connected', async (owner) => {
  const worker = await owner.worker('worker-7');
  await owner.queue.send(batches('a'));
  await worker.source.take('http', roomFor(1), HIDE_MS, NEVER);
  const now = owner.clock.now();
  assert.deepEqual(owner.calls('claim'), [[batches('a'), 'worker-7', now + HIDE_MS, now]]);
  const pause = { host: 'county.gov', until: 9, at: 1, reason: 'it asked for it' };
  await assert.rejects(worker.hostPauses.pause(pause, 'worker-8', 1), /worker worker-7, not of worker-8/);
});

withOwner('an owner knows the calls that a worker makes, and no others', async (owner) => {
  const stranger = await owner.stranger();
  const others = ['claim', 'receive', 'giveBack', 'abandon', 'send', 'toString', '__proto__', 'constructor', 7, null];
  stranger.say(helloOf('worker-1'), ['calls', ...others.map((method, index) => [index + 1, method, [], 1, 1])]);
  const [, replies] = await stranger.hears(2);
  for (const [id, , error] of (replies as [number, unknown, { name: string; message: string }][]).slice(1)) {
    assert.deepEqual(error, { name: 'BadCall', message: `bad call: there is no method ${others[id - 1]}` });
  }
});

withOwner(
  'storage trouble arrives as storage trouble, and other errors with their names',
  async (owner) => {
    const { leases } = await owner.worker();
    await assert.rejects(leases.settle([settlement(1)], 1), (error) => {
      assert.ok(error instanceof StorageTrouble);
      assert.deepEqual([error.kind, error.message], ['full', 'no room']);
      return true;
    });
    await assert.rejects(leases.begin('token', 1), { name: 'RangeError', message: 'as arranged' });
    assert.equal(await leases.workOrder('job-1'), null, 'the connection lives on');
    const told = owner.events.filter(({ kind }) => kind === 'storage-trouble');
    assert.deepEqual(told, [{ kind: 'storage-trouble', message: 'no room' }], 'the owner knows, too');
  },
  {
    async settle() {
      throw new StorageTrouble('full', 'no room');
    },
    async begin() {
      throw new RangeError('as arranged');
    },
  },
);

/** A settlement with this among what its attempt found. */
function withFound(found: object, more: object = {}): SettlePart {
  const outcome = {
    kind: 'scraped',
    artifacts: [],
    found: { items: [{ itemId: 'a', input: {}, depth: 1, ...found }], ...more },
  };
  return {
    ...settlement(1),
    items: settlement(1).items.map((item) => ({ ...item, outcome })),
  } as unknown as SettlePart;
}

const BAD_SETTLEMENTS: Record<string, unknown> = {
  'a find without a depth': [withFound({ depth: 0 })],
  'a find without an input': [withFound({ input: null })],
  'a find with a field too many': [withFound({ source: {} })],
  'a find whose id is too long': [withFound({ itemId: 'x'.repeat(1001) })],
  'finds with a field too many': [withFound({}, { extra: 1 })],
  'finds that are counted in halves': [withFound({}, { invalid: 0.5 })],
  'no list': {},
  'a field too many': [{ ...settlement(1), extra: 1 }],
  'no token': [{ ...settlement(1), token: 5 }],
  'no outcome': [{ ...settlement(1), items: [{ ...settlement(1).items[0], outcome: null }] }],
  'an unknown outcome': [{ ...settlement(1), items: [{ ...settlement(1).items[0], outcome: { kind: 'lost', x: 1 } }] }],
  'half a number': [{ ...settlement(1), items: [{ ...settlement(1).items[0], seq: 1.5 }] }],
  'a version that is none': [{ ...settlement(1), items: [{ ...settlement(1).items[0], scraperVersion: 2 }] }],
  'a version too long': [{ ...settlement(1), items: [{ ...settlement(1).items[0], scraperVersion: 'x'.repeat(101) }] }],
  'a version and more': [{ ...settlement(1), items: [{ ...settlement(1).items[0], scraperVersion: '2', extra: 1 }] }],
  'tries that are no list': [{ ...settlement(1), items: [{ ...settlement(1).items[0], failedTries: {} }] }],
  'a try of an unknown type': [retried({ type: 'bad luck' })],
  'a try with a long message': [retried({ message: 'x'.repeat(161) })],
  'a try without its time': [retried({ at: null })],
  'a try with a field too many': [retried({ extra: 1 })],
  'too many tries': [retried(...Array<object>(9).fill({}))],
  'a failed item with an artifact that is none': [
    {
      ...settlement(1),
      items: [
        {
          ...settlement(1).items[0],
          outcome: {
            kind: 'failed',
            failure: { type: 'blocked', message: '', cause: null, retryAfterMs: null },
            artifacts: [{ kind: 'html' }],
          },
        },
      ],
    },
  ],
  'an unknown failure': [
    {
      ...settlement(1),
      items: [
        {
          ...settlement(1).items[0],
          outcome: { kind: 'failed', failure: { type: 'bad luck', message: '', cause: null, retryAfterMs: null } },
        },
      ],
    },
  ],
  'a hash that is none': [
    {
      ...settlement(1),
      items: [
        {
          ...settlement(1).items[0],
          outcome: {
            kind: 'scraped',
            artifacts: [{ kind: 'html', key: 'k', size: 1, sha256: 'x', encoding: 'gzip', contentType: 't' }],
          },
        },
      ],
    },
  ],
};

withOwner('a settlement that is not complete does not reach the ledger', async (owner) => {
  const { leases } = await owner.worker();
  for (const [what, parts] of Object.entries(BAD_SETTLEMENTS)) {
    await assert.rejects(leases.settle(parts as SettlePart[], 1), { name: 'BadCall' }, what);
  }
  assert.deepEqual(owner.calls('settle'), []);
  assert.deepEqual(await leases.settle([settlement(1)], 1), ['recorded']);
  assert.deepEqual(await leases.settle([retried({}, { waitMs: 5 }) as SettlePart], 1), ['recorded']);
});

withOwner('every kind of settlement that the engine makes passes', async (owner) => {
  const artifact = {
    kind: 'html',
    key: 'k',
    size: 1,
    sha256: 'a'.repeat(64),
    encoding: 'gzip',
    contentType: 't',
  } as const;
  const failure = { type: 'blocked', message: 'm', cause: null, retryAfterMs: 5 } as const;
  const [item] = settlement(1).items;
  assert.ok(item);
  const parts: SettlePart = {
    token: 't',
    jobId: 'j',
    items: [
      { ...item, outcome: { kind: 'scraped', artifacts: [artifact, { ...artifact, offset: 0, length: 5 }] } },
      { ...item, outcome: { kind: 'skipped', reason: 'cached' } },
      { ...item, outcome: { kind: 'skipped', reason: 'cached', artifacts: [artifact] } },
      { ...item, scraperVersion: 'x'.repeat(100) },
      { ...item, outcome: { kind: 'failed', failure } },
      { ...item, outcome: { kind: 'failed', failure, artifacts: [artifact] } },
      { ...item, outcome: { kind: 'failed', failure: { ...failure, cause: 'c', retryAfterMs: null } } },
    ],
  };
  const { leases } = await owner.worker();
  await leases.settle([parts], 9);
  assert.deepEqual(owner.calls('settle'), [[[parts], 9]]);
});

withOwner('a call that is too large to be sent fails alone', async (owner) => {
  const { leases, queue } = await owner.worker();
  const huge = leases.settle([{ ...settlement(1), token: 'x'.repeat(12_000_000) }], 1);
  const small = queue.ack(['receipt']);
  await assert.rejects(huge, /too large/);
  await small;
});

withOwner(
  'an answer that is too large to be sent fails its call alone',
  async (owner) => {
    const { leases } = await owner.worker();
    await assert.rejects(leases.renew(['a'], 1), /too large/);
    assert.equal(await leases.begin('a', 1), true);
  },
  { renew: async () => ['x'.repeat(12_000_000)] },
);

withOwner('what a dead worker had received goes to another at once, and its leases are abandoned', async (owner) => {
  const child = spawnWorker(owner.socketPath, 'doomed');
  await owner.until(() => owner.calls('begin').length === 1);
  const other = await owner.worker('other');
  await owner.queue.send(batches('a', 'b'));
  await owner.until(() => owner.calls('claim').length === 1);
  const waiting = other.source.take('http', roomFor(5), HIDE_MS, NEVER);
  child.kill('SIGKILL');
  const again = await waiting;
  assert.deepEqual(again.map(({ delivery }) => delivery.ref.batchId).sort(), ['a', 'b']);
  assert.deepEqual(owner.calls('abandon'), [['doomed', owner.clock.now()]]);
  assert.equal((await owner.left('doomed')).abandoned, 1);
});

withOwner('a worker that dies while it waits for work does not get in another’s way', async (owner) => {
  const stranger = await owner.stranger();
  stranger.say(helloOf('worker-1'), ['calls', [1, 'take', 'http', roomForAnyJob(1), HIDE_MS], [2, 'begin', 'a', 1]]);
  await stranger.hears(2);
  stranger.socket.destroy();
  await owner.left();
  const other = await owner.worker('other');
  await owner.queue.send(batches('a'));
  const [taken] = await other.source.take('http', roomFor(1), HIDE_MS, NEVER);
  assert.equal(taken?.delivery.ref.batchId, 'a');
});

function spawnWorker(socketPath: string, workerId: string): ChildProcess {
  const file = join(import.meta.dirname, 'socket-worker.ts');
  return spawn(process.execPath, [file, socketPath, workerId], { stdio: ['ignore', 'ignore', 'inherit'] });
}

withOwner('a worker that says goodbye is not taken for dead', async (owner) => {
  const worker = await owner.worker();
  await owner.queue.send(batches('a'));
  await worker.source.take('http', roomFor(1), HIDE_MS, NEVER);
  await worker.close();
  const left = await owner.left();
  assert.deepEqual([left.reason, left.abandoned], ['bye', 0]);
  assert.deepEqual(owner.calls('abandon'), []);
  const other = await owner.worker('other');
  const [again] = await other.source.take('http', roomFor(1), HIDE_MS, NEVER);
  assert.equal(again?.delivery.ref.batchId, 'a', 'what it forgot to give back is given back');
});

withOwner('what was acknowledged is not given back', async (owner) => {
  const stranger = await owner.stranger();
  await owner.queue.send(batches('a', 'b', 'c'));
  stranger.say(helloOf('worker-1'), ['calls', [1, 'take', 'http', roomForAnyJob(3), HIDE_MS]]);
  const [, replies] = await stranger.hears(2);
  const taken = ((replies as unknown[])[1] as [number, { delivery: { receipt: string } }[]])[1];
  const receipts = taken.map(({ delivery }) => delivery.receipt);
  stranger.say(['calls', [2, 'ack', receipts.slice(0, 1)]]);
  await stranger.hears(3);
  stranger.socket.destroy();
  await owner.left();
  const [http] = await owner.queue.depth();
  assert.deepEqual(http, { lane: 'http', waiting: 2, delivered: 0 });
});

withOwner('a heartbeat can renew and nothing else, and its end is not the end of its worker', async (owner) => {
  const worker = await owner.worker();
  const heartbeat = await owner.worker('worker-1', 'heartbeat');
  assert.deepEqual(await heartbeat.leases.renew(['a'], 5), []);
  await heartbeat.queue.extend(['r'], 5);
  await assert.rejects(heartbeat.leases.begin('a', 1), { name: 'BadCall' });
  await assert.rejects(heartbeat.source.take('http', roomFor(1), 1, NEVER), { name: 'BadCall' });
  await heartbeat.close();
  assert.equal(await worker.leases.begin('a', 1), true);
  assert.deepEqual(owner.calls('abandon'), []);
  assert.equal(owner.events.length, 1, 'only the worker joined');
});

withOwner('a worker whose heartbeat is still connected is dead all the same', async (owner) => {
  const stranger = await owner.stranger();
  stranger.say(helloOf('worker-1'));
  await owner.worker('worker-1', 'heartbeat');
  stranger.socket.destroy();
  assert.equal((await owner.left()).abandoned, 1);
});

withOwner('a worker that came back before its old connection ended is not taken for dead', async (owner) => {
  const old = await owner.stranger();
  old.say(helloOf('worker-1'));
  await old.hears(1);
  const worker = await owner.worker('worker-1');
  old.socket.destroy();
  assert.equal((await owner.left()).abandoned, 0);
  assert.deepEqual(owner.calls('abandon'), []);
  assert.equal(await worker.leases.begin('a', 1), true);
});

const slowClaim = Promise.withResolvers<readonly ClaimAnswer[]>();
withOwner(
  'what a worker was just claiming when it died is abandoned too',
  async (owner) => {
    const stranger = await owner.stranger();
    await owner.queue.send(batches('a'));
    stranger.say(helloOf('worker-1'), ['calls', [1, 'take', 'http', roomForAnyJob(1), HIDE_MS]]);
    await owner.until(() => owner.calls('claim').length === 1);
    stranger.socket.destroy();
    // When a worker that connects after the death is answered, the owner has dealt with the death.
    await (await owner.worker('other')).queue.ack([]);
    assert.deepEqual(owner.calls('abandon'), [], 'the claim is not recorded yet');
    slowClaim.resolve(['gone']);
    await owner.left();
    assert.equal(owner.calls('abandon').length, 1);
  },
  { claim: () => slowClaim.promise },
);

withOwner(
  'a ledger that cannot write when a worker dies does no harm: the leases run out',
  async (owner) => {
    const stranger = await owner.stranger();
    stranger.say(helloOf('worker-1'));
    await stranger.hears(1);
    stranger.socket.destroy();
    assert.equal((await owner.left()).abandoned, 0);
    assert.match(await owner.trouble(), /will expire: no room/);
    await owner.worker('other');
  },
  {
    async abandon() {
      throw new StorageTrouble('full', 'no room');
    },
  },
);

withOwner('an owner that stops abandons no worker, and informs all of them', async (owner) => {
  const worker = await owner.worker();
  const refused = assert.rejects(worker.source.take('http', roomFor(1), HIDE_MS, NEVER), OwnerGone);
  await owner.server?.close();
  await refused;
  assert.match(await worker.closed, /./);
  await assert.rejects(worker.leases.begin('a', 1), OwnerGone);
  assert.deepEqual(owner.calls('abandon'), []);
});

withOwner('a receiver that is stopped does not get in another’s way', async (owner) => {
  const worker = await owner.worker();
  const stop = new AbortController();
  const taking = worker.source.take('http', roomFor(1), HIDE_MS, stop.signal);
  await worker.queue.ack([]);
  stop.abort();
  await taking;
  await worker.queue.ack([]);
  await owner.queue.send(batches('a'));
  assert.deepEqual(await owner.queue.depth(), [
    { lane: 'http', waiting: 1, delivered: 0 },
    { lane: 'browser', waiting: 0, delivered: 0 },
  ]);
});

/** A ledger that gives every batch to any worker that asks. */
const GENEROUS: Partial<ServeDeps['ledger']> = {
  claim: async (refs, _worker, until) =>
    refs.map((ref) => ({
      token: `t-${ref.batchId}`,
      ref,
      until,
      suspect: false,
      alone: false,
      jobCreatedAt: 1,
      policyRevision: 1,
      items: [],
    })),
};

withOwner(
  'a worker that takes work gets message and lease in one round trip',
  async (owner) => {
    const worker = await owner.worker();
    await owner.queue.send(batches('a', 'b'));
    const taken = await worker.source.take('http', roomFor(5), HIDE_MS, NEVER);
    assert.deepEqual(
      taken.map(({ delivery, answer }) => [delivery.ref.batchId, typeof answer === 'object' && answer.token]),
      [
        ['a', 't-a'],
        ['b', 't-b'],
      ],
    );
    const [[refs, name, until, now]] = owner.calls('claim') as [[BatchRef[], string, number, number]];
    assert.deepEqual([refs.length, name, until - now], [2, 'worker-1', HIDE_MS]);
  },
  GENEROUS,
);

withOwner(
  'work that was on its way to a worker that stops is given back uncharged',
  async (owner) => {
    const worker = await owner.worker();
    const stop = new AbortController();
    const taking = worker.source.take('http', roomFor(1), HIDE_MS, stop.signal);
    await worker.queue.ack([]);
    await owner.queue.send(batches('a'));
    stop.abort();
    assert.deepEqual(await taking, []);
    await owner.until(() => owner.calls('release').length > 0);
    assert.deepEqual(owner.calls('release')[0]?.slice(0, 2), ['t-a', 'drained']);
  },
  GENEROUS,
);

withOwner('a worker of another version is refused with both versions, and does not try to be clever', async (owner) => {
  const stranger = await owner.stranger();
  stranger.say(
    ['hello', { protocol: PROTOCOL_VERSION + 1, worker: 'future', role: 'main', more: true }],
    ['calls', [1, 'begin', 'a', 1]],
  );
  const [answer] = await stranger.hears(1);
  assert.deepEqual((answer as unknown[])[0], 'refuse');
  assert.match(
    String((answer as unknown[])[1]),
    new RegExp(`protocol ${PROTOCOL_VERSION}, the worker ${PROTOCOL_VERSION + 1}`),
  );
  await stranger.closed;
  assert.deepEqual(owner.calls('begin'), []);
});

withOwner('a worker that is refused knows that trying again is useless', async (owner) => {
  await owner.server?.close();
  const old = createServer((socket) => socket.end(framesOf(['refuse', 'too new'])));
  old.listen(owner.socketPath);
  await once(old, 'listening');
  await assert.rejects(owner.worker(), (error) => error instanceof OwnerRefused && error.message === 'too new');
  old.close();
});

withOwner('without an owner there is a clear error', async (owner) => {
  await owner.server?.close();
  await assert.rejects(owner.worker(), OwnerGone);
});

withOwner(
  'items that wait are known to the owner until the worker leaves, and nothing else is taken for a wait',
  async (owner) => {
    const { itemWaits, close } = await owner.worker('waiting');
    const wait = { jobId: 'job-1', type: 'rate_limited', items: 3, until: 60_000 } as const;
    await itemWaits.add([wait], 'waiting', 1000);
    assert.deepEqual(owner.itemWaits.ofJob('job-1', 2000), [{ type: 'rate_limited', items: 3, until: 60_000 }]);
    for (const bad of [{}, { ...wait, type: 'bad luck' }, { ...wait, items: -1 }, { ...wait, more: 1 }]) {
      await assert.rejects(itemWaits.add([bad as never], 'waiting', 1000), { name: 'BadCall' });
    }
    await close();
    await owner.until(() => owner.events.some(({ kind }) => kind === 'worker-left'));
    assert.deepEqual(owner.itemWaits.ofJob('job-1', 2000), []);
  },
);
