import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openWeb } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { certify } from '../../src/scraping/fixtures/certify.ts';
import { readFixture } from '../../src/scraping/fixtures/fixture-folder.ts';
import { recordCase } from '../../src/scraping/fixtures/record-case.ts';
import { NO_LOG } from '../../src/scraping/fixtures/run-case.ts';
import { type ScraperReport, testScrapers } from '../../src/scraping/fixtures/test-scrapers.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { UNCHECKED } from '../../src/scraping/robots/robots-check.ts';
import { NO_BROWSERS } from '../support/no-browsers.ts';
import { sharedStates } from '../support/no-tools.ts';
import { folderWith } from './scraper-folder.ts';

const SITE = 'https://county.test';
const clock = systemClock();

/** Asks for `path` at the site of its input, and reads `owner=…; tax=…` off the answer. */
const COUNTY = `import { fail, definePlainScraper, z } from 'trawl/scraper';
export default definePlainScraper({
  id: 'county', name: 'County', version: '1.0.0', description: 'Reads an owner.',
  input: z.strictObject({ site: z.string(), path: z.string() }),
  async scrape({ input, tools, signal, sleep, now, draft }) {
    if (input.path === '/waits') for (;;) await sleep(1000);
    if (input.path === '/hangs') await new Promise(() => {});
    if (input.path === '/bug') throw new Error('a bug');
    const jar = new Map();
    const cookies = {
      header: () => [...jar].map(([name, value]) => name + '=' + value).join('; ') || null,
      keep: (_, set) => { for (const each of set) jar.set(...each.split(';')[0].split('=')); },
    };
    const visit = {
      cookies, signal, sink: null, exit: { dialer: 'direct', session: '' },
      checkHost: () => {}, gate: tools.gate, patienceMs: 5000,
      deadlines: { connectMs: 5000, firstByteMs: 5000, silenceMs: 5000, totalMs: 5000 },
      limits: { rawBytes: 1e6, bytes: 1e6, redirects: 5 },
    };
    const ask = { headers: { authorization: 'secret-word', 'content-type': 'application/x-www-form-urlencoded' } };
    await tools.web.send({ ...ask, method: 'GET', url: input.site + '/start', body: null }, visit);
    const body = Buffer.from('q=' + input.path + '&password=hush&state=' + 'v'.repeat(500));
    const document = draft();
    let text = '';
    const sink = () => ({ write: async (chunk) => {
      text += Buffer.from(chunk).toString();
      await document.write(chunk);
    } });
    const search = { ...ask, method: 'POST', url: input.site + '/search', body };
    const answer = await tools.web.send(search, { ...visit, sink });
    if (answer.kind === 'failed') fail(answer.failure.type, answer.failure.message);
    if (text.includes('nothing')) fail('no_results', 'the site has nothing');
    const [, owner, tax] = /owner=(.*); tax=(\\d+)/.exec(text);
    const data = { owner, taxes: [{ amount: Number(tax) }], year: new Date(now()).getUTCFullYear() };
    if (input.path === '/no-document') await document.discard();
    return { kind: 'scraped', artifacts: [
      { kind: 'data', bytes: Buffer.from(JSON.stringify(data)), contentType: 'application/json', extension: 'json' },
      { kind: 'document', bytes: document, contentType: 'text/plain', extension: 'txt' },
    ] };
  },
});
`;

function countyCase(name: string, path: string, more: object): object {
  return {
    ...{ name, input: { site: SITE, path } },
    exchanges: [
      { request: { url: `${SITE}/start` }, response: { body: 'hello' } },
      { request: { method: 'POST', url: `${SITE}/search`, body: { q: path } }, response: { body_file: 'page.txt' } },
    ],
    ...more,
  };
}

const SMITH = { owner: 'SMITH', taxes: [{ amount: 12 }], year: 2026 };

function countyWith(t: TestContext, cases: readonly object[], page = 'owner=SMITH; tax=12'): string {
  return folderWith(t, {
    'county.ts': COUNTY,
    'county.fixture/cases.json': JSON.stringify({ cases }),
    'county.fixture/page.txt': page,
  });
}

