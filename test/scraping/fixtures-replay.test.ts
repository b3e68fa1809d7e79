import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import type { Visit, WebRequest } from '../../src/egress/web.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import type { Exchange } from '../../src/scraping/fixtures/fixture-folder.ts';
import { ReplayWeb } from '../../src/scraping/fixtures/replay-web.ts';
import { VisitCookies } from '../../src/scraping/http/cookies.ts';

const SITE = 'https://county.test';

function exchange(request: Partial<Exchange['request']> & { url: string }, answer: Partial<Exchange> = {}): Exchange {
  return {
    request: { method: 'GET', ...request },
    ...{ status: 200, headers: {}, setCookie: [], body: Buffer.from('') },
    ...answer,
  };
}

function visitor(more: Partial<Visit> = {}): Visit {
  return {
    cookies: new VisitCookies(),
    deadlines: { connectMs: 1000, firstByteMs: 1000, silenceMs: 1000, totalMs: 1000 },
    limits: { rawBytes: 100, bytes: 100, redirects: 2 },
    exit: { dialer: 'direct', session: '' },
    checkHost: () => {},
    gate: OPEN_GATE,
    patienceMs: 1000,
    sink: null,
    signal: new AbortController().signal,
    ...more,
  };
}

function get(path: string): WebRequest {
  return { method: 'GET', url: `${SITE}${path}`, headers: {}, body: null };
}

function post(path: string, form: string): WebRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', url: `${SITE}${path}`, headers, body: Buffer.from(form) };
}

function replay(exchanges: ConstructorParameters<typeof ReplayWeb>[0]): ReplayWeb {
  return new ReplayWeb(exchanges, NO_SECRETS);
}

async function bodyOf(web: ReplayWeb, request: WebRequest, visit = visitor()): Promise<string> {
  const answer = await web.send(request, visit);
  return answer.kind === 'answer' ? Buffer.from(answer.body).toString() : answer.failure.type;
}

test('recorded answers come in their order; a GET may be repeated, but a POST may not', async () => {
  const web = replay([
    exchange({ url: `${SITE}/a` }, { body: Buffer.from('first') }),
    exchange({ url: `${SITE}/a` }, { body: Buffer.from('second') }),
    exchange({ url: `${SITE}/go`, method: 'POST' }, { body: Buffer.from('went') }),
  ]);
  assert.equal(await bodyOf(web, get('/a')), 'first');
  assert.equal(await bodyOf(web, get('/a#part')), 'second');
  assert.equal(await bodyOf(web, get('/a')), 'second');
  assert.equal(await bodyOf(web, post('/go', 'x=1')), 'went');
  await assert.rejects(bodyOf(web, post('/go', 'x=1')), /no answer to POST https:\/\/county\.test\/go with x=1/);
  await assert.rejects(bodyOf(web, get('/b')), /no answer to GET https:\/\/county\.test\/b/);
  assert.deepEqual(web.misses, [`POST ${SITE}/go with x=1`, `GET ${SITE}/b`]);
});

test('a form is known by the fields that the fixture names, in any order', async () => {
  const form = (body: Record<string, string | string[]>, text: string) =>
    exchange({ url: `${SITE}/go`, method: 'POST', body }, { body: Buffer.from(text) });
  const web = replay([form({ parcel: '1', tag: ['a', 'b'] }, 'one'), form({ parcel: '2' }, 'two')]);
  assert.equal(await bodyOf(web, post('/go', '__VIEWSTATE=xyz&parcel=2')), 'two');
  await assert.rejects(bodyOf(web, post('/go', 'tag=b&tag=a&parcel=1')), /no answer/);
  assert.equal(await bodyOf(web, post('/go', 'tag=a&__VIEWSTATE=xyz&parcel=1&tag=b')), 'one');
});

test('a form in windows-1252 is read as a person reads it, and other bytes are another form', async () => {
  const body = { name: 'Peña’s & Co' };
  const web = replay([exchange({ url: `${SITE}/go`, method: 'POST', body }, { body: Buffer.from('found') })]);
  await assert.rejects(bodyOf(web, post('/go', 'name=Pe%F2a%92s+%26+Co')), /no answer/);
  assert.equal(await bodyOf(web, post('/go', 'name=Pe%F1a%92s+%26+Co')), 'found');
  const utf8 = replay([exchange({ url: `${SITE}/go`, method: 'POST', body }, { body: Buffer.from('found') })]);
  assert.equal(await bodyOf(utf8, post('/go', 'name=Pe%C3%B1a%E2%80%99s+%26+Co')), 'found');
});

test('redirects are followed as on the web, with the cookies that they set', async () => {
  const web = replay([
    exchange(
      { url: `${SITE}/in`, method: 'POST' },
      { status: 302, headers: { location: '/home' }, setCookie: ['session=5; Path=/'] },
    ),
    exchange({ url: `${SITE}/home` }, { body: Buffer.from('welcome') }),
    exchange({ url: `${SITE}/round` }, { status: 302, headers: { location: '/round' } }),
  ]);
  const hosts: string[] = [];
  let isOver = 0;
  const enter = async (host: string) => {
    hosts.push(host);
    return () => {
      isOver += 1;
    };
  };
  const visit = visitor({ gate: { ...OPEN_GATE, enter } });
  const answer = await web.send(post('/in', ''), visit);
  assert.equal(answer.kind, 'answer');
  assert.equal(answer.url, `${SITE}/home`);
  assert.deepEqual(answer.redirects, [{ url: `${SITE}/in`, status: 302 }]);
  assert.equal(visit.cookies.header(`${SITE}/any`), 'session=5');
  assert.deepEqual(hosts, ['county.test', 'county.test']);
  assert.equal(isOver, 2);
  assert.equal(await bodyOf(web, get('/round')), 'navigation_failed');
});

test('limits, sinks and the signal hold offline, too', async () => {
  const web = replay([exchange({ url: `${SITE}/a` }, { body: Buffer.alloc(50, 'x') })]);
  assert.equal(
    await bodyOf(web, get('/a'), visitor({ limits: { rawBytes: 9, bytes: 49, redirects: 0 } })),
    'too_large',
  );
  let written = '';
  const sink = () => ({
    write: async (chunk: Uint8Array) => {
      written += Buffer.from(chunk).toString();
    },
  });
  assert.equal(await bodyOf(web, get('/a'), visitor({ sink })), '');
  assert.equal(written.length, 50);
  await assert.rejects(web.send(get('/a'), visitor({ signal: AbortSignal.abort(new Error('over')) })), /over/);
});
