import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { NO_SECRETS } from '../../src/domain/secrets.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openWeb } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { recordCase } from '../../src/scraping/fixtures/record-case.ts';
import { NO_LOG } from '../../src/scraping/fixtures/run-case.ts';
import { testScrapers } from '../../src/scraping/fixtures/test-scrapers.ts';
import { isSessionCookie, isTokenName, withoutTokens } from '../../src/scraping/fixtures/token-names.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { UNCHECKED } from '../../src/scraping/robots/robots-check.ts';
import { NO_BROWSERS } from '../support/no-browsers.ts';
import { sharedStates } from '../support/no-tools.ts';
import { folderWith } from './scraper-folder.ts';

/** Logs in, asks with the token in a header, in the query, in the path and in a form, and keeps a link with it. */
const SITE = `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'site', name: 'Site', version: '1', description: '',
  input: z.object({ site: z.string(), fails: z.boolean().optional() }),
  output: z.object({ owner: z.string(), link: z.string(), state: z.string(), city: z.string() }),
  hosts: [],
  async scrape({ input: { site, fails }, http }) {
    const login = await http.json(site + '/login', { schema: z.object({
      access_token: z.string().min(20), next_page_token: z.string(),
    }) });
    const headers = { authorization: 'Bearer ' + login.access_token };
    const owner = await http.json(site + '/owner', {
      headers, query: { access_token: login.access_token, page_token: login.next_page_token, api_key: 'k3y' },
      schema: z.object({ owner: z.string() }),
    });
    const page = await http.get(site + '/s/' + encodeURIComponent(login.access_token) + '/page');
    const sent = await page.form().submit();
    if (fails) page.text('#gone');
    const data = { link: page.link('a'), state: page.attribute('[name=__VIEWSTATE]', 'value'), city: sent.text('#city') };
    return { html: sent, data: { ...owner, ...data } };
  },
});
`;

const TOKEN = 'tok+en/0123456789abcdef==';
const SESSION = 'D41D8CD98F00B204E9800998ECF8427E';
const FORGERY = 'CfDJ8Nn0-forgery-0123456789';
const STATE = '/wEPDwUKLTE2NDk4NzY4NQ9kFgI=';

