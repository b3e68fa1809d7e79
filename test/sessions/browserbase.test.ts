import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { BrowserUnavailable } from '../../src/ports/browser-provider.ts';
import { BrowserPool } from '../../src/sessions/browser-pool.ts';
import { BrowserbaseProvider } from '../../src/sessions/browserbase/browserbase-provider.ts';
import { SessionManager } from '../../src/sessions/session-manager.ts';
import { API_KEY, BrowserbaseServer, type CreateFault } from '../models/browserbase-server.ts';
import { OPTIONS, patience } from './local-support.ts';

const clock = systemClock();

async function browserbase(t: TestContext, { apiKey = API_KEY } = {}) {
  const server = new BrowserbaseServer();
  const baseUrl = await server.start();
  const temporaryDir = mkdtempSync(join(tmpdir(), 'trawl-browserbase-'));
  const open = (key = apiKey) =>
    new BrowserbaseProvider({ clock, baseUrl, temporaryDir, apiKey: key, projectId: '', timeoutSeconds: 120 });
  const provider = open();
  t.after(async () => {
    await provider.close();
    await server.stop();
    assert.deepEqual(readdirSync(temporaryDir), []);
    rmSync(temporaryDir, { recursive: true });
  });
  return { server, provider, baseUrl, temporaryDir, open };
}

/** Every session that was ever created has been released, and none still costs money. */
function assertReleased(server: BrowserbaseServer): void {
  const unreleased = [...server.sessions.values()].filter(({ releases }) => releases === 0).map(({ id }) => id);
  assert.deepEqual([unreleased, server.running().length], [[], 0]);
}

function unavailable(reason: BrowserUnavailable['reason'], message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof BrowserUnavailable, String(error));
    assert.equal(error.reason, reason);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /bb_live|secret-of-session/);
    return true;
  };
}

test('a session is created with our marks, used by its own context, shown to its users, and released', async (t) => {
  const { server, provider } = await browserbase(t);
  const manager = new SessionManager({ provider, clock, browser: { ...OPTIONS, metadata: { job: 'j1' } } });
  const session = await manager.createSession();
  const [model] = server.running();
  assert.equal(model?.userMetadata['job'], 'j1');
  assert.ok(model?.userMetadata['trawl_machine'] && model.userMetadata['trawl_process']);
  assert.equal(session.browserbase?.id, model?.id);
  assert.equal(session.browserbase?.projectId, 'project-of-the-key');
  assert.match(session.browserbase?.connectUrl ?? '', /^ws:/);
  const held = manager.browserOf(session.id);
  assert.deepEqual([held.contexts, held.pids(), held.memoryBytes()], ['shared', [], null]);
  assert.equal(await held.isHealthy(30_000), true);
  const page = await held.browser.contexts()[0]?.newPage();
  assert.equal(await page?.evaluate('6 * 7'), 42);
  await session.cleanup();
  assertReleased(server);
});

test('over the limit of the plan a session is refused as busy, and in a pool the next item waits for the first', async (t) => {
  const { server, provider, baseUrl } = await browserbase(t);
  server.maxConcurrent = 1;
  const manager = new SessionManager({ provider, clock, browser: OPTIONS });
  const pool = new BrowserPool({ manager, clock, sessions: 2, contextsPerSession: 4, onRetired: () => {} });
  const first = await pool.open({}, patience());
  await assert.rejects(provider.open(OPTIONS, patience()), (error) => {
    assert.equal((error as BrowserUnavailable).retryAfterMs, 100);
    return unavailable('busy', /429/)(error);
  });
  const second = pool.open({}, patience());
  await first.context.addCookies([{ name: 'of', value: 'first', url: 'https://a.example' }]);
  const page = await first.context.newPage();
  await page.goto(baseUrl);
  await page.evaluate("localStorage.setItem('of', 'first')");
  await first.release('done');
  const lease = await second;
  assert.equal(lease.session.id, first.session.id);
  assert.deepEqual(await lease.context.cookies(), [], 'nothing of the last item is left');
  const its = await lease.context.newPage();
  await its.goto(baseUrl);
  assert.deepEqual([page.isClosed(), await its.evaluate("localStorage.getItem('of')")], [true, null]);
  await lease.release('done');
  await pool.close();
  assertReleased(server);
});

