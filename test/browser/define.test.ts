import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineBrowserScraper, expect, z } from '../../src/scraping/author.ts';
import { openSite } from '../scraping/http-support.ts';
import { browserContext, browserTools } from './kit-support.ts';

const browser = browserTools();

const DETAIL = `<!doctype html><title>Parcel</title><h1 id=apn></h1><p id=tax></p>
<script>setTimeout(() => { document.querySelector('#apn').textContent = '101-01-001'; document.querySelector('#tax').textContent = '$1,129.60' }, 50)</script>`;

test('a page that a script fills is read like any other, and kept as it was shown', async (t) => {
  const site = await openSite(t, () => DETAIL);
  const scraper = defineBrowserScraper({
    ...{ id: 'county', name: 'County', version: '1.0.0', description: 'a county', hosts: [site.host] },
    input: z.object({ apn: z.string() }),
    output: z.object({ apn: z.string(), tax: z.number() }),
    async scrape({ tab, page }) {
      await tab.goto(`${site.origin}/parcel`);
      await page.waitForFunction("document.querySelector('#tax').textContent !== ''");
      return { html: await tab.read() };
    },
    parse({ page, input }) {
      const data = { apn: page.text('#apn'), tax: page.money('#tax') };
      expect.sameItem(data.apn, input.apn);
      return data;
    },
  });
  const result = await scraper.scrape(browserContext(t, browser, { input: { apn: '101-01-001' } }));
  assert.equal(result.kind, 'scraped', JSON.stringify(result));
  assert.deepEqual([scraper.kind, scraper.lane], ['browser', 'browser']);
  const [html, data] = result.kind === 'scraped' ? result.artifacts : [];
  assert.match(Buffer.from(html?.bytes as Uint8Array).toString(), /\$1,129\.60<\/p>/);
  assert.deepEqual(JSON.parse(Buffer.from(data?.bytes as Uint8Array).toString()), { apn: '101-01-001', tax: 1129.6 });
});