async function reportsOf(folder: string, ids: readonly string[] = []): Promise<ScraperReport[]> {
  return Array.fromAsync(testScrapers(await loadScrapers([folder]), ids, { clock, browsers: NO_BROWSERS }));
}

async function differencesIn(folder: string) {
  const [report] = await reportsOf(folder);
  assert.equal(report?.kind, 'ran', JSON.stringify(report));
  return report.kind === 'ran' ? report.cases.map(({ differences }) => differences) : [];
}

test('a fixture passes when the pages give what it expects, and names each field that differs', async (t) => {
  const good = countyCase('good', '/a', { expect: { data: SMITH }, document: true });
  assert.deepEqual(await differencesIn(countyWith(t, [good])), [[]]);

  const bare = countyCase('bare', '/no-document', { expect: { data: SMITH }, document: true });
  assert.deepEqual(await differencesIn(countyWith(t, [bare])), [
    [{ field: '(document)', expected: 'one', got: undefined }],
  ]);

  const other = { owner: 'JONES', taxes: [{ amount: 13 }, { amount: 1 }], year: 2026, lien: true };
  const bad = countyCase('bad', '/a', { expect: { data: other } });
  assert.deepEqual(await differencesIn(countyWith(t, [bad])), [
    [
      { field: 'owner', expected: 'JONES', got: 'SMITH' },
      { field: 'taxes.0.amount', expected: 13, got: 12 },
      { field: 'taxes.1', expected: { amount: 1 }, got: undefined },
      { field: 'lien', expected: true, got: undefined },
    ],
  ]);
});

test('a case may expect a failure, and the time of its recording is the time of its replay', async (t) => {
  const expectNothing = { expect: { failure: 'no_results', message: 'has nothing' } };
  const nothing = countyWith(t, [countyCase('none', '/a', expectNothing)], 'nothing');
  assert.deepEqual(await differencesIn(nothing), [[]]);
  const [unexpected] = await differencesIn(countyWith(t, [countyCase('none', '/a', expectNothing)]));
  assert.deepEqual(unexpected, [{ field: '(outcome)', expected: 'no_results', got: 'data' }]);
  const [found] = await differencesIn(
    countyWith(t, [countyCase('some', '/a', { expect: { data: SMITH } })], 'nothing'),
  );
  assert.deepEqual(found, [{ field: '(outcome)', expected: 'data', got: 'no_results: the site has nothing' }]);
  const message = { expect: { failure: 'no_results', message: 'other words' } };
  const [worded] = await differencesIn(countyWith(t, [countyCase('none', '/a', message)], 'nothing'));
  assert.deepEqual(worded, [{ field: '(message)', expected: 'other words', got: 'the site has nothing' }]);

  const then = { recorded_at: '2020-05-05T00:00:00Z', expect: { data: { ...SMITH, year: 2020 } } };
  assert.deepEqual(await differencesIn(countyWith(t, [countyCase('then', '/a', then)])), [[]]);
});

test('a request that is not in the fixture fails the case and is named, whatever the scraper makes of it', async (t) => {
  const lost = countyCase('lost', '/a', { expect: { failure: 'unexpected' }, exchanges: [] });
  const [differences] = await differencesIn(countyWith(t, [lost]));
  assert.deepEqual(differences, [
    { field: '(request)', expected: 'one that the fixture has', got: `GET ${SITE}/start` },
  ]);
});

test('waiting costs no time offline, and a scraper that waits for ever ends as it would under its policy', async (t) => {
  const waits = countyCase('waits', '/waits', { expect: { failure: 'timeout', message: '300 s' } });
  assert.deepEqual(await differencesIn(countyWith(t, [waits])), [[]]);
});

test('a scraper that waits for something that never comes is abandoned, and the next case is run', async (t) => {
  const hangs = countyCase('hangs', '/hangs', { expect: { data: SMITH } });
  const good = countyCase('good', '/a', { expect: { data: SMITH } });
  const impatient: Clock = Object.assign(Object.create(clock), { sleep: () => clock.turn() });
  const registry = await loadScrapers([countyWith(t, [hangs, good])]);
  const [report] = await Array.fromAsync(
    testScrapers(registry, ['county'], { clock: impatient, browsers: NO_BROWSERS }),
  );
  assert.equal(report?.kind, 'ran');
  const [late, next] = report.kind === 'ran' ? report.cases : [];
  assert.equal(late?.differences[0]?.got, 'timeout: the case took longer than 30 s');
  assert.deepEqual(next?.differences, []);
});

