import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal } from '../models/proxy-server.ts';
import { PROXY_TABLE } from '../models/proxy-table.ts';
import { openHostileServer } from './hostile-server.ts';
import { askThrough, HOST, listOf, openProxy, PASSWORD, residentialAt, startTarget } from './proxy-support.ts';
import { aRequest, aVisit, textOf } from './visits.ts';

for (const isTls of [false, true]) {
  test(`an ${isTls ? 'HTTPS' : 'HTTP'} proxy passes plain requests on, and makes tunnels for others`, async (t) => {
    const [target, proxy] = [await startTarget(t), await openProxy(t, isTls)];
    const scheme = isTls ? 'https' : 'http';
    const { ask } = askThrough(t, listOf(`${scheme}://ann:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`));
    assert.equal(await ask(`${target.http}a?b=1`), 'the target');
    assert.equal(await ask(`${target.https}a?b=1`), 'the target');
    const [plain, tunnel] = proxy.asked;
    assert.equal(plain?.line, `GET ${target.http}a?b=1`, 'the whole URL');
    assert.deepEqual([plain?.isConnect, plain?.user, plain?.password], [false, 'ann', PASSWORD]);
    assert.equal(tunnel?.target, new URL(target.https).host);
    assert.deepEqual([tunnel?.isConnect, tunnel?.user, tunnel?.password], [true, 'ann', PASSWORD]);
    for (const { headers } of target.asked) {
      assert.equal(headers['proxy-authorization'], undefined, 'the target must not get our credentials');
    }
    assert.deepEqual(
      target.asked.map(({ url, headers }) => [url, headers.host]),
      [target.http, target.https].map((url) => ['/a?b=1', new URL(url).host]),
    );
  });
}

test('a POST, its answer and its redirect go through the proxy, hop by hop', async (t) => {
  const target = await startTarget(t, (request, response) => {
    if (request.method === 'POST') response.writeHead(303, { location: '/after' }).end();
    else response.end(`${request.method} ${request.url}`);
  });
  const proxy = await openProxy(t);
  const { web } = askThrough(t, residentialAt(proxy));
  const request = aRequest(target.http, { method: 'POST', body: Buffer.from('a=1') });
  const end = await web.send(request, aVisit({ exit: { dialer: 'proxied', session: 's' } }));
  assert.equal(textOf(end), 'GET /after');
  assert.equal(proxy.asked.length, 2);
});

for (const { status, code, type, says } of PROXY_TABLE) {
  test(`${status} ${code} from the proxy is ${type}, for http and for https`, async (t) => {
    const [target, proxy] = [await startTarget(t), await openProxy(t)];
    const { ask } = askThrough(t, residentialAt(proxy));
    for (const url of [target.http, target.https]) {
      proxy.answer = () => refusal(status, code);
      const said = await ask(url);
      assert.ok(said.startsWith(`${type}: the proxy answered ${status} (${code}): `), said);
      assert.match(said, says);
      // This holds even where the status looks good, as it does for a closed zone.
      proxy.answer = () => ({ status: 200, headers: { 'x-brd-err-code': code } });
      assert.ok((await ask(url)).startsWith(`${type}: the proxy answered 200 (${code}): `));
      proxy.answer = null;
      assert.equal(await ask(url), 'the target', 'the next request is not harmed');
    }
    assert.equal(target.asked.length, 2);
  });
}

test('a 403 and a 502 of the target are its own answers, with a proxy as without one', async (t) => {
  for (const status of [403, 407, 429, 502]) {
    const target = await startTarget(t, (_, response) => response.writeHead(status).end('mine'));
    const { ends } = askThrough(t, residentialAt(await openProxy(t)));
    const end = await ends(target.https);
    assert.ok(end.kind === 'answer' && end.status === status);
    // Only a proxy has a use for 407, so on a plain request it is the proxy's.
    const plain = await ends(target.http);
    assert.equal(plain.kind === 'answer' ? plain.status : plain.failure.type, status === 407 ? 'proxy_config' : status);
  }
});

test("a target that sends a proxy's headers through a tunnel is not believed", async (t) => {
  const target = await startTarget(t, (_, response) =>
    response.writeHead(403, { 'x-brd-err-code': 'client_10020' }).end(),
  );
  const { ends } = askThrough(t, residentialAt(await openProxy(t)));
  const end = await ends(target.https);
  assert.ok(end.kind === 'answer' && end.status === 403);
});

