import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineBrowserScraper, z } from '../../src/scraping/author.ts';
import type { BrowserTools } from '../../src/scraping/browser/browser-tools.ts';
import { openSite } from '../scraping/http-support.ts';
import { sized } from '../support/sized.ts';
import { browserContext, browserTools, dataOf } from './kit-support.ts';

const browser = browserTools();

const FACTS = { id: 'county', name: 'County', version: '1.0.0', description: 'a county' };

/** A site that wants a login, which its script sends: a token in the storage of the page and a cookie. */
function county(t: Parameters<typeof openSite>[0]) {
  return openSite(t, ({ path, cookies, query }) => {
    if (path === '/login') {
      return `<button id=go onclick="localStorage.setItem('who', 'jane'); document.cookie = 'session=good; path=/';
        document.title = 'done'">log in</button>`;
    }
    if (cookies.get('session') !== 'good') return { status: 401, body: 'log in first' };
    return `<p id=apn>${query.get('apn')}</p><p id=who></p>
      <script>document.querySelector('#who').textContent = localStorage.getItem('who')</script>`;
  });
}

/** Counts the pages that have been opened. */
function counting(tools: BrowserTools): BrowserTools & { readonly opened: () => number } {
  let opened = 0;
  const open: BrowserTools['contexts']['open'] = (...args) => {
    opened += 1;
    return tools.contexts.open(...args);
  };
  return { ...tools, contexts: { open }, opened: () => opened };
}

test('items start with the cookies and the storage of a login that was done once', async (t) => {
  const site = await county(t);
  const tools = counting(browser);
  const scraper = defineBrowserScraper({
    ...{ ...FACTS, hosts: [site.host] },
    input: z.object({ apn: z.string() }),
    output: z.object({ apn: z.string(), who: z.string(), by: z.string() }),
    async setup({ tab, page }) {
      await tab.goto(`${site.origin}/login`);
      await page.click('#go');
      return 'jane';
    },
    async scrape({ tab, input, state }) {
      const page = await tab.goto(`${site.origin}/parcel?apn=${input.apn}`, { expectElement: '#who:not(:empty)' });
      return { data: { apn: page.text('#apn'), who: page.text('#who'), by: state } };
    },
  });
  const context = browserContext(t, tools);
  for (const apn of ['1', '2', '3']) {
    assert.deepEqual(dataOf(await scraper.scrape({ ...context, input: { apn } })), { apn, who: 'jane', by: 'jane' });
  }
  assert.deepEqual([tools.opened(), site.asked.filter(({ path }) => path === '/login').length], [4, 1]);
});

test('a login by the browser serves any number of items over HTTP: one page in total', async (t) => {
  const items = sized({ quick: 200, slow: 1000 });
  const site = await county(t);
  const tools = counting(browser);
  const scraper = defineBrowserScraper({
    ...{ ...FACTS, hosts: [site.host] },
    pageFor: 'setup',
    input: z.object({ apn: z.string() }),
    output: z.object({ apn: z.string() }),
    async setup({ tab, page }) {
      await tab.goto(`${site.origin}/login`);
      await page.click('#go');
    },
    async scrape({ http, input }) {
      const page = await http.get(`${site.origin}/parcel?apn=${input.apn}`);
      return { data: { apn: page.text('#apn') } };
    },
  });
  const context = browserContext(t, tools);
  const wanted = Array.from({ length: items }, (_, index) => String(index));
  const results = await Promise.all(wanted.map((apn) => scraper.scrape({ ...context, itemId: apn, input: { apn } })));
  assert.deepEqual(
    results.map(dataOf),
    wanted.map((apn) => ({ apn })),
  );
  assert.equal(tools.opened(), 1);
  const agents = new Set(site.asked.map(({ headers }) => headers['user-agent']));
  assert.equal(agents.size, 1, 'a site sees one visitor');
});
