import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { type Heartbeat, startHeartbeatThread } from '../../src/worker/heartbeat.ts';
import { type TestOwner, withOwner } from './socket-owner.ts';

const LEASE_MS = 200;

/** With leases this short, a beat is late whenever the machine is busy. That is reported, and is not the subject. */
const LATE_IS_FINE = () => {};
const TEN_MINUTES = 600_000;

function spawnBusy(owner: TestOwner, hangLimitMs: number): ChildProcess {
  const file = join(import.meta.dirname, 'heartbeat-child.ts');
  const args = [file, owner.socketPath, String(LEASE_MS), String(hangLimitMs)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function renewals(owner: TestOwner): number {
  return owner.calls('renew').length;
}

function startThread({ socketPath }: Pick<TestOwner, 'socketPath'>, onTrouble: (error: unknown) => void): Heartbeat {
  return startHeartbeatThread({
    entry: new URL('heartbeat-entry.ts', import.meta.url),
    connectWith: { socketPath, workerId: 'worker-1' },
    slots: 4,
    leaseMs: LEASE_MS,
    hangLimitMs: TEN_MINUTES,
    clock: systemClock(),
    onTrouble,
  });
}

withOwner('a main thread that is busy without end keeps its lease', async (owner) => {
  const child = spawnBusy(owner, TEN_MINUTES);
  try {
    await owner.until(() => owner.calls('begin').length === 1);
    const before = renewals(owner);
    await owner.until(() => renewals(owner) >= before + 6);
    assert.deepEqual(owner.calls('renew').at(-1)?.[0], ['busy-token']);
    assert.equal(child.exitCode, null);
  } finally {
    child.kill('SIGKILL');
  }
});

withOwner(
  'a main thread that hangs longer than allowed is killed with its process, and that is reported',
  async (owner) => {
    const child = spawnBusy(owner, 400);
    let said = '';
    child.stderr?.on('data', (piece: Buffer) => {
      said += piece.toString();
    });
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    assert.deepEqual([code, signal], [null, 'SIGKILL'], said);
    assert.match(said, /has been hanging for .* and is killed/);
    assert.equal((await owner.left('busy')).abandoned, 1, 'so that its work is free again');
  },
);

withOwner('a busy process whose owner is gone does not live on as an orphan', async (owner) => {
  const child = spawnBusy(owner, TEN_MINUTES);
  await owner.until(() => renewals(owner) > 0);
  await owner.server?.close();
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');
});

const lostTokens: string[] = [];
withOwner(
  'the thread tells the main thread which leases are lost, unless they were let go',
  async (owner) => {
    const heartbeat = startThread(owner, LATE_IS_FINE);
    const lost: string[] = [];
    const heard = Promise.withResolvers<void>();
    heartbeat.onLost((token) => {
      lost.push(token);
      heard.resolve();
    });
    heartbeat.hold(0, { token: 'kept', receipt: 'r' });
    heartbeat.hold(1, { token: 'lost', receipt: 'r' });
    await owner.until(() => renewals(owner) > 0);
    lostTokens.push('gone', 'lost');
    await heard.promise;
    assert.deepEqual(new Set(lost), new Set(['lost']));
    heartbeat.drop(1);
    const count = renewals(owner);
    await owner.until(() => renewals(owner) >= count + 2);
    assert.deepEqual(owner.calls('renew').at(-1)?.[0], ['kept']);
    await heartbeat.stop();
  },
  { renew: async () => lostTokens },
);

withOwner('a thread whose owner went away finds the next one', async (owner) => {
  const troubles: string[] = [];
  const heartbeat = startThread(owner, (error) => troubles.push(String(error)));
  heartbeat.hold(0, { token: 'a', receipt: 'r' });
  await owner.until(() => renewals(owner) > 0);
  await owner.server?.close();
  await owner.serve();
  const count = renewals(owner);
  await owner.until(() => renewals(owner) > count);
  await heartbeat.stop();
});

const unanswered: (() => void)[] = [];
withOwner(
  'a renewal that is never answered does not stop the thread; after a whole lease of them it connects again',
  async (owner) => {
    const troubles: string[] = [];
    const heartbeat = startThread(owner, (error) => troubles.push(String(error)));
    heartbeat.hold(0, { token: 'a', receipt: 'r' });
    await owner.until(() => renewals(owner) >= 9);
    assert.ok(troubles.some((trouble) => trouble.includes('not answered within')));
    await heartbeat.stop();
    // The owner does not close before it has answered.
    for (const answer of unanswered) answer();
  },
  {
    renew: async () => {
      if (unanswered.length < 5) await new Promise<void>((answer) => unanswered.push(answer));
      return [];
    },
  },
);

test('a thread with nothing to renew does not connect', async () => {
  const troubles: unknown[] = [];
  const heartbeat = startThread({ socketPath: '/nowhere/socket\0' }, (error) => troubles.push(error));
  // The first beat comes before the thread hears of anything.
  await heartbeat.stop();
  assert.deepEqual(troubles, []);
});

withOwner('a thread that is stopped says goodbye and asks no more', async (owner) => {
  const heartbeat = startThread(owner, LATE_IS_FINE);
  heartbeat.hold(0, { token: 'a', receipt: 'r' });
  await owner.until(() => renewals(owner) > 0);
  await heartbeat.stop();
  await heartbeat.stop();
  await (await owner.worker()).queue.ack([]);
  assert.deepEqual(
    owner.events.filter(({ kind }) => kind === 'connection-trouble'),
    [],
  );
});

test('a thread that dies is reported and replaced', { timeout: 120_000 }, async () => {
  const troubles: string[] = [];
  const twice = Promise.withResolvers<void>();
  const heartbeat = startHeartbeatThread({
    entry: new URL('data:text/javascript,throw new Error("as arranged")'),
    connectWith: null,
    slots: 1,
    leaseMs: LEASE_MS,
    hangLimitMs: TEN_MINUTES,
    clock: systemClock(),
    onTrouble(error) {
      troubles.push(String(error));
      if (troubles.filter((trouble) => trouble.includes('as arranged')).length === 2) twice.resolve();
    },
  });
  await twice.promise;
  assert.ok(troubles.some((trouble) => trouble.includes('starting another')));
  await heartbeat.stop();
});
