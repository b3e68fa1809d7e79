import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type SiteInput, siteSchema } from '../../src/domain/site.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { BatchScope } from '../../src/scraping/batch-scope.ts';
import { addBuiltIns } from '../../src/scraping/built-in-scrapers.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { RobotsBook } from '../../src/scraping/robots/robots-book.ts';
import type { ScrapeContext, ScrapeResult, ScrapeTools } from '../../src/scraping/scraper.ts';
import type { PageData } from '../../src/scraping/site-page/page-data.ts';
import { policyOf } from '../support/builders.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { contextOf, openSite, type Reply, webTools } from './http-support.ts';

const AGENT = 'Trawl/9 (+https://operator.test) documentation archiver';
const ARTICLE =
  '<html><head><title>Guide</title></head><body><nav><a href="/x">menu</a></nav><main><h1>Start</h1><p>Read <a href="/b">more</a>.</p></main></body></html>';

const sitePage =
  (await addBuiltIns(new ScraperRegistry()).find('site-page')) ?? assert.fail('there is no scraper site-page');

/** A site with this configuration, its tools, and pages that are asked for one after another in one batch. */
async function open(
  t: TestContext,
  answer: (path: string, headers: Record<string, string | undefined>) => Reply | string,
  config: Omit<SiteInput, 'baseUrl'> = {},
) {
  const site = await openSite(t, ({ path, headers }) => answer(path, headers));
  const data = openMemorySiteData();
  const stored = siteSchema.parse({ mode: 'fetch', ...config, baseUrl: site.origin });
  await data.sites.set({ id: 'docs', config: stored, source: 'api', changedAt: 1, version: '1' });
  const { sites, pageCache, pathErrors, batchTurns } = data;
  const tools: ScrapeTools = {
    ...webTools(t),
    siteTools: { sites, pageCache, pathErrors, batchTurns, userAgent: AGENT },
  };
  const clock = { now: Date.UTC(2026, 0, 1), slept: [] as number[] };
  const batch = new BatchScope();
  const ids = Array.from({ length: 100 }, (_, at) => `item-${at}`).values();
  const pull = (path: string, input: object = {}, context: Partial<ScrapeContext> = {}): Promise<ScrapeResult> =>
    sitePage.scrape(
      contextOf(tools, {
        batch,
        now: () => clock.now,
        sleep: async (ms) => {
          clock.slept.push(ms);
          clock.now += ms;
        },
        itemId: ids.next().value ?? 'one too many',
        ...context,
        input: { url: `${site.origin}${path}`, site: 'docs', path, ...input },
      }),
    );
  return { site, data, clock, pull, tools };
}

function dataOf(result: ScrapeResult): PageData {
  const found = (result.artifacts ?? []).find(({ kind }) => kind === 'data');
  assert.ok(found?.bytes instanceof Uint8Array, JSON.stringify(result));
  return JSON.parse(Buffer.from(found.bytes).toString());
}

test('a page is pulled as Markdown, by an archiver that says who it is', async (t) => {
  const { site, pull } = await open(t, () => ARTICLE, { content: { markdown: 'none' } });
  const result = await pull('/guide');
  assert.equal(result.kind, 'scraped');
  const { fetched_at: _, ...data } = dataOf(result);
  assert.deepEqual(data, {
    ...{ type: 'page', site: 'docs', path: '/guide', url: `${site.origin}/guide`, title: 'Start', source: 'html' },
    markdown: `# Start\n\nRead [more](${site.origin}/b).\n`,
    not_modified: false,
  });
  assert.deepEqual(
    site.asked.map(({ headers }) => headers['user-agent']),
    [AGENT],
  );
});