test('a fixture that cannot be read is reported with its file and its field', async (t) => {
  const problemWith = async (files: Record<string, string>) => {
    const [report] = await reportsOf(folderWith(t, { 'county.ts': COUNTY, ...files }));
    return report?.kind === 'broken' ? report.problem : JSON.stringify(report);
  };
  const cases = (each: object) => ({ 'county.fixture/cases.json': JSON.stringify({ cases: [each] }) });
  assert.match(await problemWith({ 'county.fixture/cases.json': '{' }), /county\.fixture\/cases\.json is not JSON/);
  assert.match(
    await problemWith(cases(countyCase('x', '/a', { expect: { data: 1, failure: 'blocked' } }))),
    /cases\.json: cases\.0\.expect: must have either data or failure/,
  );
  assert.match(
    await problemWith(cases(countyCase('x', '/a', { expect: { data: 1 }, exchange: [] }))),
    /cases\.0: Unrecognized key: "exchange"/,
  );
  const reading = (body_file: string) => [{ request: { url: SITE }, response: { body_file } }];
  assert.match(
    await problemWith(cases(countyCase('x', '/a', { expect: { data: 1 }, exchanges: reading('../county.ts') }))),
    /cases\.0\.exchanges\.0\.response\.body_file: must be the name of a file beside cases\.json/,
  );
  assert.match(
    await problemWith(cases(countyCase('the case', '/a', { expect: { data: 1 }, exchanges: reading('gone.html') }))),
    /case the case: exchanges\.0\.response\.body_file: there is no file gone\.html/,
  );
  assert.equal(await problemWith({}), '{"kind":"no-fixture","scraperId":"county"}');
  assert.deepEqual(await reportsOf(folderWith(t, {}), ['county']), [{ kind: 'unknown', scraperId: 'county' }]);
});

test("an author's own test certifies a scraper by its file", async (t) => {
  const good = countyWith(t, [countyCase('good', '/a', { expect: { data: SMITH } })]);
  await certify(pathToFileURL(join(good, 'county.ts')));
  const bad = countyWith(t, [countyCase('bad', '/a', { expect: { data: { ...SMITH, owner: 'JONES' } } })]);
  await assert.rejects(
    certify(pathToFileURL(join(bad, 'county.ts')).href),
    /county, case bad:\n {2}owner: expected "JONES", got "SMITH"/,
  );
});

