import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BulkFields, bulkFieldsSchema, type UrlFormat } from '../../src/contract/bulk-request.ts';
import { bulkItems } from '../../src/controller/jobs/bulk/bulk-items.ts';
import { isBulk, presentBulkCreated } from '../../src/controller/jobs/bulk/present-bulk.ts';
import { readBulkBody } from '../../src/controller/jobs/bulk/read-bulk-body.ts';
import { type BulkDeps, submitBulk } from '../../src/controller/jobs/bulk/submit-bulk.ts';
import { UrlSpool } from '../../src/controller/jobs/bulk/url-spool.ts';
import type { NewItem } from '../../src/domain/item.ts';
import { siteSchema } from '../../src/domain/site.ts';
import { batchSizes, calculateBatches } from '../../src/domain/site-batches.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { addBuiltIns } from '../../src/scraping/built-in-scrapers.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { allItems } from '../contract/ledger/hands.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { deskWith } from './intake-desk.ts';

const digest = (text: string) => hash('sha256', text);
const TINY = { urlsPerChunk: 3, heldChunks: 2 };

async function desk(ledger: Ledger = openMemoryLedger(), mode: 'fetch' | 'auto' | 'browser' = 'fetch') {
  const { resultStore: store, sites, pageCache } = openMemorySiteData();
  for (const id of ['a', 'b', 'c']) {
    const config = siteSchema.parse({ baseUrl: `https://${id}.test/docs`, mode });
    await sites.set({ id, config, source: 'api', changedAt: 1, version: '1' });
  }
  const catalog = openFileCatalog(addBuiltIns(new ScraperRegistry()));
  const deps: BulkDeps = {
    ...{ ...deskWith(ledger), catalog, store, sites, pageCache, faults: NO_FAULTS },
    servedLanes: () => new Set(['http', 'browser'] as const),
  };
  const submit = async (urls: readonly string[], given: object = {}, key: string | null = null) => {
    const spool = new UrlSpool({ ledger, digest }, TINY);
    for (const url of urls) await spool.add(url);
    await spool.end();
    const fields: BulkFields = bulkFieldsSchema.parse(given);
    const answer = await submitBulk(deps, spool, { fields, given: { ...given }, idempotencyKey: key });
    await spool.drop();
    return answer;
  };
  const created = async (urls: readonly string[], given: object = {}) => {
    const answer = await submit(urls, given);
    assert.ok(answer.kind === 'created' && isBulk(answer.job), JSON.stringify(answer));
    return answer.job;
  };
  return { ledger, deps, store, pageCache, submit, created };
}

const pagesOf = (site: string, count: number) =>
  Array.from({ length: count }, (_, at) => `https://${site}.test/docs/p${at}`);

test('the pages of a list become items, batch by batch and site by site; assets are kept as links', async () => {
  const { ledger, created, store, pageCache } = await desk();
  const urls = [
    ...['https://b.test/docs/1', 'https://a.test/docs/1', 'https://b.test/docs/2?x=1#top', 'https://a.test/docs/1'],
    ...['https://c.test/docs/m.pdf', 'https://nowhere.test/x.pdf', 'https://b.test/docs/3'],
  ];
  const job = await created(urls, { max_containers: 3, delay_ms: 5, job_id: 'pull', labels: { who: 'me' } });
  assert.deepEqual(presentBulkCreated(job, []), {
    job_id: 'pull',
    status: 'in_progress',
    batches: 3,
    input: { total_urls: 7, to_scrape: 5, assets: 1, unknown: 1, sites: ['b', 'a'] },
  });
  const items = await allItems(ledger, 'pull');
  assert.deepEqual(
    items.map(({ itemId, input, group }) => [itemId, group, input]),
    [
      ['https://b.test/docs/1', 'b/0', { url: 'https://b.test/docs/1', site: 'b', path: '/1' }],
      ['https://b.test/docs/2?x=1', 'b/0', { url: 'https://b.test/docs/2?x=1', site: 'b', path: '/2?x=1' }],
      ['https://b.test/docs/3', 'b/1', { url: 'https://b.test/docs/3', site: 'b', path: '/3' }],
      ['https://a.test/docs/1', 'a/0', { url: 'https://a.test/docs/1', site: 'a', path: '/1' }],
      ['https://a.test/docs/1 (2)', 'a/0', { url: 'https://a.test/docs/1', site: 'a', path: '/1' }],
    ].map(([id, group, input]) => {
      const batch = Number(String(group).split('/')[1]);
      return [id, group, { ...(input as object), batch, max_age: 604_800, delay_ms: 5 }];
    }),
  );
  assert.deepEqual([job.lane, job.labels, job.policy.throttling.max_concurrent_workers], ['http', { who: 'me' }, 3]);
  const [entry] = await pageCache.look([{ site: 'c', path: '/m.pdf', method: 'asset' }]);
  assert.deepEqual([entry?.type, entry?.url], ['asset', 'https://c.test/docs/m.pdf']);
  const links = await store.get(job.bulk.links ?? '');
  assert.deepEqual(
    Buffer.from(links ?? '')
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      { type: 'asset', url: 'https://c.test/docs/m.pdf', site: 'c', path: '/m.pdf' },
      { type: 'unknown', url: 'https://nowhere.test/x.pdf' },
    ],
  );
});

