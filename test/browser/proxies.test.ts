import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { ProxyWay } from '../../src/domain/proxy-way.ts';
import { UsageMeter } from '../../src/scraping/usage-meter.ts';
import { SECRET, startMicrosocks, startTinyproxy, USER } from '../egress/foreign-proxies.ts';
import { CERTIFICATE, listOf, openProxy, PASSWORD, residentialAt, startTarget } from '../egress/proxy-support.ts';
import { refusal } from '../models/proxy-server.ts';
import { type ContextParts, closeBrowsers, openBrowser } from './open-browser.ts';

after(closeBrowsers);

const NAMED = (url: string) => url.replace('county.test', '127.0.0.1');

/** Visits through a proxy called `proxied`; returns what the page shows, or why there is none. */
async function openThrough(t: TestContext, way: ProxyWay) {
  const open = await openBrowser('loopback', {
    lookup: async () => [{ address: '127.0.0.1' }],
    proxies: { ways: { proxied: way }, ca: CERTIFICATE.cert },
  });
  t.after(() => open[Symbol.asyncDispose]());
  return async (url: string, parts: Pick<NonNullable<ContextParts['visit']>, 'exit' | 'usage'> = {}) => {
    const exit = { dialer: 'proxied', session: 'job/item/0' };
    await using visitor = await open.openContext({ visit: { exit, ...parts } });
    const page = await visitor.newPage();
    try {
      await page.goto(url);
      return (await page.textContent('body')) ?? '';
    } catch {
      const why = visitor.way.refusal();
      return why?.kind === 'failed' ? `${why.failure.type}: ${why.failure.message}` : 'no reason';
    }
  };
}

test('pages go out through the proxy of the policy, in the session of the item, with its location', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const show = await openThrough(t, residentialAt(proxy));
  const geo = { country: 'us', state: 'az', city: 'Phoenix' };
  const exits = ['job/item/0', 'job/item/1'].map((session) => ({ dialer: 'proxied', session, geo }));
  for (const exit of exits) {
    for (const url of [target.http, target.https]) assert.equal(await show(url, { exit }), 'the target');
  }
  const users = [...new Set(proxy.asked.map(({ user }) => user ?? ''))];
  assert.equal(users.length, 2, 'one for each session');
  for (const user of users) {
    assert.match(user, /^brd-customer-hl_1234-zone-homes-country-us-state-az-city-phoenix-session-[a-z0-9]+$/);
  }
  for (const { password } of proxy.asked) assert.equal(password, PASSWORD);
  for (const { headers } of target.asked) assert.equal(headers['proxy-authorization'], undefined);
});

test('the bytes of a page are counted as the proxy sees them', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const meter = new UsageMeter();
  const show = await openThrough(t, residentialAt(proxy));
  for (const url of [target.http, target.https]) await show(url, { usage: meter.through('residential') });
  const sum = (name: 'bytesUp' | 'bytesDown') => meter.read().reduce((total, row) => total + row[name], 0);
  assert.deepEqual({ up: sum('bytesUp'), down: sum('bytesDown') }, proxy.bytes());
});

test('a SOCKS5 proxy with a password works, which Chromium itself refuses', async (t) => {
  const [target, port] = [await startTarget(t), await startMicrosocks(t)];
  const show = await openThrough(t, listOf(`socks5://${USER}:${SECRET}@127.0.0.1:${port}`));
  for (const url of [target.http, target.https]) assert.equal(await show(url), 'the target');
});

test('tinyproxy works with a password, and with a wrong one the job is to stop', async (t) => {
  const [target, port] = [await startTarget(t), await startTinyproxy(t)];
  const show = await openThrough(t, listOf(`http://${USER}:${SECRET}@127.0.0.1:${port}`));
  const refused = await openThrough(t, listOf(`http://${USER}:wrong@127.0.0.1:${port}`));
  for (const url of [target.http, target.https].map(NAMED)) {
    assert.equal(await show(url), 'the target');
    assert.match(await refused(url), /^proxy_config: the proxy answered 40[17]: /);
  }
});

test('a refusal by a proxy is a failure of the proxy, with the code, for http and https', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const show = await openThrough(t, residentialAt(proxy));
  for (const [status, code, type] of [
    [403, 'policy_20051', 'proxy_config'],
    [502, 'peer_30040', 'proxy_error'],
    [502, 'target_40001', 'server_error'],
  ] as const) {
    proxy.answer = () => refusal(status, code);
    for (const url of [target.http, target.https]) {
      assert.ok((await show(url)).startsWith(`${type}: the proxy answered ${status} (${code}): `), code);
    }
  }
  assert.equal(target.asked.length, 0);
});

test('without the proxy that the policy names, nothing goes out', async (t) => {
  const target = await startTarget(t);
  const show = await openThrough(t, { kind: 'unusable', problem: 'PROXY_URL is not set' });
  assert.equal(await show(target.http), 'proxy_config: PROXY_URL is not set');
  const exit = { dialer: 'forgotten', session: 's' };
  assert.equal(await show(target.https, { exit }), 'proxy_config: no dialer named "forgotten" is configured');
  assert.equal(target.asked.length, 0);
});
