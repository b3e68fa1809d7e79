import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createRawServer, type Server } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { SystemClock } from '../../src/adapters/system/clock.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import type { OpenWeb } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { AnswerHead, BodySink } from '../../src/egress/web.ts';
import { type HostGate, HostHeld, OPEN_GATE } from '../../src/ports/host-gate.ts';
import { selfSigned } from '../support/self-signed.ts';
import { good, listenSomewhere, openHostileServer } from './hostile-server.ts';
import { aRequest, aVisit, FewCookies, loopbackWeb, textOf } from './visits.ts';

let web: OpenWeb;
before(() => {
  web = loopbackWeb();
});
after(() => web.close());

async function serve(t: TestContext, listener: RequestListener, open: () => Server = createServer): Promise<string> {
  const server = open();
  server.on('request', listener);
  t.after(() => {
    if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function')
      server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${await listenSomewhere(server)}`;
}

function gateOf(enter: HostGate['enter']): HostGate {
  return { ...OPEN_GATE, enter };
}

/** Answers with what it was sent, as JSON. */
const echo: RequestListener = (request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(pieces).toString() }));
  });
};

test('a request arrives as it was made, and its answer tells all there is to know', async (t) => {
  const url = await serve(t, (request, response) => {
    response.setHeader('X-Two', ['one', 'two']).setHeader('Set-Cookie', ['a=1', 'b=2; Path=/']);
    echo(request, response);
  });
  const cookies = new FewCookies();
  cookies.keep(url, ['session=7; HttpOnly']);
  const headers = { accept: 'text/html', 'x-name': 'M\xfcller' };
  const request = aRequest(`${url}/a?b=c#d`, { method: 'POST', headers, body: Buffer.from('form') });
  const end = await web.send(request, aVisit({ cookies }));

  assert.ok(end.kind === 'answer', textOf(end));
  const { host } = new URL(url);
  const { headers: heard, ...rest } = JSON.parse(textOf(end));
  assert.deepEqual(rest, { method: 'POST', url: '/a?b=c', body: 'form' });
  assert.deepEqual(heard, { host, connection: 'keep-alive', ...headers, cookie: 'session=7', 'content-length': '4' });
  assert.equal(end.status, 200);
  assert.equal(end.url, `${url}/a?b=c`);
  assert.equal(end.headers['x-two'], 'one, two');
  assert.equal(end.headers['set-cookie'], undefined);
  assert.deepEqual(cookies.kept.slice(1), [`${host} a=1`, `${host} b=2; Path=/`]);
  assert.deepEqual(end.redirects, []);
  assert.deepEqual([end.bytes, end.rawBytes], [end.body.length, end.body.length]);
});

test('a body that is a gzip file is unpacked for visits that read text, within their limits, and kept as it is for others', async (t) => {
  const text = 'word '.repeat(100_000);
  const url = await serve(t, ({ url: path }, response) => {
    const bytes = gzipSync(path === '/bomb.gz' ? Buffer.alloc(20 << 20) : text);
    response.writeHead(200, { 'content-type': 'application/gzip' });
    // It comes in two pieces, and the first is too short to recognise.
    response.write(bytes.subarray(0, 1), () => response.end(bytes.subarray(1)));
  });
  const opened = await web.send(aRequest(`${url}/text.gz`), aVisit({ opensGzip: true }));
  assert.equal(textOf(opened), text);
  const kept = await web.send(aRequest(`${url}/text.gz`), aVisit());
  assert.deepEqual(kept.kind === 'answer' && Buffer.from(kept.body), gzipSync(text));
  const bomb = await web.send(aRequest(`${url}/bomb.gz`), aVisit({ opensGzip: true }));
  assert.match(textOf(bomb), /^too_large: /);
});

test('a status is an answer, whatever it is', async (t) => {
  const url = await serve(t, (request, response) => response.writeHead(Number(request.url?.slice(1))).end('text'));
  for (const status of [200, 203, 300, 401, 404, 429, 500, 503]) {
    const end = await web.send(aRequest(`${url}/${status}`), aVisit());
    assert.deepEqual([end.kind === 'answer' && end.status, textOf(end)], [status, 'text']);
  }
});

test('answers without a body have none, whatever their headers say', async (t) => {
  const url = await serve(t, (request, response) => {
    const status = Number(request.url?.slice(1));
    response.writeHead(status, { 'content-encoding': 'snappy', ...(status === 200 ? { 'content-length': 1e12 } : {}) });
    response.end();
  });
  const asked: AnswerHead[] = [];
  const sink = (head: AnswerHead) => {
    asked.push(head);
    return null;
  };
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ] as const) {
    const end = await web.send(aRequest(`${url}/${status}`, { method }), aVisit({ sink }));
    assert.deepEqual([end.kind === 'answer' && end.status, textOf(end)], [status, '']);
  }
  assert.deepEqual(asked, []);
});

