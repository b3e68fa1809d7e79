import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { NO_SECRETS, SecretBook } from '../../src/domain/secrets.ts';
import { caseFromKept, type KeptItem } from '../../src/scraping/fixtures/case-from-kept.ts';
import { FixtureError } from '../../src/scraping/fixtures/fixture-folder.ts';
import { defineHttpScraper, type HttpScrapeContext } from '../../src/scraping/http/define-http-scraper.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NO_BROWSERS } from '../support/no-browsers.ts';
import { folderWith } from './scraper-folder.ts';

const INPUT = z.object({ parcel: z.string() });

function scraperOf(visit: (context: HttpScrapeContext<{ parcel: string }>) => Promise<object>) {
  return defineHttpScraper({
    ...{ id: 'county', name: 'County', version: '1', description: 'For tests.', hosts: ['county.test'] },
    input: INPUT,
    output: z.object({ owner: z.string() }),
    scrape: visit,
    parse: ({ page }) => ({ owner: page.text('#owner') }),
  });
}

const ONE_PAGE = scraperOf(async ({ http, input }) => ({
  html: await http.get(`https://county.test/p/${input.parcel}`),
}));

const PAGE = { name: null, contentType: 'text/html; charset=utf-8', bytes: Buffer.from('<p id="owner">Peña</p>') };

function keptOf(metadata: object | null, more: Partial<KeptItem> = {}): KeptItem {
  return {
    ...{ jobId: 'job', itemId: '7-a', input: { parcel: '7-a' }, failedAs: null, visit: null, pages: [PAGE] },
    metadata: metadata === null ? null : Buffer.from(JSON.stringify(metadata)),
    ...more,
  };
}

const FETCHED = { fetched_at: '2026-11-17T10:00:00.000Z' };
const ANSWERED = { status: 200, bytes: 1, ms: 1 };

function make(t: TestContext, scraper: typeof ONE_PAGE, kept: KeptItem, asked = { name: null, expectFailure: false }) {
  const folder = folderWith(t, { 'county.ts': '' });
  const parts = { clock: new FakeClock(), secrets: NO_SECRETS, browsers: NO_BROWSERS };
  const made = caseFromKept(scraper, join(folder, 'county.ts'), kept, asked, parts);
  return { made, cases: () => JSON.parse(readFileSync(join(folder, 'county.fixture', 'cases.json'), 'utf8')).cases };
}

test('a page that was kept of a success becomes a case, using the list of requests in its metadata', async (t) => {
  const url = 'https://county.test/p/7-a';
  const kept = keptOf({ ...FETCHED, url, requests: [{ method: 'GET', url, ...ANSWERED }] });
  const { made, cases } = make(t, ONE_PAGE, kept);
  assert.partialDeepStrictEqual(await made, { kind: 'recorded', playedAs: 'data', differences: [] });
  assert.partialDeepStrictEqual(cases(), [
    {
      name: '7-a of job',
      recorded_at: FETCHED.fetched_at,
      input: { parcel: '7-a' },
      expect: { data: { owner: 'Peña' } },
    },
  ]);
});

test('where redirects led is known from the page', async (t) => {
  const url = 'https://county.test/detail/1234';
  const redirects = [
    { url: 'https://county.test/p/7-a', status: 302 },
    { url: 'https://county.test/found', status: 303 },
  ];
  const asked = { method: 'GET', url: 'https://county.test/p/7-a', ...ANSWERED, redirects };
  const { made, cases } = make(t, ONE_PAGE, keptOf({ ...FETCHED, url, requests: [asked] }));
  assert.partialDeepStrictEqual(await made, { kind: 'recorded', playedAs: 'data', differences: [] });
  assert.deepEqual(
    cases()[0].exchanges.map(({ request, response }: { request: { url: string }; response: { status: number } }) => [
      request.url,
      response.status,
    ]),
    [
      ['https://county.test/p/7-a', 302],
      ['https://county.test/found', 303],
      [url, 200],
    ],
  );
});

