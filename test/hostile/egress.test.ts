import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { FailureType } from '../../src/domain/failure.ts';
import type { OpenWeb } from '../../src/egress/open-web.ts';
import type { Deadlines, WebAnswer, WebFailed } from '../../src/egress/web.ts';
import { type Bombs, makeBombs } from '../egress/bombs.ts';
import { type Behaviour, good, type Line, listenSomewhere, openHostileServer } from '../egress/hostile-server.ts';
import { aRequest, aVisit, loopbackWeb, textOf } from '../egress/visits.ts';

/**
 * What servers do to those who visit them. Each row ends as it says, within its deadline; whoever talks to a good server
 * meanwhile, or to a good page of the same server, gets the right answers; and all of it together costs no memory.
 */
interface Row {
  readonly name: string;
  readonly behaviour: (bombs: Bombs) => Behaviour;
  readonly expect: { readonly failure: FailureType; readonly message?: RegExp } | { readonly text: string };
  readonly deadlines?: Deadlines;
  readonly scheme?: 'https';
  /** Its good pages are not asked for: nothing it says can be relied on. */
  readonly isAlone?: true;
}

/** One of them is short at a time, so that a busy machine does not change which of them is met. */
const LONG: Deadlines = { connectMs: 5000, firstByteMs: 5000, silenceMs: 5000, totalMs: 10_000 };
const SHORT = {
  connect: { ...LONG, connectMs: 300 },
  answer: { ...LONG, firstByteMs: 300 },
  silence: { ...LONG, silenceMs: 300 },
  total: { ...LONG, totalMs: 700 },
};

const OK = 'HTTP/1.1 200 OK\r\n';
const LATIN1 = Buffer.from([0x66, 0xfc, 0x72]);
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