test('bodies are inflated, small ones and large ones, and both sizes are reported', async (t) => {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
  const compress = {
    gzip: gzipSync,
    br: (bytes: Buffer) => brotliCompressSync(bytes, quality),
    zstd: zstdCompressSync,
  };
  // Noise does not shrink, so that the larger one is large on the wire, too.
  const bodies = [Buffer.from('small '.repeat(100)), noise(300_000), Buffer.from(table(30_000))];
  const url = await serve(t, (request, response) => {
    const [, coding = 'gzip', at] = request.url?.split('/') ?? [];
    const raw = compress[coding as 'gzip'](bodies[Number(at)] ?? Buffer.alloc(0));
    response.writeHead(200, { 'content-encoding': coding, 'x-size': raw.length }).end(raw);
  });
  for (const coding of Object.keys(compress)) {
    for (const [at, body] of bodies.entries()) {
      const end = await web.send(aRequest(`${url}/${coding}/${at}`), aVisit());
      assert.ok(end.kind === 'answer', textOf(end));
      assert.ok(body.equals(end.body), `${coding} ${at}`);
      assert.deepEqual([end.bytes, end.rawBytes], [body.length, Number(end.headers['x-size'])]);
    }
  }
});

test('limits hold for bodies of every kind, to the byte', async (t) => {
  const body = 'x'.repeat(1000);
  const raw = gzipSync(body);
  const url = await serve(t, (request, response) => {
    if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(raw);
    else if (request.url === '/chunked') response.write(body, () => response.end());
    else response.end(body);
  });
  const ends = async (path: string, rawBytes: number, bytes: number, sink: BodySink | null = null) => {
    const visit = aVisit({ limits: { rawBytes, bytes, redirects: 0 }, sink: () => sink });
    const end = await web.send(aRequest(`${url}${path}`), visit);
    return end.kind === 'answer' ? end.bytes : end.failure.type;
  };
  const sink = { write: async () => undefined };
  for (const each of [null, sink]) {
    for (const path of ['/chunked', '/plain']) {
      assert.equal(await ends(path, 1000, 1000, each), 1000);
      assert.equal(await ends(path, 999, 1000, each), 'too_large');
      assert.equal(await ends(path, 1000, 999, each), 'too_large');
    }
    assert.equal(await ends('/gzip', raw.length, 1000, each), 1000);
    assert.equal(await ends('/gzip', raw.length - 1, 1000, each), 'too_large');
    assert.equal(await ends('/gzip', raw.length, 999, each), 'too_large');
  }
});

