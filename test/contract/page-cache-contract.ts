import assert from 'node:assert/strict';
import type { CachedEntry, CachedPage, PageKey } from '../../src/domain/cached-page.ts';
import type { ListPlace, NewContent, PageCache } from '../../src/ports/page-cache.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface PageCacheParts {
  readonly pageCache: PageCache;
  /** How many contents are stored. */
  bodies(): Promise<number>;
}

const LONG_PATH = `/${'%E2%9C%93'.repeat(200)}`;

function key(path: string, more: Partial<PageKey> = {}): PageKey {
  return { site: 'docs', path, method: 'inner_html', ...more };
}

function page(at: PageKey, content: string, more: Partial<NewContent> = {}): NewContent {
  const url = `https://docs.test${at.path}`;
  return {
    kind: 'content',
    key: at,
    url,
    content,
    title: null,
    etag: null,
    lastModified: null,
    fetchedAt: NOW,
    ...more,
  };
}

/** Everything that the comments of `ports/page-cache.ts` promise. `open` makes an empty one. */
export function pageCacheContract(
  name: string,
  open: () => Promise<Opened<PageCacheParts>>,
  options: SuiteOptions = {},
): void {
  suite<PageCacheParts>(`page cache on ${name}`, open, options, (add) => {
    const read = async (cache: PageCache, at: PageKey): Promise<string | null> => {
      const [entry] = await cache.look([at]);
      return entry?.type === 'page' ? await cache.content(entry.site, entry) : null;
    };

    add('what was recorded is found by site, path with query, and method, as it was', async ({ pageCache }) => {
      const content = `# Ünï "code" \u2028\n${'text '.repeat(1000)}`;
      const more = { title: 'A title', etag: 'W/"1"', lastModified: 'Wed, 18 Nov 2026 00:00:00 GMT' };
      const at = key('/a?b=1');
      const [kept] = await pageCache.record([page(at, content, more)]);
      const { sha256, size, ...rest } = kept as CachedPage;
      const url = 'https://docs.test/a?b=1';
      assert.deepEqual(rest, { ...at, type: 'page', url, ...more, fetchedAt: NOW, flagged: false, kept: null });
      assert.equal(size, Buffer.byteLength(content));
      assert.deepEqual(await pageCache.look([at]), [kept]);
      assert.equal(await pageCache.content('docs', { sha256 }), content);
      const others = [key('/a'), key('/a?b=2'), key('/a?b=1', { method: 'click_copy' }), key('/a?b=1', { site: 'x' })];
      assert.deepEqual(await pageCache.look([...others, at]), [null, null, null, null, kept]);
      assert.equal(await pageCache.content('x', { sha256 }), null);
    });

    add('what is kept without an answer is there for the next look', async ({ pageCache }) => {
      const content = 'text '.repeat(1000);
      await pageCache.keep([page(key('/a'), content), page(key('/b'), 'b')]);
      assert.equal(await read(pageCache, key('/a')), content);
      assert.equal(await read(pageCache, key('/b')), 'b');
    });

    add('base pages, long paths and empty contents are kept like others', async ({ pageCache }) => {
      const keys = [key(''), key(LONG_PATH), key(`${LONG_PATH}?other`), key('/empty')];
      const contents = ['base', 'long', 'other', ''];
      await pageCache.record(keys.map((at, index) => page(at, contents[index] ?? '')));
      for (const [index, at] of keys.entries()) assert.equal(await read(pageCache, at), contents[index]);
    });

    add('pages of a site with the same content share it', async ({ pageCache, bodies }) => {
      const same = 'the same on every page\n'.repeat(100);
      await pageCache.record([page(key('/1'), same), page(key('/2'), same), page(key('/3'), 'another')]);
      await pageCache.record([page(key('/4'), same)]);
      assert.equal(await bodies(), 2);
      for (const path of ['/1', '/2', '/4']) assert.equal(await read(pageCache, key(path)), same);
    });

    add('a page that has not changed is fresh again, and keeps its content', async ({ pageCache }) => {
      const at = key('/a');
      await pageCache.record([page(at, 'content', { etag: '"1"', lastModified: 'then' })]);
      const same = { kind: 'same', key: at, at: NOW + 5000, validators: { etag: '"2"', lastModified: null } } as const;
      const [entry] = await pageCache.record([same]);
      const { fetchedAt, etag, lastModified } = entry as CachedPage;
      assert.deepEqual([fetchedAt, etag, lastModified], [NOW + 5000, '"2"', 'then']);
      assert.equal(await read(pageCache, at), 'content');
      assert.deepEqual(await pageCache.record([{ ...same, key: key('/unknown') }]), [null]);
      assert.deepEqual(await pageCache.look([key('/unknown')]), [null]);
    });

    add('a page that shrinks by 90 % is flagged, and the version before it is kept', async ({ pageCache }) => {
      const at = key('/a');
      const good = 'x'.repeat(1000);
      const [first] = await pageCache.record([page(at, good)]);
      const [small] = await pageCache.record([page(at, 'y'.repeat(100), { fetchedAt: NOW + 1 })]);
      const { flagged, kept } = small as CachedPage;
      assert.equal(flagged, true);
      assert.equal(kept?.sha256, (first as CachedPage).sha256);
      assert.equal(await pageCache.content('docs', kept), good);
      assert.equal(await read(pageCache, at), 'y'.repeat(100));
      const [smaller] = await pageCache.record([page(at, 'z', { fetchedAt: NOW + 2 })]);
      assert.deepEqual((smaller as CachedPage).kept, kept);
      const [normal] = await pageCache.record([page(at, 'y'.repeat(101), { fetchedAt: NOW + 3 })]);
      assert.deepEqual([(normal as CachedPage).flagged, (normal as CachedPage).kept], [false, null]);
    });

    add('assets are addresses without content', async ({ pageCache, bodies }) => {
      const at = key('/a.pdf', { method: 'asset' });
      const asset = { kind: 'asset', key: at, url: 'https://docs.test/a.pdf', at: NOW } as const;
      const entry = { ...at, type: 'asset', url: asset.url, fetchedAt: NOW };
      assert.deepEqual(await pageCache.record([asset]), [entry]);
      assert.deepEqual(await pageCache.look([at]), [entry]);
      assert.equal(await bodies(), 0);
    });

    add('news of one page at the same time are all heard, in whatever order', async ({ pageCache }) => {
      const at = key('/a');
      await pageCache.record([page(at, 'x'.repeat(1000))]);
      const versions = [1, 2, 3, 4, 5].map((n) => page(at, 'y'.repeat(n), { fetchedAt: NOW + n }));
      await Promise.all(versions.map((version) => pageCache.record([version])));
      const [entry] = await pageCache.look([at]);
      assert.equal((entry as CachedPage).kept?.size, 1000);
      assert.deepEqual([(entry as CachedPage).size, entry?.fetchedAt], [5, NOW + 5]);
      const twice = [page(at, 'a'.repeat(500), { fetchedAt: NOW + 6 }), page(at, 'b', { fetchedAt: NOW + 7 })];
      const [, last] = await pageCache.record(twice);
      assert.equal((last as CachedPage).kept?.size, 500);
    });

    add('entries are listed page by page, of one site or of all, each once', async ({ pageCache }) => {
      const keys = ['a', 'b', 'c'].flatMap((site) =>
        Array.from({ length: 7 }, (_, n) => key(`/${n}`, { site })).concat(key('/x.zip', { site, method: 'asset' })),
      );
      await pageCache.record(
        keys.map((at) => (at.method === 'asset' ? { kind: 'asset', key: at, url: 'u', at: NOW } : page(at, at.path))),
      );
      assert.deepEqual((await listed(pageCache, null, 5)).map(nameOf).sort(), keys.map(nameOf).sort());
      const ofB = keys.filter(({ site }) => site === 'b').map(nameOf);
      assert.deepEqual((await listed(pageCache, 'b', 3)).map(nameOf).sort(), ofB.sort());
      assert.deepEqual(await listed(pageCache, 'nothing', 3), []);
      assert.deepEqual((await listed(pageCache, null, 100)).length, keys.length);
    });

    add('statistics count by site', async ({ pageCache }) => {
      assert.deepEqual(await pageCache.stats(), []);
      await pageCache.record([
        page(key('/1', { site: 'a' }), 'x'.repeat(100)),
        page(key('/2', { site: 'a' }), 'ü', { fetchedAt: NOW + 9 }),
        { kind: 'asset', key: key('/z.zip', { site: 'b', method: 'asset' }), url: 'u', at: NOW },
      ]);
      await pageCache.record([page(key('/1', { site: 'a' }), 'x', { fetchedAt: NOW + 5 })]);
      assert.deepEqual(await pageCache.stats(), [
        { site: 'a', pages: 2, assets: 0, flagged: 1, bytes: 103, oldestAt: NOW + 5, newestAt: NOW + 9 },
        { site: 'b', pages: 0, assets: 1, flagged: 0, bytes: 0, oldestAt: NOW, newestAt: NOW },
      ]);
    });

    add('a site is removed with its contents, and the others stay', async ({ pageCache, bodies }) => {
      const keys = [key('/1'), key('/2'), key('/1', { site: 'docs.2' })];
      await pageCache.record(keys.map((at) => page(at, `${at.site} ${at.path}`)));
      assert.equal(await pageCache.removeSite('docs'), 2);
      assert.equal(await bodies(), 1);
      assert.deepEqual(
        (await pageCache.look(keys)).map((entry) => entry?.site),
        [undefined, undefined, 'docs.2'],
      );
      assert.equal(await pageCache.removeSite('docs'), 0);
      await pageCache.record([page(key('/1'), 'again')]);
      assert.deepEqual((await listed(pageCache, null, 9)).map(nameOf), ['docs /1', 'docs.2 /1']);
    });
  });
}

async function listed(cache: PageCache, site: string | null, limit: number): Promise<readonly CachedEntry[]> {
  const found: CachedEntry[] = [];
  let after: ListPlace | null = null;
  do {
    const { entries, next }: Awaited<ReturnType<PageCache['list']>> = await cache.list({ site, after, limit });
    assert.equal(entries.length <= limit, true);
    found.push(...entries);
    after = next;
  } while (after !== null);
  return found;
}

function nameOf({ site, path }: PageKey): string {
  return `${site} ${path}`;
}
