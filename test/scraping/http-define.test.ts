import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { defineHttpScraper, type HttpScrapeContext, type HttpScrapeResult, z } from '../../src/scraping/author.ts';
import type { HttpScraperDefinition, PageScraperDefinition } from '../../src/scraping/http/define-http-scraper.ts';
import type { Page } from '../../src/scraping/http/page.ts';
import type { ProducedArtifact, ScrapeContext, ScrapeResult, Scraper } from '../../src/scraping/scraper.ts';
import { NOW, policyOf } from '../support/builders.ts';
import { contextOf, openSite, webTools } from './http-support.ts';

const Input = z.strictObject({ apn: z.string().regex(/^\d{3}$/), site: z.string() });
const Output = z.object({ apn: z.string(), owner: z.string(), tax: z.number() });
type Context = HttpScrapeContext<z.output<typeof Input>>;
type Result = HttpScrapeResult<z.input<typeof Output>>;
type Parse = NonNullable<HttpScraperDefinition<typeof Input, typeof Output>['parse']>;

const FACTS = {
  ...{ id: 'county', name: 'County', version: '1.2.3', description: 'A county for tests.' },
  ...{ input: Input, output: Output, hosts: [] },
};

function scraperOf(scrape: (context: Context) => Promise<Result>): Scraper {
  return defineHttpScraper({ ...FACTS, scrape });
}

/** A scraper whose data are made by `parse` alone. */
function parserOf(scrape: (context: Context) => Promise<Result>): Scraper {
  return defineHttpScraper({
    ...FACTS,
    scrape,
    parse: ({ page, input }) => ({ apn: input.apn, owner: page.text('#owner'), tax: page.money('#tax') }),
  });
}

const PARCEL = (owner: string) => `<title>Parcel</title><p id=owner>${owner}</p><p id=tax>$1,129.60</p>`;

async function fetchParcel({ http, input }: Context): Promise<Result> {
  const html = await http.get(`${input.site}/parcel`, { query: { apn: input.apn } });
  return { html, data: { apn: input.apn, owner: html.text('#owner'), tax: html.money('#tax') } };
}

function run(t: TestContext, scraper: Scraper, context: Partial<ScrapeContext>): Promise<ScrapeResult> {
  return scraper.scrape(contextOf(webTools(t), context));
}

function artifactsOf(result: ScrapeResult): Map<string, ProducedArtifact> {
  assert.ok(result.kind === 'scraped', JSON.stringify(result));
  return new Map(result.artifacts.map((artifact) => [artifact.kind, artifact]));
}

/** What becomes part of the item's metadata.json. */
function factsOf(result: ScrapeResult) {
  assert.ok(result.kind !== 'skipped' && result.facts !== undefined, JSON.stringify(result));
  return result.facts as { url: string | null; requests: { ms: number }[]; request_count: number };
}

function textOf(artifact: ProducedArtifact | undefined): string {
  assert.ok(artifact?.bytes instanceof Uint8Array);
  return Buffer.from(artifact.bytes).toString('utf8');
}

test('an item yields its page, its data and how they were obtained', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/parcel' ? { status: 302, headers: { location: '/parcel/1' } } : PARCEL('SMITH'),
  );
  const input = { apn: '123', site: site.origin };
  const result = await run(t, scraperOf(fetchParcel), { input, tryNumber: 2, identity: 1 });
  const artifacts = artifactsOf(result);
  assert.deepEqual([...artifacts.keys()], ['html', 'data']);
  assert.equal(textOf(artifacts.get('html')), PARCEL('SMITH'));
  // The table of kinds has the type and the extension of a page.
  assert.deepEqual(Object.keys(artifacts.get('html') ?? {}).sort(), ['bytes', 'kind']);
  assert.equal(textOf(artifacts.get('data')), '{"apn":"123","owner":"SMITH","tax":1129.6}\n');
  const facts = factsOf(result);
  const ms = facts.requests[0]?.ms ?? -1;
  assert.ok(Number.isInteger(ms) && ms >= 0);
  assert.deepEqual(facts, {
    input,
    url: `${site.origin}/parcel/1`,
    status: 200,
    fetched_at: new Date(NOW).toISOString(),
    try: 2,
    identity: 1,
    request_count: 1,
    requests: [
      {
        method: 'GET',
        url: `${site.origin}/parcel?apn=123`,
        status: 200,
        bytes: PARCEL('SMITH').length,
        ms,
        redirects: [{ url: `${site.origin}/parcel?apn=123`, status: 302 }],
      },
    ],
  });
});