test('a body goes to the sink that its headers ask for, piece by piece', async (t) => {
  const body = noise(700_000);
  const url = await serve(t, (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/pdf', 'content-encoding': 'gzip' }).end(gzipSync(body)),
  );
  const pieces: Uint8Array[] = [];
  let writing = 0;
  const sink: BodySink = {
    async write(chunk) {
      writing += 1;
      assert.equal(writing, 1, 'the piece before is not written yet');
      await new Promise(setImmediate);
      pieces.push(chunk);
      writing -= 1;
    },
  };
  const heads: AnswerHead[] = [];
  const visit = aVisit({
    sink: (head) => {
      heads.push(head);
      return head.headers['content-type'] === 'application/pdf' ? sink : null;
    },
  });
  const end = await web.send(aRequest(`${url}/x.pdf`), visit);
  assert.ok(end.kind === 'answer', textOf(end));
  assert.ok(body.equals(Buffer.concat(pieces)));
  assert.deepEqual([end.body.length, end.bytes], [0, body.length]);
  assert.deepEqual(
    heads.map((head) => [head.status, head.url]),
    [[200, `${url}/x.pdf`]],
  );
});

test('what goes wrong in a sink is thrown as it is, and the connection is closed', async (t) => {
  const trouble = new Error('the disk is full');
  for (const sink of [
    () => ({ write: () => Promise.reject(trouble) }),
    () => {
      throw trouble;
    },
  ]) {
    const server = await openHostileServer({
      answer: (line) => line.say('HTTP/1.1 200 OK\r\n\r\n').flood('x'.repeat(4000)),
    });
    t.after(() => server.close());
    await assert.rejects(web.send(aRequest(server.url), aVisit({ sink })), trouble);
    await server.allClosed();
  }
});

test('silence is counted from piece to piece, and not while we are the slow side', async (t) => {
  const body = noise(700_000);
  const url = await serve(t, (request, response) => {
    if (request.url === '/large') {
      response.end(body);
      return;
    }
    let left = 6;
    const timer = setInterval(() => {
      left -= 1;
      response.write('piece ');
      if (left > 0) return;
      clearInterval(timer);
      response.end();
    }, 150);
  });
  const deadlines = { connectMs: 5000, firstByteMs: 5000, silenceMs: 600, totalMs: 10_000 };
  const slowly = await web.send(aRequest(url), aVisit({ deadlines }));
  assert.equal(textOf(slowly), 'piece '.repeat(6));

  const pieces: Uint8Array[] = [];
  const sink: BodySink = {
    async write(chunk) {
      if (pieces.length === 0) await new Promise((resolve) => setTimeout(resolve, 700));
      pieces.push(chunk);
    },
  };
  const end = await web.send(aRequest(`${url}/large`), aVisit({ deadlines, sink: () => sink }));
  assert.equal(end.kind, 'answer', textOf(end));
  assert.ok(body.equals(Buffer.concat(pieces)));
});

test('redirects are followed with cookies of their own host, and every hop is reported', async (t) => {
  const cookies = new FewCookies();
  const last = await serve(t, echo);
  const first = await serve(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/second', 'set-cookie': 'a=1' }).end('moved');
    else if (request.headers.cookie === 'a=1') response.writeHead(307, { location: `${last}/third` }).end();
    else response.writeHead(400).end();
  });
  cookies.keep(last, ['b=2']);
  const headers = { accept: '*/*', authorization: 'Bearer secret' };
  const end = await web.send(aRequest(`${first}/`, { headers }), aVisit({ cookies }));
  assert.ok(end.kind === 'answer', textOf(end));
  assert.equal(end.url, `${last}/third`);
  assert.deepEqual(end.redirects, [
    { url: `${first}/`, status: 302 },
    { url: `${first}/second`, status: 307 },
  ]);
  const heard = JSON.parse(textOf(end)).headers;
  assert.deepEqual([heard.cookie, heard.authorization, heard.accept], ['b=2', undefined, '*/*']);
});

