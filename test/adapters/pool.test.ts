import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PoolChange, restartDelayMs, startWorkerPool, type WorkerPool } from '../../src/worker/pool.ts';
import { FakeClock } from '../support/fake-clock.ts';

const CHILD = join(import.meta.dirname, 'pool-child.ts');

interface Started {
  readonly pool: WorkerPool;
  readonly clock: FakeClock;
  readonly changes: PoolChange[];
  /** Resolves when there have been this many changes of the kind. */
  until(kind: PoolChange['kind'], count: number): Promise<void>;
  /** Resolves when this many children have said that they are ready. */
  ready(count: number): Promise<void>;
}

/** A pool of real processes under a fake clock; none is left when the test ends, however it ends. */
function withPool(
  name: string,
  { count, args, ...parts }: { count: number; command?: string; args: readonly string[] },
  body: (started: Started) => Promise<void>,
): void {
  test(name, { timeout: 120_000 }, async (context) => {
    const clock = new FakeClock();
    const folder = mkdtempSync(join(tmpdir(), 'trawl-pool-'));
    const env = { ...process.env, POOL_TEST_FOLDER: folder };
    const processes = Array.from({ length: count }, () => ({ lane: 'http', args }) as const);
    const pool = startWorkerPool({ processes, command: process.execPath, env, clock, ...parts });
    // This also runs when the time is over and the body still waits.
    context.after(async () => {
      const stopped = pool.stop(1000);
      await clock.advance(1000);
      await stopped;
      rmSync(folder, { recursive: true });
    });
    const changes: PoolChange[] = [];
    let wake = Promise.withResolvers<void>();
    const wakeAll = () => {
      wake.resolve();
      wake = Promise.withResolvers();
    };
    const watcher = watch(folder, wakeAll);
    context.after(() => watcher.close());
    pool.onChange((change) => {
      changes.push(change);
      wakeAll();
    });
    await body({
      pool,
      clock,
      changes,
      async until(kind, count) {
        while (changes.filter((change) => change.kind === kind).length < count) await wake.promise;
      },
      async ready(count) {
        while (readdirSync(folder).length < count) await wake.promise;
      },
    });
  });
}

withPool(
  'a pool has as many processes as asked for, and they end when asked to',
  { count: 3, args: [CHILD, 'polite'] },
  async (started) => {
    const { pool, changes, until, ready } = started;
    await until('spawned', 3);
    assert.equal(new Set(pool.pids()).size, 3);
    await ready(3);
    await pool.stop(10_000);
    assert.deepEqual(pool.pids(), []);
    const deaths = changes.filter((change) => change.kind === 'died');
    assert.deepEqual(
      deaths.map(({ code, signal }) => [code, signal]),
      [
        [0, null],
        [0, null],
        [0, null],
      ],
    );
  },
);

withPool(
  'a worker that dies is replaced at once',
  { count: 2, args: [CHILD, 'polite'] },
  async ({ pool, changes, until }) => {
    await until('spawned', 2);
    const [victim] = pool.pids();
    assert.ok(victim !== undefined);
    process.kill(victim, 'SIGKILL');
    await until('spawned', 3);
    assert.equal(pool.pids().length, 2);
    assert.ok(!pool.pids().includes(victim));
    const death = changes.find((change) => change.kind === 'died');
    assert.deepEqual([death?.pid, death?.signal, death?.code], [victim, 'SIGKILL', null]);
  },
);

withPool(
  'a worker that keeps dying is replaced more and more slowly',
  { count: 1, args: ['-e', 'process.exit(7)'] },
  async (started) => {
    const { clock, changes, until } = started;
    await until('died', 2);
    assert.equal(changes.filter(({ kind }) => kind === 'spawned').length, 2, 'the first time at once');
    for (const [deaths, delayMs] of [
      [2, 100],
      [3, 200],
      [4, 400],
    ] as const) {
      await clock.advance(delayMs - 1);
      assert.equal(changes.filter(({ kind }) => kind === 'spawned').length, deaths);
      await clock.advance(1);
      await until('died', deaths + 1);
    }
    const death = changes.find((change) => change.kind === 'died');
    assert.equal(death?.code, 7);
  },
);

withPool(
  'a worker that has begun to work is reported by its name, and so is its end',
  { count: 1, args: ['-e', 'process.send("its-name", () => process.kill(process.pid, "SIGKILL"))'] },
  async ({ changes, until }) => {
    await until('died', 1);
    const [spawned, ready, died] = changes;
    assert.equal(spawned?.kind, 'spawned');
    assert.deepEqual(ready, { kind: 'ready', index: 0, lane: 'http', pid: spawned.pid, worker: 'its-name' });
    assert.deepEqual([died?.kind, died?.kind === 'died' && died.worker], ['died', 'its-name']);
  },
);

withPool(
  'a worker that was ready is replaced at once, however often it is killed',
  { count: 1, args: ['-e', 'process.send("ready", () => process.kill(process.pid, "SIGKILL"))'] },
  async ({ until }) => {
    await until('spawned', 5);
  },
);

test('the pauses between restarts grow from zero to five seconds', () => {
  const delays = Array.from({ length: 10 }, (_, index) => restartDelayMs(index + 1));
  assert.deepEqual(delays, [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});

withPool(
  'a worker that does not end when asked to is killed after the grace',
  { count: 1, args: [CHILD, 'stubborn'] },
  async (started) => {
    const { pool, clock, changes, until, ready } = started;
    await until('spawned', 1);
    await ready(1);
    let isStopped = false;
    const stopped = pool.stop(5000).then(() => {
      isStopped = true;
    });
    await clock.advance(4999);
    assert.equal(isStopped, false);
    await clock.advance(1);
    await stopped;
    const death = changes.find((change) => change.kind === 'died');
    assert.equal(death?.signal, 'SIGKILL');
  },
);

withPool(
  'a stopped process is killed after the grace too',
  { count: 1, args: [CHILD, 'polite'] },
  async ({ pool, clock, until }) => {
    await until('spawned', 1);
    const [pid] = pool.pids();
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGSTOP');
    const stopped = pool.stop(5000);
    await clock.advance(5000);
    await stopped;
  },
);

withPool(
  'a command that does not exist causes an event with the reason, and not a crash',
  { count: 1, command: '/no/such/command', args: [] },
  async (started) => {
    const { changes, until } = started;
    await until('died', 2);
    const death = changes.find((change) => change.kind === 'died');
    assert.match(death?.error ?? '', /ENOENT/);
  },
);

withPool(
  'a pool that is stopped during the pause before a restart starts no worker',
  { count: 1, args: ['-e', ''] },
  async (started) => {
    const { pool, clock, changes, until } = started;
    await until('died', 2);
    await pool.stop(1000);
    await clock.advance(60_000);
    assert.equal(changes.filter(({ kind }) => kind === 'spawned').length, 2);
  },
);

test('no worker outlives a parent that was killed', { timeout: 120_000 }, async () => {
  const parent = spawn(process.execPath, [join(import.meta.dirname, 'pool-parent.ts'), CHILD], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  parent.stdout.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  while ((said.match(/ready/g) ?? []).length < 2) await once(parent.stdout, 'data');
  parent.kill('SIGKILL');
  // The children have the other end of the pipe: it closes when the last of them is gone.
  await once(parent.stdout, 'end');
});
