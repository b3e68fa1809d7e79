import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { kill } from 'node:process';
import { test } from 'node:test';
import type { FailureType } from '../../src/domain/failure.ts';
import type { BrowserScrapeContext } from '../../src/scraping/author.ts';
import type { Signs } from '../../src/scraping/page/signs.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';
import { openSite, type Reply } from '../scraping/http-support.ts';
import type { policyOf } from '../support/builders.ts';
import { browserContext, browserTools, dataOf, failureOf, scraperOf } from './kit-support.ts';

const browser = browserTools();

type Scrape = (context: BrowserScrapeContext<Record<string, unknown>>) => Promise<unknown>;

/** What a site shows, what is done there, and how it fails. */
interface Case {
  readonly page: Reply | string;
  readonly scrape?: Scrape;
  readonly signs?: Signs;
  /** The failure is that of a wait, which is kept short. */
  readonly waits?: true;
  readonly type: FailureType;
  readonly message: RegExp;
}

const FORM = '<!doctype html><title>Search</title><form><input id=q><button id=go disabled>Go</button></form>';
const ONCE = { retries: { max_retries: 0 } };
const SHORT = { ...ONCE, timeouts: { request_timeout_seconds: 1.5 } };
/** Enough for a busy machine to open a page. */
const PATIENT = { timeoutSeconds: 120 };