test('user and password of a URL go to its origin, along redirects there and no further', async (t) => {
  const other = await serve(t, echo);
  const url = await serve(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: `${other}/` }).end();
    else if (request.url === '/') response.writeHead(302, { location: '/here' }).end();
    else echo(request, response);
  });
  const secret = `Basic ${Buffer.from('me:pass').toString('base64')}`;
  const heard = async (path: string) => {
    const end = await web.send(aRequest(url.replace('//', '//me:pass@') + path), aVisit());
    assert.doesNotMatch(JSON.stringify([end.url, end.redirects]), /pass/);
    return JSON.parse(textOf(end)).headers.authorization;
  };
  assert.equal(await heard('/'), secret);
  assert.equal(await heard('/away'), undefined);
});

test('as many redirects are followed as the limit says, and not one more', async (t) => {
  const url = await serve(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left > 0) response.writeHead(301, { location: `/${left - 1}` });
    response.end('there');
  });
  assert.equal(textOf(await web.send(aRequest(`${url}/10`), aVisit())), 'there');
  const end = await web.send(aRequest(`${url}/11`), aVisit());
  assert.equal(textOf(end), `navigation_failed: more than 10 redirects, the last to ${url}/0`);
  assert.deepEqual([end.redirects.length, end.url], [10, `${url}/1`]);
});

test('the gate of a host is entered before each hop and left after it, whatever its end', async (t) => {
  const events: string[] = [];
  const url = await serve(t, (request, response) => {
    events.push(`request ${request.url}`);
    if (request.url === '/') response.writeHead(302, { location: '/next' }).end();
    else if (request.url === '/next') response.end('there');
    else response.destroy();
  });
  const { host } = new URL(url);
  const gate = gateOf(async (asked) => {
    events.push(`enter ${asked}`);
    return () => void events.push('leave');
  });
  await web.send(aRequest(url), aVisit({ gate }));
  assert.deepEqual(events.splice(0), [
    `enter ${host}`,
    'request /',
    'leave',
    `enter ${host}`,
    'request /next',
    'leave',
  ]);
  await web.send(aRequest(`${url}/break`), aVisit({ gate }));
  await web.send(aRequest('http://10.0.0.1/'), aVisit({ gate }));
  await assert.rejects(
    web.send(
      aRequest(`${url}/next`),
      aVisit({
        gate,
        sink: () => {
          throw new Error('no');
        },
      }),
    ),
  );
  const turns = events.filter((event) => !event.startsWith('request'));
  assert.deepEqual(turns, [`enter ${host}`, 'leave', 'enter 10.0.0.1', 'leave', `enter ${host}`, 'leave']);
});

test('what the gate rejects with is thrown as it is, with the patience and the signal of the visit', async () => {
  const paused = new HostHeld('127.0.0.1', 9000, 'slow down');
  const visit = aVisit({
    patienceMs: 1234,
    gate: {
      ...OPEN_GATE,
      enter: async (...given) => {
        assert.deepEqual(given, ['127.0.0.1', 1234, visit.signal]);
        throw paused;
      },
    },
  });
  await assert.rejects(web.send(aRequest('http://127.0.0.1/'), visit), paused);
});