test('a cached page is skipped without a request until it is too old, and then only asked whether it has changed', async (t) => {
  let etag = '"1"';
  const { site, pull, clock } = await open(
    t,
    (_, headers) =>
      headers['if-none-match'] === etag ? { status: 304, headers: { etag } } : { headers: { etag }, body: ARTICLE },
    { content: { markdown: 'none' } },
  );
  const first = dataOf(await pull('/guide'));
  const second = await pull('/guide');
  assert.deepEqual([second.kind, second.kind === 'skipped' && second.reason], ['skipped', 'cached']);
  assert.deepEqual(dataOf(second), { ...first, source: 'cache' });
  assert.equal(site.asked.length, 1);

  clock.now += 3_600_000;
  const third = dataOf(await pull('/guide', { max_age: 3600 }));
  assert.deepEqual([third.not_modified, third.markdown, site.asked.length], [true, first.markdown, 2]);
  assert.equal((await pull('/guide', { max_age: 3600 })).kind, 'skipped', 'it is known to be right again');
  etag = '"2"';
  const changed = dataOf(await pull('/guide', { max_age: 0 }));
  assert.deepEqual([changed.not_modified, changed.source], [false, 'html']);
});

test('a page that this very item has read, whose worker died before that was recorded, was read by this job', async (t) => {
  const { site, pull, clock } = await open(t, () => ARTICLE, { content: { markdown: 'none' } });
  const first = dataOf(await pull('/guide', {}, { itemId: 'same' }));
  clock.now += 1000;
  for (const input of [{}, { max_age: 0 }]) {
    const again = await pull('/guide', input, { itemId: 'same' });
    assert.equal(again.kind, 'scraped');
    assert.deepEqual(dataOf(again), { ...first, source: 'cache' });
  }
  assert.equal(site.asked.length, 1);
  const of = async (context: Partial<ScrapeContext>) => (await pull('/guide', {}, { itemId: 'same', ...context })).kind;
  assert.deepEqual(
    [await of({ itemId: 'listed again' }), await of({ jobId: 'later' }), await of({ jobCreatedAt: 7 })],
    ['skipped', 'skipped', 'skipped'],
  );
});

test('all requests of a batch are kept apart: offers, redirects, robots.txt, and those of another worker', async (t) => {
  const at: number[] = [];
  const { pull, clock, tools } = await open(t, (path) => {
    at.push(clock.now);
    return path === '/moved' ? { status: 302, headers: { location: '/guide' } } : ARTICLE;
  });
  const robots: ScrapeTools['robots'] = new RobotsBook({
    ...{ web: tools.web, gate: { ...OPEN_GATE, setMinDelay: () => {} }, log: { debug: () => {}, info: () => {} } },
    clock: { now: () => clock.now, elapsed: () => clock.now },
  });
  Object.assign(tools, { robots });
  const paced = { delay_ms: 50, batch: 3 };
  const policy = policyOf({ robots: 'respect' });
  await pull('/first', paced, { policy });
  await pull('/moved', paced, { policy });
  await pull('/second', paced, { policy, batch: new BatchScope() });
  assert.equal(
    at.length,
    6,
    'robots.txt, the first page and its Markdown, the second with its redirect, and the third',
  );
  const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  assert.deepEqual(
    gaps,
    gaps.map(() => 50),
  );
});

test('XPath and :has-text() find the content without a browser, and other selectors say what to do', async (t) => {
  const page =
    '<main><section><h2>Use</h2></section><section id="s"><h2>How to\n  INSTALL</h2><p>Run it.</p></section></main>';
  for (const selector of ['//main/section[2]', '//section[@id="s"]', 'section:has-text("how to install")']) {
    const { pull } = await open(t, () => page, { content: { markdown: 'none', selector } });
    assert.equal(dataOf(await pull('/guide')).markdown, '## How to INSTALL\n\nRun it.\n', selector);
  }
  const { pull } = await open(t, () => page, { content: { markdown: 'none', selector: '//h2/..' } });
  const result = await pull('/guide');
  assert.ok(result.kind === 'failed');
  assert.match(
    result.failure.message,
    /selector \/\/h2\/\.\. works only in a browser: set the mode of the site to browser/,
  );
});

test('pages that differ in the query are different pages', async (t) => {
  const { site, pull } = await open(t, () => ARTICLE, { content: { markdown: 'none' } });
  for (const path of ['/p?a=1', '/p?a=2', '/p?a=1']) await pull(path);
  assert.deepEqual(
    site.asked.map(({ target }) => target),
    ['/p?a=1', '/p?a=2'],
  );
});

