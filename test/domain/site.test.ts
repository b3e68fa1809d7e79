import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaProblems } from '../../src/domain/schema-problems.ts';
import { contentMode, type SiteInput, siteIdSchema, siteSchema, sitesFileSchema } from '../../src/domain/site.ts';

const baseUrl = 'https://docs.example.com/guide';

function problems(input: unknown): readonly (readonly [path: string, message: string])[] {
  const { error } = siteSchema.safeParse(input);
  return error === undefined ? [] : schemaProblems(error).map(({ path, message }) => [path, message]);
}

test('a site needs nothing but its address: everything else has a default', () => {
  const visiting = { waitForTimeoutMs: 15_000, waitUntil: 'domcontentloaded', gotoTimeoutMs: 30_000 };
  assert.deepEqual(siteSchema.parse({ baseUrl: 'HTTPS://Docs.Example.com//guide/' }), {
    baseUrl,
    mode: 'auto',
    defaultPath: '',
    links: { startUrls: [''], pattern: '', maxDepth: 2, sitemaps: [], ...visiting },
    content: { method: 'inner_html', markdown: 'auto', ...visiting },
  });
});

test('everything that a site can have is kept as it was given', () => {
  const visiting = { waitFor: 'main', waitForTimeoutMs: 1, waitUntil: 'networkidle' as const, gotoTimeoutMs: 2 };
  const input: SiteInput = {
    name: 'Example',
    baseUrl,
    mode: 'browser',
    defaultPath: '/start',
    links: { startUrls: ['', '/api'], pattern: '/guide', maxDepth: 5, sitemaps: ['/sitemap-docs.xml'], ...visiting },
    content: {
      mode: 'browser',
      method: 'click_copy',
      selector: '//button[@title="Copy"]',
      clickSequence: [{ selector: 'button:has-text("Copy page")', waitAfter: 0 }],
      markdown: 'none',
      ...visiting,
    },
  };
  assert.deepEqual(siteSchema.parse(input), input);
  const short = siteSchema.parse({ baseUrl, content: { method: 'click_copy', clickSequence: [{ selector: 'a' }] } });
  assert.deepEqual(short.content.clickSequence, [{ selector: 'a', waitAfter: 500 }]);
});

test('what is wrong is named by its field', () => {
  for (const [input, path, message] of [
    [{}, 'baseUrl', /expected string/],
    [{ baseUrl: 'ftp://x' }, 'baseUrl', /http or https URL/],
    [{ baseUrl: 'https://x.test/?a' }, 'baseUrl', /without user, query/],
    [{ baseUrl: 'https://x.test/#a' }, 'baseUrl', /without user, query/],
    [{ baseUrl, mod: 'fetch' }, 'mod', /there is no field "mod"/],
    [{ baseUrl, mode: 'http' }, 'mode', /"fetch"\|"browser"\|"auto"/],
    [{ baseUrl, links: { maxDepth: -1 } }, 'links.maxDepth', />=0/],
    [{ baseUrl, links: { startUrls: [] } }, 'links.startUrls', /at least one page/],
    [{ baseUrl, content: { waitUntill: 'load' } }, 'content.waitUntill', /there is no field/],
    [{ baseUrl, content: { gotoTimeoutMs: 0 } }, 'content.gotoTimeoutMs', />=1/],
    [{ baseUrl, content: { selector: ' ' } }, 'content.selector', /must not be empty/],
    [{ baseUrl, content: { method: 'click_copy' } }, 'content.selector', /needs a selector/],
    [{ baseUrl, content: { clickSequence: [{ selector: 'a' }] } }, 'content.clickSequence', /click_copy only/],
    [
      { baseUrl, content: { method: 'click_copy', clickSequence: [{ selector: 'a', waitAfter: -1 }] } },
      'content.clickSequence.0.waitAfter',
      />=0/,
    ],
    [{ baseUrl, content: { method: 'click_copy', selector: 'a', mode: 'fetch' } }, 'content.mode', /needs a browser/],
    [{ baseUrl, mode: 'fetch', content: { method: 'click_copy', selector: 'a' } }, 'mode', /must be browser or auto/],
  ] as const) {
    const [found, ...more] = problems(input);
    assert.deepEqual([found?.[0], more], [path, []]);
    assert.match(found?.[1] ?? '', message);
  }
});

test('copying needs a browser whatever the mode of the site; otherwise the content may have a mode of its own', () => {
  const mode = (input: Omit<SiteInput, 'baseUrl'>) => contentMode(siteSchema.parse({ baseUrl, ...input }));
  assert.equal(mode({}), 'auto');
  assert.equal(mode({ mode: 'browser', content: { mode: 'fetch' } }), 'fetch');
  assert.equal(mode({ content: { method: 'click_copy', selector: 'a' } }), 'browser');
});

test('a file of sites names the site and the field', () => {
  assert.deepEqual(Object.keys(sitesFileSchema.parse({ sites: { a: { baseUrl }, 'b-1.x': { baseUrl } } }).sites), [
    'a',
    'b-1.x',
  ]);
  const { error } = sitesFileSchema.safeParse({ sites: { a: { baseUrl, mode: 1 } } });
  assert.deepEqual(error && schemaProblems(error).map(({ path }) => path), ['sites.a.mode']);
  assert.equal(sitesFileSchema.safeParse({ sites: { 'A~b': { baseUrl } } }).success, false);
});

test('an id is of lower-case letters, digits and marks inside, at most 64', () => {
  for (const id of ['a', 'docs.example.com', 'python-3_14', 'x'.repeat(64)]) assert.equal(siteIdSchema.parse(id), id);
  for (const id of ['', 'A', '-a', 'a.', 'a~b', 'a/b', 'x'.repeat(65)]) {
    assert.equal(siteIdSchema.safeParse(id).success, false, id);
  }
});