test('the web unlocker also speaks inside its tunnels, because it decrypts them', async (t) => {
  const target = await startTarget(t, (_, response) =>
    response.writeHead(502, { 'x-brd-err-code': 'peer_30040' }).end(),
  );
  const way = residentialAt(await openProxy(t));
  assert.ok(way.kind === 'bright-data');
  const { ask } = askThrough(t, { ...way, type: 'web_unlocker' });
  assert.match(await ask(target.https), /^proxy_error: the proxy answered 502 \(peer_30040\)/);
});

test('a web unlocker whose certificate we do not trust is a matter of configuration', async (t) => {
  const target = await startTarget(t);
  const way = residentialAt(await openProxy(t));
  assert.ok(way.kind === 'bright-data');
  const proxies = { ways: { proxied: { ...way, type: 'web_unlocker' as const } }, ca: null };
  const { web } = askThrough(t, way, { proxies });
  const end = await web.send(aRequest(target.https), aVisit({ exit: { dialer: 'proxied', session: 's' } }));
  assert.match(textOf(end), /^proxy_config: the proxy decrypts https.*set PROXY_CA_FILE/);
});

test('the user name has the session and the place, one session per visitor, and connections are not shared', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const { ask } = askThrough(t, residentialAt(proxy));
  const az = { country: 'us', state: 'az', city: 'Phoenix' };
  for (const url of [target.http, target.https]) {
    await ask(url, { session: 'job/a/0', geo: az });
    await ask(url, { session: 'job/a/0', geo: az });
    await ask(url, { session: 'job/a/1', geo: az });
    await ask(url, { session: 'job/b/0' });
  }
  const users = proxy.asked.map(({ user }) => user ?? '');
  for (const user of users)
    assert.match(user, /^brd-customer-hl_1234-zone-homes(-country-us-state-az-city-phoenix)?-session-[a-z0-9]+$/);
  // Plain requests name their user each time, a tunnel once.
  assert.equal(users.length, 4 + 3);
  const [one, again, next, other, ...tunnels] = users;
  assert.equal(one, again);
  assert.equal(new Set([one, next, other]).size, 3);
  assert.deepEqual(tunnels, [one, next, other], 'a session is the same for http and https');
});

test('with a list of proxies, the next session of a visitor uses the next proxy', async (t) => {
  const target = await startTarget(t);
  const proxies = [await openProxy(t), await openProxy(t)];
  const secret = encodeURIComponent(PASSWORD);
  const { ask } = askThrough(t, listOf(...proxies.map(({ port }) => `http://u:${secret}@127.0.0.1:${port}`)));
  for (const session of ['job/a/0', 'job/a/0', 'job/a/1', 'job/a/2']) {
    assert.equal(await ask(target.https, { session }), 'the target');
  }
  const tunnels = proxies.map(({ asked }) => asked.length);
  assert.deepEqual(tunnels.sort(), [1, 2], 'in turn, and the second visit used the connection of the first');
});

test('a wrong password is a matter of configuration, and the message has neither it nor the user', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const { ends } = askThrough(t, residentialAt(proxy, 'wrong-password'));
  for (const url of [target.http, target.https]) {
    const end = await ends(url);
    assert.ok(end.kind === 'failed' && end.failure.type === 'proxy_config');
    assert.doesNotMatch(JSON.stringify(end), /wrong-password|hl_1234/);
  }
  assert.equal(target.asked.length, 0);
});

test('address rules also apply to a target behind a proxy, whose own address may be private', async (t) => {
  const proxy = await openProxy(t);
  const lookup = async () => [{ address: '10.0.0.7' }];
  const { ask } = askThrough(t, residentialAt(proxy), { lookup });
  for (const url of ['http://10.0.0.1/', 'https://169.254.169.254/', 'http://inside.test/', 'https://inside.test/']) {
    assert.match(await ask(url), /^refused_address: /, url);
  }
  assert.equal(proxy.asked.length, 0);
});

