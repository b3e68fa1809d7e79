import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScrapeResult } from '../../src/scraping/scraper.ts';
import { openSite, type Reply } from '../scraping/http-support.ts';
import { browserContext, browserTools, dataOf, failureOf, scraperOf } from './kit-support.ts';

const browser = browserTools();

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(40_000, 0xfe), Buffer.from('\n%%EOF\n')]);
const PDF_REPLY: Reply = { headers: { 'content-type': 'application/pdf' }, body: PDF };
const SHORT = { timeouts: { request_timeout_seconds: 2 }, retries: { max_retries: 0 } };

function documentSize(result: ScrapeResult, what: string): number {
  assert.equal(result.kind, 'scraped', `${what}: ${result.kind === 'failed' ? result.failure.message : ''}`);
  const found = result.artifacts?.find(({ kind }) => kind === 'document');
  assert.ok(found !== undefined && !(found.bytes instanceof Uint8Array));
  assert.deepEqual([found.contentType, found.extension], ['application/pdf', 'pdf']);
  return found.bytes.size;
}

test('a document comes from a link, a click, a window of its own or a script, unchanged to the byte', async (t) => {
  const site = await openSite(t, ({ path, cookies }) => {
    if (path === '/bill.pdf') return cookies.get('seen') === '1' ? PDF_REPLY : { status: 403 };
    return {
      headers: { 'set-cookie': 'seen=1' },
      body: `<a id=link href="/bill.pdf">bill</a> <a id=window href="/bill.pdf" target=_blank>bill</a>
        <form method=post action=/bill.pdf><button id=post>bill</button></form>
        <button id=made onclick="const a = document.createElement('a'); a.download = 'bill.pdf';
          a.href = window.URL.createObjectURL(new Blob(['%PDF-1.7 made'], { type: 'application/pdf' })); a.click()">made</button>`,
    };
  });
  const wishes = [
    { link: '#link' },
    { url: '/bill.pdf' },
    { click: '#link' },
    { click: '#window' },
    { click: '#post' },
    { click: '#made' },
  ];
  for (const wish of wishes) {
    const scraper = scraperOf([site.host], async ({ tab }) => {
      await tab.goto(site.origin);
      const document = await tab.download(wish, { as: 'pdf' });
      return { document, data: document.size };
    });
    const result = await scraper.scrape(browserContext(t, browser, { policy: SHORT }));
    const size = 'click' in wish && wish.click === '#made' ? '%PDF-1.7 made'.length : PDF.length;
    assert.equal(documentSize(result, JSON.stringify(wish)), size);
  }
});

test('a document that is too large, not a document, or missing fails the item, unless it is optional', async (t) => {
  const site = await openSite(t, ({ path }) => {
    if (path === '/large.pdf') return PDF_REPLY;
    if (path === '/broken.pdf') return { headers: { 'content-disposition': 'attachment' }, body: 'not a pdf' };
    return '<a id=large href=/large.pdf download>a</a><a id=broken href=/broken.pdf>b</a><button id=none>c</button>';
  });
  const download = (click: string, optional = false) =>
    scraperOf(
      [site.host],
      async ({ tab }) => {
        await tab.goto(site.origin);
        const document = await (optional
          ? tab.download({ click }, { as: 'pdf', optional })
          : tab.download({ click }, { as: 'pdf' }));
        return { document, data: document === null };
      },
      { limits: { documentBytes: 10_000 } },
    ).scrape(browserContext(t, browser, { policy: SHORT }));
  assert.equal(failureOf(await download('#large')).type, 'too_large');
  assert.match(failureOf(await download('#broken')).message, /asked for a pdf/);
  assert.match(failureOf(await download('#none')).message, /the download took longer than 2 s/);
  assert.equal(dataOf(await download('#broken', true)), true);
});

test('pop-ups, frames and dialogs are within reach, and none of them stops a page', async (t) => {
  const site = await openSite(t, ({ path }) => {
    if (path === '/detail') return '<title>Detail</title><p id=owner>SMITH</p>';
    if (path === '/frame') return '<p id=inner>inside</p>';
    return `<a id=open href=/detail target=_blank>open</a><iframe id=part src=/frame></iframe>
      <button id=ask onclick="document.title = confirm('Do you agree?') ? 'yes' : 'no'; alert('thanks')">ask</button>`;
  });
  const lines: object[] = [];
  const note = (fields: object, message: string) => void lines.push({ ...fields, message });
  const scraper = scraperOf([site.host], async ({ tab, page }) => {
    await tab.goto(site.origin);
    const popup = await tab.popup(() => page.click('#open'));
    const owner = (await popup.read()).text('#owner');
    const inner = (await tab.readFrame('#part')).text('#inner');
    await page.click('#ask');
    const first = await page.title();
    tab.answerDialogs('dismiss');
    await page.click('#ask');
    const second = await page.title();
    page.on('dialog', (dialog) => dialog.accept());
    await page.click('#ask');
    return { data: [owner, inner, first, second, await page.title()] };
  });
  const log = { debug: () => {}, info: note, warn: note };
  const result = await scraper.scrape(browserContext(t, browser, { policy: SHORT, log }));
  assert.deepEqual(dataOf(result), ['SMITH', 'inside', 'yes', 'no', 'yes']);
  const about = { job_id: 'job-1', item_id: 'item-1' };
  assert.deepEqual(lines[0], { ...about, kind: 'confirm', message: 'a dialog, answered with accept' });
  assert.deepEqual(lines[4], { ...about, kind: 'confirm', message: 'a dialog, left to the scraper' });
  assert.equal(lines.length, 6);
});

