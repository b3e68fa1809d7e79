import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupUrls } from '../../src/domain/sort-url.ts';

function placeOf(url: string) {
  const site = ['https://a.test', 'https://b.test', 'https://c.test'].find((base) => url.startsWith(base));
  return site === undefined ? null : { site: site.slice(8, 9), path: url.slice(site.length) };
}

test('URLs are sorted into pages by site, assets and unknown ones, in the order of the list', () => {
  const urls = [
    ...['https://b.test/2', 'https://a.test/1', 'https://b.test/1', 'https://nowhere.test/x.pdf'],
    ...['https://c.test/only.zip', 'https://a.test/1', 'https://a.test/m.PDF?x=1', 'nonsense'],
  ];
  const { bySite, assets, unknown } = groupUrls(urls, placeOf);
  assert.deepEqual(
    [...bySite],
    [
      ['b', ['/2', '/1']],
      ['a', ['/1', '/1']],
    ],
  );
  assert.deepEqual(assets, [
    { url: 'https://c.test/only.zip', site: 'c', path: '/only.zip' },
    { url: 'https://a.test/m.PDF?x=1', site: 'a', path: '/m.PDF?x=1' },
  ]);
  assert.deepEqual(unknown, ['https://nowhere.test/x.pdf', 'nonsense'], 'an asset of no site is unknown, too');
});