test('a list without pages makes a completed job that can be looked up, and keeps its assets', async () => {
  const { ledger, submit, pageCache } = await desk();
  const answer = await submit(['https://a.test/docs/m.zip', 'https://nowhere.test/']);
  assert.ok(answer.kind === 'created' && isBulk(answer.job));
  assert.deepEqual(presentBulkCreated(answer.job, []), {
    job_id: answer.job.jobId,
    status: 'completed',
    message: 'No scrapeable URLs',
    input: { total_urls: 2, to_scrape: 0, assets: 1, unknown: 1, sites: [] },
  });
  assert.equal((await ledger.job(answer.job.jobId))?.status, 'completed');
  assert.equal((await pageCache.stats())[0]?.assets, 1);
});

test('an empty list is refused', async () => {
  const { submit } = await desk();
  assert.deepEqual(await submit([]), { kind: 'no-urls' });
});

test('with unknown: auto, URLs of no site are pulled by their origin', async () => {
  const { created } = await desk();
  const { bulk } = await created(
    ['https://x.test/1', 'https://a.test/docs/1', 'https://x.test/2', 'not a url at all'],
    {
      unknown: 'auto',
    },
  );
  assert.deepEqual(
    bulk.sites.map(({ site, pages }) => [site, pages]),
    [
      ['https~x.test', 2],
      ['a', 1],
    ],
  );
  assert.equal(bulk.unknown, 1);
});

test('a request that is sent again with its key creates no second job', async () => {
  const { submit } = await desk();
  const urls = pagesOf('a', 3);
  const first = await submit(urls, {}, 'key');
  const again = await submit(urls, {}, 'key');
  assert.deepEqual([first.kind, again.kind], ['created', 'replayed']);
  assert.equal((await submit(pagesOf('a', 2), {}, 'key')).kind, 'key-reused');
  assert.equal((await submit(urls, { job_id: 'mine' })).kind, 'created');
  assert.equal((await submit(urls, { job_id: 'mine' })).kind, 'exists');
});

test('a job whose pages may need a browser runs where browsers are', async () => {
  const lanes = [];
  for (const mode of ['fetch', 'auto', 'browser'] as const) {
    const { deps, created, submit } = await desk(openMemoryLedger(), mode);
    lanes.push((await created(pagesOf('a', 1))).lane);
    Object.assign(deps, { servedLanes: () => new Set(['http']) });
    const alone = await submit(pagesOf('a', 1));
    lanes.push(alone.kind === 'created' && alone.job.lane);
  }
  assert.deepEqual(lanes, ['http', 'http', 'browser', 'http', 'browser', 'browser']);
});

test('the breaker lets every batch begin, unless the policy says otherwise', async () => {
  const { created } = await desk();
  const urls = ['a', 'b', 'c'].flatMap((site) => pagesOf(site, 200));
  const { policy } = await created(urls);
  assert.deepEqual([policy.throttling.max_concurrent_workers, policy.circuit_breaker.min_requests], [100, 600]);
  const own = { throttling: { max_concurrent_workers: 7 }, circuit_breaker: { min_requests: 10 } };
  const { policy: narrow } = await created(urls, { execution_policy: own });
  assert.deepEqual([narrow.throttling.max_concurrent_workers, narrow.circuit_breaker.min_requests], [7, 10]);
});

