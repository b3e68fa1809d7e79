import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SecretBook } from '../../src/domain/secrets.ts';
import { defineHttpScraper, type SetupContext, z } from '../../src/scraping/author.ts';
import type { ScrapeContext, ScrapeResult, ScrapeTools } from '../../src/scraping/scraper.ts';
import { SharedStates } from '../../src/scraping/shared-states.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Asked, contextOf, openSite, type Reply, webTools } from './http-support.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const reply = (body: unknown): Reply => ({ headers: JSON_TYPE, body: JSON.stringify(body) });

/** An API that gives out tokens, and takes them as long as `isGood` says so. */
async function openApi(t: TestContext, isGood: (token: string, asked: Asked) => boolean) {
  let tokens = 0;
  const site = await openSite(t, (asked) => {
    if (asked.path === '/login') {
      tokens += 1;
      return reply({ token: `token-${tokens}` });
    }
    const token = asked.headers['authorization'] ?? '';
    return isGood(token, asked) ? reply({ token }) : { status: 401, body: 'token expired' };
  });
  return { ...site, logins: () => site.asked.filter(({ path }) => path === '/login').length };
}

async function logIn(origin: string, { http, secret }: SetupContext): Promise<{ token: string }> {
  const schema = z.object({ token: z.string() });
  return http.json(`${origin}/login`, { post: { json: { key: secret('county_key') } }, schema });
}

function scraperOf(origin: string, more: { setup?: (context: SetupContext) => Promise<{ token: string }> } = {}) {
  return defineHttpScraper({
    id: 'token-api',
    name: 'Token API',
    version: '1',
    description: 'An API with tokens.',
    input: z.object({ path: z.string().default('/owner') }),
    output: z.object({ token: z.string() }),
    hosts: [],
    setup: more.setup ?? ((context) => logIn(origin, context)),
    async scrape({ http, input, state }) {
      const headers = { authorization: state.token };
      const data = await http.json(`${origin}${input.path}`, { headers, schema: z.object({ token: z.string() }) });
      return { data };
    },
  });
}

const SECRETS = new SecretBook(new Map([['county_key', 'open sesame']]));