const ROWS: readonly Row[] = [
  // Bodies that grow
  row('a gzip bomb', 'too_large', /inflated/, (line, { gzip }) => line.say(encoded('gzip', gzip), gzip)),
  row('a brotli bomb in a packet', 'too_large', /400 times/, (line, { brotli }) =>
    line.say(encoded('br', brotli), brotli),
  ),
  row('a zstd bomb', 'too_large', /400 times/, (line, { zstd }) => line.say(encoded('zstd', zstd), zstd)),
  row('a gzip bomb in gzip', 'too_large', /400 times/, (line, { gzipInGzip }) =>
    line.say(encoded('gzip, gzip', gzipInGzip), gzipInGzip),
  ),
  row('ten encodings on top of each other', 'too_large', /10 times/, (line) =>
    line.say(encoded(Array(10).fill('gzip').join(', '), 'x'), 'x'),
  ),
  row('an endless gzip stream in chunks', 'too_large', /400 times|inflated|wire/, (line, { gzip }) => {
    line.say(`${OK}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`).flood(chunk(gzip));
  }),
  row('a body without end, in chunks', 'too_large', /wire/, (line) => line.say(CHUNKED).flood(chunk('x'.repeat(4000)))),
  row('a body without end in chunks of one byte', 'too_large', /wire/, (line) =>
    line.say(CHUNKED).flood('1\r\nx\r\n'.repeat(5000)),
  ),
  row('a body without end and without a length', 'too_large', /wire/, (line) =>
    line.say(`${OK}\r\n`).flood('x'.repeat(4000)),
  ),
  row('a Content-Length of terabytes', 'too_large', /wire/, (line) =>
    line.say(`${OK}Content-Length: 9999999999999\r\n\r\nx`),
  ),

  // Encodings that lie
  row('an encoding that nobody knows', 'server_error', /snappy/, (line) => line.say(encoded('snappy', 'abc'), 'abc')),
  row('plain text that says it is gzip', 'network_error', /gzip/, (line) =>
    line.say(encoded('gzip', 'plain'), 'plain'),
  ),
  row('gzip that ends in the middle', 'network_error', /not whole/, (line) => {
    const half = gzipSync('a page'.repeat(100)).subarray(0, -20);
    line.say(encoded('gzip', half), half);
  }),
  fine('gzip with something else behind it', 'a page', (line) => {
    const body = Buffer.concat([gzipSync('a page'), Buffer.from('<!-- served by cache -->')]);
    line.say(encoded('gzip', body), body);
  }),
  fine('a charset that is not the one it says', LATIN1.toString(), (line) =>
    line.say(`${OK}Content-Type: text/html; charset=utf-8\r\nContent-Length: 3\r\n\r\n`, LATIN1),
  ),

  // Slowness
  late('one byte of the body now and then, for ever', 'total', /not done within 700 ms/, (line) => {
    line.say(`${OK}Content-Length: 1000\r\n\r\n`).every(50, () => line.say('x'));
  }),
  late('half a body, then silence', 'silence', /nothing more of the body within 300 ms/, (line) =>
    line.say(`${OK}Content-Length: 1000\r\n\r\nhalf`),
  ),
  late('silence after the request', 'answer', /no answer within 300 ms/, () => undefined),
  late('headers letter by letter', 'answer', /no answer within 300 ms/, (line) => {
    line.say(`${OK}X-Slow: `).every(20, () => line.say('x'));
  }),
  late('a chunk extension letter by letter', 'silence', /nothing more of the body within 300 ms/, (line) => {
    line.say(`${CHUNKED}1;x=`).every(20, () => line.say('x'));
  }),
  late('a chunk extension without end', 'silence', /nothing more of the body within 300 ms/, (line) => {
    line.say(`${CHUNKED}1;x=`).flood('x'.repeat(4000));
  }),
  late('informational answers, one after another, slowly', 'answer', /no answer within 300 ms/, (line) => {
    line.every(60, () => line.say('HTTP/1.1 103 Early Hints\r\n\r\n'));
  }),
  {
    name: 'a TLS handshake that never comes',
    behaviour: () => ({}),
    expect: { failure: 'timeout', message: /no connection within 300 ms/ },
    deadlines: SHORT.connect,
    scheme: 'https',
  },

  // Ends that come too early
  {
    name: 'a connection closed as soon as it is open',
    behaviour: () => ({ greet: (line) => line.close() }),
    isAlone: true,
    expect: { failure: 'network_error' },
  },
  {
    name: 'a connection reset as soon as it is open',
    behaviour: () => ({ greet: (line) => line.reset() }),
    isAlone: true,
    expect: { failure: 'network_error' },
  },
  row('a connection closed instead of an answer', 'network_error', /closed the connection/, (line) => line.close()),
  row('a connection closed in the middle of a header', 'network_error', /./, (line) => line.say(`${OK}X-Ha`).close()),
  row('a body shorter than its Content-Length', 'network_error', /./, (line) =>
    line.say(`${OK}Content-Length: 1000\r\n\r\nhalf`).close(),
  ),
  row('chunks without the last one', 'network_error', /./, (line) => line.say(`${CHUNKED}4\r\nhalf\r\n`).close()),
  row('a reset in the middle of a body with a length', 'network_error', /reset/, (line) => {
    line.say(`${OK}Content-Length: 1000\r\n\r\nhalf`).later(50, () => line.reset());
  }),
  row('a reset in the middle of a body without a length', 'network_error', /reset/, (line) => {
    line.say(`${OK}Connection: close\r\n\r\nhalf`).later(50, () => line.reset());
  }),

  // Lengths and chunks that cannot be
  row('a negative Content-Length', 'network_error', /not HTTP/, (line) =>
    line.say(`${OK}Content-Length: -5\r\n\r\nhello`),
  ),
  row('two different Content-Lengths', 'network_error', /./, (line) =>
    line.say(`${OK}Content-Length: 5\r\nContent-Length: 3\r\n\r\nhello`),
  ),
  row('both a length and chunks', 'network_error', /./, (line) =>
    line.say(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
  ),
  row('a chunk size that is no number', 'network_error', /not HTTP/, (line) => line.say(`${CHUNKED}zz\r\nhello\r\n`)),
  row('a chunk size of more than 64 bits', 'network_error', /not HTTP/, (line) =>
    line.say(`${CHUNKED}fffffffffffffffff\r\nhello\r\n`),
  ),

  // Headers
  row('100,000 headers', 'too_large', /headers/, (line) => {
    line.say(OK, Array.from({ length: 100_000 }, (_, at) => `X-${at}: y\r\n`).join(''), '\r\n');
  }),
  row('a thousand short headers', 'too_large', /1001 headers/, (line) =>
    line.say(OK, 'a: b\r\n'.repeat(1000), 'Content-Length: 0\r\n\r\n'),
  ),
  row('a header of a megabyte', 'too_large', /headers/, (line) => line.say(`${OK}X: ${'y'.repeat(1 << 20)}\r\n\r\n`)),
  row('a header without end', 'too_large', /headers/, (line) => line.say(`${OK}X: `).flood('y'.repeat(4000))),
  row('a header name without end', 'too_large', /headers/, (line) => line.say(OK).flood('y'.repeat(4000))),
  row('trailers without end', 'too_large', /headers/, (line) =>
    line.say(`${CHUNKED}0\r\n`).flood('X: y\r\n'.repeat(500)),
  ),
  row('a thousand cookies', 'too_large', /headers/, (line) =>
    line.say(OK, Array.from({ length: 1000 }, (_, at) => `Set-Cookie: c${at}=1\r\n`).join(''), '\r\n'),
  ),
  row('a NUL byte in a header', 'network_error', /not HTTP/, (line) => line.say(`${OK}X: a\0b\r\n\r\n`)),
  row('informational answers without end', 'network_error', /informational/, (line) =>
    line.flood('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50)),
  ),

  // What is no answer
  row('something older than HTTP/1.0', 'network_error', /not HTTP/, (line) => line.say('<html>hello</html>').close()),
  row('the preface of HTTP/2', 'network_error', /not HTTP/, (line) => line.say('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
  row('frames of HTTP/2', 'network_error', /not HTTP/, (line) => line.say(Buffer.from('00000c040000000000', 'hex'))),
  row('a line of SSH', 'network_error', /not HTTP/, (line) => line.say('SSH-2.0-OpenSSH_9.9\r\n')),
  row('TLS on a plain port', 'network_error', /not HTTP/, (line) => line.say(Buffer.from('15030100020246', 'hex'))),
  {
    name: 'plain HTTP on a TLS port',
    behaviour: () => ({ greet: (line) => line.say(good('hello')) }),
    isAlone: true,
    expect: { failure: 'network_error' },
    scheme: 'https',
  },
  row('an upgrade that nobody asked for', 'network_error', /./, (line) =>
    line.say('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  ),
  row('status 000', 'network_error', /./, (line) => line.say('HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n')),
  row('a status that is no number', 'network_error', /not HTTP/, (line) => line.say('HTTP/1.1 abc OK\r\n\r\n')),
  fine('status 999, which is only a strange answer', 'no', (line) =>
    line.say('HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno'),
  ),

  // Answers that nobody asked for
  fine('a second answer in the same packet', 'first', (line) => line.say(good('first'), good('not yours'))),
  {
    ...fine('a second answer a little later', 'first', (line) =>
      line.say(good('first')).later(5, () => line.say(good('not yours'))),
    ),
    // Whoever sends a request on that connection before those bytes are here has them for an answer, in HTTP/1.1.
    isAlone: true,
  },
  {
    name: 'an answer before the request, and one after it',
    behaviour: () => ({ greet: (line) => line.say(good('early')), answer: (line) => line.say(good('late')) }),
    isAlone: true,
    expect: { text: 'early' },
  },

  // Redirects
  row('ten thousand redirects', 'navigation_failed', /more than 10 redirects/, (line, _bombs, path) =>
    line.say(redirect(`/${Number(path.slice(1)) + 1}`)),
  ),
  row('a redirect to itself', 'navigation_failed', /in a circle/, (line, _bombs, path) => line.say(redirect(path))),
  row('a redirect to a file', 'refused_address', /redirects to file:/, (line) =>
    line.say(redirect('file:///etc/passwd')),
  ),
  row('a redirect to a script', 'refused_address', /javascript:/, (line) => line.say(redirect('javascript:alert(1)'))),
  row('a redirect to FTP', 'refused_address', /ftp:/, (line) => line.say(redirect('ftp://127.0.0.1/'))),
  row('a redirect to data', 'refused_address', /data:/, (line) => line.say(redirect('data:text/html,hello'))),
  row('a redirect to a private address', 'refused_address', /10\.0\.0\.1/, (line) =>
    line.say(redirect('http://10.0.0.1/')),
  ),
  row('a redirect to the metadata service', 'refused_address', /169\.254\.169\.254/, (line) =>
    line.say(redirect('http://[::ffff:169.254.169.254]/latest/')),
  ),
  row('a redirect with a Location of 100 KB', 'too_large', /headers/, (line) =>
    line.say(redirect(`/${'x'.repeat(100_000)}`)),
  ),
  row('a redirect to a URL of 20 KB', 'refused_address', /too long/, (line) =>
    line.say(redirect(`/${'x'.repeat(20_000)}`)),
  ),
  row('a redirect to nowhere', 'navigation_failed', /no Location header/, (line) =>
    line.say('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'),
  ),
  row('a redirect to what is no URL', 'navigation_failed', /not a URL/, (line) => line.say(redirect('http://[::bad/'))),
  fine('a redirect with a body without end', 'good /good?after', (line) =>
    line.say('HTTP/1.1 302 Found\r\nLocation: /good?after\r\n\r\n').flood('x'.repeat(4000)),
  ),
];

/** Inflated size of a bomb: far more than the process may grow by, so that a bomb that goes off is not taken for noise. */
const BOMB_BYTES = 256 << 20;
/** A busy machine postpones garbage collection: 61 MiB were seen there, 20 to 40 elsewhere. */
const MOST_GROWTH_BYTES = 128 << 20;

let web: OpenWeb;
let bombs: Bombs;
let goodServer: Server;
let goodUrl: string;
const gc = exposedGc();

before(async () => {
  web = loopbackWeb();
  bombs = await makeBombs(BOMB_BYTES);
  goodServer = createServer((request, response) => response.end(`good ${request.url}`));
  goodUrl = `http://127.0.0.1:${await listenSomewhere(goodServer)}/`;
});

after(async () => {
  await web.close();
  goodServer.closeAllConnections();
  goodServer.close();
});

test('a bomb is really one: a few hundred bytes, or a few packets, inflate to 256 MiB', () => {
  assert.ok(bombs.brotli.length < 300, `${bombs.brotli.length}`);
  assert.ok(bombs.gzipInGzip.length < 1500, `${bombs.gzipInGzip.length}`);
  assert.ok(bombs.zstd.length < 16_000, `${bombs.zstd.length}`);
});

// In a process of its own: what other tests left in the heap would be counted.
test(`none of ${ROWS.length} hostile servers gets further than its row says, and none harms its neighbours`, async (t) => {
  assert.ok(ROWS.length >= 30);
  await workForAWhile();
  const before = memory();
  let height = 0;
  const sampling = setInterval(() => {
    height = Math.max(height, process.memoryUsage.rss() - before.rss);
  }, 10);
  for (const each of ROWS) await t.test(each.name, () => runRow(each));
  clearInterval(sampling);
  const after = memory();
  height = Math.max(height, after.rss - before.rss);
  t.diagnostic(`at its height ${mib(height)} MiB more, in the end ${mib(after.live - before.live)} MiB more in use`);
  assert.ok(height < MOST_GROWTH_BYTES, `the process has grown by ${mib(height)} MiB`);
  assert.ok(after.live - before.live < 10 << 20, `${mib(after.live - before.live)} MiB more are in use`);
});

test('whatever a server says, it ends in an answer or in a failure that blames somebody', async (t) => {
  const parts = [
    ...[
      OK,
      CHUNKED,
      'HTTP/1.1 ',
      'HTTP/1.0 204 x',
      'HTTP/1.1 302 x',
      '200',
      '\r\n',
      '\n',
      '\r',
      '\0',
      ':',
      ' ',
      '5',
      'ffffffff',
    ],
    ...[
      'Content-Length: ',
      'Transfer-Encoding: chunked\r\n',
      'Content-Encoding: gzip\r\n',
      'Content-Encoding: deflate, br\r\n',
    ],
    ...[
      'Connection: close\r\n',
      'Keep-Alive: timeout=-1\r\n',
      'Location: ',
      '//[',
      'Set-Cookie: ',
      '__proto__: x\r\n',
      '0\r\n\r\n',
    ],
    ...['5\r\nhello\r\n', gzipSync('hello').toString('latin1'), good('good')],
  ];
  let says = Buffer.alloc(0);
  const server = await openHostileServer({
    answer: (line) => {
      line.say(says);
      line.later(5, () => line.close());
    },
  });
  t.after(() => server.close());
  const sentence = fc.array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...parts) }, fc.string({ maxLength: 3 })));
  const property = fc.asyncProperty(fc.constantFrom(OK, ''), sentence, async (start, words) => {
    says = Buffer.from(start + words.join(''), 'latin1');
    const end = await web.send(aRequest(server.url), aVisit({ deadlines: { ...SHORT.silence, firstByteMs: 1000 } }));
    assert.ok(end.kind === 'answer' || end.failure.type !== 'unexpected');
    await neighbours([goodUrl], 'during');
  });
  await fc.assert(property, { numRuns: 100, seed: 7 });
});

/** A process at work has loaded its code, and its heap the size that work needs. Growth is what comes on top. */
async function workForAWhile(): Promise<void> {
  const page = 'x'.repeat(50_000);
  // As many small things at a time as a parsed page has.
  for (let at = 0; at < 50; at += 1) Array.from({ length: 50_000 }, (_, name) => ({ name: `n${name}`, children: [] }));
  const server = await openHostileServer({ answer: (line) => void line.say(good(page)) });
  const work = async () => {
    for (let at = 0; at < 200; at += 1) assert.equal(textOf(await web.send(aRequest(server.url), aVisit())), page);
  };
  await Promise.all(Array.from({ length: 10 }, work));
  await server.close();
}

async function runRow({ name, behaviour, expect, deadlines, scheme, isAlone }: Row): Promise<void> {
  const server = await openHostileServer(behaviour(bombs));
  const places = isAlone ? [goodUrl] : [goodUrl, server.url];
  const warm = await neighbour(goodUrl, 'warm');
  const others = new AbortController();
  try {
    assert.equal(warm, 'good /good?warm');
    const url = scheme === 'https' ? server.url.replace('http:', 'https:') : server.url;
    const visit = aVisit({ ...(deadlines === undefined ? {} : { deadlines }), signal: others.signal });
    const startedAt = performance.now();
    const [end] = await Promise.all([web.send(aRequest(`${url}0`), visit), neighbours(places, 'meanwhile')]);
    const tookMs = performance.now() - startedAt;
    checkEnd(end, expect);
    assert.ok(tookMs < visit.deadlines.totalMs + 60_000, `${name} took ${tookMs} ms`);
    await neighbours(places, 'after');
  } finally {
    others.abort();
    await server.close();
  }
}

function checkEnd(end: WebAnswer | WebFailed, expect: Row['expect']): void {
  if ('text' in expect) {
    assert.equal(textOf(end), expect.text);
    return;
  }
  assert.equal(end.kind, 'failed', textOf(end));
  if (end.kind !== 'failed') return;
  assert.equal(end.failure.type, expect.failure, `${end.failure.message} (${end.failure.cause})`);
  if (expect.message !== undefined) assert.match(end.failure.message, expect.message);
}

/** Others, at the good server and at good pages of the hostile one, who must not notice anything. */
async function neighbours(places: readonly string[], when: string): Promise<void> {
  const asked = Array.from({ length: 3 }, (_, at) => `${when}${at}`);
  const answers = places.flatMap((url) => asked.map((mark) => neighbour(url, mark)));
  const expected = places.flatMap(() => asked.map((mark) => `good /good?${mark}`));
  assert.deepEqual(await Promise.all(answers), expected);
}

async function neighbour(url: string, mark: string): Promise<string> {
  return textOf(await web.send(aRequest(`${url}good?${mark}`), aVisit()));
}

function row(
  name: string,
  type: FailureType,
  message: RegExp,
  answer: (line: Line, bombs: Bombs, path: string) => unknown,
): Row {
  const behaviour = (made: Bombs): Behaviour => ({ answer: (line, path) => answer(line, made, path) });
  return { name, behaviour, expect: { failure: type, message } };
}

function fine(name: string, text: string, answer: (line: Line) => unknown): Row {
  return { name, behaviour: () => ({ answer }), expect: { text } };
}

function late(name: string, which: keyof typeof SHORT, message: RegExp, answer: (line: Line) => unknown): Row {
  return { ...row(name, 'timeout', message, answer), deadlines: SHORT[which] };
}

function encoded(coding: string, body: string | Uint8Array): string {
  return `${OK}Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`;
}

function chunk(body: string | Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), Buffer.from(body), Buffer.from('\r\n')]);
}

function redirect(location: string): string {
  return `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
}

function memory(): { readonly rss: number; readonly live: number } {
  gc();
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, live: heapUsed + external };
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
