import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { failure } from '../../src/domain/failure.ts';
import { connectTo } from '../../src/egress/connect-to.ts';
import type { Dialer, DialTarget } from '../../src/egress/dialer.ts';
import { directDialer } from '../../src/egress/direct-dialer.ts';
import type { Exit } from '../../src/egress/web.ts';
import { type HostileServer, openHostileServer } from './hostile-server.ts';
import { aRequest, aVisit, loopbackWeb, textOf } from './visits.ts';

const CLOCK = systemClock();

/** Goes to this port of loopback instead of the target's, as a proxy would, and remembers what it was asked to dial. */
function detour(port: number): Dialer & { readonly dialled: DialTarget[] } {
  const dialled: DialTarget[] = [];
  return {
    dialled,
    connectionKey: ({ session }) => session,
    async dial(target, signal) {
      dialled.push(target);
      const addresses = [{ address: '127.0.0.1', family: 4 as const }];
      return { kind: 'connected', socket: await connectTo(addresses, port, null, 5000, CLOCK, signal) };
    },
  };
}

async function serverSaying(t: TestContext, name: string): Promise<HostileServer> {
  const server = await openHostileServer({
    answer: (line) => line.say(`HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name}`),
  });
  t.after(() => server.close());
  return server;
}

async function openWays(t: TestContext, more: Readonly<Record<string, Dialer>> = {}) {
  const [target, proxy] = [await serverSaying(t, 'target'), await serverSaying(t, 'proxy')];
  const dialer = detour(proxy.port);
  const lookup = async () => [{ address: '127.0.0.1' }];
  const web = loopbackWeb({ dialers: { proxied: dialer, ...more }, lookup });
  t.after(() => web.close());
  const ask = async (exit: Exit, url = target.url) => textOf(await web.send(aRequest(url), aVisit({ exit })));
  return { target, proxy, dialer, ask };
}

test('a dialer makes the connections of the visits that name it, and of no others', async (t) => {
  const { target, dialer, ask } = await openWays(t);
  assert.equal(await ask({ dialer: 'proxied', session: 'a' }), 'proxy');
  assert.equal(await ask({ dialer: 'direct', session: 'a' }), 'target');
  assert.equal(await ask({ dialer: 'proxied', session: 'a' }), 'proxy');
  assert.equal(dialer.dialled.length, 1, 'the third visit did not use the connection of the first');
  const [{ hostname, port, addresses, tls, session, deadline } = assert.fail()] = dialer.dialled;
  assert.deepEqual([hostname, port, tls, session], ['127.0.0.1', target.port, null, 'a']);
  assert.deepEqual(addresses, [{ address: '127.0.0.1', family: 4 }]);
  assert.equal(deadline.ms, 5000);
});

test('sessions that a dialer tells apart never share a connection, and one session does', async (t) => {
  const { proxy, dialer, ask } = await openWays(t);
  for (const session of ['a', 'b', 'a', 'b', 'c']) assert.equal(await ask({ dialer: 'proxied', session }), 'proxy');
  assert.deepEqual(
    dialer.dialled.map(({ session }) => session),
    ['a', 'b', 'c'],
  );
  assert.equal(proxy.connections(), 3);
});

test('two dialers never share a connection, not even for one session and one target', async (t) => {
  const other = await serverSaying(t, 'other');
  const { proxy, ask } = await openWays(t, { other: detour(other.port) });
  for (const _ of [1, 2]) {
    assert.equal(await ask({ dialer: 'proxied', session: 'a' }), 'proxy');
    assert.equal(await ask({ dialer: 'other', session: 'a' }), 'other');
  }
  assert.deepEqual([proxy.connections(), other.connections()], [1, 1]);
});

test('all sessions of the direct dialer look the same to a target, and share its connections', async (t) => {
  const { target, ask } = await openWays(t);
  for (const session of ['a', 'b', 'c']) assert.equal(await ask({ dialer: 'direct', session }), 'target');
  assert.equal(target.connections(), 1);
});

test('the address rules apply to the target whichever dialer connects, and a refused one is not dialled', async (t) => {
  const { dialer, ask } = await openWays(t);
  assert.match(await ask({ dialer: 'proxied', session: 'a' }, 'http://10.0.0.1/'), /^refused_address: 10\.0\.0\.1/);
  assert.match(await ask({ dialer: 'proxied', session: 'a' }, 'http://[::ffff:10.0.0.1]/'), /^refused_address/);
  assert.equal(dialer.dialled.length, 0);
});

test('a visit whose dialer is not configured fails, and is not sent out another way', async (t) => {
  const { target, ask } = await openWays(t);
  const end = await ask({ dialer: 'residential', session: 'a' });
  assert.equal(end, 'proxy_config: no dialer named "residential" is configured');
  assert.equal(target.connections(), 0);
});

test('why a dialer failed is the failure of the request', async (t) => {
  const what = failure('proxy_error', 'the proxy has no exit there');
  const broken: Dialer = { connectionKey: () => '', dial: async () => ({ kind: 'failed', failure: what }) };
  const { ask } = await openWays(t, { broken });
  assert.equal(await ask({ dialer: 'broken', session: 'a' }), 'proxy_error: the proxy has no exit there');
});

test('the direct dialer answers with a failure, and rejects only with the reason of an abort', async (t) => {
  const server = await openHostileServer({});
  t.after(() => server.close());
  const addresses = [{ address: '127.0.0.2', family: 4 as const }];
  const deadline = { at: CLOCK.elapsed() + 5000, ms: 7000 };
  const place = { hostname: 'a.test', port: server.port, addresses, tls: null, session: '', geo: null };
  const target: DialTarget = { ...place, isTunnel: false, deadline, usage: null };
  const dialer = directDialer(CLOCK);
  const { signal } = new AbortController();
  const refused = await dialer.dial({ ...target, port: 1 }, signal);
  assert.ok(refused.kind === 'failed' && refused.failure.type === 'network_error');
  const late = await dialer.dial({ ...target, deadline: { at: CLOCK.elapsed(), ms: 7000 } }, signal);
  assert.ok(late.kind === 'failed');
  assert.deepEqual([late.failure.type, late.failure.message], ['timeout', 'no connection within 7000 ms']);
  const reason = new Error('cancelled');
  await assert.rejects(dialer.dial(target, AbortSignal.abort(reason)), reason);
});
