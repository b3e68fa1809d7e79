import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HostGate, OPEN_GATE } from '../../src/ports/host-gate.ts';
import { z } from '../../src/scraping/author.ts';
import type { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';
import { failsAs, openClient, openSite, webTools } from './http-support.ts';

function gateOf(gate: Partial<HostGate>): HostGate {
  return { ...OPEN_GATE, ...gate };
}

test('an address may be relative to the page that came last, after its redirects', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/a' ? { status: 302, headers: { location: '/dir/b' } } : path,
  );
  const http = openClient(t);
  await failsAs(http.get('/a'), 'unexpected', /no page yet/);
  assert.equal((await http.get(`${site.origin}/a`)).url, `${site.origin}/dir/b`);
  assert.equal((await http.get('c', { query: { q: 'x y', n: [`1`, `2`] } })).body, '/dir/c');
  assert.equal(site.asked.at(-1)?.query.toString(), 'q=x+y&n=1&n=2');
});

test('one visitor looks like one browser, and reveals no more to another site than the origin it comes from', async (t) => {
  const site = await openSite(t, () => 'ok');
  const other = await openSite(t, () => 'ok');
  const http = openClient(t);
  await http.get(`${site.origin}/one#part`);
  await http.post('/two', { form: { a: '1' }, headers: { 'X-Own': 'yes', Accept: 'text/x' } });
  await http.get(`${other.origin}/three`);
  const [one, two] = site.asked;
  const three = other.asked[0];
  assert.match(one?.headers['user-agent'] ?? '', /^Mozilla\/5\.0/);
  assert.equal(one?.headers['accept-language']?.startsWith('en-US'), true);
  assert.match(one?.headers['accept-encoding'] ?? '', /gzip/);
  assert.equal(one?.headers['referer'], undefined);
  assert.equal(one?.headers['origin'], undefined);
  assert.equal(two?.headers['user-agent'], one?.headers['user-agent']);
  assert.equal(two?.headers['referer'], `${site.origin}/one`);
  assert.equal(two?.headers['origin'], site.origin);
  assert.equal(two?.headers['x-own'], 'yes');
  assert.equal(two?.headers['accept'], 'text/x');
  assert.equal(three?.headers['referer'], `${site.origin}/`);
  await assert.rejects(http.get('/x', { headers: { Cookie: 'a=b' } }), /cookie must not be set by a scraper/);
});

test('a POST carries a form, JSON or bytes', async (t) => {
  const site = await openSite(t, ({ headers, body }) => `${headers['content-type']}|${body}`);
  const http = openClient(t);
  assert.equal(
    (await http.post(site.origin, { form: { a: ['1', '2'], b: 'é' } })).body,
    'application/x-www-form-urlencoded|a=1&a=2&b=%C3%A9',
  );
  assert.equal(
    (await http.post('/', { form: new URLSearchParams('x=y') })).body,
    'application/x-www-form-urlencoded|x=y',
  );
  assert.equal((await http.post('/', { json: { a: 1 } })).body, 'application/json|{"a":1}');
  assert.equal((await http.post('/', { body: '<a/>', contentType: 'text/xml' })).body, 'text/xml|<a/>');
  await assert.rejects(http.post('/', { form: {}, json: {} }), /one of form, json and body/);
});

test('an error answer is a failure, unless its status is expected', async (t) => {
  const site = await openSite(t, ({ path }) => ({ status: Number(path.slice(1)), body: 'gone' }));
  const http = openClient(t);
  await failsAs(http.get(`${site.origin}/404`), 'not_found', /404/);
  assert.equal((await http.get(`${site.origin}/404`, { expectStatus: [404] })).status, 404);
  await failsAs(http.get(`${site.origin}/500`, { expectStatus: [404] }), 'server_error');
});

test('a site that repeatedly asks us to wait is left alone by all visitors', async (t) => {
  const held: [string, number][] = [];
  const gate = gateOf({ hold: (host, ms) => held.push([host, ms]), noteTrouble: () => 'frequent' });
  const site = await openSite(t, ({ path }) => ({ status: Number(path.slice(1)), headers: { 'retry-after': '3' } }));
  const http = openClient(t, { tools: webTools(t, gate) });
  await failsAs(http.get(`${site.origin}/429`), 'rate_limited');
  await failsAs(http.get(`${site.origin}/503`), 'rate_limited');
  await failsAs(http.get(`${site.origin}/403`), 'blocked');
  await failsAs(http.get(`${site.origin}/500`), 'server_error');
  assert.deepEqual(held, Array(3).fill([site.host, 3000]));
});

test('a site that asks us to wait for a year is left alone for as long as the policy allows', async (t) => {
  const held: number[] = [];
  const gate = gateOf({ hold: (_, ms) => held.push(ms) });
  const site = await openSite(t, () => ({ status: 429, headers: { 'retry-after': '31536000' } }));
  const http = openClient(t, { tools: webTools(t, gate), maxRetryAfterMs: 90_000 });
  const seen = await http.get(site.origin).catch((error: ScrapeFailure) => error.failure);
  assert.equal('retryAfterMs' in seen && seen.retryAfterMs, 90_000, 'its own item comes back then, too');
  assert.deepEqual(held, [90_000]);
});

test('an item does not wait for an hour at a site that asked for it: it fails at once with the reason', async (t) => {
  const site = await openSite(t, () => ({ status: 429, headers: { 'retry-after': '3600' } }));
  const tools = webTools(t);
  await failsAs(openClient(t, { tools }).get(site.origin), 'rate_limited', /ask too often/);
  await failsAs(
    openClient(t, { tools }).get(site.origin),
    'rate_limited',
    /is paused for another 3600 s: .*ask too often/,
  );
  assert.equal(site.asked.length, 1);
});