test('a name that cannot be resolved here is left to the proxy, except names of inner networks', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const lookup = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
  const { ask } = askThrough(t, residentialAt(proxy), { lookup });
  assert.equal(await ask(target.http), 'the target');
  assert.equal(await ask(target.https), 'the target');
  for (const name of ['intranet', 'wiki.corp', 'printer.local', 'db.internal', 'localhost.localdomain.']) {
    assert.match(await ask(`http://${name}/`), /^network_error: the lookup of/, name);
  }
  assert.equal(proxy.asked.length, 2);
});

test('a lookup that hangs costs two seconds, and then the proxy gets its turn', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  const { ask } = askThrough(t, residentialAt(proxy), { lookup: () => new Promise(() => undefined) });
  assert.equal(await ask(target.https), 'the target');
});

test('a proxy that is not there is a proxy_error, and the target is not blamed', async (t) => {
  const gone = await openProxy(t);
  await gone.close();
  const { ask } = askThrough(t, residentialAt(gone));
  for (const url of [`http://${HOST}/`, `https://${HOST}/`]) {
    assert.match(await ask(url), /^proxy_error: the proxy http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*refuses/);
  }
});

const BAD_PROXIES: readonly [what: string, behaviour: Parameters<typeof openHostileServer>[0], said: RegExp][] = [
  ['hangs up', { answer: (line) => line.close() }, /^proxy_error: .* cannot be reached/],
  ['resets', { answer: (line) => line.reset() }, /^proxy_error: .* cannot be reached: the connection was reset/],
  ['speaks something else', { answer: (line) => line.say('220 mail.test ESMTP\r\n') }, /^proxy_error/],
  [
    'sends endless headers',
    { answer: (line) => line.say('HTTP/1.1 200 OK\r\n').flood(`x: ${'y'.repeat(1000)}\r\n`) },
    /^proxy_error/,
  ],
  [
    'answers before it was asked',
    { answer: (line) => line.say('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil') },
    /^proxy_error/,
  ],
  ['is a web server', { answer: (line) => line.say('HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n') }, /^proxy_config/],
];

for (const [what, behaviour, said] of BAD_PROXIES) {
  test(`a proxy that ${what} at a CONNECT fails the request, and leaves no connection`, async (t) => {
    const server = await openHostileServer(behaviour);
    t.after(() => server.close());
    const { ask } = askThrough(t, residentialAt(server));
    assert.match(await ask(`https://${HOST}/`), said);
    await server.allClosed();
  });
}

test('a proxy that falls silent, or drips its answer, is cut off by the deadline', async (t) => {
  const drip = (line: Parameters<NonNullable<Parameters<typeof openHostileServer>[0]['answer']>>[0]) =>
    line.say('HTTP/1.1 200 OK\r\n').every(20, () => line.say('x-drip: 1\r\n'));
  for (const behaviour of [{}, { answer: drip }]) {
    const server = await openHostileServer(behaviour);
    t.after(() => server.close());
    const { web } = askThrough(t, residentialAt(server));
    const deadlines = { connectMs: 300, firstByteMs: 5000, silenceMs: 5000, totalMs: 10_000 };
    const visit = aVisit({ exit: { dialer: 'proxied', session: 's' }, deadlines });
    assert.match(textOf(await web.send(aRequest(`https://${HOST}/`), visit)), /^timeout: no connection within 300 ms/);
    await server.allClosed();
  }
});

test('an aborted visit rejects with its reason, and leaves no connection to the proxy', async (t) => {
  const server = await openHostileServer({});
  t.after(() => server.close());
  const { web } = askThrough(t, residentialAt(server));
  const { signal, abort } = abortable();
  const sent = web.send(aRequest(`https://${HOST}/`), aVisit({ exit: { dialer: 'proxied', session: 's' }, signal }));
  while (server.connections() === 0) await new Promise((resolve) => setImmediate(resolve));
  abort(new Error('enough'));
  await assert.rejects(sent, /enough/);
  await server.allClosed();
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
}

test('a kind of proxy without its settings says which, and nothing is sent', async (t) => {
  const target = await startTarget(t);
  const { ask } = askThrough(t, { kind: 'unusable', problem: 'PROXY_CUSTOMER is not set' });
  assert.equal(await ask(target.http), 'proxy_config: PROXY_CUSTOMER is not set');
  assert.equal(target.asked.length, 0);
});
