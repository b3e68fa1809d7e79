import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineHttpScraper, type HttpClient, type SetupContext, z } from '../../src/scraping/author.ts';
import { policyOf } from '../support/builders.ts';
import { contextOf, openSite } from './http-support.ts';
import { endOf, RESPECT, robotsTools, visit } from './robots-support.ts';

const HOUR_MS = 3_600_000;

test('a file is read again after an hour, and its changes apply', async (t) => {
  let rule = '/x';
  const site = await openSite(t, ({ path }) => (path === '/robots.txt' ? `User-agent: *\nDisallow: ${rule}\n` : '<p>'));
  const { clock, tools } = robotsTools(t);
  const ends = async () => [
    endOf(await visit(tools, [`${site.origin}/x`])),
    endOf(await visit(tools, [`${site.origin}/y`])),
  ];
  assert.deepEqual(await ends(), ['skipped: robots', 'scraped']);
  rule = '/y';
  await clock.advance(HOUR_MS - 1);
  assert.deepEqual(await ends(), ['skipped: robots', 'scraped']);
  await clock.advance(1);
  assert.deepEqual(await ends(), ['scraped', 'skipped: robots']);
  assert.equal(site.asked.filter(({ path }) => path === '/robots.txt').length, 2);
});

test('a file that has expired stays in force while it cannot be read again', async (t) => {
  let isUp = true;
  const site = await openSite(t, ({ path }) => {
    if (path !== '/robots.txt') return '<p>';
    return isUp ? 'User-agent: *\nDisallow: /x\nCrawl-delay: 3\n' : { status: 500 };
  });
  const { clock, gate, tools } = robotsTools(t);
  assert.equal(endOf(await visit(tools, [`${site.origin}/x`])), 'skipped: robots');
  isUp = false;
  await clock.advance(HOUR_MS);
  assert.equal(endOf(await visit(tools, [`${site.origin}/x`])), 'skipped: robots');
  assert.equal(gate.isOpen(site.host), false, 'its delay holds, too');
  await clock.advance(3000);
  assert.equal(endOf(await visit(tools, [`${site.origin}/y`])), 'scraped');
  assert.equal(site.asked.filter(({ path }) => path === '/robots.txt').length, 2, 'not asked again within a minute');
});

test('a crawl-delay is the least time between two requests to the host, for as long as the file asks for it', async (t) => {
  let delay = 'Crawl-delay: 7\n';
  const site = await openSite(t, ({ path }) =>
    path === '/robots.txt' ? `User-agent: *\nDisallow: /x\n${delay}` : '<p>',
  );
  const { clock, gate, tools } = robotsTools(t);
  const visits = [visit(tools, [`${site.origin}/a`]), visit(tools, [`${site.origin}/b`])];
  // The requests themselves take real time.
  while (gate.isOpen(site.host) || clock.sleepers === 0) await clock.turn();
  assert.deepEqual(
    site.asked.map(({ path }) => path),
    ['/robots.txt'],
  );
  await clock.advance(6999);
  assert.equal(site.asked.length, 1);
  await clock.advance(1);
  await Promise.race(visits);
  assert.equal(site.asked.length, 2);
  await clock.advance(7000);
  assert.deepEqual((await Promise.all(visits)).map(endOf), ['scraped', 'scraped']);
  delay = '';
  await clock.advance(HOUR_MS);
  assert.equal(endOf(await visit(tools, [`${site.origin}/c`])), 'scraped');
  assert.equal(gate.isOpen(site.host), true);
});

test('only so many files are kept, and the delay of one that is forgotten ends with it', async (t) => {
  const answer = ({ path }: { path: string }) =>
    path === '/robots.txt' ? 'User-agent: *\nCrawl-delay: 60\nDisallow: /x\n' : '<p>';
  const sites = await Promise.all([1, 2, 3].map(() => openSite(t, answer)));
  const { gate, tools } = robotsTools(t, { maxFiles: 2 });
  for (const { origin } of sites) assert.equal(endOf(await visit(tools, [`${origin}/x`])), 'skipped: robots');
  assert.deepEqual(
    sites.map(({ host }) => gate.isOpen(host)),
    [true, false, false],
  );
  assert.equal(endOf(await visit(tools, [`${sites[0]?.origin}/x`])), 'skipped: robots');
  assert.deepEqual(
    sites.map(({ asked }) => asked.length),
    [2, 1, 1],
  );
});

test('an item whose time is over does not wait for the file, and one that has time left gets it', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const site = await openSite(t, async ({ path }) => {
    if (path === '/robots.txt') await released;
    return path === '/robots.txt' ? 'User-agent: *\nDisallow: /x\n' : '<p>';
  });
  const { tools } = robotsTools(t);
  const cut = new AbortController();
  const hasty = visit(tools, [`${site.origin}/x`], { signal: cut.signal });
  const patient = visit(tools, [`${site.origin}/x`]);
  while (site.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  cut.abort('over');
  assert.equal((await hasty).kind, 'failed');
  release();
  assert.equal(endOf(await patient), 'skipped: robots');
  assert.equal(site.asked.length, 1);
});