test('a list that is too long for memory is cut the same way whether it is stored in one step or through a draft', async (t) => {
  const urls = Array.from({ length: 10_100 }, (_, at) => `https://${'abc'[at % 3]}.test/docs/p${at >> 1}`);
  const { ledger, created } = await desk(openIn(t, dataDirOf(t)).ledger);
  const job = await created(urls, { max_containers: 60 });
  const sizes = new Map<string, number>();
  const order: string[] = [];
  for (const { group } of await allItems(ledger, job.jobId)) {
    sizes.set(group ?? '', (sizes.get(group ?? '') ?? 0) + 1);
    if (order.at(-1) !== group) order.push(group ?? '');
  }
  const groups = job.bulk.sites.flatMap((site) => batchSizes(site).map((_, batch) => `${site.site}/${batch}`));
  assert.deepEqual(
    order,
    [...groups, ...groups],
    'batches of 169 pages go out in two pieces, all the first ones first',
  );
  assert.deepEqual([...sizes.values()], job.bulk.sites.flatMap(batchSizes));
});

test('items are the same regardless of how many sites are gathered at once', async () => {
  const list = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(5)), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(list, fc.integer({ min: 1, max: 12 }), async (entries, most) => {
      const urls = entries.map(([site, page]) => `${site}${page}`);
      const spool = new UrlSpool({ ledger: openMemoryLedger(), digest }, TINY);
      for (const url of urls) await spool.add(url);
      await spool.end();
      const counts = Map.groupBy(entries, ([site]) => site);
      const sites = calculateBatches(
        Array.from(counts, ([site, pages]) => ({ site, pages: pages.length })),
        6,
      );
      const pageOf = (url: string) => ({ site: url.slice(0, 1), path: url.slice(1), url });
      const made = async (gathered: number) => {
        const items: NewItem[] = [];
        for await (const chunk of bulkItems(spool, sites, { pageOf, settings: {}, digest }, gathered))
          items.push(...chunk);
        return items;
      };
      const items = await made(1000);
      assert.deepEqual(await made(most), items);
      assert.equal(new Set(items.map(({ itemId }) => itemId)).size, urls.length);
      assert.deepEqual(items.map(({ input }) => input['url']).sort(), urls.toSorted());
    }),
    { numRuns: 30 },
  );
});

test('lists are read in every format, and fields may precede or follow the URLs', async () => {
  const read = async (body: string, format: UrlFormat, pieces = 7) => {
    const spool = new UrlSpool({ ledger: openMemoryLedger(), digest }, TINY);
    const bytes = Buffer.from(body);
    async function* sent() {
      for (let at = 0; at < bytes.length; at += pieces) yield bytes.subarray(at, at + pieces);
    }
    const answer = await readBulkBody(
      { spool, clock: { turn: async () => {} } },
      sent(),
      format,
      new AbortController().signal,
    );
    const urls = [];
    for await (const chunk of spool.read()) urls.push(...chunk);
    return [urls, answer];
  };
  const both = ['https://a.test/1', 'https://a.test/2'];
  const plain = { kind: 'read', fields: null };
  assert.deepEqual(await read(`\ufeff${both[0]}\r\n\n# comment\n ${both[1]} `, 'lines'), [both, plain]);
  assert.deepEqual(await read(`title,url\nx,${both[0]}\n"a, b",${both[1]}\n`, 'csv'), [both, plain]);
  assert.deepEqual(await read(JSON.stringify([both[0], { url: both[1] }]), 'json'), [both, plain]);
  assert.deepEqual(await read(`"${both[0]}"\n{"url":"${both[1]}"}\n`, 'jsonl'), [both, plain]);
  const request = `{"max_age":5,"urls":${JSON.stringify(both)},"labels":{"a":"b"}}`;
  assert.deepEqual(await read(request, 'json'), [both, { kind: 'read', fields: { max_age: 5, labels: { a: 'b' } } }]);
  const [, bad] = await read('["https://a.test/1",5]', 'json');
  assert.deepEqual(bad, {
    kind: 'bad',
    problems: [{ path: 'urls.1', message: 'must be a URL in quotes, or an object with a url' }],
  });
  const [, broken] = await read('{"urls":["x"', 'json');
  assert.deepEqual((broken as { kind: string }).kind, 'malformed');
  const [, noColumn] = await read('a,b\n1,2\n', 'csv');
  assert.deepEqual(noColumn, { kind: 'malformed', message: 'it has no column url' });
});