async function serve(t: TestContext, listener: RequestListener): Promise<{ site: string; close(): Promise<void> }> {
  const server = createServer(listener);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const close = async () => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    server.closeAllConnections();
    await closed.promise;
  };
  t.after(close);
  return { site: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function record(
  t: TestContext,
  folder: string,
  input: Record<string, unknown>,
  name: string | null = null,
  signal = new AbortController().signal,
) {
  const scraper = await (await loadScrapers([folder])).find('county');
  assert.ok(scraper);
  const rules = new AddressRules(parseAddressRanges('loopback'));
  const web = openWeb({ rules, routes: parseRoutes(''), clock });
  t.after(() => web.close());
  const tools = {
    web,
    gate: OPEN_GATE,
    log: NO_LOG,
    secrets: NO_SECRETS,
    states: sharedStates(),
    robots: UNCHECKED,
    browser: null,
    siteTools: null,
    allowsScripts: false,
  };
  const asked = { name, input, expectFailure: false };
  const answer = await recordCase(scraper, join(folder, 'county.ts'), asked, {
    tools,
    clock,
    signal,
    browsers: NO_BROWSERS,
  });
  if (answer.kind === 'refused') throw new Error(answer.because);
  return answer;
}

test('a recording of a site passes offline, keeps its redirects and cookies, and no secret', async (t) => {
  let page = `owner=SMITH; tax=12${' '.repeat(2000)}`;
  const cookies: (string | undefined)[] = [];
  const { site, close } = await serve(t, (request, response) => {
    if (request.url === '/start') {
      response.writeHead(302, { location: '/started', 'set-cookie': ['session=5; Path=/', 'b=6'] }).end();
    } else {
      cookies.push(request.headers.cookie);
      response.writeHead(200, { 'content-type': 'text/html', date: 'today', authorization: 'x' });
      response.end(request.url === '/started' ? 'hello' : page);
    }
  });
  const folder = folderWith(t, { 'county.ts': COUNTY });
  const fixture = join(folder, 'county.fixture');
  const { written } = await record(t, folder, { site, path: '/Parcel.aspx' });
  assert.deepEqual(cookies, ['session=5; b=6', 'session=5; b=6']);
  const year = new Date(clock.now()).getUTCFullYear();
  assert.deepEqual(written.expect, { data: { ...SMITH, year } });
  assert.equal(written.document, true);
  assert.deepEqual(written.exchanges, [
    {
      request: { method: 'GET', url: `${site}/start` },
      response: {
        status: 302,
        headers: { location: `${site}/started`, 'set-cookie': ['session=5; Path=/', 'b=6'] },
      },
    },
    {
      request: { method: 'GET', url: `${site}/started` },
      response: { status: 200, headers: { 'content-type': 'text/html' }, body: 'hello' },
    },
    {
      request: { method: 'POST', url: `${site}/search`, body: { q: '/Parcel.aspx' } },
      response: { status: 200, headers: { 'content-type': 'text/html' }, body_file: '1-search.html' },
    },
  ]);
  assert.doesNotMatch(readFileSync(join(fixture, 'cases.json'), 'utf8'), /secret-word|hush|vvvv/);

  page = 'nothing';
  await record(t, folder, { site, path: '/b' }, 'second');
  page = `owner=JONES; tax=7${' '.repeat(2000)}`;
  await record(t, folder, { site, path: '/Parcel.aspx' }, written.name);
  await close();
  assert.deepEqual(readdirSync(fixture).sort(), ['2-search.html', 'cases.json']);
  assert.deepEqual(
    (await readFixture(fixture))?.cases.map(({ name, expect }) => [name, expect]),
    [
      [`${site} /Parcel.aspx`, { data: { owner: 'JONES', taxes: [{ amount: 7 }], year } }],
      ['second', { failure: 'no_results', message: 'the site has nothing' }],
    ],
  );
  assert.deepEqual(await differencesIn(folder), [[], []]);
});

test('nothing is recorded for a site that does not answer, for a scraper that has a bug, or when recording is stopped', async (t) => {
  const { site, close } = await serve(t, (_, response) => response.end('hello'));
  const folder = folderWith(t, { 'county.ts': COUNTY });
  await assert.rejects(record(t, folder, { site, path: '/bug' }), /the scraper failed with unexpected \(a bug\)/);
  const stop = new AbortController();
  const stopped = record(t, folder, { site, path: '/hangs' }, null, stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(stopped, /nothing was recorded: it was stopped/);
  await close();
  await assert.rejects(record(t, folder, { site, path: '/a' }), /nothing was recorded: http:.*\/start gave no answer/);
  assert.equal(existsSync(join(folder, 'county.fixture')), false);
});

test('the other cases of a fixture stay as they were written when one is recorded', async (t) => {
  const { site } = await serve(t, (_, response) => response.end('owner=SMITH; tax=12'));
  const byHand = countyCase('by hand', '/a', { expect: { data: SMITH } });
  const folder = countyWith(t, [byHand]);
  writeFileSync(join(folder, 'county.fixture', 'notes.txt'), 'kept');
  await record(t, folder, { site, path: '/a' }, 'recorded');
  const { cases } = JSON.parse(readFileSync(join(folder, 'county.fixture', 'cases.json'), 'utf8'));
  assert.deepEqual(cases[0], byHand);
  assert.equal(cases[1].name, 'recorded');
  assert.deepEqual(readdirSync(join(folder, 'county.fixture')).sort(), ['cases.json', 'notes.txt', 'page.txt']);
});