test('several pages become a case if all of them were returned by name', async (t) => {
  const scraper = scraperOf(async ({ http }) => {
    const profile = await http.get('https://county.test/profile');
    const sales = await http.get('https://county.test/sales');
    return { pages: { profile, sales } };
  });
  const urls = { profile: 'https://county.test/profile', sales: 'https://county.test/sales' };
  const requests = Object.values(urls).map((url) => ({ method: 'GET', url, ...ANSWERED }));
  const pages = Object.keys(urls).map((name) => ({ ...PAGE, name }));
  const metadata = { ...FETCHED, url: urls.sales, pages: urls, requests };
  const { made } = make(t, scraper, keptOf(metadata, { pages }));
  assert.partialDeepStrictEqual(await made, { kind: 'recorded', playedAs: 'data', differences: [] });
  const half = make(t, scraper, keptOf(metadata, { pages: pages.slice(0, 1) }));
  assert.deepEqual(await half.made, { kind: 'incomplete', missing: ['GET https://county.test/sales'] });
  assert.throws(half.cases, 'nothing was written');
});

test('a visit whose earlier pages were not kept says which are missing', async (t) => {
  const scraper = scraperOf(async ({ http, input }) => {
    await http.post('https://county.test/search', { form: { parcel: input.parcel } });
    return { html: await http.get('/detail') };
  });
  const url = 'https://county.test/detail';
  const requests = [
    { method: 'POST', url: 'https://county.test/search', ...ANSWERED },
    { method: 'GET', url, ...ANSWERED },
  ];
  const { made } = make(t, scraper, keptOf({ ...FETCHED, url, requests }));
  const answer = await made;
  assert.ok(answer.kind === 'incomplete');
  assert.match(answer.missing[0] ?? '', /^POST https:\/\/county\.test\/search with parcel=7-a$/);
});

test('an item without pages, or whose metadata do not say where they came from, is refused by name', async (t) => {
  const url = 'https://county.test/p/7-a';
  const whole = { ...FETCHED, url, requests: [{ method: 'GET', url, ...ANSWERED }] };
  const refused: readonly (readonly [KeptItem, RegExp])[] = [
    [keptOf(whole, { pages: [] }), /job kept no page of 7-a: .*results\.keep_failures/],
    [keptOf(null), /job kept no page of 7-a/],
    [keptOf({ url: 7 }), /metadata\.json of 7-a does not say where its pages came from/],
    [keptOf({ ...whole, fetched_at: null }), /does not say when its pages were fetched/],
    [keptOf(whole, { visit: Buffer.from('{}') }), /the visit of 7-a in job cannot be read/],
    [keptOf(whole, { input: {} }), /the input of the item does not fit the scraper/],
  ];
  for (const [kept, message] of refused) {
    await assert.rejects(make(t, ONE_PAGE, kept).made, (error: unknown) => {
      assert.ok(error instanceof FixtureError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test('a failure is recorded as one, with secrets masked; a success is refused where a failure was asked for', async (t) => {
  const url = 'https://county.test/p/7-a';
  const metadata = { ...FETCHED, url, requests: [{ method: 'GET', url, ...ANSWERED }] };
  const bytes = Buffer.from('<p id="changed">hunter2secret</p>');
  const kept = keptOf(metadata, { pages: [{ ...PAGE, bytes }], failedAs: 'structure_changed' });
  const folder = folderWith(t, { 'county.ts': '' });
  const secrets = new SecretBook(new Map([['key', 'hunter2secret']]));
  const parts = { clock: new FakeClock(), secrets, browsers: NO_BROWSERS };
  const asked = { name: 'changed page', expectFailure: true };
  const answer = await caseFromKept(ONE_PAGE, join(folder, 'county.ts'), kept, asked, parts);
  assert.partialDeepStrictEqual(answer, { kind: 'recorded', playedAs: 'structure_changed', differences: [] });
  const text = readFileSync(join(folder, 'county.fixture', 'cases.json'), 'utf8');
  assert.match(text, /"name": "changed page"/);
  assert.ok(!text.includes('hunter2secret'));
  const good = make(t, ONE_PAGE, keptOf(metadata), { name: null, expectFailure: true });
  assert.deepEqual(await good.made, { kind: 'refused', because: 'the scraper did not fail' });
});
