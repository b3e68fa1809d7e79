import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrowserUnavailable } from '../../src/ports/browser-provider.ts';
import { SessionManager } from '../../src/sessions/session-manager.ts';
import { isRunning } from '../support/processes.ts';
import { localProvider, OPTIONS } from './local-support.ts';

test('sessions are created up to the limit, counted, and gone when they are destroyed', async () => {
  const { provider, clock } = await localProvider();
  const manager = new SessionManager({ provider, clock, browser: OPTIONS, maxSessions: 2 });
  const [one, two] = await Promise.all([manager.createSession(), manager.createSession()]);
  await assert.rejects(manager.createSession(), (error) => {
    assert.ok(error instanceof BrowserUnavailable && error.reason === 'busy');
    assert.equal(error.message, 'Session limit (2) reached');
    return true;
  });
  assert.deepEqual([one.provider, one.local?.id, one.browserbase], ['local', one.id, undefined]);
  assert.deepEqual(
    manager
      .getActiveSessions()
      .map(({ id }) => id)
      .sort(),
    [one.id, two.id].sort(),
  );
  const end = manager.beginItem(one.id);
  assert.equal(manager.getSessionStats(one.id).currentLoad, 1);
  end('failed');
  const { uptime, ...stats } = manager.getSessionStats(one.id);
  assert.deepEqual(stats, { sessionId: one.id, itemsProcessed: 1, errors: 1, currentLoad: 0 });
  assert.ok(uptime > 0);
  const pids = manager.browserOf(one.id).pids();
  await manager.destroySession(one.id);
  await manager.destroySession(one.id);
  assert.ok(pids.every((pid) => !isRunning(pid)));
  assert.throws(() => manager.getSessionStats(one.id), /there is no active session/);
  await two.cleanup();
  assert.deepEqual(manager.getActiveSessions(), []);
  const three = await manager.createSession();
  assert.ok(three.local?.browser.isConnected());
  await manager.close();
});

test('the limit is five sessions unless another one is given', async () => {
  const { provider, clock } = await localProvider();
  const manager = new SessionManager({ provider, clock, browser: OPTIONS });
  const sessions = await Promise.all([1, 2, 3, 4, 5].map(() => manager.createSession()));
  await assert.rejects(manager.createSession(), { message: 'Session limit (5) reached' });
  await Promise.all(sessions.map((session) => session.cleanup()));
  assert.deepEqual(manager.getActiveSessions(), []);
});

test('refreshing drops crashed and idle sessions, keeps those in use, and returns the rest', async () => {
  const { provider, clock } = await localProvider();
  const manager = new SessionManager({ provider, clock, browser: OPTIONS, sessionTimeout: 0 });
  const [crashed, idle, busy] = await Promise.all([1, 2, 3].map(() => manager.createSession()));
  const end = manager.beginItem(busy?.id ?? '');
  process.kill(manager.browserOf(crashed?.id ?? '').pids()[0] ?? 0, 'SIGKILL');
  const left = await manager.refreshSessions();
  assert.deepEqual(
    left.map(({ id }) => id),
    [busy?.id],
  );
  assert.equal(idle?.local?.browser.isConnected(), false);
  end('done');
  assert.deepEqual(await manager.refreshSessions(), []);
});
