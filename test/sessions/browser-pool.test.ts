import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { SessionLimits } from '../../src/domain/session-retirement.ts';
import type { BrowserProvider } from '../../src/ports/browser-provider.ts';
import { BrowserPool } from '../../src/sessions/browser-pool.ts';
import { SessionManager } from '../../src/sessions/session-manager.ts';
import { isRunning } from '../support/processes.ts';
import { untilTrue } from '../support/until.ts';
import { localProvider, OPTIONS, patience } from './local-support.ts';

/** A pool of real browsers that counts what is opened. */
async function pool(
  wanted: { sessions?: number; contexts?: number; idleMs?: number; limits?: Partial<SessionLimits> } = {},
) {
  const { provider, clock, files } = await localProvider();
  let opened = 0;
  const counting: BrowserProvider = {
    ...{ name: provider.name, sweep: () => provider.sweep(), close: () => provider.close() },
    async open(options, signal) {
      opened += 1;
      return provider.open(options, signal);
    },
  };
  const sessions = wanted.sessions ?? 1;
  const manager = new SessionManager({
    ...{
      provider: counting,
      clock,
      browser: OPTIONS,
      maxSessions: sessions + 1,
      sessionTimeout: wanted.idleMs ?? 60_000,
    },
    limits: wanted.limits ?? {},
  });
  const retired: string[] = [];
  const pooled = new BrowserPool({
    ...{ manager, clock, sessions, contextsPerSession: wanted.contexts ?? 4 },
    onRetired: (_, why) => void retired.push(why),
  });
  const close = async () => {
    await pooled.close();
    await provider.close();
    assert.deepEqual(files(), []);
  };
  return { pool: pooled, manager, retired, opened: () => opened, close };
}

test('items share one browser, each in a context of its own, and only the first waits for a start', async () => {
  const { pool: browsers, manager, opened, close } = await pool();
  assert.equal(opened(), 0, 'nothing is started before it is needed');
  const leases = await Promise.all([1, 2, 3].map(() => browsers.open({}, patience())));
  assert.deepEqual([opened(), new Set(leases.map(({ context }) => context)).size], [1, 3]);
  const [first, second, third] = leases;
  await first?.context.addCookies([{ name: 'a', value: '1', url: 'https://a.example' }]);
  assert.deepEqual(await second?.context.cookies(), []);
  const id = first?.session.id ?? '';
  assert.equal(manager.getSessionStats(id).currentLoad, 3);
  await Promise.all([
    first?.release('done'),
    second?.release('done'),
    third?.release('failed'),
    third?.release('done'),
  ]);
  const { uptime, ...stats } = manager.getSessionStats(id);
  assert.deepEqual(stats, { sessionId: id, itemsProcessed: 3, errors: 1, currentLoad: 0 });
  assert.ok(uptime > 0);
  await close();
});

test('an item that finds no room waits for its turn, and one that is no longer wanted leaves the line', async () => {
  const { pool: browsers, close } = await pool({ contexts: 1 });
  const first = await browsers.open({}, patience());
  const stop = new AbortController();
  const order: string[] = [];
  const left = browsers.open({}, stop.signal).catch((error: unknown) => order.push(String(error)));
  const second = browsers.open({}, patience()).then((lease) => {
    order.push('second');
    return lease;
  });
  stop.abort(new Error('cancelled'));
  await left;
  await first.release('done');
  await (await second).release('done');
  assert.deepEqual(order, ['Error: cancelled', 'second']);
  await close();
});

test('a browser is retired after its last item by count, and the next one is there before that', async () => {
  const { pool: browsers, manager, retired, opened, close } = await pool({ limits: { maxItems: 4 } });
  const ids: string[] = [];
  for (let item = 1; item <= 3; item += 1) {
    const lease = await browsers.open({}, patience());
    ids.push(lease.session.id);
    await lease.release('done');
  }
  const fourth = await browsers.open({}, patience());
  await browsers.runOnce();
  await untilTrue(() => manager.getActiveSessions().length === 2);
  assert.equal(opened(), 2, 'its successor is open');
  const fifth = await browsers.open({}, patience());
  assert.equal(fourth.session.id, ids[0]);
  assert.notEqual(fifth.session.id, ids[0]);
  assert.equal(fourth.session.gone.aborted, false, 'an item is finished where it was begun');
  await fourth.release('done');
  if (!fourth.session.gone.aborted) await once(fourth.session.gone, 'abort');
  assert.equal(retired.length, 1);
  await fifth.release('done');
  await close();
});

test('a browser that has grown, is old or idle is closed, and its processes with it', async () => {
  const cases = [{ limits: { maxMemoryBytes: 1e6 } }, { limits: { maxAgeMs: 0 } }, { idleMs: 0 }];
  for (const [at, wanted] of cases.entries()) {
    const { pool: browsers, retired, close } = await pool(wanted);
    const lease = await browsers.open({}, patience());
    const pids = lease.session.pids();
    await lease.release('done');
    assert.equal(await browsers.runOnce(), 0);
    await untilTrue(() => pids.every((pid) => !isRunning(pid)));
    assert.deepEqual(retired, [['memory'], ['age'], ['idle']][at]);
    await close();
  }
});

test('a stopped browser is detected and killed, its items are notified at once, and its slot is free', async () => {
  const { pool: browsers, opened, close } = await pool({ contexts: 1 });
  const lease = await browsers.open({}, patience());
  const pids = lease.session.pids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  const waiting = browsers.open({}, patience());
  const gone = once(lease.session.gone, 'abort');
  await lease.release('spoilt');
  await gone;
  assert.ok(pids.every((pid) => !isRunning(pid)));
  await (await waiting).release('done');
  assert.equal(opened(), 2);
  await close();
});

test('a browser that crashes between items is replaced without affecting any of them', async () => {
  const { pool: browsers, opened, close } = await pool();
  const lease = await browsers.open({}, patience());
  await lease.release('done');
  process.kill(lease.session.pids()[0] ?? 0, 'SIGKILL');
  const next = await browsers.open({}, patience());
  const page = await next.context.newPage();
  assert.equal(await page.evaluate('6 * 7'), 42);
  await next.release('done');
  assert.equal(opened(), 2);
  await close();
});

test('a session is opened ahead of demand when that is wanted, and only one', async () => {
  const { pool: browsers, manager, opened, close } = await pool({ sessions: 2 });
  browsers.warmUp();
  browsers.warmUp();
  await untilTrue(() => manager.getActiveSessions().length === 1);
  const lease = await browsers.open({}, patience());
  assert.equal(opened(), 1);
  await lease.release('done');
  await close();
});
