import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSafeKey } from '../../src/domain/artifact.ts';
import {
  afterPageNews,
  bodyKey,
  type CachedEntry,
  type CachedPage,
  cachePrefix,
  DEFAULT_MAX_AGE_SECONDS,
  isFresh,
  type PageVersion,
} from '../../src/domain/cached-page.ts';
import { genericSite } from '../../src/domain/resolve-site.ts';
import { digest } from '../../src/main/digest.ts';
import { NOW } from '../support/builders.ts';

const key = { site: 'docs', path: '/a', method: 'inner_html' } as const;

function read(known: CachedEntry | null, version: Partial<PageVersion>): CachedPage {
  const all = { sha256: 'f'.repeat(64), size: 1, title: null, etag: null, lastModified: null, fetchedAt: NOW };
  const entry = afterPageNews(known, { kind: 'read', key, url: 'u', version: { ...all, ...version } });
  return entry?.type === 'page' ? entry : assert.fail('it is a page');
}

test('an entry is fresh for seven days, and never with a maximum age of 0', () => {
  const entry = { fetchedAt: NOW };
  const week = 7 * 86_400_000;
  assert.equal(isFresh(entry, DEFAULT_MAX_AGE_SECONDS, NOW + week - 1), true);
  assert.equal(isFresh(entry, DEFAULT_MAX_AGE_SECONDS, NOW + week), false);
  assert.equal(isFresh(entry, 0, NOW), false);
});

test('news that are older than the entry change nothing', () => {
  const known = read(null, { size: 100, fetchedAt: NOW + 5 });
  assert.deepEqual(read(known, { size: 5000, fetchedAt: NOW }), known);
  const same = { kind: 'same', key, at: NOW, validators: { etag: null, lastModified: null } } as const;
  assert.deepEqual(afterPageNews(known, same), known);
});

test('a page may shrink to just over a tenth; at a tenth it is flagged, and an empty page never is suspicious', () => {
  const known = read(null, { size: 1000 });
  assert.equal(read(known, { size: 101 }).flagged, false);
  assert.equal(read(known, { size: 100 }).flagged, true);
  assert.equal(read(read(null, { size: 0 }), { size: 0 }).flagged, false);
});

test('a flagged page is compared with the version that was kept, and refreshed as it is', () => {
  const flagged = read(read(null, { size: 1000 }), { size: 10 });
  assert.equal(read(flagged, { size: 90 }).flagged, true);
  assert.equal(read(flagged, { size: 900 }).kept, null);
  const same = { kind: 'same', key, at: NOW + 1, validators: { etag: 'e', lastModified: null } } as const;
  assert.deepEqual(afterPageNews(flagged, same), { ...flagged, etag: 'e', fetchedAt: NOW + 1 });
});

test('long titles are cut, and long validators are left out, because a part of one is wrong', () => {
  const { title, etag, lastModified } = read(null, {
    title: 't'.repeat(999),
    etag: 'e'.repeat(999),
    lastModified: 'm',
  });
  assert.deepEqual([title?.length, etag, lastModified], [300, null, 'm']);
});

test('contents are stored under keys that no job can have', () => {
  for (const site of ['docs', genericSite('http://[::1]:8080').id, `https~${'x'.repeat(250)}`]) {
    const at = bodyKey(site, 'f'.repeat(64), digest);
    assert.equal(isSafeKey(at), true, at);
    assert.equal(at.startsWith(cachePrefix(site, digest)), true);
  }
  assert.notEqual(cachePrefix('docs', digest), cachePrefix('docs.2', digest));
});