const CASES: Readonly<Record<string, Case>> = {
  'a page that the server does not have': { page: { status: 404 }, type: 'not_found', message: /no such page/ },
  'a server that fails': { page: { status: 500, body: 'oops' }, type: 'server_error', message: /server failed/ },
  'a page that is forbidden': { page: { status: 403, body: 'no' }, type: 'blocked', message: /refuses/ },
  'too many requests': {
    page: { status: 429, headers: { 'retry-after': '9' }, body: 'slow' },
    type: 'rate_limited',
    message: /too often/,
  },
  'a block page with status 200': {
    page: '<title>Access Denied</title><h1>Access Denied</h1>Reference #18.2d351ab8',
    type: 'blocked',
    message: /Akamai/,
  },
  'maintenance with status 200': {
    page: '<title>County</title><h1>We are currently conducting maintenance</h1>',
    type: 'maintenance',
    message: /conducting maintenance/,
  },
  'a text that the scraper knows': {
    page: '<title>County</title><p>No such parcel.</p>',
    signs: { nothingFound: [/No such parcel/] },
    type: 'no_results',
    message: /No such parcel/,
  },
  'a script that says there is nothing': {
    page: `<!doctype html><title>County</title><div id=app></div>
      <script>document.querySelector('#app').textContent = 'No records found'</script>`,
    scrape: ({ tab }) => tab.waitFor({ element: '#results' }),
    waits: true,
    type: 'no_results',
    message: /No records found.*#results/,
  },
  'an element that is not there': {
    page: FORM,
    scrape: ({ page }) => page.click('#results a'),
    waits: true,
    type: 'structure_changed',
    message: /locator\('#results a'\) did not appear within 1.5 s \(http/,
  },
  'an element that can never be used': {
    page: FORM,
    scrape: ({ page }) => page.click('#go'),
    waits: true,
    type: 'timeout',
    message: /could not be used within 1.5 s: element is not enabled/,
  },
  'none of several': {
    page: FORM,
    scrape: ({ tab }) => tab.waitFor({ element: '#results' }, { text: /nothing at all/ }),
    waits: true,
    type: 'structure_changed',
    message: /none of #results, the text .* came/,
  },
  'a selector that matches twice': {
    page: '<p>a</p><p>b</p>',
    scrape: ({ page }) => page.locator('p').textContent(),
    type: 'structure_changed',
    message: /more than one element/,
  },
  'a value that the page lacks': {
    page: '<title>Parcel</title><p id=owner></p>',
    scrape: async ({ tab }) => (await tab.read()).text('#owner'),
    type: 'structure_changed',
    message: /#owner/,
  },
  'an address that is never reached': {
    page: FORM,
    scrape: ({ tab }) => tab.waitFor({ url: '**/detail' }),
    waits: true,
    type: 'navigation_failed',
    message: /did not come within 1.5 s/,
  },
  'a page that crashes': {
    page: FORM,
    scrape: async ({ page }) => {
      const session = await page.context().newCDPSession(page);
      session.send('Page.crash').catch(() => {});
      await page.waitForSelector('#never');
    },
    type: 'unexpected',
    message: /page crashed/,
  },
  'a page that closes itself': {
    page: FORM,
    scrape: async ({ page }) => {
      void page.close();
      await page.waitForSelector('#never');
    },
    type: 'navigation_failed',
    message: /was closed/,
  },
  'a script that never ends': {
    page: '<title>x</title><button onclick="for (;;);">go</button>',
    scrape: async ({ page, tab }) => {
      void page.click('button').catch(() => {});
      // It waits until the click has arrived.
      for (;;) await tab.html();
    },
    waits: true,
    type: 'timeout',
    message: /reading the page took longer/,
  },
  'a bug of the scraper': {
    page: FORM,
    scrape: () => Promise.reject(new TypeError('x is not a function')),
    type: 'unexpected',
    message: /x is not a function/,
  },
};

for (const [what, { page, type, message, waits, signs = {}, scrape = async () => {} }] of Object.entries(CASES)) {
  test(`${what} fails as ${type}`, async (t) => {
    const site = await openSite(t, ({ path }) => (path === '/' ? page : { status: 404 }));
    const scraper = scraperOf(
      [site.host],
      async (context) => {
        await context.tab.goto(`${site.origin}/`, PATIENT);
        return { data: (await scrape(context)) ?? null };
      },
      { signs },
    );
    const policy = waits ? SHORT : ONCE;
    const failure = failureOf(await scraper.scrape(browserContext(t, browser, { policy })));
    assert.equal(failure.type, type, failure.message);
    assert.match(failure.message, message);
  });
}

function visitor(hosts: readonly string[], url: string): Scraper {
  return scraperOf(hosts, async ({ tab }) => {
    await tab.goto(url);
    return { data: 'there' };
  });
}

test('a site that does not answer, or does not exist, fails as it does without a browser', async (t) => {
  const silent = await openSite(t, () => null);
  const slow = visitor([], `${silent.origin}/`);
  assert.equal(failureOf(await slow.scrape(browserContext(t, browser, { policy: SHORT }))).type, 'timeout');
  const nobody = visitor([], `http://127.0.0.1:${await closedPort()}/`);
  assert.equal(failureOf(await nobody.scrape(browserContext(t, browser, { policy: ONCE }))).type, 'network_error');
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('addresses outside of the hosts or against the rules are refused, wherever they occur', async (t) => {
  const site = await openSite(t, ({ path }) => {
    if (path === '/away') return { status: 302, headers: { location: 'http://localhost:9/' } };
    return '<a id=elsewhere href="http://localhost:9/">elsewhere</a>';
  });
  const refused = async (scraper: Scraper, message: RegExp, policy: Parameters<typeof policyOf>[0] = ONCE) => {
    const failure = failureOf(await scraper.scrape(browserContext(t, browser, { policy })));
    assert.equal(failure.type, 'refused_address', failure.message);
    assert.match(failure.message, message);
  };
  await refused(visitor([site.host], 'http://localhost:9/'), /localhost:9 is not one of the scraper's hosts/);
  await refused(visitor([site.host], `${site.origin}/away`), /localhost:9 is not one of/);
  await refused(visitor([], 'http://10.1.2.3/'), /10\.1\.2\.3/);
  const clicks = scraperOf([site.host], async ({ tab, page }) => {
    await tab.goto(`${site.origin}/`, PATIENT);
    await page.click('#elsewhere');
    await tab.waitFor({ element: '#there' });
    return { data: null };
  });
  // It waits for something that never comes.
  await refused(clicks, /localhost:9 is not one of/, SHORT);
});

test('a page that sends more than allowed ends the try at once, whatever the scraper waits for', async (t) => {
  // It never ends by itself: without the limit, the item would take all of its time.
  const site = createHttpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).write('<title>Large</title>');
    response.write(`<p>${'x'.repeat(1_000_000)}</p>`);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    site.closeAllConnections();
    site.close();
  });
  const { port } = site.address() as AddressInfo;
  const scraper = scraperOf(
    [`127.0.0.1:${port}`],
    async ({ tab }) => ({ html: await tab.goto(`http://127.0.0.1:${port}/`, { expectElement: '#never' }) }),
    { limits: { visitBytes: 100_000 } },
  );
  const begun = performance.now();
  const context = browserContext(t, browser, { policy: { timeouts: { request_timeout_seconds: 300 } } });
  const { type, message } = failureOf(await scraper.scrape(context));
  assert.deepEqual([type, /larger than 100000 bytes/.test(message)], ['too_large', true], message);
  assert.ok(performance.now() - begun < 100_000);
});

test('a browser that ends fails the try, and the next one has another browser', async (t) => {
  const site = await openSite(t, () => FORM);
  const context = () => browserContext(t, browser, { itemId: 'deadly' });
  const deadly = scraperOf([], async ({ tab, page }) => {
    await tab.goto(site.origin);
    for (const pid of browser.pids()) kill(pid, 'SIGKILL');
    await page.waitForSelector('#never');
    return { data: null };
  });
  assert.match(failureOf(await deadly.scrape(context())).message, /the browser ended/);
  assert.match(failureOf(await deadly.scrape(context())).message, /the browser ended/);
  const third = failureOf(await deadly.scrape(context()));
  assert.deepEqual([third.type, third.message], ['poison', 'the browser ended 3 times while processing this item']);
  assert.equal(dataOf(await visitor([], site.origin).scrape(browserContext(t, browser))), 'there');
});

test('a frozen browser is noticed by our own clock, and is not used again', async (t) => {
  const site = await openSite(t, () => FORM);
  const frozen = scraperOf([], async ({ tab, page }) => {
    await tab.goto(site.origin, PATIENT);
    for (const pid of browser.pids()) kill(pid, 'SIGSTOP');
    await page.click('#go');
    return { data: null };
  });
  const failure = failureOf(await frozen.scrape(browserContext(t, browser, { policy: SHORT })));
  assert.equal(failure.type, 'timeout', failure.message);
  assert.equal(dataOf(await visitor([], site.origin).scrape(browserContext(t, browser))), 'there');
});