test('a host that the visit refuses ends the request before its gate is entered, also after a redirect', async (t) => {
  const url = await serve(t, (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end());
  const refusal = new Error('not on the list of hosts');
  const entered: string[] = [];
  const gate = gateOf(async (host) => {
    entered.push(host);
    return () => undefined;
  });
  const checkHost = (host: string) => {
    if (host === '10.0.0.1') throw refusal;
  };
  await assert.rejects(web.send(aRequest(url), aVisit({ gate, checkHost })), refusal);
  assert.deepEqual(entered, [new URL(url).host]);
});

test('waiting at the gate is not counted', async (t) => {
  const url = await serve(t, (_request, response) => response.end('there'));
  const deadlines = { connectMs: 5000, firstByteMs: 5000, silenceMs: 5000, totalMs: 1000 };
  const gate = gateOf(() => new Promise<() => void>((resolve) => setTimeout(resolve, 1100, () => undefined)));
  const end = await web.send(aRequest(url), aVisit({ deadlines, gate }));
  assert.equal(textOf(end), 'there');
  assert.ok(end.ms < 1000, `${end.ms}`);
});

test('an abort is thrown with its reason at every stage, and leaves nothing open', async (t) => {
  const reason = new Error('the job was cancelled');
  const server = await openHostileServer({
    answer: (line, path) => {
      if (path === '/body') line.say('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
      asked.resolve();
    },
  });
  t.after(() => server.close());
  let asked = Promise.withResolvers<void>();
  for (const path of ['/silence', '/body']) {
    const stop = new AbortController();
    asked = Promise.withResolvers<void>();
    const sent = web.send(aRequest(`${server.url.slice(0, -1)}${path}`), aVisit({ signal: stop.signal }));
    await asked.promise;
    stop.abort(reason);
    await assert.rejects(sent, reason);
    await server.allClosed();
  }

  const isLate = AbortSignal.abort(reason);
  await assert.rejects(web.send(aRequest(server.url), aVisit({ signal: isLate })), reason);

  const atGate = new AbortController();
  const entered = Promise.withResolvers<() => void>();
  const waiting = web.send(
    aRequest(server.url),
    aVisit({ signal: atGate.signal, gate: gateOf(() => entered.promise) }),
  );
  atGate.abort(reason);
  await assert.rejects(waiting, reason);
  const left = Promise.withResolvers<void>();
  entered.resolve(() => left.resolve());
  await left.promise;

  const inLookup = new AbortController();
  const slow = loopbackWeb({ lookup: () => new Promise(() => undefined) });
  const looking = slow.send(aRequest('http://slow.test/'), aVisit({ signal: inLookup.signal }));
  await new Promise(setImmediate);
  inLookup.abort(reason);
  await assert.rejects(looking, reason);
  await slow.close();
});

test('a caller that sets headers that are not its own gets an error', async () => {
  for (const name of [
    'host',
    'connection',
    'content-length',
    'transfer-encoding',
    'cookie',
    'proxy-authorization',
    'te',
  ]) {
    await assert.rejects(
      web.send(aRequest('http://127.0.0.1/', { headers: { [name]: 'x' } }), aVisit()),
      /must not be set by the caller/,
    );
  }
  for (const headers of [{ Accept: 'x' }, { 'a b': 'x' }, { accept: 'x\r\nhost: y' }, { accept: 'ü\u0142' }]) {
    await assert.rejects(web.send(aRequest('http://127.0.0.1/', { headers }), aVisit()), /header/);
  }
});

test('a server that is not there is a network error that says so', async () => {
  const server = createRawServer();
  const port = await listenSomewhere(server);
  server.close();
  await once(server, 'close');
  const end = await web.send(aRequest(`http://127.0.0.1:${port}/`), aVisit());
  assert.equal(textOf(end), 'network_error: the server refuses connections');
});

test('a name is looked up for each new connection only, and what it says is judged each time', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.url === '/last') response.setHeader('connection', 'close');
    response.end(request.headers.host);
  });
  const { port } = new URL(url);
  const answers = ['127.0.0.1', '10.0.0.1'];
  let lookups = 0;
  let skippedMs = 0;
  const resolving = loopbackWeb({
    lookup: async () => {
      lookups += 1;
      return [{ address: answers[lookups - 1] ?? '' }];
    },
    clock: Object.assign(new SystemClock(), { elapsed: () => performance.now() + skippedMs }),
  });
  const ask = (path: string) => resolving.send(aRequest(`http://county.test:${port}${path}`), aVisit());
  assert.equal(textOf(await ask('/')), `county.test:${port}`);
  // What the resolver remembers is forgotten now; the connection is still there.
  skippedMs = 60_000;
  assert.equal(textOf(await ask('/last')), `county.test:${port}`);
  assert.equal(lookups, 1);
  const end = await ask('/');
  assert.equal(end.kind === 'failed' && end.failure.type, 'refused_address');
  assert.equal(lookups, 2);
  await resolving.close();
});

