import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite } from '../scraping/http-support.ts';
import { browserContext, browserTools, dataOf, scraperOf } from './kit-support.ts';

const browser = browserTools();

test('with isolation "page", items of a job share cookies and storage, each with a page of its own; by default they share nothing', async (t) => {
  const site = await openSite(t, () => '<title>x</title>');
  const scraper = scraperOf([site.host], async ({ page, tab }) => {
    await tab.goto(site.origin);
    const seen = await page.evaluate(`(() => {
      const before = [document.cookie, localStorage.getItem('item') ?? '', window.name];
      document.cookie = 'item=1';
      localStorage.setItem('item', '1');
      window.name = 'item';
      window.open('/popup');
      return before;
    })()`);
    const pages = page.context().pages().length;
    return { data: { seen, isAlone: pages <= 2 } };
  });
  const visit = async (isolation: 'context' | 'page', jobId: string) => {
    const policy = { browser: { isolation } };
    return dataOf(await scraper.scrape(browserContext(t, browser, { policy, jobId })));
  };
  const FRESH = { seen: ['', '', ''], isAlone: true };
  const SHARED = { seen: ['item=1', '1', ''], isAlone: true };
  assert.deepEqual(await visit('page', 'a'), FRESH);
  assert.deepEqual(await visit('page', 'a'), SHARED);
  assert.deepEqual(await visit('page', 'a'), SHARED);
  assert.deepEqual(await visit('page', 'b'), FRESH, 'another job');
  assert.deepEqual(await visit('context', 'b'), FRESH, 'another policy');
  assert.deepEqual(await visit('context', 'b'), FRESH);
});

test('with isolation "page", an item that fails leaves nothing to the next one', async (t) => {
  const site = await openSite(t, () => '<title>x</title>');
  const scraper = scraperOf([site.host], async ({ input, page, tab }) => {
    await tab.goto(site.origin);
    const seen = await page.evaluate(
      "(() => { const was = document.cookie; document.cookie = 'item=1'; return was; })()",
    );
    if (input['fails'] === true) await tab.goto('http://elsewhere.test/');
    return { data: seen };
  });
  const policy = { browser: { isolation: 'page' as const }, retries: { max_retries: 0 } };
  const visit = (fails: boolean) => scraper.scrape(browserContext(t, browser, { policy, input: { fails } }));
  assert.equal(dataOf(await visit(false)), '');
  assert.equal((await visit(true)).kind, 'failed');
  assert.equal(dataOf(await visit(false)), '');
  assert.equal(dataOf(await visit(false)), 'item=1');
});
