import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { SystemClock } from '../../src/adapters/system/clock.ts';
import { ActiveSend } from '../../src/egress/active-send.ts';
import { ConnectionPool } from '../../src/egress/connection-pool.ts';
import { exchange } from '../../src/egress/exchange.ts';
import type { OpenWeb, WebDeps } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { DeadlineWatch } from '../../src/ports/deadline-watch.ts';
import { type Behaviour, good, type HostileServer, type Line, openHostileServer } from './hostile-server.ts';
import { aRequest, aVisit, loopbackWeb, textOf } from './visits.ts';

async function open(
  t: TestContext,
  behaviour: Behaviour,
  parts: Partial<WebDeps> = {},
): Promise<{ web: OpenWeb; server: HostileServer; ask: (path: string, method?: 'GET' | 'POST') => Promise<string> }> {
  const server = await openHostileServer(behaviour);
  const web = loopbackWeb(parts);
  t.after(async () => {
    await web.close();
    await server.close();
  });
  const ask = async (path: string, method: 'GET' | 'POST' = 'GET') => {
    const body = method === 'POST' ? Buffer.from('form') : null;
    return textOf(await web.send(aRequest(server.url + path, { method, body }), aVisit()));
  };
  return { web, server, ask };
}

test('consecutive requests share a connection, concurrent ones do not', async (t) => {
  const { server, ask } = await open(t, {});
  for (let at = 0; at < 5; at += 1) assert.equal(await ask(`good${at}`), `good /good${at}`);
  assert.equal(server.connections(), 1);
  await Promise.all(Array.from({ length: 4 }, (_, at) => ask(`good${at}`)));
  assert.equal(server.connections(), 4);
  await Promise.all(Array.from({ length: 4 }, (_, at) => ask(`good${at}`)));
  assert.equal(server.connections(), 4);
});

