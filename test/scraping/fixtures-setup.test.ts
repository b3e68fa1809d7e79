import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { SecretBook } from '../../src/domain/secrets.ts';
import { readFixture } from '../../src/scraping/fixtures/fixture-folder.ts';
import { recordCase } from '../../src/scraping/fixtures/record-case.ts';
import { testScrapers } from '../../src/scraping/fixtures/test-scrapers.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { NO_BROWSERS } from '../support/no-browsers.ts';
import { openSite, webTools } from './http-support.ts';
import { folderWith } from './scraper-folder.ts';

const KEY = 'open/sesame+7';

const sourceFor = (site: string) => `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'county', name: 'County', version: '1', description: 'An API with a key.',
  input: z.object({ apn: z.string() }),
  output: z.object({ owner: z.string() }),
  hosts: [],
  async setup({ http, secret }) {
    const basic = btoa(secret('county_key'));
    const { token } = await http.json('${site}/login', {
      post: { form: { user: 'ann', code: secret('county_key') } }, headers: { authorization: basic }, query: { basic },
    });
    return token;
  },
  async scrape({ input, http, state, secret }) {
    await http.get('${site}/keys/' + encodeURIComponent(secret('county_key')));
    const query = { key: secret('county_key'), apn: input.apn };
    const data = await http.json('${site}/owner', { query, headers: { authorization: state } });
    return { data: { owner: data.owner } };
  },
});
`;

test('requests of setup are recorded and replayed with the item, and no secret is in the fixture', async (t) => {
  let logins = 0;
  let expired = false;
  const site = await openSite(t, ({ path, query, headers }) => {
    if (path.startsWith('/keys/')) {
      const page = Buffer.from(`<p>Señor, you came with ${KEY}</p>`, 'latin1');
      return { headers: { 'content-type': 'text/html; charset=windows-1252' }, body: page };
    }
    if (path === '/login') {
      logins += 1;
      return { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token: `token-${logins}` }) };
    }
    if (headers['authorization'] !== `token-${logins}` || !expired) {
      expired = true;
      return { status: 401, body: `not with ${encodeURIComponent(query.get('key') ?? '')}` };
    }
    const body = JSON.stringify({ owner: 'SMITH', asked: site.asked.length, echo: query.get('key') });
    return { headers: { 'content-type': 'application/json', 'x-echo': query.get('key') ?? '' }, body };
  });
  const folder = folderWith(t, { 'county.ts': sourceFor(site.origin) });
  const registry = await loadScrapers([folder]);
  const scraper = await registry.find('county');
  assert.ok(scraper);
  const secrets = new SecretBook(new Map([['county_key', KEY]]));
  const tools = { ...webTools(t), secrets };
  const clock = systemClock();
  const signal = new AbortController().signal;
  const input = { apn: '200-14-030' };
  const asked = { name: 'a parcel', input, expectFailure: false };
  const answer = await recordCase(scraper, join(folder, 'county.ts'), asked, {
    tools,
    clock,
    signal,
    browsers: NO_BROWSERS,
  });
  assert.equal(answer.kind, 'recorded');
  assert.equal(logins, 2, 'the first token was refused');

  const fixture = join(folder, 'county.fixture');
  const recorded = (await readFixture(fixture))?.cases[0]?.exchanges.map(
    ({ request }) => new URL(request.url).pathname,
  );
  const visit = ['/login', '/keys/***county_key***', '/owner'];
  assert.deepEqual(recorded, [...visit, ...visit]);
  const files = readdirSync(fixture);
  assert.deepEqual(files.sort(), ['1-county-key.html', '2-county-key.html', 'cases.json']);
  for (const file of files) {
    const text = readFileSync(join(fixture, file), 'latin1');
    for (const form of [KEY, encodeURIComponent(KEY), btoa(KEY)]) assert.ok(!text.includes(form), `${file}: ${form}`);
  }
  const reports = await Array.fromAsync(testScrapers(registry, ['county'], { clock, browsers: NO_BROWSERS }));
  assert.deepEqual(
    reports.map((report) => (report.kind === 'ran' ? report.cases.map(({ differences }) => differences) : report)),
    [[[]]],
  );
});