test('a page in another encoding is kept as UTF-8', async (t) => {
  const body = Buffer.from(`<meta charset=iso-8859-1>${PARCEL('MU\u00d1OZ')}`, 'latin1');
  const site = await openSite(t, () => ({ headers: { 'content-type': 'text/html' }, body }));
  const artifacts = artifactsOf(await run(t, scraperOf(fetchParcel), { input: { apn: '123', site: site.origin } }));
  assert.match(textOf(artifacts.get('html')), /MUÑOZ/);
  assert.equal(JSON.parse(textOf(artifacts.get('data'))).owner, 'MUÑOZ');
});

test('the page is not kept when the job does not want it', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const policy = policyOf({ results: { keep_html: false } });
  const result = await run(t, scraperOf(fetchParcel), { input: { apn: '123', site: site.origin }, policy });
  assert.deepEqual([...artifactsOf(result).keys()], ['data']);
});

test('data may be made by parse, from the page or from a text of the scraper', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const input = { apn: '123', site: site.origin };
  const fromPage = parserOf(async ({ http }) => ({ html: await http.get(site.origin) }));
  assert.match(textOf(artifactsOf(await run(t, fromPage, { input })).get('data')), /"owner":"SMITH"/);
  const fromText = parserOf(async () => ({ html: PARCEL('JONES') }));
  const artifacts = artifactsOf(await run(t, fromText, { input }));
  assert.match(textOf(artifacts.get('data')), /"owner":"JONES"/);
  assert.equal(textOf(artifacts.get('html')), PARCEL('JONES'));
  const both = parserOf(async () => ({ html: PARCEL('JONES'), data: { apn: '1', owner: 'BROWN', tax: 0 } }));
  assert.match(textOf(artifactsOf(await run(t, both, { input })).get('data')), /"owner":"BROWN"/);
  const fromNothing = await run(
    t,
    parserOf(async () => ({})),
    { input },
  );
  assert.ok(fromNothing.kind === 'failed' && fromNothing.failure.type === 'unexpected', JSON.stringify(fromNothing));
});

test('metadata describe the page that is kept, not one that came after it', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const scraper = parserOf(async ({ http }) => {
    const html = await http.get(`${site.origin}/kept`);
    await http.get('/after');
    return { html };
  });
  const result = await run(t, scraper, { input: { apn: '123', site: '' } });
  assert.equal(factsOf(result).url, `${site.origin}/kept`);
});

test('what a scraper declares about its site applies: hosts, signs and limits', async (t) => {
  const site = await openSite(t, ({ path }) =>
    path === '/long' ? PARCEL('SMITH'.repeat(1000)) : PARCEL('Come back Monday'),
  );
  const failureOf = async (more: object, path: string) => {
    const scraper = defineHttpScraper({
      ...FACTS,
      ...more,
      scrape: async ({ http }) => ({ html: await http.get(`${site.origin}${path}`) }),
    });
    const result = await run(t, scraper, { input: { apn: '123', site: '' } });
    return result.kind === 'failed' ? result.failure.type : result.kind;
  };
  assert.equal(await failureOf({ hosts: ['county.example'] }, '/'), 'refused_address');
  assert.equal(await failureOf({ signs: { maintenance: ['come back monday'] } }, '/'), 'maintenance');
  assert.equal(await failureOf({ limits: { pageBytes: 1000 } }, '/long'), 'too_large');
  assert.equal(await failureOf({ limits: { documentBytes: 1000 } }, '/long'), 'invalid_output');
});

test('a new identity is another browser', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  for (const identity of [0, 1])
    await run(t, scraperOf(fetchParcel), { input: { apn: '123', site: site.origin }, identity });
  const [first, second] = site.asked.map(({ headers }) => headers['user-agent']);
  assert.notEqual(first, second);
});

test('an input that breaks the schema is refused by field, and no site is asked', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const result = await run(t, scraperOf(fetchParcel), { input: { apn: 'x', site: site.origin, extra: 1 } });
  assert.ok(result.kind === 'failed' && result.failure.type === 'invalid_input');
  assert.match(result.failure.message, /apn: .*extra/s);
  assert.equal(site.asked.length, 0);
});

test('data that breaks the schema is refused, naming every field', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const scraper = scraperOf(async () => ({ data: { apn: '1', owner: 5, tax: Number.NaN } as never }));
  const result = await run(t, scraper, { input: { apn: '123', site: site.origin } });
  assert.ok(result.kind === 'failed' && result.failure.type === 'invalid_output');
  assert.match(result.failure.message, /owner: .*tax: /s);
});

test('a failure on the way is the result, and so is a bug; both record what was requested', async (t) => {
  const site = await openSite(t, () => ({ status: 404 }));
  const input = { apn: '123', site: site.origin };
  const result = await run(t, scraperOf(fetchParcel), { input });
  assert.ok(result.kind === 'failed' && result.failure.type === 'not_found');
  assert.equal(factsOf(result).request_count, 1);
  const bug = scraperOf(async () => {
    throw new TypeError('a bug');
  });
  const seen = await run(t, bug, { input });
  assert.ok(seen.kind === 'failed' && seen.failure.type === 'unexpected');
  assert.match(seen.failure.message, /^a bug \(http-define\.test\.ts:\d+\)$/);
  assert.equal(factsOf(seen).request_count, 0);
});

