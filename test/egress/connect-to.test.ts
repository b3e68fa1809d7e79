import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { connectTo } from '../../src/egress/connect-to.ts';
import type { TlsTarget } from '../../src/egress/dialer.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { selfSigned } from '../support/self-signed.ts';

const CERTIFICATE = selfSigned(['secure.test', '127.0.0.1']);

const CLOCK = systemClock();
const DEADLINE_MS = 20_000;

interface Listener<S extends Socket = Socket> extends AsyncDisposable {
  readonly port: number;
  readonly seen: S[];
}

async function listen(host: string, port = 0): Promise<Listener> {
  const seen: Socket[] = [];
  const server = createServer((socket) => seen.push(socket.on('error', () => {})));
  return started(server, host, port, seen);
}

async function listenTls(): Promise<Listener<TLSSocket>> {
  const seen: TLSSocket[] = [];
  const server = createTlsServer({ ...CERTIFICATE, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    seen.push(socket.on('error', () => {}));
  });
  return started(
    server.on('tlsClientError', () => {}),
    '127.0.0.1',
    0,
    seen,
  );
}

async function started<S extends Socket>(server: Server, host: string, port: number, seen: S[]): Promise<Listener<S>> {
  await once(server.listen(port, host), 'listening');
  const open = new Set<Socket>();
  server.on('connection', (socket) => open.add(socket));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function at(...addresses: string[]) {
  return addresses.map((address) => ({ address, family: isIPv6(address) ? (6 as const) : (4 as const) }));
}

async function reached(addresses: string[], port: number): Promise<string> {
  const socket = await connectTo(at(...addresses), port, null, DEADLINE_MS, CLOCK);
  socket.destroy();
  return socket.remoteAddress ?? 'nobody';
}

test('the first address that answers is the one that is connected', async () => {
  await using server = await listen('127.0.0.3');
  assert.equal(await reached(['127.0.0.2', '127.0.0.3', '127.0.0.4'], server.port), '127.0.0.3');
  assert.equal(await reached(['127.0.0.3'], server.port), '127.0.0.3');
});

test('families take turns, so that a dead one costs every second attempt only', async () => {
  await using old = await listen('127.0.0.3');
  await using young = await listen('::1', old.port);
  assert.equal(await reached(['127.0.0.2', '127.0.0.3', '::1'], old.port), '::1');
  assert.equal(await reached(['::1', '127.0.0.3'], young.port), '::1');
  assert.equal(old.seen.length, 0);
});

test('a mapped address is connected, and counts as the one that was dialled', async () => {
  await using server = await listen('127.0.0.1');
  assert.equal(await reached(['::ffff:127.0.0.1'], server.port), '::ffff:127.0.0.1');
});

test('a kernel that connects to another address than was dialled is not trusted, and the connection is closed', async () => {
  await using server = await listen('127.0.0.1');
  // Linux takes the unspecified address for loopback.
  await assert.rejects(reached(['0.0.0.0'], server.port), /dialled 0\.0\.0\.0, but reached 127\.0\.0\.1/);
  while (server.seen.length === 0) await CLOCK.turn();
  const [socket] = server.seen;
  if (socket?.resume().closed === false) await once(socket, 'close');
});

test('when no address answers, the error of the last attempt is reported with its code', async () => {
  const { port } = await (async () => {
    await using server = await listen('127.0.0.1');
    return server;
  })();
  await assert.rejects(reached(['127.0.0.2', '127.0.0.1'], port), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'ECONNREFUSED');
    assert.match(error.message, /127\.0\.0\.1/);
    return true;
  });
  await assert.rejects(reached([], port), /no address/);
});

test('a name is not dialled, because that would be a second lookup', async () => {
  await using server = await listen('127.0.0.1');
  await assert.rejects(reached(['localhost'], server.port), /localhost is not an IP address/);
  await assert.rejects(reached(['127.1'], server.port), /127\.1 is not an IP address/);
  assert.equal(server.seen.length, 0);
});

test('each attempt gets a fair part of the time that is left, and there are at most six', async () => {
  await using server = await listen('127.0.0.1');
  const parts: number[] = [];
  let elapsed = 0;
  const hasty: Clock = Object.assign(new FakeClock(), {
    elapsed: () => elapsed,
    async sleep(ms: number) {
      parts.push(ms);
      elapsed += ms;
    },
  });
  const dial = (count: number) =>
    connectTo(at(...new Array<string>(count).fill('127.0.0.1')), server.port, null, 1200, hasty);
  await assert.rejects(dial(3), { code: 'ETIMEDOUT' });
  assert.deepEqual(parts.splice(0), [400, 400, 400]);
  elapsed = 0;
  await assert.rejects(dial(9), { code: 'ETIMEDOUT' });
  assert.deepEqual(parts.splice(0), [200, 200, 200, 200, 200, 200]);
  await assert.rejects(connectTo(at('127.0.0.1'), server.port, null, 0, hasty), { code: 'ETIMEDOUT' });
  assert.deepEqual(parts, []);
});

