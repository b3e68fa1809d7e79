import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { BrowserUnavailable } from '../../src/ports/browser-provider.ts';
import { BrowserPool } from '../../src/sessions/browser-pool.ts';
import { CdpProvider } from '../../src/sessions/cdp/cdp-provider.ts';
import { SessionManager } from '../../src/sessions/session-manager.ts';
import { passOn } from '../models/browserbase-server.ts';
import { type RemoteChromium, startRemoteChromium } from '../models/remote-chromium.ts';
import { isRunning } from '../support/processes.ts';
import { untilTrue } from '../support/until.ts';
import { OPTIONS, patience } from './local-support.ts';

const clock = systemClock();

/** A Chromium that is not ours, and a way to it that asks for a password and can be cut. */
async function remote(t: TestContext) {
  const chromium = await startRemoteChromium();
  const sockets = new Set<Duplex>();
  const gateway = createServer().on('upgrade', (request, socket) => {
    const isAllowed = request.headers.authorization === `Basic ${btoa('user:pass-word')}`;
    if (!isAllowed) return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    sockets.add(socket);
    return passOn(request, socket, chromium);
  });
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const { port } = gateway.address() as AddressInfo;
  const temporaryDir = mkdtempSync(join(tmpdir(), 'trawl-cdp-'));
  const providers: CdpProvider[] = [];
  t.after(async () => {
    for (const provider of providers) await provider.close();
    for (const socket of sockets) socket.destroy();
    gateway.close();
    await chromium.stop();
    assert.deepEqual(readdirSync(temporaryDir), []);
    rmSync(temporaryDir, { recursive: true });
  });
  const connect = (endpoint: string) => {
    const provider = new CdpProvider({ clock, temporaryDir, endpoint });
    providers.push(provider);
    return provider;
  };
  return {
    ...{ chromium, connect, gateway: (password: string) => `ws://user:${password}@127.0.0.1:${port}/` },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Pages as the browser itself lists them. */
async function pages({ port }: RemoteChromium): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const targets = (await response.json()) as { type: string }[];
  return targets.filter(({ type }) => type === 'page').length;
}

test('what we opened there is closed, and the browser with its own pages goes on', async (t) => {
  const { chromium, connect, gateway } = await remote(t);
  const before = await pages(chromium);
  const session = await connect(gateway('pass-word')).open(OPTIONS, patience());
  assert.deepEqual([session.provider, session.contexts, session.pids()], ['cdp', 'own', []]);
  assert.equal(await session.isHealthy(30_000), true);
  const context = await session.browser.newContext();
  const page = await context.newPage();
  assert.equal(await page.evaluate('6 * 7'), 42);
  await session.browser.contexts()[0]?.newPage();
  assert.equal(await pages(chromium), before + 2);
  await session.close();
  assert.equal(session.gone.aborted, true);
  await untilTrue(async () => (await pages(chromium)) === before);
  assert.equal(isRunning(chromium.pid), true);
});

test('the http address at which a Chromium reports its own is an endpoint, too', async (t) => {
  const { chromium, connect } = await remote(t);
  const session = await connect(`http://127.0.0.1:${chromium.port}`).open(OPTIONS, patience());
  assert.equal(await session.isHealthy(30_000), true);
  await session.close();
});

test('a wrong password, a missing address and one without a browser are told apart, and no message has the password', async (t) => {
  const { connect, gateway } = await remote(t);
  const cases = [
    [gateway('wrong-word'), 'failed', /no connection to the browser/],
    ['ws://user:other-word@127.0.0.1:1/', 'failed', /no connection to the browser/],
    ['', 'misconfigured', /TRAWL_CDP_URL is not set/],
  ] as const;
  for (const [endpoint, reason, message] of cases) {
    await assert.rejects(connect(endpoint).open(OPTIONS, patience()), (error) => {
      assert.ok(error instanceof BrowserUnavailable && error.reason === reason, String(error));
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /(?:wrong|other)-word/);
      return true;
    });
  }
});

test('when the connection is lost, items are notified at once, the next gets another, and no page is left behind', async (t) => {
  const { chromium, connect, gateway, cut } = await remote(t);
  const before = await pages(chromium);
  const manager = new SessionManager({ provider: connect(gateway('pass-word')), clock, browser: OPTIONS });
  const pool = new BrowserPool({ manager, clock, sessions: 1, contextsPerSession: 2, onRetired: () => {} });
  const lease = await pool.open({}, patience());
  await lease.context.newPage();
  const gone = once(lease.session.gone, 'abort');
  cut();
  await gone;
  await lease.release('failed');
  const next = await pool.open({}, patience());
  const page = await next.context.newPage();
  assert.equal(await page.evaluate('6 * 7'), 42);
  await next.release('done');
  await pool.close();
  await untilTrue(async () => (await pages(chromium)) === before);
});

test('a browser that is stopped there keeps no caller waiting: closing ends by our own clock', async (t) => {
  const { chromium, connect, gateway } = await remote(t);
  const session = await connect(gateway('pass-word')).open(OPTIONS, patience());
  await session.browser.newContext();
  process.kill(-chromium.pid, 'SIGSTOP');
  assert.equal(await session.isHealthy(300), false);
  await session.close();
  assert.equal(session.gone.aborted, true);
});
