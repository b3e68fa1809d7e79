import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { policyOf } from '../support/builders.ts';
import { sized } from '../support/sized.ts';
import { openSite, type Reply } from './http-support.ts';
import { endOf, robotsTools, visit } from './robots-support.ts';

const PLAIN = { 'content-type': 'text/plain' };
const NO_X = 'User-agent: *\nDisallow: /x\n';

/** A site whose robots.txt answers like this; every other path is a page. */
function openRobotsSite(t: TestContext, answer: (response: ServerResponse) => Reply | string | null) {
  return openSite(t, ({ path }, response) => (path === '/robots.txt' ? answer(response) : '<p>a page</p>'));
}

/** How an item ends that visits `/x`, and which paths the site was asked for. */
async function visitX(t: TestContext, answer: (response: ServerResponse) => Reply | string | null) {
  const site = await openRobotsSite(t, answer);
  const end = endOf(await visit(robotsTools(t).tools, [`${site.origin}/x`]));
  return [end, ...site.asked.map(({ path }) => path)];
}

test('a page that the file disallows is not asked for, and its item is skipped', async (t) => {
  assert.deepEqual(await visitX(t, () => ({ headers: PLAIN, body: NO_X })), ['skipped: robots', '/robots.txt']);
  assert.deepEqual(await visitX(t, () => 'User-agent: *\nDisallow: /y\n'), ['scraped', '/robots.txt', '/x']);
});

test('the file is fetched once for items at the same time, by a browser without cookies', async (t) => {
  const site = await openRobotsSite(t, () => ({ headers: { ...PLAIN, 'set-cookie': 'a=1' }, body: NO_X }));
  const { tools, lines } = robotsTools(t);
  const urls = Array.from({ length: 20 }, (_, index) => `${site.origin}/${index % 2 === 0 ? 'x' : 'y'}${index}`);
  const ends = await Promise.all(urls.map(async (url) => endOf(await visit(tools, [url]))));
  assert.deepEqual(
    ends,
    urls.map((_, index) => (index % 2 === 0 ? 'skipped: robots' : 'scraped')),
  );
  const [robots, ...pages] = site.asked;
  assert.equal(robots?.path, '/robots.txt');
  assert.match(robots.headers['user-agent'] ?? '', /^Mozilla\/5\.0/);
  assert.ok(pages.length === 10 && pages.every(({ path, cookies }) => path.startsWith('/y') && cookies.size === 0));
  assert.deepEqual(lines, [`${site.origin}/robots.txt disallows a page: such items are skipped`], 'said once');
});

test('five redirects are followed, to other hosts too, and more than that count as no file', async (t) => {
  const elsewhere = await openSite(t, () => ({ headers: PLAIN, body: NO_X }));
  const site = await openSite(t, ({ path, query }) => {
    if (path === '/x') return '<p>a page</p>';
    const hops = Number(query.get('hops') ?? 0);
    const location = hops === 4 ? `${elsewhere.origin}/there` : `/robots.txt?hops=${hops + 1}`;
    return { status: 302, headers: { location } };
  });
  assert.equal(endOf(await visit(robotsTools(t).tools, [`${site.origin}/x`])), 'skipped: robots');
  assert.equal(elsewhere.asked.length, 1);
  assert.deepEqual(await visitX(t, () => ({ status: 301, headers: { location: '/robots.txt' } })), [
    ...['scraped', ...new Array(6).fill('/robots.txt'), '/x'],
  ]);
});

test('a redirect to an address that may not be dialled is not followed', async (t) => {
  const answer = () => ({ status: 302, headers: { location: 'http://169.254.169.254/robots.txt' } });
  assert.deepEqual(await visitX(t, answer), ['refused_address', '/robots.txt']);
});

test('without a file everything is allowed', async (t) => {
  for (const status of [404, 403, 410]) {
    assert.deepEqual(await visitX(t, () => ({ status, body: NO_X })), ['scraped', '/robots.txt', '/x'], `${status}`);
  }
});