test('a host that asked to be left alone is not asked for its file either', async (t) => {
  const site = await openSite(t, () => '<p>');
  const { gate, tools } = robotsTools(t);
  gate.hold(site.host, 600_000);
  const failed = await visit(tools, [`${site.origin}/x`]);
  assert.ok(failed.kind === 'failed');
  assert.deepEqual([failed.failure.type, failed.failure.retryAfterMs], ['rate_limited', 600_000]);
  assert.equal(site.asked.length, 0);
});

test('a policy that ignores robots.txt never asks for it', async (t) => {
  const site = await openSite(t, () => '<p>');
  const { tools } = robotsTools(t);
  assert.equal(endOf(await visit(tools, [`${site.origin}/x`], { policy: policyOf() })), 'scraped');
  assert.deepEqual(
    site.asked.map(({ path }) => path),
    ['/x'],
  );
});

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n%%EOF\n');

/** A site with a page that leads everywhere, and a robots.txt that disallows what begins with /no. */
function openLeadingSite(t: Parameters<typeof openSite>[0]) {
  return openSite(t, ({ path }) => {
    if (path === '/robots.txt') return 'User-agent: *\nDisallow: /no\n';
    if (path === '/there') return { status: 302, headers: { location: '/no-more' } };
    if (path.endsWith('.pdf')) return { headers: { 'content-type': 'application/pdf' }, body: PDF };
    if (path.endsWith('.json')) return { headers: { 'content-type': 'application/json' }, body: '{}' };
    return '<form action=/no-search method=post><input name=q><button>Go</button></form>';
  });
}

function scraperOf(
  work: (http: HttpClient, origin: string) => Promise<unknown>,
  setup?: (context: SetupContext) => Promise<null>,
) {
  return defineHttpScraper({
    ...{ id: 'ways', name: 'Ways', version: '1', description: '', hosts: [] },
    input: z.object({ origin: z.string() }),
    output: z.object({ done: z.boolean() }),
    ...(setup === undefined ? {} : { setup }),
    async scrape({ http, input }) {
      return { data: { done: (await work(http, input.origin)) !== null } };
    },
  });
}

test('every way of asking is held back: pages, posts, forms, answers of APIs, documents and redirects', async (t) => {
  const ways: Readonly<Record<string, (http: HttpClient, origin: string) => Promise<unknown>>> = {
    page: (http, origin) => http.get(`${origin}/no`),
    post: (http, origin) => http.post(`${origin}/no`, { form: { q: '1' } }),
    form: async (http, origin) => (await http.get(`${origin}/`)).form('form').submit(),
    json: (http, origin) => http.json(`${origin}/no.json`),
    document: (http, origin) => http.document(`${origin}/no.pdf`),
    redirect: (http, origin) => http.get(`${origin}/there`),
  };
  for (const [name, way] of Object.entries(ways)) {
    const site = await openLeadingSite(t);
    const result = await scraperOf(way).scrape(
      contextOf(robotsTools(t).tools, { policy: RESPECT, input: { origin: site.origin } }),
    );
    assert.equal(endOf(result), 'skipped: robots', name);
    assert.ok(
      site.asked.every(({ path }) => !path.startsWith('/no')),
      name,
    );
  }
});

test('an item goes on without an optional document that is disallowed', async (t) => {
  const site = await openLeadingSite(t);
  const scraper = scraperOf((http, origin) => http.document(`${origin}/no.pdf`, { optional: true }));
  const result = await scraper.scrape(
    contextOf(robotsTools(t).tools, { policy: RESPECT, input: { origin: site.origin } }),
  );
  assert.equal(result.kind, 'scraped');
  const url = `${site.origin}/no.pdf`;
  const message = `the robots.txt of the site disallows ${url} (line 2)`;
  assert.deepEqual(result.facts?.['missing_documents'], [{ url, type: 'robots', message }]);
});

test('what setup may not ask for skips the items of a job that respects robots.txt, and of no other', async (t) => {
  const site = await openLeadingSite(t);
  const scraper = scraperOf(
    (http) => http.get(`${site.origin}/`),
    async ({ http }) => {
      await http.get(`${site.origin}/no-login`);
      return null;
    },
  );
  const { tools } = robotsTools(t);
  const input = { origin: site.origin };
  const [respecting, ignoring] = await Promise.all([
    scraper.scrape(contextOf(tools, { policy: RESPECT, input })),
    scraper.scrape(contextOf(tools, { policy: policyOf(), input })),
  ]);
  assert.deepEqual([endOf(respecting), endOf(ignoring)], ['skipped: robots', 'scraped']);
});