test('addresses that are not allowed are refused, first and after a redirect', async (t) => {
  const strict = loopbackWeb({ rules: new AddressRules(parseAddressRanges('127.0.0.1')) });
  const url = await serve(t, (_request, response) => response.writeHead(302, { location: 'http://127.0.0.2/x' }).end());
  const direct = await strict.send(aRequest('http://127.0.0.2/'), aVisit());
  assert.match(textOf(direct), /^refused_address: 127\.0\.0\.2 is a loopback address/);
  const redirected = await strict.send(aRequest(url), aVisit());
  assert.match(textOf(redirected), new RegExp(`^refused_address: ${url}/ redirects to http://127.0.0.2/x: 127`));
  assert.deepEqual([redirected.url, redirected.redirects], ['http://127.0.0.2/x', [{ url: `${url}/`, status: 302 }]]);
  await strict.close();
});

test('a certificate must be for the host and from an authority that is trusted', async (t) => {
  const { key, cert } = selfSigned(['county.test', '127.0.0.1']);
  const plain = await serve(
    t,
    (request, response) => response.end(`hello ${request.headers.host}`),
    () => createSecureServer({ key, cert }),
  );
  const { port } = new URL(plain);
  const trusting = loopbackWeb({ ca: cert, lookup: async () => [{ address: '127.0.0.1' }] });
  const ask = (each: OpenWeb, host: string) => each.send(aRequest(`https://${host}:${port}/`), aVisit());
  assert.equal(textOf(await ask(trusting, 'county.test')), `hello county.test:${port}`);
  assert.equal(textOf(await ask(trusting, '127.0.0.1')), `hello 127.0.0.1:${port}`);
  assert.equal(textOf(await ask(trusting, 'other.test')), 'network_error: the certificate is for another host');
  assert.match(textOf(await ask(web, '127.0.0.1')), /^network_error: the certificate is not signed by/);
  await trusting.close();
});

test('a route changes where we dial, and nothing that others can see', async (t) => {
  const place = await serve(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/next' }).end();
    else response.end(request.headers.host);
  });
  const routed = loopbackWeb({ routes: parseRoutes(`https://county.test=${place}`) });
  const end = await routed.send(aRequest('https://county.test/'), aVisit());
  assert.deepEqual([textOf(end), end.url], ['county.test', 'https://county.test/next']);
  await routed.close();
});

test('informational answers are passed over', async (t) => {
  const server = await openHostileServer({
    answer: (line) => line.say('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n', good('the answer')),
  });
  t.after(() => server.close());
  assert.equal(textOf(await web.send(aRequest(server.url), aVisit())), 'the answer');
});

test('closing ends what is under way, and what comes later fails at once', async (t) => {
  const asked = Promise.withResolvers<void>();
  const server = await openHostileServer({ answer: () => asked.resolve() });
  t.after(() => server.close());
  const closing = loopbackWeb();
  const idle = await closing.send(aRequest(`${server.url}good`), aVisit());
  assert.equal(textOf(idle), 'good /good');
  const sent = closing.send(aRequest(server.url), aVisit());
  await asked.promise;
  await closing.close();
  assert.equal(textOf(await sent), 'network_error: the web client was closed');
  assert.equal(textOf(await closing.send(aRequest(server.url), aVisit())), 'network_error: the web client was closed');
  await server.allClosed();
});

/** Five MB, a hundredth on the wire: too much to be inflated in one go, and nothing to be afraid of. */
function table(rows: number): string {
  const filler = 'the same in every row '.repeat(7);
  return Array.from({ length: rows }, (_, at) => `<tr><td>${(at * 7919) % 99_991}</td><td>${filler}</td></tr>`).join(
    '\n',
  );
}

/** Bytes that no coding makes smaller, the same each time. */
function noise(length: number): Buffer {
  let state = 12_345;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return state >> 16;
    }),
  );
}
