import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineHttpScraper, type HttpScrapeContext, ScrapeFailure, z } from '../../src/scraping/author.ts';
import type { ScrapeContext, ScrapeResult } from '../../src/scraping/scraper.ts';
import { contextOf, failsAs, openClient, openSite, webTools } from './http-support.ts';

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n%%EOF\n');
const PARCEL = '<p id=owner>SMITH</p><form action=/gone method=post><button name=print>Print</button></form>';

const Input = z.strictObject({ site: z.string() });

/** Reads a parcel and its bill, which is optional. */
const SCRAPER = defineHttpScraper({
  ...{ id: 'bills', name: 'Bills', version: '1', description: '', input: Input, hosts: [] },
  output: z.object({ owner: z.string(), has_bill: z.boolean() }),
  async scrape({ input, http }: HttpScrapeContext<z.output<typeof Input>>) {
    const html = await http.get(`${input.site}/parcel`);
    const document = await http.document('/bill', { as: 'pdf', optional: true });
    return { html, document, data: { owner: html.text('#owner'), has_bill: document !== null } };
  },
});

function dataOf(result: ScrapeResult): unknown {
  const data = result.artifacts?.find(({ kind }) => kind === 'data')?.bytes;
  assert.ok(data instanceof Uint8Array, JSON.stringify(result));
  return JSON.parse(Buffer.from(data).toString());
}

test('an item whose optional document cannot be had succeeds, and its metadata say why', async (t) => {
  const site = await openSite(t, ({ path }) => (path === '/bill' ? { status: 404 } : PARCEL));
  const result = await SCRAPER.scrape(contextOf(webTools(t), { input: { site: site.origin } }));
  assert.equal(result.kind, 'scraped');
  assert.deepEqual(dataOf(result), { owner: 'SMITH', has_bill: false });
  assert.equal(
    result.artifacts?.some(({ kind }) => kind === 'document'),
    false,
  );
  const url = `${site.origin}/bill`;
  const message = `the server says that there is no such page (404, ${url})`;
  assert.deepEqual(result.facts?.['missing_documents'], [{ url, type: 'not_found', message }]);
});

test('a document that is there is kept, and nothing is missing', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/bill' ? { headers: { 'content-type': 'application/pdf' }, body: PDF } : PARCEL,
  );
  const result = await SCRAPER.scrape(contextOf(webTools(t), { input: { site: site.origin } }));
  assert.deepEqual(dataOf(result), { owner: 'SMITH', has_bill: true });
  assert.equal(
    result.artifacts?.some(({ kind }) => kind === 'document'),
    true,
  );
  assert.equal('missing_documents' in (result.facts ?? {}), false);
});

test('a failure that may pass starts the item over in its first two tries, if there is another', async (t) => {
  const site = await openSite(t, ({ path }) => (path === '/bill' ? { status: 503 } : PARCEL));
  const run = (context: Pick<ScrapeContext, 'tryNumber' | 'isRetried'>) =>
    SCRAPER.scrape(contextOf(webTools(t), { input: { site: site.origin }, ...context }));
  for (const tryNumber of [1, 2]) {
    const early = await run({ tryNumber, isRetried: ({ type }) => type === 'server_error' });
    assert.ok(early.kind === 'failed' && early.failure.type === 'server_error', JSON.stringify(early));
  }
  for (const later of [
    { tryNumber: 3, isRetried: () => true },
    { tryNumber: 1, isRetried: () => false },
  ]) {
    assert.deepEqual(dataOf(await run(later)), { owner: 'SMITH', has_bill: false });
  }
});

test('a page in place of the document is an answer; one that the site redirected to is not', async (t) => {
  const site = await openSite(t, ({ path }) => {
    if (path === '/lost') return { status: 302, headers: { location: '/consent' } };
    return path === '/parcel' ? PARCEL : '<title>Bill not available</title>';
  });
  const http = openClient(t, { startsOver: () => true });
  assert.equal(await http.document(`${site.origin}/bill`, { as: 'pdf', optional: true }), null);
  await failsAs(http.document(`${site.origin}/lost`, { as: 'pdf', optional: true }), 'navigation_failed', /consent/);
});

test('a document that a form brings may be optional, too', async (t) => {
  const site = await openSite(t, ({ path }) => (path === '/gone' ? '<title>Bill not available</title>' : PARCEL));
  const http = openClient(t);
  const page = await http.get(site.origin);
  assert.equal(await page.form().document('print', { as: 'pdf', optional: true }), null);
  assert.deepEqual(
    http.missingDocuments.map(({ url, type }) => [url, type]),
    [[`${site.origin}/gone`, 'navigation_failed']],
  );
  await failsAs(page.form().document('print', { as: 'pdf' }), 'navigation_failed', /Bill not available/);
});

test('a bug of the scraper stays a bug', async (t) => {
  await failsAs(openClient(t).document('/bill', { optional: true }), 'unexpected', /no page yet/);
});

test('an author can catch a failure, and know it by its type', async (t) => {
  const site = await openSite(t, ({ path }) => (path === '/old' ? { status: 404 } : '<p id=owner>SMITH'));
  const http = openClient(t);
  const page = await http.get(`${site.origin}/old`).catch((error: unknown) => {
    if (!(error instanceof ScrapeFailure) || error.type !== 'not_found') throw error;
    return http.get(`${site.origin}/new`);
  });
  assert.equal(page.text('#owner'), 'SMITH');
});
