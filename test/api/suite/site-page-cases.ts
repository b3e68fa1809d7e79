import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ItemPageAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer, JobPageAnswer } from '../../../src/contract/job-answers.ts';
import type { CacheKeysAnswer } from '../../../src/contract/site-answers.ts';
import type { IndexedAnswer, SiteContentAnswer, SiteLinksAnswer } from '../../../src/contract/site-page-answers.ts';
import { startDocsSite } from '../../models/docs-site.ts';
import { aboveBackend } from './above-backend.ts';
import { Client, type Start, uniqueId } from './client.ts';

/** Pages of a site: a single page immediately, the links to all pages, and a job that pulls all pages. */
export async function sitePageCases(start: Start, { knowsLanes }: { readonly knowsLanes: boolean }): Promise<void> {
  const client = await Client.of(await start({ workers: 1, allowAddresses: 'loopback' }));
  const above = aboveBackend(client);
  const docs = await startDocsSite();
  after(() => docs.close());
  const base = `${docs.origin}/guide`;
  const config = { baseUrl: base, mode: 'fetch', content: { selector: 'main', markdown: 'none' } };
  const put = async (id: string, json: object = config) => {
    const { status, text } = await client.ask('PUT', `/sites/${id}`, { json });
    assert.equal(status, 200, text);
  };
  const content = (query = '') => client.get<SiteContentAnswer>(`/sites/docs/content${query}`);
  const askedOf = async <T>(work: () => Promise<T>) => {
    const before = docs.asked.length;
    const answer = await work();
    return { answer, asked: docs.asked.slice(before) };
  };
  await put('docs');

  test('a page is read immediately, comes from the cache afterwards, and is requested again with max_age=0', async () => {
    const { answer: first, asked } = await askedOf(() => content('?path=/a'));
    const { fetched_at: at, markdown, ...rest } = first;
    assert.deepEqual(rest, {
      ...{ site_id: 'docs', path: '/a', url: `${base}/a`, title: '/guide/a', source: 'html' },
      ...{ not_modified: false, flagged: false },
    });
    assert.match(markdown, /^# \/guide\/a\n\nSome words/);
    // On a busy machine a lease may run out, and the page may be requested twice.
    assert.deepEqual([...new Set(asked)], ['/robots.txt', '/guide/a']);
    const again = await askedOf(() => content('?path=a'));
    assert.deepEqual([again.answer, again.asked], [{ ...first, source: 'cache' }, []]);
    const forced = await askedOf(() => content('?path=/a&max_age=0'));
    assert.deepEqual([forced.answer.source, forced.asked.includes('/guide/a')], ['html', true]);
    assert.equal(forced.answer.fetched_at >= at, true);
    assert.equal((await content()).path, '', 'the default path');
    const { jobs } = await client.get<JobPageAnswer>('/jobs');
    assert.deepEqual(
      jobs.filter(({ status }) => status === 'in_progress'),
      [],
      'no errand is left at work',
    );
  });

  above('a page that cannot be read is a problem that says why', async () => {
    const path = (query: string) => `/sites/docs/content?${query}`;
    await client.refused(404, 'site_not_found', 'GET', '/sites/nothing/content');
    await client.refused(404, 'page_not_found', 'GET', path('path=/nothing'));
    const secret = await client.refused(424, 'page_not_read', 'GET', path('path=/secret'));
    assert.match(secret.detail, /robots\.txt/);
    for (const bad of ['path=../other', 'path=https://elsewhere.test/', 'path=/manual.pdf', 'max_age=-1']) {
      await client.refused(422, 'invalid_request', 'GET', path(bad));
    }
    const broken = await client.refused(424, 'page_not_read', 'GET', path('path=/broken'));
    assert.match(broken.detail, /500/);
  });

  // Where workers are started by themselves, whether there are any is not known, and the request waits.
  if (knowsLanes) {
    test('a page of a site that needs a browser needs workers that have one', async () => {
      await put('browser', { baseUrl: `${docs.origin}/app`, mode: 'browser' });
      const answer = await client.ask('GET', '/sites/browser/content');
      assert.deepEqual([answer.status, (answer.json as { code: string }).code], [503, 'no_workers'], answer.text);
    });
  }

  above('the links of a site are those of its start pages, sitemaps and llms.txt, and are cached', async () => {
    const links = '/sites/docs/links?delay_ms=0';
    const { answer: first, asked } = await askedOf(() => client.get<SiteLinksAnswer>(links));
    const paths = first.links.map((url) => url.slice(base.length).replace(/\/$/, ''));
    assert.deepEqual([...paths].sort(), [...docs.pages, '/secret'].sort());
    assert.deepEqual([first.count, first.complete], [docs.pages.length + 1, true]);
    assert.equal(asked.includes('/guide/mapped'), false, 'what only a sitemap names is not read for its links');
    const again = await askedOf(() => client.get<SiteLinksAnswer>(links));
    assert.deepEqual([again.answer, again.asked], [first, []]);
    await put('narrow', {
      ...config,
      baseUrl: `${base}/deep`,
      links: { startUrls: ['/1'], maxDepth: 1, pattern: 'deep' },
    });
    const narrow = await client.get<SiteLinksAnswer>('/sites/narrow/links?delay_ms=0');
    assert.deepEqual(narrow.links, [`${base}/deep/1`, `${base}/deep/2`]);
    await put('away', { ...config, baseUrl: 'http://127.0.0.1:9' });
    await client.refused(424, 'page_not_read', 'GET', '/sites/away/links?delay_ms=0');
  });

  test('a whole site is pulled as a job: every page once, assets as links, and the status says what was found', async () => {
    await client.ask('DELETE', '/cache/docs');
    const body = { job_id: uniqueId('index'), delay_ms: 0, labels: { team: 'docs' } };
    const created = await client.ask('POST', '/sites/docs/index', {
      json: body,
      headers: { 'idempotency-key': body.job_id },
    });
    assert.equal(created.status, 201, created.text);
    const { job_id: jobId, ...rest } = created.json as IndexedAnswer;
    assert.deepEqual(rest, { status: 'in_progress', site_id: 'docs', seeded_count: 3 });
    assert.equal((await client.ended(jobId)).status, 'completed');
    const items = await client.get<ItemPageAnswer>(`/jobs/${jobId}/items?limit=100`);
    const pages = items.items.filter(({ input }) => input['role'] === 'follow');
    const pulled = pages.filter(({ status }) => status === 'success').map(({ input }) => input['path']);
    assert.deepEqual([...pulled].sort(), [...docs.pages].sort());
    const skipped = pages.filter(({ status }) => status === 'skipped');
    assert.deepEqual(
      skipped.map(({ input, skip_reason }) => [input['path'], skip_reason]),
      [['/secret', 'robots']],
    );
    const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual(
      [job.progress.failed, job.discovery?.added],
      [0, pages.length - 1 + 2],
      JSON.stringify(job.discovery),
    );
    const cached = await client.get<CacheKeysAnswer>('/cache/keys?site=docs&limit=1000');
    const assets = cached.entries.filter(({ type }) => type === 'asset').map(({ url }) => url);
    assert.deepEqual(assets, [`${base}/manual.pdf`]);
    const same = await client.ask('POST', '/sites/docs/index', {
      json: body,
      headers: { 'idempotency-key': body.job_id },
    });
    assert.deepEqual([same.status, (same.json as IndexedAnswer).job_id], [200, jobId]);
    await client.refused(409, 'job_exists', 'POST', '/sites/docs/index', { json: body });
  });

  test('what is cached of a site, and the pages of a job, come as archives', async () => {
    const { jobs } = await client.get<JobPageAnswer>('/jobs?status=completed');
    const jobId = jobs.find(({ job_name }) => job_name === 'Index of docs')?.job_id;
    for (const path of ['/sites/docs/download', `/jobs/${jobId}/export?format=zip`]) {
      const { status, headers, text } = await client.ask('GET', path);
      assert.deepEqual([status, headers.get('content-type'), text.slice(0, 2)], [200, 'application/zip', 'PK'], path);
      for (const name of ['/mapped.md', '/deep/1.md', 'manifest.json'])
        assert.ok(text.includes(name), `${path} ${name}`);
    }
    await client.refused(404, 'site_not_found', 'GET', '/sites/nothing/download');
  });

  test('a second pull of the site requests no page, and finds the same ones', async () => {
    const { answer, asked } = await askedOf(async () => {
      const { job_id: jobId } = await client.post<IndexedAnswer>('/sites/docs/index', { delay_ms: 0 });
      await client.ended(jobId);
      return await client.get<JobAnswer>(`/jobs/${jobId}`);
    });
    assert.equal(answer.progress.skipped, docs.pages.length + 1);
    assert.deepEqual(
      asked.filter((url) => url.startsWith('/guide/') && url !== '/guide/llms.txt'),
      [],
    );
  });

  above('discovery limits a pull of a site, and what is left out is counted', async () => {
    await client.ask('DELETE', '/cache/docs');
    const policy = { discovery: { max_items: 2 } };
    const { job_id: jobId } = await client.post<IndexedAnswer>('/sites/docs/index', {
      delay_ms: 0,
      execution_policy: policy,
    });
    await client.ended(jobId);
    const { discovery } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([discovery?.added, (discovery?.over_limit ?? 0) > 0], [2, true]);
    await client.refused(404, 'site_not_found', 'POST', '/sites/nothing/index');
    await client.refused(422, 'invalid_request', 'POST', '/sites/docs/index', { json: { unknown: 'auto' } });
  });
}
