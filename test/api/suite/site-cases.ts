import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CacheKeysAnswer,
  CacheStatsAnswer,
  ErrorsAnswer,
  SiteAnswer,
  SitesAnswer,
} from '../../../src/contract/site-answers.ts';
import type { PageMethod } from '../../../src/domain/cached-page.ts';
import { siteSchema } from '../../../src/domain/site.ts';
import type { SiteTools } from '../../../src/main/site-data.ts';
import { aboveBackend } from './above-backend.ts';
import { Client, type RunningService, type ServiceSettings } from './client.ts';

/** A service, and what its workers would put into its page cache and its error tracker. */
type StartWithSites = (settings: ServiceSettings) => Promise<RunningService & { readonly engine: SiteTools }>;

/** Documentation sites: their configuration, what is cached of them, and their failures. */
export async function siteCases(start: StartWithSites): Promise<void> {
  const service = await start({ workers: 0 });
  const client = await Client.of(service);
  const above = aboveBackend(client);
  const { pageCache, pathErrors } = service.engine;
  const put = (id: string, json: object, query = '') => client.ask('PUT', `/sites/${id}${query}`, { json });

  test('a site is added with defaults, shown, listed, replaced and removed', async () => {
    await client.refused(404, 'site_not_found', 'GET', '/sites/example');
    const added = (await put('example', { baseUrl: 'HTTPS://docs.Example.com/guide/' })).json as SiteAnswer;
    assert.deepEqual(added.config, siteSchema.parse({ baseUrl: 'https://docs.example.com/guide' }));
    assert.deepEqual([added.site_id, added.source], ['example', 'api']);
    assert.deepEqual(await client.get<SiteAnswer>('/sites/example'), added);
    await put('another', { baseUrl: 'https://another.example.com' });
    const { sites } = await client.get<SitesAnswer>('/sites');
    assert.deepEqual(
      sites.map(({ site_id }) => site_id),
      ['another', 'example'],
    );
    const config = { baseUrl: 'https://docs.example.com/guide', name: 'Example', content: { selector: 'main' } };
    await client.refused(409, 'site_changed', 'PUT', '/sites/example?version=none', { json: config });
    const changed = (await put('example', config, `?version=${added.version}`)).json as SiteAnswer;
    assert.deepEqual([changed.config.name, changed.config.content.selector], ['Example', 'main']);
    await client.refused(409, 'site_changed', 'PUT', `/sites/example?version=${added.version}`, { json: config });
    const gone = { site_id: 'example', removed: true, restored: false };
    assert.deepEqual((await client.ask('DELETE', '/sites/example')).json, gone);
    assert.deepEqual((await client.ask('DELETE', '/sites/example')).json, { ...gone, removed: false });
    await client.ask('DELETE', '/sites/another');
  });

  above('a site that cannot be used is refused, with the field that is wrong', async () => {
    const baseUrl = 'https://wrong.example.com';
    await put('taken', { baseUrl: 'https://taken.example.com/x' });
    for (const [json, field] of [
      [{}, 'baseUrl'],
      [{ baseUrl: 'mailto:x@y' }, 'baseUrl'],
      [{ baseUrl: 'https://TAKEN.example.com//x/' }, 'baseUrl'],
      [{ baseUrl, mod: 'fetch' }, 'mod'],
      [{ baseUrl, links: { maxDepth: 'deep' } }, 'links.maxDepth'],
      [{ baseUrl, content: { method: 'click_copy' } }, 'content.selector'],
    ] as const) {
      const { errors } = await client.refused(422, 'invalid_request', 'PUT', '/sites/wrong', { json });
      assert.deepEqual(
        errors?.map(({ path }) => path),
        [field],
        JSON.stringify(json),
      );
    }
    await client.refused(422, 'invalid_request', 'PUT', '/sites/Wrong~', { json: { baseUrl } });
    await client.refused(404, 'site_not_found', 'GET', '/sites/wrong');
    await client.ask('DELETE', '/sites/taken');
  });

  test('what is cached is counted, listed page by page and removed by site', async () => {
    const now = Date.now();
    const at = new Date(now).toISOString();
    const key = (site: string, path: string, method: PageMethod = 'inner_html') => ({ site, path, method });
    const page = (site: string, path: string, content: string, fetchedAt = now) => {
      const url = `https://${site}.test${path}`;
      const more = { title: 'A title', etag: '"1"', lastModified: null, fetchedAt };
      return { kind: 'content', key: key(site, path), url, content, ...more } as const;
    };
    await pageCache.record([page('one', '/a?b=1', 'x'.repeat(100)), page('one', '/c', 'text')]);
    await pageCache.record([page('one', '/a?b=1', 'x', now + 1)]);
    const asset = {
      kind: 'asset',
      key: key('https~two.test', '/f.pdf', 'asset'),
      url: 'https://two.test/f.pdf',
    } as const;
    await pageCache.record([{ ...asset, at: now }]);
    const counts = { pages: 2, assets: 0, flagged: 1, bytes: 105 };
    const later = new Date(now + 1).toISOString();
    assert.deepEqual(await client.get<CacheStatsAnswer>('/cache/stats'), {
      ...{ pages: 2, assets: 1, flagged: 1, bytes: 105 },
      sites: [
        { site_id: 'https~two.test', pages: 0, assets: 1, flagged: 0, bytes: 0, oldest_at: at, newest_at: at },
        { site_id: 'one', ...counts, oldest_at: at, newest_at: later },
      ],
    });
    const first = await client.get<CacheKeysAnswer>('/cache/keys?limit=2');
    const second = await client.get<CacheKeysAnswer>(`/cache/keys?limit=2&cursor=${first.next_cursor}`);
    const entries = [...first.entries, ...second.entries];
    assert.deepEqual(
      entries.map((entry) => entry.key),
      ['https~two.test:/f.pdf:asset', 'one:/a?b=1', 'one:/c'],
    );
    assert.equal(second.next_cursor, null);
    assert.deepEqual(entries[1], {
      ...{ key: 'one:/a?b=1', site_id: 'one', path: '/a?b=1', method: 'inner_html', type: 'page' },
      ...{ url: 'https://one.test/a?b=1', fetched_at: later, size: 1, title: 'A title', etag: '"1"' },
      ...{ last_modified: null, flagged: true },
    });
    const { entries: ofOne } = await client.get<CacheKeysAnswer>('/cache/keys?site=one');
    assert.equal(ofOne.length, 2);
    await client.refused(422, 'invalid_request', 'GET', `/cache/keys?site=one&cursor=${first.next_cursor}`);
    assert.deepEqual((await client.ask('DELETE', '/cache/one')).json, { site_id: 'one', removed: 2 });
    assert.deepEqual((await client.ask('DELETE', '/cache/https~two.test')).json, {
      ...{ site_id: 'https~two.test', removed: 1 },
    });
    assert.deepEqual((await client.get<CacheKeysAnswer>('/cache/keys')).entries, []);
  });

  test('failures are listed with the time until which a page is skipped, and forgotten on request', async () => {
    const now = Date.now();
    const failed = (site: string, path: string) =>
      ({ kind: 'failed', page: { site, path }, error: 'status 500', at: now }) as const;
    await pathErrors.note([failed('one', '/a'), failed('one', '/b'), failed('one', '/a'), failed('two', '')]);
    await pathErrors.note([failed('one', '/a')]);
    const { errors } = await client.get<ErrorsAnswer>('/errors/one');
    const at = new Date(now).toISOString();
    const until = new Date(now + 86_400_000).toISOString();
    const common = { site_id: 'one', last_error: 'status 500', failed_at: at };
    assert.deepEqual(errors, [
      { ...common, path: '/a', count: 3, skipped_until: until },
      { ...common, path: '/b', count: 1, skipped_until: null },
    ]);
    const first = await client.get<ErrorsAnswer>('/errors?limit=2');
    const second = await client.get<ErrorsAnswer>(`/errors?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual([first.errors, second.errors.map(({ site_id }) => site_id)], [errors, ['two']]);
    assert.deepEqual((await client.ask('DELETE', '/errors/one')).json, { removed: 2 });
    await pathErrors.note([failed('three', '/x')]);
    assert.deepEqual((await client.ask('DELETE', '/errors')).json, { removed: 2 });
    assert.deepEqual((await client.get<ErrorsAnswer>('/errors')).errors, []);
  });
}
