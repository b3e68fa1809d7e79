import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isAssetUrl } from '../../src/domain/asset-url.ts';
import { anyText } from '../support/any-text.ts';
import { sized } from '../support/sized.ts';

const ASSETS = [
  ...['/x.pdf', '/x.PDF', '/x.pdf?download=1', '/x.pdf#p2', '/x%2Epdf', '/my%20document.pdf'],
  ...['/path%2Fto%2Ffile.pdf', '/a.tar.gz', '/x.pdf/', '/x.pdf;v=1', '/%E2%9C%93.png', '/feed.xml', '/100%.zip'],
];
const PAGES = [
  ...[
    '/page?format=pdf',
    '/?file=x.pdf',
    '/x.html',
    '/index.htm',
    '/getting-started',
    '/',
    '',
    '/v1.2',
    '/.pdf',
    '/x.',
  ],
  ...['/dir.zip/page', '/x.pdf%20', '/file.pdf%3Fa', '/a;b.pdf/page', '/page#x.pdf'],
];
const SUFFIXES =
  '.pdf .zip .tar .gz .tgz .rar .7z .png .jpg .jpeg .gif .svg .ico .webp .mp4 .mp3 .wav .webm .mov .doc .docx .xls .xlsx ' +
  '.ppt .pptx .exe .dmg .pkg .deb .rpm .xml .rss .atom';

test('a file is distinguished from a page by the last suffix of its decoded path', () => {
  for (const base of ['https://docs.example.com', 'https://docs.zip', '//docs.example.com', '']) {
    for (const path of ASSETS) assert.equal(isAssetUrl(`${base}${path}`), true, `${base}${path}`);
    for (const path of PAGES) assert.equal(isAssetUrl(`${base}${path}`), false, `${base}${path}`);
  }
});

test('every suffix of the list counts, in upper and lower case', () => {
  for (const suffix of SUFFIXES.split(' ')) {
    assert.ok(isAssetUrl(`https://docs.example.com/a/b${suffix}`), suffix);
    assert.ok(isAssetUrl(`https://docs.example.com/a/b${suffix.toUpperCase()}?v=2`), suffix);
  }
});

test('query and fragment never matter, and neither does any text fail', () => {
  fc.assert(
    fc.property(fc.webUrl(), fc.webQueryParameters(), fc.webFragments(), (url, query, fragment) => {
      assert.equal(isAssetUrl(`${url}?${query}#${fragment}`), isAssetUrl(url));
    }),
    { numRuns: sized({ quick: 30, slow: 300 }) },
  );
  fc.assert(fc.property(anyText(), (text) => typeof isAssetUrl(text) === 'boolean'));
});