test('the browser and the HTTP client are one visitor: cookies and user agent are the same', async (t) => {
  const site = await openSite(t, ({ path, cookies, headers }) => {
    const set = path === '/http' ? 'from-http=2; Path=/' : 'from-browser=1; Path=/';
    const seen = [...cookies].map(([name, value]) => `${name}=${value}`).sort();
    return {
      headers: { 'set-cookie': set },
      body: `<p id=cookies>${seen}</p><p id=agent>${headers['user-agent']}</p>`,
    };
  });
  const scraper = scraperOf([site.host], async ({ tab, http }) => {
    const first = await tab.goto(`${site.origin}/browser`);
    const over = await http.get(`${site.origin}/http`);
    const again = await tab.goto(`${site.origin}/browser`);
    const agents = [first, over, again].map((page) => page.text('#agent'));
    return { data: { over: over.text('#cookies'), again: again.text('#cookies'), agents: new Set(agents).size } };
  });
  assert.deepEqual(dataOf(await scraper.scrape(browserContext(t, browser))), {
    ...{ over: 'from-browser=1', again: 'from-browser=1,from-http=2', agents: 1 },
  });
});

test('the policy chooses device, language and time zone', async (t) => {
  const site = await openSite(t, () => '<title>x</title>');
  const scraper = scraperOf([], async ({ tab, page }) => {
    await tab.goto(site.origin);
    const asked = '[innerWidth, navigator.language, new Date(0).getHours(), /Android/.test(navigator.userAgent)]';
    return { data: await page.evaluate(asked) };
  });
  const named = { device: 'Pixel 7', locale: 'de-DE', timezone: 'America/Phoenix' };
  const pixel = await scraper.scrape(browserContext(t, browser, { policy: { browser: named } }));
  assert.deepEqual(dataOf(pixel), [981, 'de-DE', 17, true]);
  const own = {
    device: { viewport: { width: 500, height: 400 }, user_agent: 'Mozilla/5.0 (Android) Mine' },
    timezone: 'UTC',
  };
  const mine = await scraper.scrape(browserContext(t, browser, { policy: { browser: own } }));
  assert.deepEqual(dataOf(mine), [500, 'en-US', 0, true]);
  const unknown = failureOf(
    await scraper.scrape(browserContext(t, browser, { policy: { browser: { device: 'Pixel 77' } } })),
  );
  assert.deepEqual([unknown.type, /"Pixel 77"; there is .*Pixel 7/.test(unknown.message)], ['proxy_config', true]);
});

test('screenshots and traces are kept as the policy says, and the page of a failure is available', async (t) => {
  const site = await openSite(t, () => '<title>x</title><h1>A page</h1>');
  const kept = async (fails: boolean, when: 'never' | 'on_failure' | 'always') => {
    const scraper = scraperOf([], async ({ tab }) => {
      const page = await tab.goto(site.origin);
      if (fails) page.text('#missing');
      return { data: 'fine' };
    });
    const policy = { results: { screenshot: when }, browser: { trace: when } };
    return scraper.scrape(browserContext(t, browser, { policy }));
  };
  const kindsOf = ({ artifacts = [] }: ScrapeResult) => artifacts.map(({ kind }) => kind);
  assert.deepEqual(kindsOf(await kept(false, 'never')), ['data']);
  assert.deepEqual(kindsOf(await kept(false, 'on_failure')), ['data']);
  assert.deepEqual(kindsOf(await kept(false, 'always')), ['data', 'screenshot', 'trace']);
  const failed = await kept(true, 'on_failure');
  assert.deepEqual(kindsOf(failed), ['screenshot', 'trace']);
  const [picture] = failed.artifacts ?? [];
  assert.ok(picture?.bytes instanceof Uint8Array);
  assert.equal(Buffer.from(picture.bytes).toString('latin1', 1, 4), 'PNG');
  assert.deepEqual([picture.contentType, picture.extension], ['image/png', 'png']);
  assert.ok(failed.kind === 'failed' && failed.evidence !== undefined);
  assert.equal(failed.evidence.url, `${site.origin}/`);
  assert.match(Buffer.from(failed.evidence.page.bytes as Uint8Array).toString(), /<h1>A page<\/h1>/);
});