test('requests of a batch are kept apart; cached pages do not wait', async (t) => {
  const { pull, clock } = await open(t, () => ARTICLE, { content: { markdown: 'none' } });
  const delay = { delay_ms: 1000 };
  await pull('/1', delay);
  assert.deepEqual(clock.slept, [], 'none before the first');
  await pull('/1', delay);
  assert.deepEqual(clock.slept, [], 'none for a cached page');
  await pull('/2', delay);
  clock.now += 400;
  await pull('/3', delay);
  assert.deepEqual(clock.slept, [1000, 600]);
});

test('a page without content fails as Empty content, and is not held against the path', async (t) => {
  const { pull, data } = await open(t, () => '<html><body><main></main></body></html>', {
    content: { selector: 'main', markdown: 'none' },
  });
  const result = await pull('/empty');
  assert.deepEqual(result.kind === 'failed' && [result.failure.type, result.failure.message], [
    'structure_changed',
    'Empty content',
  ]);
  assert.deepEqual(await data.pathErrors.look([{ site: 'docs', path: '/empty' }]), [null]);
});

test('a page that failed three times is skipped for a day, unless max_age is 0', async (t) => {
  let isGood = false;
  const { site, pull, clock } = await open(t, () => (isGood ? ARTICLE : { status: 404, body: 'gone' }), {
    content: { markdown: 'none' },
  });
  for (let tries = 0; tries < 3; tries += 1) assert.equal((await pull('/bad')).kind, 'failed');
  const skipped = await pull('/bad');
  assert.deepEqual([skipped.kind, skipped.kind === 'skipped' && skipped.reason], ['skipped', 'known-bad']);
  assert.equal(site.asked.length, 3);
  assert.equal((await pull('/bad', { max_age: 0 })).kind, 'failed');
  assert.equal((await pull('/bad')).kind, 'failed', 'the failures were forgotten, and counted from one again');
  clock.now += 86_400_000;
  isGood = true;
  assert.equal((await pull('/bad')).kind, 'scraped');
});

test('a failure that will be tried again does not count', async (t) => {
  const { pull, data } = await open(t, () => ({ status: 404, body: '' }), { content: { markdown: 'none' } });
  await pull('/bad', {}, { isRetried: () => true });
  assert.deepEqual(await data.pathErrors.look([{ site: 'docs', path: '/bad' }]), [null]);
});

test('Markdown that a site sends on request is taken as it is', async (t) => {
  const { site, pull } = await open(t, (_, { accept }) =>
    accept?.includes('text/markdown')
      ? { headers: { 'content-type': 'text/markdown' }, body: '# Own\r\n\ntext\n\n' }
      : ARTICLE,
  );
  const { markdown, title, source } = dataOf(await pull('/guide'));
  assert.deepEqual([markdown, title, source], ['# Own\n\ntext\n', 'Own', 'markdown']);
  assert.equal(site.asked.length, 1);
});

test('Markdown next to the pages is found with the first page, and asked for first from then on', async (t) => {
  const { site, pull } = await open(t, (path) => {
    if (path === '/lone.md') return { status: 404, body: '' };
    return path.endsWith('.md') ? { headers: { 'content-type': 'text/plain' }, body: `# ${path}\n` } : ARTICLE;
  });
  const sources = [];
  for (const path of ['/a/', '/b', '/lone']) sources.push(dataOf(await pull(path, { delay_ms: 0 })).source);
  assert.deepEqual(sources, ['markdown', 'markdown', 'html']);
  assert.deepEqual(
    site.asked.map(({ path }) => path),
    ['/a/', '/a.md', '/b.md', '/lone.md', '/lone'],
  );
});

test('a site that has no Markdown is asked for it once', async (t) => {
  const { site, pull } = await open(t, (path) => (path.endsWith('.md') ? { status: 404, body: '' } : ARTICLE));
  for (const path of ['/a', '/b', '/c']) await pull(path, { delay_ms: 0 });
  assert.deepEqual(
    site.asked.map(({ path }) => path),
    ['/a', '/a.md', '/b', '/c'],
  );
});

test('every page of an unknown site fails', async (t) => {
  const { pull } = await open(t, () => ARTICLE);
  const result = await pull('/a', { site: 'nowhere' });
  assert.equal(result.kind === 'failed' && result.failure.message, 'Unknown site: nowhere');
});