function toolsOf(t: TestContext, clock = new FakeClock()): ScrapeTools {
  const tools = webTools(t);
  const states = new SharedStates({
    gate: tools.gate,
    elapsed: () => clock.elapsed(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  });
  t.after(() => states.close());
  return { ...tools, secrets: SECRETS, states };
}

function dataOf(result: ScrapeResult): unknown {
  if (result.kind !== 'scraped') assert.fail(JSON.stringify(result));
  const data = result.artifacts.find(({ kind }) => kind === 'data');
  assert.ok(data?.bytes instanceof Uint8Array);
  return JSON.parse(Buffer.from(data.bytes).toString());
}

function failureOf(result: ScrapeResult): string {
  if (result.kind !== 'failed') assert.fail(JSON.stringify(result));
  return `${result.failure.type}: ${result.failure.message}`;
}

const contexts = (tools: ScrapeTools, count: number, more: Partial<ScrapeContext> = {}) =>
  Array.from({ length: count }, (_, index) => contextOf(tools, { itemId: `item-${index}`, ...more }));

test('setup runs once for all items of a process, however many come at once', async (t) => {
  const api = await openApi(t, (token) => token === 'token-1');
  const scraper = scraperOf(api.origin);
  const tools = toolsOf(t);
  assert.equal(api.asked.length, 0, 'not before the first item');
  const results = await Promise.all(contexts(tools, 20).map((context) => scraper.scrape(context)));
  for (const result of results) assert.deepEqual(dataOf(result), { token: 'token-1' });
  assert.deepEqual([api.logins(), api.asked.length], [1, 21]);
  assert.deepEqual(JSON.parse(api.asked[0]?.body ?? ''), { key: 'open sesame' });
  assert.equal(new Set(api.asked.map(({ headers }) => headers['user-agent'])).size, 1, 'all come as who logged in');
});

test('a 401 renews the state once, and every item that got one starts over with it', async (t) => {
  let good = 'token-1';
  const api = await openApi(t, (token) => token === good);
  const scraper = scraperOf(api.origin);
  const tools = toolsOf(t);
  dataOf(await scraper.scrape(contextOf(tools)));
  good = 'token-2';
  const results = await Promise.all(contexts(tools, 10).map((context) => scraper.scrape(context)));
  for (const result of results) {
    assert.deepEqual(dataOf(result), { token: 'token-2' });
    assert.ok(result.kind === 'scraped');
    assert.equal(result.facts?.['request_count'], 2, 'both requests of the item are on record');
  }
  assert.equal(api.logins(), 2);
});

test('a state that never worked is not created again at once: a wrong key must not cause a storm of logins', async (t) => {
  const api = await openApi(t, () => false);
  const scraper = scraperOf(api.origin);
  const clock = new FakeClock();
  const tools = toolsOf(t, clock);
  for (const context of contexts(tools, 5)) {
    assert.match(failureOf(await scraper.scrape(context)), /^blocked: .*does not accept the result of setup/);
  }
  assert.equal(api.logins(), 1);
  await clock.advance(30_000);
  await scraper.scrape(contextOf(tools));
  assert.equal(api.logins(), 2);
});

test('a failure of setup is the failure of the items that waited, and is not kept', async (t) => {
  let isDown = true;
  const api = await openApi(t, () => true);
  const scraper = scraperOf(api.origin, {
    setup: async (context) => {
      if (isDown) await context.http.json(`${api.origin}/login`, { schema: z.object({ nothing: z.string() }) });
      return logIn(api.origin, context);
    },
  });
  const tools = toolsOf(t);
  const results = await Promise.all(contexts(tools, 5).map((context) => scraper.scrape(context)));
  for (const result of results) assert.match(failureOf(result), /^structure_changed: setup: nothing: /);
  assert.equal(api.asked.length, 1);
  isDown = false;
  assert.deepEqual(dataOf(await scraper.scrape(contextOf(tools))), { token: 'token-2' });
});

test('an item waits for setup until its own time is over, and the others go on waiting', async (t) => {
  const { promise: ready, resolve: letGo } = Promise.withResolvers<{ token: string }>();
  let runs = 0;
  const api = await openApi(t, () => true);
  const setup = () => {
    runs += 1;
    return ready;
  };
  const scraper = scraperOf(api.origin, { setup });
  const tools = toolsOf(t);
  const over = new AbortController();
  const hasty = scraper.scrape(contextOf(tools, { itemId: 'hasty', signal: over.signal }));
  const patient = scraper.scrape(contextOf(tools, { itemId: 'patient' }));
  over.abort(new Error('its time is over'));
  assert.match(failureOf(await hasty), /its time is over/);
  letGo({ token: 'late' });
  assert.deepEqual(dataOf(await patient), { token: 'late' });
  assert.equal(runs, 1);
});

test('a setup that no item waits for any more is ended, as is one that is running when the process ends', async (t) => {
  const ended: string[] = [];
  const scraper = scraperOf('http://nowhere.test', {
    setup: async ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => {
        ended.push(String(signal.reason));
        reject(signal.reason);
      });
      return promise;
    },
  });
  const tools = toolsOf(t);
  const over = new AbortController();
  const waiting = scraper.scrape(contextOf(tools, { signal: over.signal }));
  over.abort(new Error('its time is over'));
  await waiting;
  const last = scraper.scrape(contextOf(tools));
  tools.states.close();
  assert.match(failureOf(await last), /the process ends/);
  assert.deepEqual(ended, ['no item waits for setup', 'the process ends']);
});

test('a scraper can renew by itself, and items begin with the cookies that setup was given', async (t) => {
  let logins = 0;
  const site = await openSite(t, ({ path, cookies }) => {
    if (path === '/login') {
      logins += 1;
      return { headers: { 'set-cookie': `session=${logins}; Path=/` }, body: 'welcome' };
    }
    return `<p id="who">${cookies.get('session') ?? 'nobody'}</p>`;
  });
  const scraper = defineHttpScraper({
    id: 'cookie-login',
    name: 'Cookie login',
    version: '1',
    description: 'A login by cookies.',
    input: z.object({}),
    output: z.object({ who: z.string(), states: z.array(z.number()) }),
    hosts: [],
    async setup({ http }) {
      await http.get(`${site.origin}/login`);
      return logins;
    },
    async scrape({ http, state, renew }) {
      const page = await http.get(`${site.origin}/me`);
      return { data: { who: page.text('#who'), states: state === 1 ? [state, await renew()] : [state] } };
    },
  });
  const tools = toolsOf(t);
  assert.deepEqual(dataOf(await scraper.scrape(contextOf(tools))), { who: '1', states: [1, 2] });
  assert.deepEqual(dataOf(await scraper.scrape(contextOf(tools))), { who: '2', states: [2] });
});