test('a wrong key, a missing one and a bad request are faults of the configuration, and nothing is created', async (t) => {
  const { server, open } = await browserbase(t);
  await assert.rejects(open('bb_live_wrong').open(OPTIONS, patience()), unavailable('misconfigured', /401/));
  await assert.rejects(
    open('').open(OPTIONS, patience()),
    unavailable('misconfigured', /BROWSERBASE_API_KEY is not set/),
  );
  assert.equal(server.sessions.size, 0);
});

const FAULTS: readonly CreateFault[] = ['lose-answer', 'fail-after', 'garbage', 'refuse-connection', 'hang-connection'];
for (const fault of FAULTS) {
  test(`an unusable session is released: ${fault}`, async (t) => {
    const { server, provider } = await browserbase(t);
    server.faults.push(fault);
    const openMs = fault === 'hang-connection' ? 1000 : 60_000;
    await assert.rejects(provider.open({ ...OPTIONS, openMs }, patience()), unavailable('failed', /./));
    assert.equal(server.sessions.size, 1);
    assertReleased(server);
  });
}

test('when the connection is lost, the session is gone and released, and the pool opens another', async (t) => {
  const { server, provider } = await browserbase(t);
  const manager = new SessionManager({ provider, clock, browser: OPTIONS });
  const pool = new BrowserPool({ manager, clock, sessions: 1, contextsPerSession: 1, onRetired: () => {} });
  const lease = await pool.open({}, patience());
  const gone = once(lease.session.gone, 'abort');
  server.cut(lease.session.id);
  await gone;
  await lease.release('failed');
  const next = await pool.open({}, patience());
  assert.notEqual(next.session.id, lease.session.id);
  await next.release('done');
  await pool.close();
  assert.equal(server.sessions.size, 2);
  assertReleased(server);
});

test('a session that has expired there is dropped, although its connection is still open', async (t) => {
  const { server, provider } = await browserbase(t);
  const manager = new SessionManager({ provider, clock, browser: OPTIONS });
  const [expired, well] = [await manager.createSession(), await manager.createSession()];
  server.expire(expired.id);
  const left = await manager.refreshSessions();
  assert.deepEqual(
    left.map(({ id }) => id),
    [well.id],
  );
  await manager.close();
  assertReleased(server);
});

test('a release that fails is tried again, and what could not be released at all is swept', async (t) => {
  const { server, provider } = await browserbase(t);
  const one = await provider.open(OPTIONS, patience());
  server.failingReleases = 2;
  await one.close();
  assertReleased(server);
  const two = await provider.open(OPTIONS, patience());
  server.failingReleases = 4;
  await two.close();
  assert.equal(server.running().length, 1);
  assert.equal(await provider.sweep(), 1);
  assertReleased(server);
});

test('sessions of a process that was killed are swept, those of living ones and of other machines are not', async (t) => {
  const { server, provider, baseUrl, temporaryDir } = await browserbase(t);
  const own = await provider.open(OPTIONS, patience());
  const entry = fileURLToPath(new URL('browserbase-process.ts', import.meta.url));
  const holder = spawn(process.execPath, [entry, baseUrl, API_KEY, temporaryDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  assert.equal(await provider.sweep(), 0, 'it lives');
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const foreign = [...server.running()].at(-1);
  const marks = { ...foreign?.userMetadata };
  Object.assign(foreign?.userMetadata ?? {}, { trawl_machine: 'another' });
  assert.equal(await provider.sweep(), 0, 'another machine');
  Object.assign(foreign?.userMetadata ?? {}, marks);
  assert.equal(await provider.sweep(), 1);
  assert.deepEqual(
    server.running().map(({ id }) => id),
    [own.id],
  );
  await own.close();
  assertReleased(server);
});

test('by count: whatever goes wrong with twelve sessions, every one that was created is released', async (t) => {
  const { server, provider } = await browserbase(t);
  server.maxConcurrent = 4;
  server.faults.push(null, 'lose-answer', null, 'garbage', null, 'refuse-connection', 'fail-after', null, null);
  const ends = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      const stop = new AbortController();
      if (at % 5 === 4) stop.abort(new Error('stopped'));
      try {
        const session = await provider.open(OPTIONS, stop.signal);
        if (at % 3 === 0) server.cut(session.id);
        else if (at % 3 === 1) server.expire(session.id);
        await session.close();
        return 'opened';
      } catch {
        return 'refused';
      }
    }),
  );
  await provider.sweep();
  assert.ok(ends.includes('opened') && ends.includes('refused'), ends.join());
  assert.ok(server.sessions.size >= 4);
  assertReleased(server);
});
