import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proposeSite, type SiteFindings } from '../../src/domain/site-findings.ts';

function found(more: Partial<SiteFindings> = {}): SiteFindings {
  return {
    url: 'https://docs.test/guide/',
    title: 'Guide',
    content: { selector: 'main', words: 500, isInHtml: true },
    askedWords: null,
    markdown: { hasSuffix: false, hasAccept: false },
    sitemaps: [],
    llmsTxt: null,
    ...more,
  };
}

test('the site is the folder of the page', () => {
  for (const [url, base, id] of [
    ['https://docs.test/guide/', 'https://docs.test/guide', 'docs.test-guide'],
    ['https://docs.test/guide', 'https://docs.test/guide', 'docs.test-guide'],
    ['https://docs.test/3/library/os.html', 'https://docs.test/3/library', 'docs.test-3-library'],
    ['https://www.docs.test/?x=1', 'https://www.docs.test', 'docs.test'],
    ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080', '127.0.0.1-8080'],
    ['http://[::1]/', 'http://[::1]', '1'],
    [`https://docs.test/${'Long_'.repeat(30)}`, `https://docs.test/${'Long_'.repeat(30)}`, undefined],
  ] as const) {
    const site = proposeSite(found({ url }));
    assert.equal(site.config.baseUrl, base);
    if (id !== undefined) assert.equal(site.id, id);
  }
});

test('a page whose content needs scripts is read in a browser, unless the site has Markdown', () => {
  const empty = { selector: null, words: 3, isInHtml: false };
  assert.equal(proposeSite(found()).config.mode, 'fetch');
  assert.equal(proposeSite(found({ content: empty })).config.mode, 'browser');
  const { config } = proposeSite(found({ content: empty, markdown: { hasSuffix: false, hasAccept: true } }));
  assert.deepEqual([config.mode, config.content.markdown], ['fetch', 'accept']);
});

test('what was found is in the proposal, and what was not is not asked for', () => {
  const sitemaps = [{ url: 'https://docs.test/s.xml', kind: 'pages', urls: 9 }] as const;
  const { config } = proposeSite(found({ sitemaps, title: null, markdown: { hasSuffix: true, hasAccept: true } }));
  assert.deepEqual(config.links.sitemaps, ['https://docs.test/s.xml']);
  assert.deepEqual([config.content.selector, config.content.markdown, config.name], ['main', 'suffix', undefined]);
  assert.equal(proposeSite(found()).config.content.markdown, 'none');
});
