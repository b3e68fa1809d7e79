import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { after, test } from 'node:test';
import type { Blocked } from '../../src/egress/browser/blocking.ts';
import { trustArgs } from '../../src/egress/browser/launch-args.ts';
import { closeBrowsers, openBrowser } from './open-browser.ts';
import { CERTIFICATE, startSite, type TestSite, toSites } from './sites.ts';

after(closeBrowsers);

const PIXEL = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');

/** This answer may be kept for an hour. */
const kept =
  (type: string, body: string | Buffer): RequestListener =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=3600' }).end(body);
  };

const PAGE = `<link rel=stylesheet href=/style.css><script src=/script.js></script><p>text</p>
  <img src=/picture.png><img src=/picture?number=1><video src=/film.mp4 preload=auto></video>
  <audio src=/sound preload=auto></audio>`;

const PAGES = {
  '/': PAGE,
  '/again': PAGE,
  '/script.js': kept('text/javascript', 'window.hasRun = true'),
  '/style.css': kept('text/css', '@font-face { font-family: f; src: url(/letters.woff2) } p { font-family: f }'),
  '/letters.woff2': kept('font/woff2', 'none'),
  '/picture.png': kept('image/gif', PIXEL),
  '/picture': kept('image/gif', PIXEL),
  '/film.mp4': kept('video/mp4', 'none'),
  '/sound': kept('audio/mpeg', 'none'),
};

async function visitTwice(site: TestSite, block: readonly Blocked[]): Promise<{ first: string[]; second: string[] }> {
  await using open = await openBrowser('127.0.0.2', { lookup: toSites });
  await using visitor = await open.openContext({ way: { block } });
  const page = await visitor.newPage();
  await page.goto(`${site.origin}/`, { waitUntil: 'networkidle' });
  const first = [...new Set(site.asked)].sort();
  await page.goto(`${site.origin}/again`, { waitUntil: 'networkidle' });
  assert.equal(await page.evaluate('window.hasRun'), true, 'the page works');
  const second = [...new Set(site.asked.slice(site.asked.indexOf('GET /again')))].sort();
  return { first, second };
}

test('images, media and fonts are not fetched, with or without an extension, and the HTTP cache works', async (t) => {
  const site = await startSite(t, PAGES);
  const { first, second } = await visitTwice(site, ['images', 'media', 'fonts']);
  assert.deepEqual(first, ['GET /', 'GET /script.js', 'GET /style.css']);
  assert.deepEqual(second, ['GET /again'], 'what may be kept is not asked for again');
});

test('without blocking everything is fetched, and the HTTP cache works, too', async (t) => {
  const site = await startSite(t, PAGES);
  const { first, second } = await visitTwice(site, []);
  for (const path of ['/picture.png', '/picture?number=1', '/film.mp4', '/sound', '/letters.woff2']) {
    assert.ok(first.includes(`GET ${path}`), `${path} of ${first.join(', ')}`);
  }
  for (const path of ['/script.js', '/style.css', '/picture.png', '/picture?number=1']) {
    assert.ok(!second.includes(`GET ${path}`), `${path} was asked for again`);
  }
});

for (const blocked of [['images'], ['fonts'], ['media']] as const) {
  test(`only ${blocked} are blocked if only they are named`, async (t) => {
    const site = await startSite(t, PAGES);
    const { first } = await visitTwice(site, blocked);
    const seen = {
      images: first.includes('GET /picture.png') || first.includes('GET /picture?number=1'),
      fonts: first.includes('GET /letters.woff2'),
      media: first.includes('GET /film.mp4') || first.includes('GET /sound'),
    };
    assert.deepEqual(seen, { images: true, fonts: true, media: true, [blocked[0]]: false });
  });
}

test('a page gets address patterns once its job has requested something that they cover', async (t) => {
  const site = await startSite(t, { ...PAGES, '/plain': '<p>text</p>', '/sparse': '<img src=/picture?number=1>' });
  await using open = await openBrowser('127.0.0.2', { lookup: toSites });
  const visit = async (path: string, job: string | null) => {
    await using visitor = await open.openContext({ visit: { job }, way: { block: ['images', 'trackers'] } });
    const page = await visitor.context.newPage();
    const session = await visitor.context.newCDPSession(page);
    const sent: { method: string; params: object | undefined }[] = [];
    const send = (method: string, params?: object) => {
      sent.push({ method, params });
      return session.send(method as 'Page.enable', params as never);
    };
    await visitor.way.attach({ send, on: (event, listener) => session.on(event as 'close', listener) });
    await page.goto(`${site.origin}${path}`, { waitUntil: 'networkidle' });
    const patterns = sent.find(({ method }) => method === 'Network.setBlockedURLs')?.params ?? null;
    const stopped = sent.filter(({ method }) => method === 'Fetch.failRequest').length;
    return { patterns: JSON.stringify(patterns).match(/\.png|doubleclick/g), stopped };
  };
  assert.deepEqual(await visit('/plain', 'job'), { patterns: null, stopped: 0 });
  assert.deepEqual(await visit('/sparse', 'job'), { patterns: null, stopped: 1 }, 'no pattern would have helped');
  assert.deepEqual(await visit('/', 'job'), { patterns: ['.png'], stopped: 2 }, 'by their type, the first time');
  assert.deepEqual(await visit('/', 'job'), { patterns: ['.png'], stopped: 1 }, 'only what has no extension');
  assert.deepEqual(await visit('/plain', 'other'), { patterns: null, stopped: 0 });
  assert.deepEqual(await visit('/', null), { patterns: ['.png', 'doubleclick'], stopped: 1 });
  assert.ok(!site.asked.some((line) => line.includes('/picture')), 'none of them was fetched');
});

test('trackers are not asked for by pages, frames of other sites, workers and pop-ups', async (t) => {
  const tracking = (from: string) =>
    `fetch('https://www.google-analytics.com:' + ${'PORT'} + '/${from}', { mode: 'no-cors' })`;
  const script = (from: string) => `<script>${tracking(from)}.catch(() => 0)</script>`;
  const worker: RequestListener = (_, response) =>
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(ported(`${tracking('worker')}.catch(() => 0)`));
  let port = 0;
  const ported = (text: string) => text.replaceAll('PORT', `${port}`);
  const page =
    (text: string): RequestListener =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(ported(text));
    };
  const site = await startSite(
    t,
    {
      '/': page(`${script('page')}<script>new Worker('/worker.js'); open('/popup')</script>
        <iframe src="https://other.test:PORT/frame"></iframe>`),
      ...{ '/frame': page(script('frame')), '/popup': page(script('popup')), '/worker.js': worker },
    },
    true,
  );
  port = site.port;
  const look = async (block: readonly Blocked[]) => {
    await using open = await openBrowser('127.0.0.2', { lookup: toSites }, trustArgs(CERTIFICATE.cert));
    await using visitor = await open.openContext({ way: { block } });
    const tab = await visitor.newPage();
    await tab.goto(`${site.origin}/`, { waitUntil: 'networkidle' });
    await Promise.all(visitor.context.pages().map((each) => each.waitForLoadState('networkidle')));
    return site.requests
      .filter(({ headers }) => headers.host?.startsWith('www.google-analytics.com'))
      .map(({ url }) => url)
      .sort();
  };
  assert.deepEqual(await look(['trackers']), []);
  assert.deepEqual(await look([]), ['/frame', '/page', '/popup', '/worker'], 'they are asked for otherwise');
});
