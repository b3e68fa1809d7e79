import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLlmsTxt } from '../../src/domain/llms-txt.ts';
import { MAX_SITEMAP_URLS, readSitemap, robotsSitemaps } from '../../src/domain/sitemap.ts';

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n';

test('a sitemap lists pages, each once, with its entities decoded; images are not pages', () => {
  const text = `${XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x">
    <url><loc>https://docs.test/a?x=1&amp;y=2</loc><image:image><image:loc>https://docs.test/i.png</image:loc></image:image></url>
    <url><loc> https://docs.test/b </loc><lastmod>2026-01-01</lastmod></url>
    <url><loc><![CDATA[https://docs.test/c]]></loc></url>
    <url><loc>https://docs.test/d&#38;e&#x26;f</loc></url>
    <url><loc>https://docs.test/b</loc></url>
    <url><loc>/relative</loc></url><url><loc>ftp://docs.test/</loc></url></urlset>`;
  assert.deepEqual(readSitemap(text), {
    kind: 'pages',
    urls: ['https://docs.test/a?x=1&y=2', 'https://docs.test/b', 'https://docs.test/c', 'https://docs.test/d&e&f'],
  });
});

test('an index of sitemaps is distinguished from a list of pages', () => {
  const text = `${XML}<sitemapindex><sitemap><loc>https://docs.test/1.xml</loc></sitemap></sitemapindex>`;
  assert.deepEqual(readSitemap(text), { kind: 'index', urls: ['https://docs.test/1.xml'] });
});

test('a list of addresses, one per line, is a sitemap, too', () => {
  assert.deepEqual(readSitemap('\ufeffhttps://docs.test/a\r\n\nhttps://docs.test/b#x\nnonsense\n')?.urls, [
    'https://docs.test/a',
    'https://docs.test/b',
  ]);
});

test('a page is not a sitemap, and a sitemap is not read without end', () => {
  assert.equal(readSitemap('<!doctype html><title>404</title>'), null);
  assert.equal(readSitemap(''), null);
  const many = Array.from({ length: MAX_SITEMAP_URLS + 10 }, (_, n) => `https://docs.test/${n}`).join('\n');
  assert.equal(readSitemap(many)?.urls.length, MAX_SITEMAP_URLS);
  assert.deepEqual(readSitemap(`<urlset>${'<loc><loc'.repeat(100_000)}`)?.urls, []);
});

test('robots.txt names sitemaps wherever it likes', () => {
  const text =
    'User-agent: *\nDisallow: /x\nSITEMAP: https://docs.test/s1.xml\n Sitemap : /s2.xml\n# sitemap: /no\nSitemap: mailto:x\n';
  assert.deepEqual(robotsSitemaps(text, 'https://docs.test'), ['https://docs.test/s1.xml', 'https://docs.test/s2.xml']);
});

test('llms.txt has a title and links, absolute or relative, each once', () => {
  const text = `# Example\n\n> About it\n\n## Docs\n- [One](/one.md): first\n- [Two](https://docs.test/two_(x).md)\n- [One](/one.md#a)\n`;
  assert.deepEqual(readLlmsTxt(text, 'https://docs.test/llms.txt'), {
    title: 'Example',
    urls: ['https://docs.test/one.md', 'https://docs.test/two_(x).md'],
  });
});

test('a page that is sent for every address is not an llms.txt', () => {
  for (const text of ['<!doctype html><p>[x](y)', '', '  \n', 'nothing of the kind']) {
    assert.equal(readLlmsTxt(text, 'https://docs.test/llms.txt'), null);
  }
});
