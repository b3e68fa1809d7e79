import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import type { Visit, Web, WebAnswer, WebRequest } from '../../src/egress/web.ts';
import { HeldRoom } from '../../src/scraping/visits/held-room.ts';
import { VisitLog } from '../../src/scraping/visits/visit-log.ts';
import { decodeVisit, encodeVisit } from '../../src/scraping/visits/visit-record.ts';

const VISIT = {} as Visit;

function asking(url: string): WebRequest {
  return { method: 'GET', url, headers: {}, body: null };
}

function answering(bodyOf: (url: string) => Partial<WebAnswer>): Web {
  return {
    async send({ url }) {
      const body = Buffer.from(`page of ${url}`);
      const bytes = body.length;
      const about = { url, status: 200, headers: {}, redirects: [], bytes, rawBytes: bytes, ms: 1 };
      return { kind: 'answer', ...about, body, ...bodyOf(url) };
    },
  };
}

const urlsOf = (log: VisitLog, ...[type, last]: Parameters<VisitLog['tryThatFailedAs']>) =>
  log.tryThatFailedAs(type, last).exchanges.map(({ request }) => request.url);

test('what is reported about a failure comes from the try that ended with it', async () => {
  const log = new VisitLog(
    answering(() => ({})),
    new HeldRoom(),
  );
  for (const [url, failedAs] of [
    ['https://a.test/1', 'blocked'],
    ['https://a.test/2', 'timeout'],
    ['https://a.test/3', 'blocked'],
  ] as const) {
    await log.send(asking(url), VISIT);
    log.nextTry(failedAs);
  }
  await log.send(asking('https://a.test/4'), VISIT);
  assert.deepEqual(urlsOf(log, 'blocked', 'timeout'), ['https://a.test/3'], 'the last of its type');
  assert.deepEqual(urlsOf(log, 'timeout', 'timeout'), ['https://a.test/4'], 'the last try');
});

test('an answer that comes when the next try has begun belongs to the try that asked for it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = answering(() => ({}));
  const web: Web = { send: (request, visit) => promise.then(() => slow.send(request, visit)) };
  const log = new VisitLog(web, new HeldRoom());
  const sending = log.send(asking('https://a.test/late'), VISIT);
  log.nextTry('timeout');
  resolve();
  await sending;
  assert.deepEqual(urlsOf(log, 'timeout', 'blocked'), ['https://a.test/late']);
  assert.deepEqual(urlsOf(log, 'blocked', 'blocked'), []);
});

test('a process holds a limited number of bytes; what does not fit is reported as missing, but the last page is there', async () => {
  const room = new HeldRoom(40);
  const web = answering(() => ({ body: Buffer.alloc(30, 'x'), bytes: 30 }));
  const log = new VisitLog(web, room);
  await log.send(asking('https://a.test/1'), VISIT);
  await log.send(asking('https://a.test/2'), VISIT);
  const seen = log.tryThatFailedAs('blocked', 'blocked');
  assert.ok(seen.last?.kind === 'answer' && seen.last.body.length === 30);
  const about = { input: {}, failure: failure('blocked', 'no'), at: 0 };
  const { recorded, missing } = decodeVisit(await encodeVisit(seen, about, NO_SECRETS));
  assert.deepEqual(
    recorded.map(({ request }) => request.url),
    ['https://a.test/1'],
  );
  assert.deepEqual(missing, ['GET https://a.test/2']);
  assert.equal(room.take(11), false);
  log.close();
  assert.equal(room.take(40), true, 'what was held is given back');
});

test('a document that went to the store, a request without an answer and a loop of requests are reported as missing', async () => {
  const streamed = new VisitLog(
    answering(() => ({ body: new Uint8Array(), bytes: 5000 })),
    new HeldRoom(),
  );
  for (let page = 0; page < 203; page += 1) await streamed.send(asking(`https://a.test/${page}`), VISIT);
  const about = { input: {}, failure: failure('blocked', 'no'), at: 0 };
  const seen = streamed.tryThatFailedAs('blocked', 'blocked');
  const { recorded, missing } = decodeVisit(await encodeVisit(seen, about, NO_SECRETS));
  assert.deepEqual([recorded.length, missing.length, missing.at(-1)], [0, 201, '3 more requests']);
});

test('redirects are exchanges of their own', async () => {
  const redirects = [{ url: 'https://a.test/old', status: 302 }];
  const log = new VisitLog(
    answering(() => ({ url: 'https://a.test/new', redirects })),
    new HeldRoom(),
  );
  await log.send(asking('https://a.test/old'), VISIT);
  const about = { input: {}, failure: failure('blocked', 'no'), at: 0 };
  const { recorded } = decodeVisit(await encodeVisit(log.tryThatFailedAs('blocked', 'blocked'), about, NO_SECRETS));
  assert.deepEqual(
    recorded.map(({ request, status, headers }) => [request.url, status, headers]),
    [
      ['https://a.test/old', 302, { location: 'https://a.test/new' }],
      ['https://a.test/new', 200, {}],
    ],
  );
});