test('every hop waits for its turn at its host, and gives it back', async (t) => {
  const turns: string[] = [];
  let inside = 0;
  const gate: HostGate = {
    ...OPEN_GATE,
    async enter(host) {
      turns.push(host);
      inside += 1;
      return () => {
        inside -= 1;
      };
    },
  };
  const other = await openSite(t, () => 'there');
  const site = await openSite(t, () => ({ status: 302, headers: { location: `${other.origin}/` } }));
  await openClient(t, { tools: webTools(t, gate) }).get(site.origin);
  assert.deepEqual(turns, [site.host, other.host]);
  assert.equal(inside, 0);
});

test("a host that is not one of the scraper's is not asked, not even by a redirect", async (t) => {
  const other = await openSite(t, () => 'secret');
  const site = await openSite(t, ({ path }) =>
    path === '/away'
      ? { status: 302, headers: { location: `${other.origin}/` } }
      : '<a id=out href="//other.example/">x</a>',
  );
  const http = openClient(t, { hosts: [site.host] });
  const page = await http.get(site.origin);
  await failsAs(http.get('/away'), 'refused_address', new RegExp(`${other.host} is not one of`));
  await failsAs(http.get(other.origin), 'refused_address', /not one of/);
  await failsAs(page.follow('#out'), 'refused_address', /other\.example is not one of/);
  assert.equal(other.asked.length, 0);
});

test('cookies of a site come back to it, and a broken one is ignored', async (t) => {
  const site = await openSite(t, ({ path }) => ({
    headers:
      path === '/' ? { 'set-cookie': ['a=1; Path=/', '=;;;', 'b=2; Path=/deep', 'evil=1; Domain=other.example'] } : {},
  }));
  const http = openClient(t);
  await http.get(site.origin);
  await http.get('/deep/x');
  assert.deepEqual(Object.fromEntries(site.asked.at(-1)?.cookies ?? []), { b: '2', a: '1' });
  http.setCookie('/', 'c=3; Path=/');
  await http.get('/');
  assert.deepEqual(Object.fromEntries(site.asked.at(-1)?.cookies ?? []), { a: '1', c: '3' });
});

test('an API answers with JSON that is checked', async (t) => {
  const site = await openSite(t, ({ path, method, body, headers }) => {
    const json = (text: string) => ({ headers: { 'content-type': 'application/json' }, body: text });
    if (path === '/echo') return json(JSON.stringify({ method, body, accept: headers['accept'] }));
    if (path === '/parcel') return json('{"apn":"1","owner":{"name":5}}');
    if (path === '/blocked') return '<title>Attention Required! | Cloudflare</title>';
    return path === '/missing' ? { status: 404 } : '<title>Sign in</title>';
  });
  const http = openClient(t);
  assert.deepEqual(await http.json(`${site.origin}/echo`, { post: { json: [1] } }), {
    method: 'POST',
    body: '[1]',
    accept: 'application/json, text/plain, */*',
  });
  const Parcel = z.object({ apn: z.string() });
  const parcel = await http.json(`${site.origin}/parcel`, { schema: Parcel });
  assert.equal(parcel.apn satisfies string, '1');
  const Strict = z.object({ owner: z.object({ name: z.string() }) });
  await failsAs(
    http.json(`${site.origin}/parcel`, { schema: Strict }),
    'structure_changed',
    /owner\.name: .*\/parcel\)/,
  );
  await failsAs(
    http.json(`${site.origin}/page`),
    'structure_changed',
    /expected JSON, but text\/html.* "Sign in" came/,
  );
  await failsAs(http.json(`${site.origin}/blocked`), 'blocked', /Cloudflare/);
  await failsAs(http.json(`${site.origin}/missing`), 'not_found');
});

test('a page that lacks something says why, if it does', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/nothing' ? '<p>Your search produced no results.</p>' : '<title>New  design</title><p id=empty></p>',
  );
  const http = openClient(t);
  const nothing = await http.get(`${site.origin}/nothing`);
  await failsAs(() => nothing.text('#owner'), 'no_results', /Your search produced no results", and #owner is not/);
  const changed = await http.get('/changed');
  await failsAs(
    () => changed.text('#owner'),
    'structure_changed',
    /^#owner is not on the page \(title "New design", http/,
  );
  assert.equal(changed.optional.text('#owner'), null);
});

test('a link is followed relative to the base of the page, and one that leads nowhere is a change of structure', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/'
      ? '<base href="/base/"><a class=go href=" next#x ">x</a><a class=js href="javascript:go()">x</a><a class=no>x</a>'
      : path,
  );
  const page = await openClient(t).get(site.origin);
  assert.equal((await page.follow('.go')).body, '/base/next');
  await failsAs(page.follow('.js'), 'structure_changed', /javascript:go/);
  await failsAs(page.follow('.no'), 'structure_changed', /href of \.no/);
  await failsAs(page.follow('.none'), 'structure_changed', /\.none/);
});

test('a page beyond its limit is too large', async (t) => {
  const site = await openSite(t, () => 'x'.repeat(5000));
  const http = openClient(t, { limits: { pageBytes: 4999, documentBytes: 1 } });
  await failsAs(http.get(site.origin), 'too_large');
});

test('a page that does not come in the time for a request is a timeout', async (t) => {
  const site = await openSite(t, () => null);
  await failsAs(openClient(t, { timeouts: { request_timeout_seconds: 0.05 } }).get(site.origin), 'timeout');
});

test('an item that is over stops its request at once', async (t) => {
  const over = new AbortController();
  const site = await openSite(t, () => {
    over.abort('the try is over');
    return null;
  });
  const http = openClient(t, { signal: over.signal });
  await assert.rejects(http.get(site.origin), (reason) => reason === 'the try is over');
});
