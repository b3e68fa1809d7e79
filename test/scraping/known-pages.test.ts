import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Site, siteSchema } from '../../src/domain/site.ts';
import { BatchScope } from '../../src/scraping/batch-scope.ts';
import { KnownPages } from '../../src/scraping/site-page/known-pages.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';

const SITE: Site = { id: 'docs', config: siteSchema.parse({ baseUrl: 'https://docs.test' }) };

/** A batch of pages with these paths, and a cache that counts how often it is asked. */
function open(paths: readonly string[]) {
  const data = openMemorySiteData();
  const asked: string[][] = [];
  const pageCache: typeof data.pageCache = {
    ...data.pageCache,
    look: (keys) => {
      asked.push(keys.map(({ path }) => path));
      return data.pageCache.look(keys);
    },
  };
  const { sites, pathErrors, batchTurns } = data;
  const tools = { sites, pageCache, pathErrors, batchTurns, userAgent: 'a' };
  const known = KnownPages.of(
    new BatchScope(paths.map((path, at) => ({ itemId: `i${at}`, input: { site: 'docs', path } }))),
  );
  const clock = { now: 1_000_000 };
  const look = (at: number) =>
    known.look({ itemId: `i${at}`, now: () => clock.now }, { site: SITE, path: paths[at] ?? '' }, tools);
  const cache = (path: string) =>
    data.pageCache.record([
      {
        ...{ kind: 'content', key: { site: 'docs', path, method: 'inner_html' }, content: path, title: null },
        ...{ etag: null, lastModified: null, fetchedAt: clock.now, url: `https://docs.test${path}` },
      },
    ]);
  return { asked, look, cache, clock, data };
}

test('the pages of a batch are looked up together, each with what is known of it', async () => {
  const { asked, look, cache, data } = open(['/a', '/b', '/c']);
  await cache('/b');
  await data.pathErrors.note([{ kind: 'failed', page: { site: 'docs', path: '/c' }, error: 'status 500', at: 1 }]);
  assert.deepEqual(await look(0), { entry: null, errors: null });
  assert.equal((await look(1)).entry?.path, '/b');
  assert.equal((await look(2)).errors?.count, 1);
  assert.deepEqual(asked, [['/a', '/b', '/c']]);
});

test('known pages are forgotten after three seconds, and if the clock goes back', async () => {
  const { asked, look, cache, clock } = open(['/a', '/b', '/c', '/d']);
  await look(0);
  await cache('/b');
  clock.now += 3001;
  assert.equal((await look(1)).entry?.path, '/b');
  clock.now -= 10_000;
  await look(2);
  assert.deepEqual(asked, [
    ['/a', '/b', '/c', '/d'],
    ['/b', '/c', '/d'],
    ['/c', '/d'],
  ]);
});

test('a page that the batch has twice is looked up again: the batch itself may have read it', async () => {
  const { asked, look, cache } = open(['/a', '/b', '/a']);
  await look(0);
  await cache('/a');
  await look(1);
  assert.equal((await look(2)).entry?.path, '/a');
  assert.deepEqual(asked, [['/a', '/b'], ['/a']]);
});