test('a thousand answers, large and small, late and early, reach the callers that asked for them', async (t) => {
  const answer = (line: Line, path: string) => {
    const at = Number(path.slice(1));
    const send = () => line.say(good(`${at} `.repeat(1 + ((at * 37) % 3000))));
    if (at % 3 === 0) send();
    else line.later(at % 7, send);
  };
  const { server, ask } = await open(t, { answer }, { pool: { perPlace: 10, inAll: 10 } });
  let next = 0;
  const work = async () => {
    for (let at = next++; at < 1000; at = next++) {
      assert.equal(await ask(`${at}`), `${at} `.repeat(1 + ((at * 37) % 3000)));
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
  assert.ok(server.connections() < 1000, 'connections were not used again');
});

test('only as many idle connections are kept as the limits say, in total and per place', async (t) => {
  const { server, ask } = await open(t, {}, { pool: { perPlace: 2, inAll: 100 } });
  const six = () => Promise.all(Array.from({ length: 6 }, (_, at) => ask(`good${at}`)));
  await six();
  await six();
  assert.equal(server.connections(), 6 + 4);

  const places = await open(t, {}, { pool: { perPlace: 100, inAll: 3 } });
  const others = await openHostileServer({});
  t.after(() => others.close());
  await Promise.all([places.ask('good'), places.ask('good')]);
  const askOthers = () => places.web.send(aRequest(`${others.url}good`), aVisit());
  await Promise.all([askOthers(), askOthers()]);
  await Promise.all([places.ask('good'), places.ask('good')]);
  assert.equal(places.server.connections(), 3, 'the one that had waited longest made room');
});

test('a connection is for one origin, even where two are dialled at the same place', async (t) => {
  const server = await openHostileServer({});
  const place = server.url.slice(0, -1);
  const web = loopbackWeb({ routes: parseRoutes(`http://a.test=${place},http://b.test=${place}`) });
  t.after(async () => {
    await web.close();
    await server.close();
  });
  for (const origin of ['http://a.test/', 'http://b.test/', 'http://a.test/']) {
    assert.equal(textOf(await web.send(aRequest(`${origin}good`), aVisit())), 'good /good');
  }
  assert.equal(server.connections(), 2);
});

for (const [name, delayMs] of [
  ['in the same packet', null],
  ['a moment later', 0],
  ['while the connection is idle', 20],
] as const) {
  test(`an unsolicited answer, ${name}, is not given to any request`, async (t) => {
    const sent = Promise.withResolvers<void>();
    const { server, ask } = await open(t, {
      answer: (line) => {
        if (delayMs === null) line.say(good('yours'), good('not yours'));
        else line.say(good('yours')).later(delayMs, () => line.say(good('not yours')));
        line.socket.once('close', sent.resolve);
      },
    });
    assert.equal(await ask(''), 'yours');
    await sent.promise;
    assert.equal(await ask('good1'), 'good /good1');
    assert.equal(server.connections(), 2);
  });
}

test('an unsolicited answer is not taken by a request that follows at once', async (t) => {
  const { ask } = await open(t, { answer: (line) => line.say(good('yours'), good('not yours')) });
  for (let at = 0; at < 50; at += 1) {
    assert.equal(await ask(''), 'yours');
    assert.equal(await ask(`good${at}`), `good /good${at}`);
  }
});

test('bytes after an answer, of any kind, end its connection', async (t) => {
  const { server, ask } = await open(t, { answer: (line) => line.say(good('yours'), 'garbage') });
  assert.equal(await ask(''), 'yours');
  assert.equal(await ask('good'), 'good /good');
  assert.equal(server.connections(), 2);
});

test('a request that an old connection swallowed is sent again on a new one, if it changes nothing there', async (t) => {
  const heard: string[] = [];
  const behaviour: Behaviour = {
    answer: (line, path) => {
      heard.push(path);
      if (heard.filter((each) => each === path).length > 1) line.say(good('second time'));
      else line.reset();
    },
  };
  const { server, ask } = await open(t, behaviour);
  await ask('good');
  assert.equal(await ask('get'), 'second time');
  assert.equal(server.connections(), 2);
  assert.match(await ask('post', 'POST'), /^network_error/);
  // On a new connection there is no such excuse.
  assert.match(await ask('fresh'), /^network_error/);
  assert.deepEqual(heard, ['/get', '/get', '/post', '/fresh']);
});

test('a request whose answer has begun is not sent again', async (t) => {
  const heard: string[] = [];
  const { ask } = await open(t, {
    answer: (line, path) => {
      heard.push(path);
      line.say('HTTP/1.1 200 OK\r\n').close();
    },
  });
  await ask('good');
  assert.match(await ask('get'), /^network_error/);
  assert.deepEqual(heard, ['/get']);
});

test('a connection that its server closed meanwhile is not used, not even for a POST', async (t) => {
  const { server, ask } = await open(t, {
    answer: (line, path) => {
      line.say(good(path));
      if (path === '/first') line.later(0, () => line.close());
    },
  });
  assert.equal(await ask('first'), '/first');
  await server.allClosed();
  assert.equal(await ask('second', 'POST'), '/second');
  assert.equal(server.connections(), 2);
});

test('a connection that its server closes after the answer is not used, even by an immediate request', async (t) => {
  const { server, ask } = await open(t, { answer: (line, path) => line.say(good(path)).close() });
  for (let at = 0; at < 20; at += 1) assert.equal(await ask(`${at}`, 'POST'), `/${at}`);
  assert.equal(server.connections(), 20);
});

test('a request that never left is given back, even a POST; a connection does not dial again by itself', async (t) => {
  const { server } = await open(t, {});
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const pool = new ConnectionPool();
  const connection = pool.add('key', server.url, socket);
  connection.isReused = true;
  socket.destroy();
  await once(socket, 'close');

  const visit = aVisit();
  const clock = new SystemClock();
  const watch = new DeadlineWatch(clock);
  const active = new ActiveSend(visit, watch, clock);
  const request = { method: 'POST', url: server.url, path: '/', body: Buffer.from('form') } as const;
  const end = await exchange({ ...request, headers: [], connection, pool, visit, active, usage: null });
  assert.deepEqual(end, { kind: 'stale' });
  assert.equal(server.connections(), 1);
  active.end();
  watch.close();
});

test('an idle connection is closed before its server would do so', async (t) => {
  const { server, ask } = await open(t, {
    answer: (line) => line.say(good('soon gone', 'Keep-Alive: timeout=3\r\n')),
  });
  assert.equal(await ask(''), 'soon gone');
  await server.allClosed();
});

test('a server that answers before it has heard the whole request does not get another on that connection', async (t) => {
  const { web, server, ask } = await open(t, {
    greet: (line) => {
      line.socket.once('data', (head) => {
        if (!head.includes('POST')) return;
        line.socket.pause();
        line.say(good('enough'));
      });
    },
  });
  const body = Buffer.alloc(16 << 20);
  assert.equal(textOf(await web.send(aRequest(server.url, { method: 'POST', body }), aVisit())), 'enough');
  assert.equal(await ask('good'), 'good /good');
  assert.equal(server.connections(), 2);
});