test('a full disk is not a failure of the item', async (t) => {
  const full = scraperOf(async () => {
    throw new StorageTrouble('full', 'no space left');
  });
  await assert.rejects(run(t, full, { input: { apn: '123', site: '' } }), StorageTrouble);
});

for (const [what, parse, type] of [
  [
    'cannot find what it looks for',
    ({ page }) => ({ apn: '1', owner: page.text('#gone'), tax: 1 }),
    'structure_changed',
  ],
  ['makes data that break the schema', () => ({ apn: '1', owner: 7 as never, tax: 1 }), 'invalid_output'],
  [
    'has a bug',
    () => {
      throw new TypeError('a bug');
    },
    'unexpected',
  ],
] as const satisfies readonly [string, Parse, string][]) {
  test(`the page, the document and the requests of an item whose parse ${what} are handed over to be kept`, async (t) => {
    const site = await openSite(t, ({ path }) =>
      path === '/bill' ? { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.7' } : PARCEL('SMITH'),
    );
    const scraper = defineHttpScraper({
      ...FACTS,
      parse,
      scrape: async ({ http }) => {
        const html = await http.get(site.origin);
        return { html, document: await http.document('/bill', { as: 'pdf' }) };
      },
    });
    const result = await run(t, scraper, { input: { apn: '123', site: site.origin } });
    assert.ok(result.kind === 'failed' && result.failure.type === type, JSON.stringify(result));
    const [html, document] = result.artifacts ?? [];
    assert.equal(textOf(html), PARCEL('SMITH'));
    assert.equal(document?.kind, 'document');
    assert.equal(factsOf(result).request_count, 2);
    const policy = policyOf({ results: { keep_html: false } });
    const without = await run(t, scraper, { input: { apn: '123', site: site.origin }, policy });
    assert.ok(without.kind === 'failed');
    assert.deepEqual(
      without.artifacts?.map(({ kind }) => kind),
      ['document'],
    );
  });
}

test('a scraper without an output keeps its pages, and reads nothing from them', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const { output: _, ...facts } = FACTS;
  const pagesOnly = (scrape: (context: Context) => Promise<HttpScrapeResult<undefined>>) =>
    defineHttpScraper({ ...facts, scrape });
  const input = { apn: '123', site: site.origin };
  const keeper = pagesOnly(async ({ http }) => ({ html: await http.get(site.origin) }));
  assert.equal(keeper.output, null);
  assert.equal(keeper.extract, null);
  const result = await run(t, keeper, { input });
  assert.deepEqual([...artifactsOf(result).keys()], ['html']);
  assert.equal(factsOf(result).url, `${site.origin}/`);

  const failureOf = async (scrape: () => Promise<HttpScrapeResult<undefined>>) => {
    const seen = await run(t, pagesOnly(scrape), { input });
    return seen.kind === 'failed' ? `${seen.failure.type}: ${seen.failure.message}` : seen.kind;
  };
  assert.match(await failureOf(async () => ({})), /^invalid_output: scrape returned no page/);
  assert.match(await failureOf(async () => ({ data: { a: 1 } as never })), /^invalid_output: scrape returned data/);
  const untyped = { ...facts, scrape: async () => ({}), parse: () => ({}) } as unknown as PageScraperDefinition<
    typeof Input
  >;
  assert.throws(() => defineHttpScraper(untyped), /county: parse needs an output schema/);
});

