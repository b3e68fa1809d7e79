import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { UsageRow } from '../../src/domain/usage.ts';
import type { OpenWeb } from '../../src/egress/open-web.ts';
import type { Visit, WebRequest } from '../../src/egress/web.ts';
import { UsageMeter } from '../../src/scraping/usage-meter.ts';
import { refusal } from '../models/proxy-server.ts';
import {
  askThrough,
  CERTIFICATE,
  HOST,
  listOf,
  openProxy,
  PASSWORD,
  residentialAt,
  startTarget,
} from './proxy-support.ts';
import { aRequest, aVisit } from './visits.ts';

const PAGE = gzipSync(Array.from({ length: 20_000 }, (_, at) => `<p>parcel ${at * 7919}</p>`).join(''));

/** Sends requests and answers what was counted of each. */
async function countOf(web: OpenWeb, requests: readonly WebRequest[], visit: Partial<Visit>): Promise<UsageRow[]> {
  const meter = new UsageMeter();
  for (const request of requests) await web.send(request, aVisit({ ...visit, usage: meter.through('residential') }));
  return [...meter.read()];
}

function sumOf(rows: readonly UsageRow[]) {
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    up: rows.reduce((sum, { bytesUp }) => sum + bytesUp, 0),
    down: rows.reduce((sum, { bytesDown }) => sum + bytesDown, 0),
  };
}

const DIRECT = { exit: { dialer: 'direct', session: '' } };
const PROXIED = { exit: { dialer: 'proxied', session: 's' } };

for (const scheme of ['http', 'https'] as const) {
  test(`what is counted over ${scheme} is what the server saw on the wire, redirects and kept connections included`, async (t) => {
    const target = await startTarget(t, (request, response) => {
      if (request.url === '/old') response.writeHead(302, { location: '/new' }).end('moved');
      else response.writeHead(200, { 'content-encoding': 'gzip' }).end(PAGE);
    });
    const { web } = askThrough(t, residentialAt({ port: 1 }), { ca: CERTIFICATE.cert });
    const url = target[scheme];
    const post = aRequest(url, { method: 'POST', body: Buffer.alloc(5000, 'a') });
    const rows = await countOf(web, [aRequest(`${url}old`), post, aRequest(`${url}last`)], DIRECT);
    const { requests, up, down } = sumOf(rows);
    assert.equal(requests, target.asked.length);
    assert.equal(requests, 4);
    assert.deepEqual({ up, down }, target.bytes());
    assert.ok(up > 5000 && down > 3 * PAGE.length);
    assert.deepEqual(
      rows.map(({ host }) => host),
      [new URL(url).host],
    );
  });

  for (const isTls of [false, true]) {
    test(`through an ${isTls ? 'HTTPS' : 'HTTP'} proxy to ${scheme}, it is what the proxy saw`, async (t) => {
      const target = await startTarget(t, (_, response) => response.writeHead(200).end(PAGE));
      const proxy = await openProxy(t, isTls);
      const address = `${isTls ? 'https' : 'http'}://ann:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`;
      const { web } = askThrough(t, listOf(address));
      const request = aRequest(target[scheme]);
      const { requests, ...bytes } = sumOf(await countOf(web, [request, request, request], PROXIED));
      assert.equal(requests, 3);
      assert.deepEqual(bytes, proxy.bytes());
      assert.ok(bytes.down > 3 * PAGE.length);
    });
  }
}

test('a tunnel that the proxy refuses does not count as a request, but its bytes count', async (t) => {
  const [target, proxy] = [await startTarget(t), await openProxy(t)];
  proxy.answer = () => refusal(502, 'client_10000');
  const { web } = askThrough(t, residentialAt(proxy));
  const { requests, ...bytes } = sumOf(await countOf(web, [aRequest(target.https)], PROXIED));
  assert.equal(requests, 0);
  assert.deepEqual(bytes, proxy.bytes());
  assert.ok(bytes.up > 0 && bytes.down > 0);
});

test('answers with 429 and 403 are counted by host, and those of the proxy are not', async (t) => {
  const target = await startTarget(t, (request, response) =>
    response.writeHead(Number(request.url?.slice(1)) || 200).end('no'),
  );
  const proxy = await openProxy(t);
  const { web } = askThrough(t, residentialAt(proxy));
  const asked = ['429', '403', '403', '200'].map((status) => aRequest(`${target.http}${status}`));
  const meter = new UsageMeter();
  const visit = aVisit({ ...PROXIED, usage: meter.through('residential') });
  for (const request of asked) await web.send(request, visit);
  proxy.answer = () => refusal(403, 'client_10030');
  await web.send(aRequest(target.http), visit);
  const [row] = meter.read();
  assert.deepEqual([row?.host, row?.requests, row?.refused, row?.blocked], [new URL(target.http).host, 5, 1, 2]);
});

test('a request that is cut off counts with what has arrived by then', async (t) => {
  const begun = Promise.withResolvers<void>();
  const target = await startTarget(t, (_, response) => {
    // More than is gathered before a sink gets a piece.
    response.writeHead(200).write(Buffer.alloc(100_000, 'a'), () => begun.resolve());
  });
  const { web } = askThrough(t, residentialAt(await openProxy(t)));
  const cut = new AbortController();
  const meter = new UsageMeter();
  const received = Promise.withResolvers<void>();
  const sink = () => ({
    write: async () => {
      received.resolve();
    },
  });
  const sent = web.send(
    aRequest(target.http),
    aVisit({ ...DIRECT, usage: meter.through('none'), signal: cut.signal, sink }),
  );
  await begun.promise;
  await received.promise;
  cut.abort('over');
  // Counted in the same turn: an attempt that is over is settled at once.
  const { requests, up, down } = sumOf(meter.read());
  assert.equal(requests, 1);
  assert.equal(up, target.bytes().up);
  assert.ok(down >= 64 * 1024 && down <= target.bytes().down, `${down} bytes`);
  await assert.rejects(sent, (error) => error === 'over');
});

test('an attempt that visits many hosts has a bounded list', async () => {
  const meter = new UsageMeter();
  const usage = meter.through('none');
  for (let host = 0; host < 100; host += 1) usage.of(`${HOST}:${host}`).requests += 1;
  const rows = meter.read();
  assert.ok(rows.length <= 13, `${rows.length} rows`);
  assert.equal(sumOf(rows).requests, 100);
});
