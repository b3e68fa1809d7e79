import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECRET, startMicrosocks, startTinyproxy, USER } from './foreign-proxies.ts';
import { openHostileServer } from './hostile-server.ts';
import { askThrough, byAddress, HOST, listOf, startTarget } from './proxy-support.ts';

test('plain and encrypted targets are reached through tinyproxy with a password', async (t) => {
  const [target, port] = [await startTarget(t), await startTinyproxy(t)];
  const { ask } = askThrough(t, listOf(`http://${USER}:${SECRET}@127.0.0.1:${port}`));
  assert.equal(await ask(byAddress(target.http)), 'the target');
  assert.equal(await ask(byAddress(target.https)), 'the target');
  for (const { headers } of target.asked) assert.equal(headers['proxy-authorization'], undefined);
});

test('tinyproxy without the right password is a matter of configuration, for http and https', async (t) => {
  const [target, port] = [await startTarget(t), await startTinyproxy(t)];
  for (const user of ['', `${USER}:wrong-one@`, `bob:${SECRET}@`]) {
    const { ends } = askThrough(t, listOf(`http://${user}127.0.0.1:${port}`));
    for (const url of [target.http, target.https]) {
      const end = await ends(byAddress(url));
      assert.ok(end.kind === 'failed' && end.failure.type === 'proxy_config', JSON.stringify(end));
      assert.match(end.failure.message, /^the proxy answered 40[17]: it does not accept our credentials/);
      assert.doesNotMatch(JSON.stringify(end), new RegExp(`wrong-one|${SECRET}`));
    }
  }
  assert.equal(target.asked.length, 0);
});

test('a target that refuses connections is not an answer through tinyproxy', async (t) => {
  const port = await startTinyproxy(t);
  const { ends } = askThrough(t, listOf(`http://${USER}:${SECRET}@127.0.0.1:${port}`));
  const end = await ends('https://127.0.0.1:1/');
  assert.ok(end.kind === 'failed' && end.failure.type === 'proxy_error');
});

for (const protocol of ['socks5', 'socks5h']) {
  test(`plain and encrypted targets are reached through a ${protocol} proxy with a password`, async (t) => {
    const [target, port] = [await startTarget(t), await startMicrosocks(t)];
    const { ask } = askThrough(t, listOf(`${protocol}://${USER}:${SECRET}@127.0.0.1:${port}`));
    // A name that only our own lookup knows shows who looks it up.
    const known = (url: string) => (protocol === 'socks5' ? url : byAddress(url));
    for (const url of [target.http, target.https, target.http]) assert.equal(await ask(known(url)), 'the target');
    assert.equal(target.asked.length, 3);
    assert.equal(new Set(target.asked.map(({ socket }) => socket)).size, 2, 'the connection was used again');
  });
}

test('a SOCKS5 proxy without the right password is a matter of configuration', async (t) => {
  const [target, port] = [await startTarget(t), await startMicrosocks(t)];
  for (const user of ['', `${USER}:wrong-one@`]) {
    const { ends } = askThrough(t, listOf(`socks5://${user}127.0.0.1:${port}`));
    const end = await ends(target.https);
    assert.ok(end.kind === 'failed' && end.failure.type === 'proxy_config', JSON.stringify(end));
    assert.doesNotMatch(JSON.stringify(end), /wrong-one/);
  }
  assert.equal(target.asked.length, 0);
});

test('what a SOCKS5 proxy says about a target is the target’s failure', async (t) => {
  const port = await startMicrosocks(t);
  const { ask } = askThrough(t, listOf(`socks5://${USER}:${SECRET}@127.0.0.1:${port}`));
  assert.equal(await ask('https://127.0.0.1:1/'), 'network_error: the proxy says that the target refuses connections');
});

test('a SOCKS5 proxy gets only addresses that were looked up and judged here', async (t) => {
  const port = await startMicrosocks(t);
  const way = listOf(`socks5://${USER}:${SECRET}@127.0.0.1:${port}`);
  const lookup = (name: string) =>
    name === 'inside.test'
      ? Promise.resolve([{ address: '10.0.0.1' }])
      : Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
  const { ask } = askThrough(t, way, { lookup });
  assert.match(await ask('http://inside.test/'), /^refused_address/);
  assert.match(await ask('http://nowhere.test/'), /^network_error: nowhere\.test has no address here; socks5h:\/\//);
});

const BAD_SOCKS: readonly [what: string, bytes: readonly number[] | null, said: RegExp][] = [
  ['hangs up', null, /^proxy_error: the proxy closed the connection/],
  ['speaks another protocol', [0x48, 0x54, 0x54, 0x50], /^proxy_config: the server is not a SOCKS5 proxy/],
  ['accepts no method', [5, 0xff], /^proxy_config: the proxy does not accept our credentials/],
  ['fails in general', [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0], /^proxy_error: the proxy could not make the connection/],
  ['forbids the target', [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0], /^proxy_config: the rules of the proxy forbid/],
];

for (const [what, bytes, said] of BAD_SOCKS) {
  test(`a SOCKS5 proxy that ${what} fails the request, and leaves no connection`, async (t) => {
    const greet = (line: Parameters<NonNullable<Parameters<typeof openHostileServer>[0]['greet']>>[0]) =>
      line.socket.once('data', () => (bytes === null ? line.close() : line.say(Buffer.from(bytes))));
    const server = await openHostileServer({ greet });
    t.after(() => server.close());
    const { ask } = askThrough(t, listOf(`socks5://127.0.0.1:${server.port}`));
    assert.match(await ask(`https://${HOST}/`), said);
    await server.allClosed();
  });
}