test('a document is handed over as the draft that it went into', async (t) => {
  const site = await openSite(t, () => ({ headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.7' }));
  const scraper = scraperOf(async ({ http, input }) => ({
    data: { apn: input.apn, owner: 'SMITH', tax: 0 },
    document: await http.document(site.origin, { as: 'pdf' }),
  }));
  const result = await run(t, scraper, { input: { apn: '123', site: site.origin } });
  const artifacts = artifactsOf(result);
  assert.deepEqual([...artifacts.keys()], ['document', 'data']);
  const document = artifacts.get('document');
  assert.deepEqual([document?.contentType, document?.extension], ['application/pdf', 'pdf']);
  assert.ok(document && !(document.bytes instanceof Uint8Array));
  assert.equal(document.bytes.size, 8);
  assert.equal(factsOf(result).url, null);
});

test('items in parallel on one host never see the session of another', async (t) => {
  const chosen = new Map<string, string>();
  const { promise: allChose, resolve } = Promise.withResolvers<void>();
  const site = await openSite(t, async ({ path, query, cookies }) => {
    if (path === '/choose') {
      const session = `s${chosen.size}`;
      chosen.set(session, query.get('apn') ?? '');
      if (chosen.size === 10) resolve();
      return { headers: { 'set-cookie': `sid=${session}; Path=/` } };
    }
    await allChose;
    return PARCEL(chosen.get(cookies.get('sid') ?? '') ?? 'NOBODY');
  });
  const scraper = scraperOf(async (context) => {
    await context.http.get(`${site.origin}/choose`, { query: { apn: context.input.apn } });
    const html = await context.http.get('/statement');
    return { data: { apn: context.input.apn, owner: html.text('#owner'), tax: 0 } };
  });
  const tools = webTools(t);
  const apns = Array.from({ length: 10 }, (_, index) => String(100 + index));
  const owners = await Promise.all(
    apns.map(async (apn) => {
      const result = await scraper.scrape(contextOf(tools, { itemId: apn, input: { apn, site: site.origin } }));
      return JSON.parse(textOf(artifactsOf(result).get('data'))).owner;
    }),
  );
  assert.deepEqual(owners, apns);
});

test('requests are listed up to a hundred, and counted beyond that', async (t) => {
  const site = await openSite(t, () => 'ok');
  const scraper = scraperOf(async ({ http, input }) => {
    for (let count = 0; count < 105; count += 1) await http.get(site.origin);
    return { data: { apn: input.apn, owner: 'x', tax: 0 } };
  });
  const facts = factsOf(await run(t, scraper, { input: { apn: '123', site: site.origin } }));
  assert.deepEqual([facts.requests.length, facts.request_count], [100, 105]);
});

test('lines of a scraper in the log say which item they are about', async (t) => {
  const lines: [object, string][] = [];
  const note = (fields: object, message: string) => lines.push([fields, message]);
  const tools = { ...webTools(t), log: { debug: note, info: note, warn: note } };
  const site = await openSite(t, () => 'ok');
  const scraper = scraperOf(async ({ log, http }) => {
    log.info({ step: 1 }, 'begun');
    await http.get(site.origin);
    return { data: { apn: '1', owner: 'x', tax: 0 } };
  });
  await scraper.scrape(contextOf(tools, { input: { apn: '123', site: '' } }));
  const about = { job_id: 'job-1', item_id: 'item-1' };
  assert.deepEqual(lines[0], [{ ...about, step: 1 }, 'begun']);
  assert.partialDeepStrictEqual(lines[1], [{ ...about, method: 'GET', status: 200 }, 'request']);
});

test('a defined scraper can be identified by its kind, its lane and its schemas', () => {
  const scraper = defineHttpScraper({ ...FACTS, hosts: ['county.example'], scrape: fetchParcel });
  assert.deepEqual([scraper.kind, scraper.lane, scraper.hosts], ['http', 'http', ['county.example']]);
  assert.equal(scraper.input, Input);
  assert.equal(scraper.output, Output);
});

test('a definition that cannot work is refused when it is made, with what is wrong with it', () => {
  const good = {
    ...{ id: 'a-b', name: 'x', version: '1', description: 'x', hosts: ['a.test'] },
    ...{ input: z.object({}), output: z.object({}), scrape: async () => ({}) },
  };
  assert.equal(defineHttpScraper(good).id, 'a-b');
  const bad: [object, RegExp][] = [
    [{ id: 'Bad_Id' }, /the id "Bad_Id" must be lower-case/],
    [{ version: undefined }, /a-b has no version/],
    [{ hosts: undefined }, /hosts must be a list/],
    [{ hosts: ['https://county.gov/'] }, /"https:\/\/county\.gov\/" in hosts is not a host/],
    [{ input: {} }, /input must be a schema/],
  ];
  for (const [change, message] of bad) {
    assert.throws(() => defineHttpScraper({ ...good, ...change } as typeof good), message);
  }
});

test('parsed pages are released at the end of a visit, whether it succeeded or not', async (t) => {
  const site = await openSite(t, () => PARCEL('SMITH'));
  const input = { apn: '123', site: site.origin };
  for (const isGood of [true, false]) {
    const seen: { page: Page; document: Page['document'] }[] = [];
    const read = async ({ http }: Context) => {
      const page = await http.get(`${site.origin}/parcel`);
      seen.push({ page, document: page.document });
      return page;
    };
    const scraper = scraperOf(async (context) => {
      const [owner, taxes] = [await read(context), await read(context)];
      const data = { apn: '123', owner: owner.text('#owner'), tax: taxes.money(isGood ? '#tax' : '#none') };
      return { html: owner, data };
    });
    const { kind } = await run(t, scraper, { input });
    assert.deepEqual([kind, seen.length], [isGood ? 'scraped' : 'failed', 2]);
    const { page, document } = seen[1] ?? assert.fail();
    assert.notEqual(page.document, document);
    const isReturned = seen[0]?.page.document !== seen[0]?.document;
    assert.equal(isReturned, isGood);
  }
});