test('an established connection leaves no timer and no listener behind', async () => {
  await using server = await listen('127.0.0.1');
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const socket = await connectTo(at('127.0.0.1'), server.port, null, DEADLINE_MS, clock, signal);
  assert.equal(clock.sleepers, 0);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.equal(socket.listenerCount('error'), 0);
  socket.destroy();
});

test('an abort ends the attempt with its reason', async () => {
  await using server = await listen('127.0.0.1');
  const abort = new AbortController();
  const dial = () => connectTo(at('127.0.0.1'), server.port, null, DEADLINE_MS, CLOCK, abort.signal);
  const waiting = dial();
  abort.abort(new Error('cancelled'));
  await assert.rejects(waiting, /cancelled/);
  await assert.rejects(dial(), /cancelled/);
});

function secure(port: number, tls: TlsTarget, addresses = ['127.0.0.1']): Promise<TLSSocket> {
  return connectTo(at(...addresses), port, tls, DEADLINE_MS, CLOCK) as Promise<TLSSocket>;
}

test('TLS names the host of the URL, speaks HTTP/1.1 and takes a certificate for that host', async () => {
  await using server = await listenTls();
  for (const hostname of ['secure.test', 'secure.test.']) {
    const socket = await secure(server.port, { hostname, ca: CERTIFICATE.cert });
    assert.deepEqual([socket.authorized, socket.servername, socket.alpnProtocol], [true, 'secure.test', 'http/1.1']);
    socket.destroy();
  }
});

test('TLS with an address sends no name and takes a certificate for that address', async () => {
  await using server = await listenTls();
  const socket = await secure(server.port, { hostname: '127.0.0.1', ca: CERTIFICATE.cert });
  await once(socket.end(), 'close');
  assert.equal(socket.authorized, true);
  assert.equal(server.seen[0]?.servername, false);
  await assert.rejects(secure(server.port, { hostname: '127.0.0.2', ca: CERTIFICATE.cert }), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
});

test('a certificate for another host, or of an unknown authority, ends it, and no other address is tried', async () => {
  await using server = await listenTls();
  await using other = await listen('127.0.0.2', server.port);
  const both = ['127.0.0.1', '127.0.0.2'];
  await assert.rejects(secure(server.port, { hostname: 'other.test', ca: CERTIFICATE.cert }, both), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
  await assert.rejects(secure(server.port, { hostname: 'secure.test' }, both), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  assert.equal(other.seen.length, 0);
});

test('a server that never answers the handshake is given up, and the connection is closed', async () => {
  await using server = await listen('127.0.0.1');
  const clock = new FakeClock();
  const waiting = connectTo(at('127.0.0.1'), server.port, { hostname: 'secure.test' }, 5000, clock);
  const refused = assert.rejects(waiting, { code: 'ETIMEDOUT', message: /TLS with secure\.test/ });
  // Wait until the handshake has begun: its first bytes are here.
  while (server.seen.length === 0) await clock.turn();
  const [socket] = server.seen;
  assert.ok(socket);
  await once(socket, 'data');
  await clock.advance(5000);
  await refused;
  if (!socket.closed) await once(socket, 'close');
  assert.equal(clock.sleepers, 0);
});

test('an abort between the connection and its handshake closes the connection', async () => {
  await using server = await listen('127.0.0.1');
  const abort = new AbortController();
  let asked = 0;
  const clock: Clock = Object.assign(new FakeClock(), {
    // The third call is for the handshake, after those for the deadline and for the attempt.
    elapsed() {
      asked += 1;
      if (asked === 3) abort.abort(new Error('cancelled'));
      return 0;
    },
  });
  const tls = { hostname: 'secure.test' };
  await assert.rejects(connectTo(at('127.0.0.1'), server.port, tls, DEADLINE_MS, clock, abort.signal), /cancelled/);
  while (server.seen.length === 0) await CLOCK.turn();
  const [socket] = server.seen;
  if (socket?.resume().closed === false) await once(socket, 'close');
});

test('a server that hangs up in the handshake is an error with a code', async () => {
  await using server = await listen('127.0.0.1');
  const waiting = secure(server.port, { hostname: 'secure.test' });
  const refused = assert.rejects(waiting, { code: 'ECONNRESET' });
  while (server.seen.length === 0) await CLOCK.turn();
  server.seen[0]?.destroy();
  await refused;
});
