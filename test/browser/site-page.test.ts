import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type SiteInput, siteSchema } from '../../src/domain/site.ts';
import { BatchScope } from '../../src/scraping/batch-scope.ts';
import type { BrowserTools } from '../../src/scraping/browser/browser-tools.ts';
import { addBuiltIns } from '../../src/scraping/built-in-scrapers.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import type { ScrapeResult } from '../../src/scraping/scraper.ts';
import { openSite, webTools } from '../scraping/http-support.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { sized } from '../support/sized.ts';
import { browserContext, browserTools, dataOf, failureOf } from './kit-support.ts';

const browser = browserTools();
const AGENT = 'Trawl/9 (+https://operator.test) documentation archiver';

/** Pulls pages of a site with this configuration, each in the batch that is given. */
async function open(t: TestContext, origin: string, config: Omit<SiteInput, 'baseUrl'>, tools: BrowserTools = browser) {
  const { sites, pageCache, pathErrors, batchTurns } = openMemorySiteData();
  const stored = siteSchema.parse({ ...config, baseUrl: origin });
  await sites.set({ id: 'docs', config: stored, source: 'api', changedAt: 1, version: '1' });
  const sitePage = (await addBuiltIns(new ScraperRegistry()).find('site-page')) ?? assert.fail('there is no site-page');
  const web = webTools(t);
  const siteTools = { sites, pageCache, pathErrors, batchTurns, userAgent: AGENT };
  return async (path: string, batch: BatchScope): Promise<ScrapeResult> => {
    const context = browserContext(t, tools, {
      ...{ itemId: path, batch, tools: { ...web, browser: tools, siteTools } },
      input: { url: `${origin}${path}`, site: 'docs', path, delay_ms: 0 },
    });
    return sitePage.scrape(context);
  };
}

/** Half of the pages copy by the clipboard API if there is one, and half by a text field. */
function copyPage(path: string): string {
  const text = `# Page ${path}\\n\\nText of ${path}.`;
  const byField =
    "const f = document.createElement('textarea'); f.value = text; document.body.append(f); f.select(); document.execCommand('copy'); f.remove();";
  const byApi = 'navigator.clipboard.writeText(text);';
  const isField = Number(path.slice(2)) % 2 === 0;
  return `<h1>${path}</h1><button id="menu" onclick="document.getElementById('copy').hidden = false">menu</button>
    <button id="copy" hidden onclick="const text = '${text}'; ${isField ? byField : byApi}">Copy page</button>
    <p id="secure"></p><script>document.getElementById('secure').textContent = isSecureContext;</script>`;
}

const CLICKS = {
  clickSequence: [
    { selector: '#menu', waitAfter: 0 },
    { selector: 'text=Copy page', waitAfter: 20 },
  ],
};

test('pages that run side by side each get the text that they copied themselves', async (t) => {
  const site = await openSite(t, ({ path }) => copyPage(path));
  const pull = await open(t, site.origin, { mode: 'browser', content: { method: 'click_copy', ...CLICKS } });
  const paths = Array.from({ length: sized({ quick: 6, slow: 60 }) }, (_, at) => `/p${at}`);
  const results = await Promise.all(
    paths.map(async (path) => {
      const batch = new BatchScope();
      const result = await pull(path, batch);
      await batch.end();
      return result;
    }),
  );
  for (const [at, result] of results.entries()) {
    const { markdown, title, source } = dataOf(result) as { markdown: string; title: string; source: string };
    const path = paths[at];
    assert.deepEqual([markdown, title, source], [`# Page ${path}\n\nText of ${path}.\n`, `Page ${path}`, 'clipboard']);
  }
});

test('over plain HTTP, where there is no clipboard, copies are captured as well, in one context for the whole batch', async (t) => {
  const site = await openSite(t, ({ path }) => copyPage(path));
  const tools = browserTools({ t, routes: `http://docs.test=${site.origin}` });
  let contexts = 0;
  const counted: BrowserTools = {
    ...tools,
    contexts: {
      open(options, signal) {
        contexts += 1;
        return tools.contexts.open(options, signal);
      },
    },
  };
  const pull = await open(
    t,
    'http://docs.test',
    { mode: 'browser', content: { method: 'click_copy', ...CLICKS } },
    counted,
  );
  const batch = new BatchScope();
  for (const path of ['/p0', '/p1', '/p2']) {
    const { markdown } = dataOf(await pull(path, batch)) as { markdown: string };
    assert.equal(markdown, `# Page ${path}\n\nText of ${path}.\n`);
  }
  await batch.end();
  assert.equal(contexts, 1);
  assert.ok(site.asked.every(({ headers }) => headers['user-agent'] === AGENT));
});

test('auto opens a browser only for pages whose content is not in the HTML', async (t) => {
  const script = `<script>document.querySelector('main').innerHTML = '<h1>Made</h1><p>by a script</p>';</script>`;
  const site = await openSite(t, ({ path, headers }) => {
    if (path === '/static') return '<main><h1>There</h1><p>already</p></main>';
    if (path === '/empty') return '<main></main>';
    return headers['upgrade-insecure-requests'] === undefined || path === '/made' ? `<main></main>${script}` : '';
  });
  const content = { selector: 'main', markdown: 'none', waitForTimeoutMs: 1000 } as const;
  const pull = await open(t, site.origin, { mode: 'auto', content });
  const batch = new BatchScope();
  const sources = [];
  for (const path of ['/static', '/made']) {
    const { markdown, source } = dataOf(await pull(path, batch)) as { markdown: string; source: string };
    sources.push([source, markdown]);
  }
  assert.deepEqual(sources, [
    ['html', '# There\n\nalready\n'],
    ['browser', '# Made\n\nby a script\n'],
  ]);
  assert.equal(site.asked.filter(({ path }) => path === '/static').length, 1);
  assert.notEqual(failureOf(await pull('/empty', batch)).message, '');
  await batch.end();
});
