import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enterHost } from '../../src/egress/enter-host.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import type { Web } from '../../src/egress/web.ts';
import { defineHttpScraper, z } from '../../src/scraping/author.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NO_TOOLS } from '../support/no-tools.ts';
import { contextOf, failsAs, openClient, openSite, webTools } from './http-support.ts';

const BUSY = { status: 503, headers: { 'retry-after': '1' } };

test('a GET that met a 503 is repeated in its session, and every request is on record', async (t) => {
  let visits = 0;
  const site = await openSite(t, ({ path }) => {
    if (path === '/start') return { headers: { 'set-cookie': 'session=7' }, body: 'start' };
    visits += 1;
    return visits === 1 ? BUSY : visits === 2 ? { status: 503 } : 'parcel';
  });
  const http = openClient(t);
  await http.get(`${site.origin}/start`);
  assert.equal((await http.get('/parcel')).body, 'parcel');
  assert.deepEqual(
    site.asked.map(({ path, cookies }) => [path, cookies.get('session')]),
    [
      ['/start', undefined],
      ['/parcel', '7'],
      ['/parcel', '7'],
      ['/parcel', '7'],
    ],
  );
  assert.deepEqual(
    http.requests.records.map(({ status }) => status),
    [200, 503, 503, 200],
  );
});

test('JSON and documents are repeated as well, and so is a request whose connection was reset', async (t) => {
  const seen = new Set<string>();
  const site = await openSite(t, ({ path }, response) => {
    const isFirst = !seen.has(path);
    seen.add(path);
    if (isFirst && path === '/reset') {
      response.socket?.resetAndDestroy();
      return null;
    }
    if (isFirst) return { status: 502 };
    if (path === '/bill') return { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.7 a bill' };
    return { headers: { 'content-type': 'application/json' }, body: '{"owner":"Ann"}' };
  });
  const http = openClient(t);
  assert.deepEqual(await http.json(`${site.origin}/owner`), { owner: 'Ann' });
  assert.deepEqual(await http.json(`${site.origin}/reset`), { owner: 'Ann' });
  assert.equal((await http.document(`${site.origin}/bill`, { as: 'pdf' })).size, 15);
  assert.equal(site.asked.length, 6);
});

test('a request that is not idempotent is sent once, and so is every request of a job without retries', async (t) => {
  const site = await openSite(t, () => ({ status: 503 }));
  await failsAs(openClient(t).post(`${site.origin}/order`, { form: { a: '1' } }), 'server_error');
  await failsAs(openClient(t, { maxRetries: 0 }).get(site.origin), 'server_error');
  assert.equal(site.asked.length, 2);
});

test('a site that is down is soon asked only once per try, not three times', async (t) => {
  const site = await openSite(t, () => ({ status: 503 }));
  const tools = webTools(t);
  for (let item = 0; item < 20; item += 1) await failsAs(openClient(t, { tools }).get(site.origin), 'server_error');
  assert.equal(site.asked.length, 22);
});

const scraper = defineHttpScraper({
  id: 'busy-site',
  name: 'Busy site',
  version: '1',
  description: 'Two pages per item.',
  input: z.object({}),
  hosts: [],
  async scrape({ http, itemId }) {
    await http.get('http://busy.test/start');
    return { html: await http.get(`/parcel/${itemId}`) };
  },
});

/**
 * 400 items, three at a time, of a site that takes 75 ms for an answer, in virtual time. `isBusy` tells which requests,
 * by their number, are answered with a 503 and a Retry-After of one second.
 */
async function timeItems(isBusy: (request: number) => boolean) {
  const clock = new FakeClock();
  const gate = new PoliteHostGate({ clock });
  let requests = 0;
  const web: Web = {
    async send({ url }, visit) {
      const leave = await enterHost(visit, 'busy.test', url);
      requests += 1;
      const status = isBusy(requests) ? 503 : 200;
      await clock.sleep(75);
      leave();
      const body = Buffer.from('<p>a page</p>');
      const headers = { 'content-type': 'text/html', ...(status === 503 ? { 'retry-after': '1' } : {}) };
      const facts = { url, status, headers, body, redirects: [], ms: 75 };
      return { kind: 'answer', ...facts, bytes: body.length, rawBytes: body.length };
    },
  };
  const items = Array.from({ length: 400 }, (_, index) => `item-${index}`);
  let done = 0;
  const work = async () => {
    for (let itemId = items.shift(); itemId !== undefined; itemId = items.shift()) {
      const context = contextOf({ ...NO_TOOLS, web, gate }, { itemId, sleep: (ms) => clock.sleep(ms) });
      const result = await scraper.scrape(context);
      // This is what an attempt would do: after the time that the site named, it starts over.
      if (result.kind === 'failed') {
        items.push(itemId);
        await clock.sleep(result.failure.retryAfterMs ?? 1000);
      } else done += 1;
    }
  };
  const working = Promise.all([work(), work(), work()]);
  while (done < 400) await clock.advance(100);
  await working;
  return { ms: clock.elapsed(), requests };
}

test('1 % of 503 with a Retry-After of a second costs at most a quarter of the pace', async () => {
  const good = await timeItems(() => false);
  const busy = await timeItems((request) => request % 100 === 50);
  assert.equal(good.requests, 800);
  assert.equal(busy.requests, 808, 'each refused request is sent once more, and no item starts over');
  assert.ok(busy.ms <= good.ms * 1.25, `${busy.ms} ms instead of ${good.ms} ms`);
});

test('a site that refuses every fifth request is left alone by every item for as long as it says', async () => {
  const busy = await timeItems((request) => request % 5 === 0);
  const good = await timeItems(() => false);
  assert.ok(busy.ms > good.ms * 3, `${busy.ms} ms instead of ${good.ms} ms`);
});
