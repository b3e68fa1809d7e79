import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  defineHttpScraper,
  type HttpClient,
  type HttpScrapeResult,
  type KeptPages,
  z,
} from '../../src/scraping/author.ts';
import type { ProducedArtifact, ScrapeResult } from '../../src/scraping/scraper.ts';
import { policyOf } from '../support/builders.ts';
import { contextOf, openSite, webTools } from './http-support.ts';

async function openCounty(t: TestContext) {
  return openSite(t, ({ path }) => {
    if (path === '/sales') {
      return { headers: { 'content-type': 'application/json' }, body: '{ "sales": [{"price": 5}], "more": true }' };
    }
    return `<p id="where">${path}</p><a href="next">next</a>`;
  });
}

type Pages = HttpScrapeResult<unknown>;

function scraperOf(scrape: (http: HttpClient) => Promise<Pages>, parse?: (pages: KeptPages) => unknown) {
  return defineHttpScraper({
    id: 'several-pages',
    name: 'Several pages',
    version: '1',
    description: 'Several pages per item.',
    input: z.object({}),
    output: z.unknown(),
    hosts: [],
    limits: { pageBytes: 1000 },
    scrape: ({ http }) => scrape(http),
    ...(parse === undefined ? {} : { parse: ({ pages }: { pages: KeptPages }) => parse(pages) }),
  });
}

function keptIn(result: ScrapeResult): readonly ProducedArtifact[] {
  if (result.kind !== 'scraped') assert.fail(JSON.stringify(result));
  return result.artifacts;
}

function textOf({ bytes }: ProducedArtifact): string {
  assert.ok(bytes instanceof Uint8Array);
  return Buffer.from(bytes).toString();
}

const read = (pages: KeptPages) => ({
  names: pages.names,
  profile: pages.get('profile').text('#where'),
  link: pages.get('profile').link('a'),
  sales: pages.json('sales', z.object({ sales: z.array(z.object({ price: z.number() })) })),
  hasTaxes: pages.has('taxes'),
});

test('pages and JSON answers are kept by name, and parse reads the same of them now and later', async (t) => {
  const county = await openCounty(t);
  const scraper = scraperOf(async (http) => {
    const profile = await http.get(`${county.origin}/profile/1`);
    const schema = z.object({ sales: z.array(z.unknown()) });
    const sales = await http.json(`${county.origin}/sales`, { schema });
    return { pages: { profile, sales, taxes: null } };
  }, read);
  const result = await scraper.scrape(contextOf(webTools(t)));
  const [profile, sales, data] = keptIn(result);
  assert.ok(profile && sales && data);
  assert.deepEqual(
    [profile, sales, data].map(({ kind, name, extension, contentType }) => [kind, name, extension, contentType]),
    [
      ['page', 'profile', 'html', 'text/html; charset=utf-8'],
      ['page', 'sales', 'json', 'application/json'],
      ['data', undefined, undefined, undefined],
    ],
  );
  assert.equal(textOf(sales), '{ "sales": [{"price": 5}], "more": true }', 'as it came, not as the schema left it');
  const expected = {
    names: ['profile', 'sales'],
    profile: '/profile/1',
    link: `${county.origin}/profile/next`,
    sales: { sales: [{ price: 5 }] },
    hasTaxes: false,
  };
  assert.deepEqual(JSON.parse(textOf(data)), expected);

  assert.ok(result.kind === 'scraped' && scraper.extract);
  const addresses = { profile: `${county.origin}/profile/1`, sales: `${county.origin}/sales` };
  assert.deepEqual(result.facts?.['pages'], addresses);
  const asked = county.asked.length;
  const again = await scraper.extract({
    input: {},
    body: textOf(profile),
    url: null,
    pages: new Map([
      ['profile', { body: textOf(profile), url: addresses.profile }],
      ['sales', { body: textOf(sales), url: addresses.sales }],
    ]),
  });
  assert.deepEqual(JSON.parse(textOf(keptIn(again)[0] as ProducedArtifact)), expected);
  assert.equal(county.asked.length, asked, 'without a request');
});

test('a page that was not kept, and invalid JSON, are failures that name the page', async (t) => {
  const county = await openCounty(t);
  const scrape = async (http: HttpClient) => ({ pages: { profile: await http.get(`${county.origin}/profile`) } });
  const why = async (parse: (pages: KeptPages) => unknown) => {
    const result = await scraperOf(scrape, parse).scrape(contextOf(webTools(t)));
    assert.ok(result.kind === 'failed');
    assert.deepEqual(
      result.artifacts?.map(({ name }) => name),
      ['profile'],
      'what was fetched is kept',
    );
    return `${result.failure.type}: ${result.failure.message}`;
  };
  assert.match(await why((pages) => pages.get('taxes')), /^structure_changed: no page named "taxes" .*kept: profile/);
  assert.match(await why((pages) => pages.json('profile')), /^structure_changed: the page named "profile" is not JSON/);
});

test('names, number and size of pages are limited', async (t) => {
  const tools = webTools(t);
  const why = async (pages: Pages['pages']) => {
    const result = await scraperOf(async () => ({ pages, data: {} })).scrape(contextOf(tools));
    return result.kind === 'failed' ? `${result.failure.type}: ${result.failure.message}` : result.kind;
  };
  for (const name of ['../up', 'Taxes', '7', 'a'.repeat(33), 'con', '']) {
    assert.match(await why({ [name]: 'page' }), /^unexpected: .* cannot be the name of a page/, name);
  }
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, 'page']));
  assert.equal(await why(many(20)), 'scraped');
  assert.match(await why(many(21)), /^too_large: 21 pages, over 20/);
  assert.match(await why({ taxes: 'x'.repeat(1001) }), /^too_large: the page taxes has 1001 bytes, over 1000/);
});

test('a job that keeps no pages keeps none of these either', async (t) => {
  const scraper = scraperOf(
    async () => ({ pages: { taxes: '<p>7</p>' } }),
    (pages) => pages.get('taxes').number('p'),
  );
  const policy = policyOf({ results: { keep_html: false } });
  const kept = keptIn(await scraper.scrape(contextOf(webTools(t), { policy })));
  assert.deepEqual(
    kept.map((artifact) => [artifact.kind, textOf(artifact)]),
    [['data', '7\n']],
  );
});