/** What the site received, to check that it was really asked with its tokens. */
async function serveSite(t: TestContext) {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(`${request.url}`);
    const path = request.url?.split('?')[0];
    if (path === '/login') {
      response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': `JSESSIONID=${SESSION}; Path=/` });
      const json = JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', next_page_token: 'second-page' });
      response.end(json.replaceAll('/', '\\/'));
    } else if (path === '/owner') {
      response.writeHead(200, { 'content-type': 'application/json', 'x-csrf-token': FORGERY });
      response.end('{"owner":"SMITH"}');
    } else if (request.method === 'POST') {
      response.writeHead(200, { 'content-type': 'text/html; charset=windows-1252' });
      response.end(Buffer.from('<p id="city">Peña Blanca</p>', 'latin1'));
    } else {
      const link = `/bill?session_id=${SESSION}`;
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<a href="${link}">bill</a><form method="post" action="/s">
        <input type="hidden" name="__RequestVerificationToken" value="${FORGERY}">
        <input type="hidden" name="__VIEWSTATE" value="${STATE}"></form>`);
    }
  });
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
  return { site: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

const clock = systemClock();

async function record(t: TestContext, folder: string, input: Record<string, unknown>, expectFailure = false) {
  const scraper = await (await loadScrapers([folder])).find('site');
  assert.ok(scraper);
  const web = openWeb({ rules: new AddressRules(parseAddressRanges('loopback')), routes: parseRoutes(''), clock });
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
  const deps = { tools, clock, signal: new AbortController().signal, browsers: NO_BROWSERS };
  return recordCase(scraper, join(folder, 'site.ts'), { name: 'one', input, expectFailure }, deps);
}

test('tokens, session cookies and keys are masked in a recording, and it still plays', async (t) => {
  const { site, asked, close } = await serveSite(t);
  const folder = folderWith(t, { 'site.ts': SITE });
  const answer = await record(t, folder, { site });
  assert.ok(answer.kind === 'recorded');
  assert.ok(asked[1]?.includes(encodeURIComponent(TOKEN)), 'the site was asked with its token');
  await close();

  const fixture = join(folder, 'site.fixture');
  const kept = readdirSync(fixture).map((name) => readFileSync(join(fixture, name), 'latin1'));
  const all = kept.join('\n');
  const secrets = [TOKEN, encodeURIComponent(TOKEN), TOKEN.replaceAll('/', '\\/'), SESSION, FORGERY, 'k3y'];
  for (const secret of secrets) assert.ok(!all.includes(secret), `${secret} is in the recording`);
  assert.ok(all.includes(STATE), 'a view state is what a form must send back');
  assert.ok(all.includes('page_token=second-page'), 'a place in a list is not a secret');
  assert.match(all, /access_token=masked-\d-x+&page_token=second-page&api_key=/);
  assert.match(all, /JSESSIONID=masked-\d-x+; Path=\//);

  assert.deepEqual(answer.differences, []);
  const [report] = await Array.fromAsync(
    testScrapers(await loadScrapers([folder]), [], { clock, browsers: NO_BROWSERS }),
  );
  assert.ok(report?.kind === 'ran');
  assert.deepEqual(
    report.cases.map(({ differences }) => differences),
    [[]],
  );
  const { data } = answer.written.expect as { data: Record<string, string> };
  assert.deepEqual([data['owner'], data['state'], data['city']], ['SMITH', STATE, 'Peña Blanca']);
  assert.match(data['link'] ?? '', /\/bill\?session_id=masked-\d-x+$/);
});

test('a token that the input itself contains is left alone, because the author wrote it', async (t) => {
  const { site } = await serveSite(t);
  const folder = folderWith(t, { 'site.ts': SITE });
  const answer = await record(t, folder, { site, seen: SESSION });
  assert.ok(answer.kind === 'recorded');
  assert.deepEqual(answer.differences, []);
  assert.ok(JSON.stringify(answer.written).includes(SESSION));
});

test('a scraper that fails by its own fault is recorded only if that is asked for', async (t) => {
  const { site } = await serveSite(t);
  const folder = folderWith(t, { 'site.ts': SITE });
  const refused = await record(t, folder, { site, fails: true });
  assert.ok(refused.kind === 'refused');
  assert.match(refused.because, /^the scraper failed with structure_changed \(#gone is not on the page/);
  assert.deepEqual(readdirSync(folder), ['site.ts']);

  const asked = await record(t, folder, { site, fails: true }, true);
  assert.ok(asked.kind === 'recorded');
  assert.equal(asked.written.expect.failure, 'structure_changed');
  assert.deepEqual(asked.differences, []);

  const good = await record(t, folder, { site }, true);
  assert.deepEqual(good, { kind: 'refused', because: 'the scraper did not fail' });
});

test('names of tokens are distinguished from those of states, positions in lists and facts about tokens', () => {
  const tokens = [
    'access_token',
    'accessToken',
    'token',
    'X-Api-Key',
    'csrf',
    '__RequestVerificationToken',
    'password',
  ];
  for (const name of tokens) assert.ok(isTokenName(name), name);
  const others = ['__VIEWSTATE', '__EVENTVALIDATION', 'next_page_token', 'pageToken', 'token_type', 'owner', 'session'];
  for (const name of others) assert.ok(!isTokenName(name), name);
  for (const name of ['ASP.NET_SessionId', 'PHPSESSID', 'connect.sid', '.ASPXAUTH'])
    assert.ok(isSessionCookie(name), name);
  for (const name of ['DISCLAIMER', 'lang', 'side']) assert.ok(!isSessionCookie(name), name);
  assert.equal(withoutTokens('http://a.gov/?b=1&token=x&c=2'), 'http://a.gov/?b=1&token=masked&c=2');
  assert.equal(withoutTokens('http://a.gov/?b=a%20b'), 'http://a.gov/?b=a%20b');
});
