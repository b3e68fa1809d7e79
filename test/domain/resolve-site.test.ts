import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  genericSite,
  genericSiteById,
  indexSites,
  pageUrl,
  resolveOrAdopt,
  resolveSite,
} from '../../src/domain/resolve-site.ts';
import { type Site, siteSchema } from '../../src/domain/site.ts';
import { MAX_PAGE_URL } from '../../src/domain/site-url.ts';

function site(id: string, baseUrl: string): Site {
  return { id, config: siteSchema.parse({ baseUrl }) };
}

const SITES = indexSites([
  site('example', 'https://example.com'),
  site('docs', 'https://example.com/docs'),
  site('v2', 'https://example.com/docs/v2/'),
  site('plain', 'http://plain.test:8080/a'),
]);

function resolved(url: string): readonly [string, string] | null {
  const found = resolveSite(url, SITES);
  return found && [found.site.id, found.path];
}

const CASES: readonly (readonly [url: string, found: readonly [string, string] | null])[] = [
  ['https://example.com', ['example', '']],
  ['https://example.com/', ['example', '']],
  ['HTTPS://EXAMPLE.COM/Path', ['example', '/Path']],
  ['  https://example.com/page \n', ['example', '/page']],
  ['https://example.com//page///sub', ['example', '/page/sub']],
  ['https://example.com/page/', ['example', '/page']],
  ['//example.com/page', ['example', '/page']],
  ['example.com/page', ['example', '/page']],
  ['https://example.com:443/page', ['example', '/page']],
  ['https://example.com/docs', ['docs', '']],
  ['https://example.com/docs/start', ['docs', '/start']],
  ['https://example.com/docs/v2', ['v2', '']],
  ['https://example.com/docs/v2/api#top', ['v2', '/api']],
  ['https://example.com/docs/v20/api', ['docs', '/v20/api']],
  ['https://example.com/docsearch', ['example', '/docsearch']],
  ['https://example.com/docs?page=2', ['docs', '?page=2']],
  ['https://example.com/docs/start/?a=1&b=//x/#f', ['docs', '/start?a=1&b=//x/']],
  ['https://example.com/docs/start?', ['docs', '/start']],
  ['http://plain.test:8080/a/b', ['plain', '/b']],
  ['http://plain.test/a/b', null],
  ['http://example.com/page', null],
  ['https://www.example.com/', null],
  ['https://example.com.evil.test/', null],
  ['https://user:secret@example.com/page', null],
  ['ftp://example.com/page', null],
  ['mailto:me@example.com', null],
  ['javascript:alert(1)', null],
  ['https://', null],
  ['', null],
  [`https://example.com/${'x'.repeat(MAX_PAGE_URL)}`, null],
];

for (const [url, found] of CASES) {
  const label = JSON.stringify(url.slice(0, 60));
  test(`${label} is ${found === null ? 'of no site' : `page ${JSON.stringify(found[1])} of ${found[0]}`}`, () => {
    assert.deepEqual(resolved(url), found);
  });
}

test('pages that differ in the query are different pages', () => {
  assert.notDeepEqual(resolved('https://example.com/p?id=1'), resolved('https://example.com/p?id=2'));
});

test('the address to request keeps its slash and its query, and loses its fragment', () => {
  assert.equal(resolveSite('Example.com/Docs/?q=1#x', SITES)?.url, 'https://example.com/Docs/?q=1');
});

test('of two sites with the same base the first by id is found', () => {
  const same = indexSites([site('b', 'https://same.test/x/'), site('a', 'HTTPS://SAME.test/x')]);
  assert.equal(resolveSite('https://same.test/x/y', same)?.site.id, 'a');
});

test('an address of no site belongs to a site of its origin, which is found again by its id', () => {
  for (const [url, id, path] of [
    ['https://other.test/a/b?c', 'https~other.test', '/a/b?c'],
    ['http://other.test:81/', 'http~other.test~81', ''],
    ['http://[::1]:8080/x', 'http~v6~__1~8080', '/x'],
    ['bücher.test/x', 'https~xn--bcher-kva.test', '/x'],
  ] as const) {
    const found = resolveOrAdopt(url, SITES);
    assert.equal(found?.site.id, id);
    assert.equal(found.path, path);
    assert.deepEqual(genericSiteById(id), found.site);
  }
  assert.equal(resolveOrAdopt('https://example.com/docs/x', SITES)?.site.id, 'docs');
  assert.equal(resolveOrAdopt('mailto:x@y', SITES), null);
  for (const id of ['example', 'https~', 'ftp~x', 'https~A.test', 'https~x~443', 'https~a/b']) {
    assert.equal(genericSiteById(id), null, id);
  }
});

test('a page leads back to itself: base and path make an address that resolves to the same page', () => {
  const segment = fc.stringMatching(/^[A-Za-z0-9._~%-]{1,8}$/).map(encodeURIComponent);
  const url = fc
    .tuple(fc.constantFrom('https://example.com', 'http://plain.test:8080'), fc.array(segment, { maxLength: 5 }))
    .map(([origin, segments]) => [origin, ...segments].join('/'));
  fc.assert(
    fc.property(url, fc.constantFrom('', '?a=1', '?x/y=//z'), (page, query) => {
      const found = resolveSite(`${page}${query}`, SITES);
      if (found === null) return;
      assert.deepEqual(resolveSite(pageUrl(found.site, found.path), SITES)?.path, found.path);
      assert.equal(found.path === '' || /^[/?]/.test(found.path), true);
    }),
  );
});

test('generic sites of different origins have different ids', () => {
  const ids = ['https://a.test', 'http://a.test', 'http://a.test:8', 'http://[::8]', 'http://v6:8'];
  assert.equal(new Set(ids.map((origin) => genericSite(origin).id)).size, ids.length);
});