test('a visitor with another identity, or through another kind of proxy, has a state of its own', async (t) => {
  const api = await openApi(t, () => true);
  const scraper = scraperOf(api.origin);
  const tools = toolsOf(t);
  const first = await scraper.scrape(contextOf(tools));
  const blocked = await scraper.scrape(contextOf(tools, { identity: 1 }));
  const again = await scraper.scrape(contextOf(tools, { itemId: 'another', tryNumber: 2 }));
  assert.deepEqual([first, blocked, again].map(dataOf), [
    { token: 'token-1' },
    { token: 'token-2' },
    { token: 'token-1' },
  ]);
});

test('a secret that is not set stops the item, says what to set, and is not tried again', async (t) => {
  const scraper = scraperOf('http://nowhere.test');
  const tools = { ...toolsOf(t), secrets: new SecretBook(new Map()) };
  const said = failureOf(await scraper.scrape(contextOf(tools)));
  assert.match(said, /^proxy_config: setup: the secret county_key is not set: set TRAWL_SECRET_COUNTY_KEY, or add/);
});

/** Reads the owner, and keeps the bill if there is one; both need the token. */
function billScraper(origin: string) {
  return defineHttpScraper({
    id: 'bills',
    name: 'Bills',
    version: '1',
    description: 'An API with tokens and bills.',
    input: z.object({}),
    output: z.object({ has_bill: z.boolean() }),
    hosts: [],
    setup: (context) => logIn(origin, context),
    async scrape({ http, state }) {
      const headers = { authorization: state.token };
      await http.json(`${origin}/owner`, { headers });
      const document = await http.document(`${origin}/bill`, { as: 'pdf', headers, optional: true });
      return { data: { has_bill: document !== null }, document };
    },
  });
}

async function openBills(t: TestContext, isGood: (token: string) => boolean) {
  let tokens = 0;
  return openSite(t, ({ path, headers }) => {
    if (path === '/login') {
      tokens += 1;
      return reply({ token: `token-${tokens}` });
    }
    if (path === '/owner') return reply({});
    if (!isGood(headers['authorization'] ?? '')) return { status: 401, body: 'token expired' };
    return { headers: { 'content-type': 'application/pdf' }, body: '%PDF-1.7 a bill' };
  });
}

test('an optional document is not given up for an expired token, even where no other try would follow', async (t) => {
  const site = await openBills(t, (token) => token === 'token-2');
  const result = await billScraper(site.origin).scrape(contextOf(toolsOf(t), { isRetried: () => false }));
  assert.deepEqual(dataOf(result), { has_bill: true });
});

test('an optional document that no token brings is missing, and does not use up the tries of its item', async (t) => {
  const site = await openBills(t, () => false);
  const result = await billScraper(site.origin).scrape(contextOf(toolsOf(t), { isRetried: () => true }));
  assert.deepEqual(dataOf(result), { has_bill: false });
  assert.ok(result.kind === 'scraped');
  const missing = result.facts?.['missing_documents'];
  assert.match(JSON.stringify(missing), /"url":"[^"]*\/bill","type":"blocked"/);
  assert.equal(site.asked.filter(({ path }) => path === '/bill').length, 4);
});

test('only a 401 renews the state: a block that follows a 401 which the scraper handled does not', async (t) => {
  const api = await openApi(t, (_, { path }) => path !== '/private');
  const scraper = defineHttpScraper({
    id: 'copes',
    name: 'Copes',
    version: '1',
    description: 'Goes on without what it may not see.',
    input: z.object({}),
    output: z.object({ page: z.unknown() }),
    hosts: [],
    setup: (context) => logIn(api.origin, context),
    async scrape({ http, state }) {
      const headers = { authorization: state.token };
      await http.json(`${api.origin}/private`, { headers }).catch(() => null);
      const page = await http.json(`${api.origin}/owner`, { headers, signs: { blocked: ['token-'] } });
      return { data: { page } };
    },
  });
  assert.match(failureOf(await scraper.scrape(contextOf(toolsOf(t)))), /^blocked: the site says "token-"/);
  assert.equal(api.logins(), 1);
});
