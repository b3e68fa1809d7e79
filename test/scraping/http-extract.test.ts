import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expect, z } from '../../src/scraping/author.ts';
import { checkedResult } from '../../src/scraping/checked-result.ts';
import { defineHttpScraper, type HttpScraperDefinition } from '../../src/scraping/http/define-http-scraper.ts';
import type { ScrapeResult, Scraper, StoredInput } from '../../src/scraping/scraper.ts';
import { artifactOf, factsOf, jsonOf } from './demo-support.ts';
import { contextOf, openSite, webTools } from './http-support.ts';

const PAGE =
  '<title>Parcel 1</title><b id="owner">SMITH &amp; CO</b><i id="tax">$1,234.50</i><a href="bill.pdf">bill</a>';

const Input = z.strictObject({ apn: z.string(), year: z.number().default(2026) });
const Output = z.object({
  apn: z.string(),
  year: z.number(),
  owner: z.string(),
  tax: z.number().max(5000),
  bill: z.url(),
});
type Definition = HttpScraperDefinition<typeof Input, typeof Output>;

const parse: NonNullable<Definition['parse']> = ({ page, input }) => {
  expect.text(page, 'SMITH');
  return { ...input, owner: page.text('#owner'), tax: page.money('#tax'), bill: page.link('a') };
};

function scraperOf(more: Partial<Definition>): Scraper {
  return defineHttpScraper({
    ...{ id: 'county', name: 'County', version: '1.0.0', description: '', hosts: [] },
    input: Input,
    output: Output,
    scrape: async () => ({}),
    ...more,
  });
}

function storedOf(more: Partial<StoredInput> = {}): StoredInput {
  return { input: { apn: '1' }, body: PAGE, url: 'https://county.example/parcels/1', ...more };
}

async function extract(scraper: Scraper, stored: StoredInput = storedOf()): Promise<ScrapeResult> {
  assert.ok(scraper.extract !== null);
  return checkedResult(await scraper.extract(stored));
}

async function failureOf(scraper: Scraper, stored?: StoredInput) {
  const result = await extract(scraper, stored);
  assert.ok(result.kind === 'failed', JSON.stringify(result));
  return result.failure;
}

/** The page of a site, and the scrape of it. */
async function scrapeOf(t: TestContext, scraper: (url: string) => Scraper) {
  const site = await openSite(t, () => PAGE);
  const made = scraper(`${site.origin}/parcels/1`);
  return { site, made, result: await made.scrape(contextOf(webTools(t), { input: { apn: '1' } })) };
}

test('what a scrape makes of a page, its parse makes of the stored page again, byte by byte', async (t) => {
  const { site, made, result } = await scrapeOf(t, (url) =>
    scraperOf({ parse, scrape: async ({ http }) => ({ html: await http.get(url) }) }),
  );
  const html = artifactOf(result, 'html');
  assert.ok(html instanceof Uint8Array);
  const { url } = factsOf(result) as { url: string };
  const again = await extract(made, storedOf({ body: Buffer.from(html).toString(), url }));
  assert.deepEqual(artifactOf(again, 'data'), artifactOf(result, 'data'));
  assert.ok(again.kind === 'scraped');
  assert.deepEqual(
    again.artifacts.map(({ kind }) => kind),
    ['data'],
  );
  assert.equal(site.asked.length, 1, 'and nobody was asked');
});

test('a scraper whose scrape makes the data cannot read stored pages', () => {
  assert.equal(scraperOf({}).extract, null);
});

test('a parse that relies on its definition still finds it', async () => {
  const definition = {
    word: 'SMITH',
    parse(this: { word: string }, stored: Parameters<typeof parse>[0]) {
      return { ...parse(stored), owner: this.word };
    },
  };
  const data = jsonOf(await extract(scraperOf(definition as Partial<Definition>)), 'data');
  assert.partialDeepStrictEqual(data, { owner: 'SMITH' });
});

test('failures are those of a scrape, and say which layout the page had', async (t) => {
  const failing = scraperOf({ parse: ({ page }) => page.text('#missing') as never });
  const { result } = await scrapeOf(t, (url) =>
    scraperOf({
      parse: ({ page }) => page.text('#missing') as never,
      scrape: async ({ http }) => ({ html: await http.get(url) }),
    }),
  );
  assert.ok(result.kind === 'failed');
  const seen = await failureOf(failing);
  assert.deepEqual([seen.type, seen.page], [result.failure.type, result.failure.page]);
  assert.equal(seen.type, 'structure_changed');
  assert.match(seen.page ?? '', /^[0-9a-f]{12}:[\w-]+$/);

  const tooMuch = scraperOf({ parse: (stored) => ({ ...parse(stored), tax: 9999 }) });
  assert.match((await failureOf(tooMuch)).message, /^tax: /);
  assert.equal((await failureOf(tooMuch)).type, 'invalid_output');
  const badInput = await failureOf(scraperOf({ parse }), storedOf({ input: { apn: 1, more: 2 } }));
  assert.deepEqual([badInput.type, badInput.page], ['invalid_input', undefined]);
});

test('a page from nowhere has no address to resolve links by', async () => {
  const failure = await failureOf(scraperOf({ parse }), storedOf({ url: null }));
  assert.notEqual(failure.type, 'unexpected');
});

test('an unexpected error thrown by a parse is a bug', async () => {
  const bug = scraperOf({
    parse() {
      throw new TypeError('a bug');
    },
  });
  await assert.rejects(async () => bug.extract?.(storedOf()), /a bug/);
});