test('while the file is unavailable, nothing is asked for, and items fail in a way that is retried later', async (t) => {
  let status = 503;
  const site = await openRobotsSite(t, () => ({ status, body: NO_X }));
  const { clock, tools } = robotsTools(t);
  const failed = await visit(tools, [`${site.origin}/y`]);
  assert.ok(failed.kind === 'failed');
  assert.equal(failed.failure.type, 'server_error');
  assert.match(
    failed.failure.message,
    /\/robots\.txt cannot be read, so nothing there may be requested for now: status 503$/,
  );
  assert.equal(failed.failure.retryAfterMs, 60_000);
  status = 200;
  await clock.advance(59_000);
  const still = await visit(tools, [`${site.origin}/y`]);
  assert.ok(still.kind === 'failed' && still.failure.retryAfterMs === 1000);
  assert.equal(site.asked.length, 1);
  await clock.advance(1000);
  assert.equal(endOf(await visit(tools, [`${site.origin}/y`])), 'scraped');
  assert.equal(endOf(await visit(tools, [`${site.origin}/x`])), 'skipped: robots');
});

test('a server that says when to come back is not asked for the file before then', async (t) => {
  const site = await openRobotsSite(t, () => ({ status: 429, headers: { 'retry-after': '300' } }));
  const failed = await visit(robotsTools(t).tools, [`${site.origin}/y`]);
  assert.ok(failed.kind === 'failed');
  assert.deepEqual([failed.failure.type, failed.failure.retryAfterMs], ['rate_limited', 300_000]);
});

test('a server that never answers, or hangs up, allows nothing', async (t) => {
  const hasty = policyOf({ robots: 'respect', timeouts: { request_timeout_seconds: 0.2 } });
  const silent = await openRobotsSite(t, () => null);
  assert.equal(endOf(await visit(robotsTools(t).tools, [`${silent.origin}/x`], { policy: hasty })), 'timeout');
  assert.ok(silent.asked.every(({ path }) => path === '/robots.txt'));
  assert.deepEqual(await visitX(t, (response) => response.destroy() && null), ['network_error', '/robots.txt']);
});

test('only the first 500 KiB of an endless file are read, and no half of a rule', async (t) => {
  let sent = 0;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const site = await openRobotsSite(t, (response) => {
    response.on('close', resolve);
    // Cut at 500 KiB, the last of these would be `/x`.
    const start = 'User-agent: *\nDisallow: /a\n';
    const rule = 'Disallow: /xyz\n';
    response.write(`${start}${'#'.repeat(500 * 1024 - start.length - rule.length + 2)}\n${rule}`);
    const pour = () => {
      while (!response.destroyed && response.write('Disallow: /\n'.repeat(5000))) sent += 60_000;
    };
    response.on('drain', pour);
    pour();
    return null;
  });
  const { tools } = robotsTools(t);
  assert.equal(endOf(await visit(tools, [`${site.origin}/x`])), 'scraped');
  assert.equal(endOf(await visit(tools, [`${site.origin}/a`])), 'skipped: robots');
  await closed;
  assert.ok(sent < 64 << 20, `${sent} bytes were taken`);
});

const INFLATED_MIB = sized({ quick: 16, slow: 64 });

test(`only the first 500 KiB of a file that inflates to ${INFLATED_MIB} MiB are read`, async (t) => {
  const bomb = gzipSync(Buffer.concat([Buffer.from(NO_X), Buffer.alloc(INFLATED_MIB << 20, '#\n')]));
  const headers = { ...PLAIN, 'content-encoding': 'gzip' };
  assert.deepEqual(await visitX(t, () => ({ headers, body: bomb })), ['skipped: robots', '/robots.txt']);
});

test('a byte order mark, CRLF and bytes that are not UTF-8 do no harm', async (t) => {
  const body = Buffer.concat([
    Buffer.from('\ufeffUser-agent: *\r\n# '),
    Buffer.from([0xff, 0xfe, 0x00]),
    Buffer.from('\r\nDisallow: /x\r\n'),
  ]);
  assert.deepEqual(await visitX(t, () => ({ headers: PLAIN, body })), ['skipped: robots', '/robots.txt']);
});
