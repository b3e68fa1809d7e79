import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import type { BulkCreatedAnswer, BulkJobAnswer } from '../../src/contract/bulk-answers.ts';
import type { ResultsAnswer } from '../../src/contract/result-answers.ts';
import type { Engine } from '../../src/main/engine.ts';
import { sized } from '../support/sized.ts';
import { tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const SITES = 5;
/** URLs per site; every twentieth is an asset. */
const URLS = sized({ quick: 40, slow: 200 });
const ASSETS = URLS / 20;
const PAGES = URLS - ASSETS;
const CONTAINERS = sized({ quick: 20, slow: 100 });
const DELAY_MS = sized({ quick: 60, slow: 300 });

interface Seen {
  readonly path: string;
  readonly at: number;
  readonly status: number;
}

/** A site whose pages have validators, and which remembers what it was asked for. */
async function openModel(id: string) {
  const seen: Seen[] = [];
  const versions = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    // It is asked for by each worker process, once.
    if (path === '/robots.txt') {
      response.writeHead(404).end();
      return;
    }
    const version = versions.get(path) ?? 1;
    const etag = `"${version}"`;
    const isSame = request.headers['if-none-match'] === etag;
    seen.push({ path, at: performance.now(), status: isSame ? 304 : 200 });
    response.writeHead(isSame ? 304 : 200, { etag, 'content-type': 'text/html; charset=utf-8' });
    response.end(isSame ? '' : `<nav>menu</nav><main><h1>${id}${path}</h1><p>Version ${version}.</p></main>`);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { id, seen, versions, origin: `http://127.0.0.1:${address.port}` };
}

type Model = Awaited<ReturnType<typeof openModel>>;

async function call<T>(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: T }> {
  const sent =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(url + path, { method, ...sent });
  return { status: answer.status, json: (await answer.json()) as T };
}

/** The rows of an export. */
async function rowsOf(url: string, jobId: string) {
  const answer = await fetch(`${url}/jobs/${jobId}/export`);
  const text = await answer.text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function urlsOf({ origin }: Model): string[] {
  return Array.from({ length: URLS }, (_, at) => `${origin}/p${at}${at % 20 === 19 ? '.pdf' : ''}`);
}

/** Which batch each page belongs to: `site0/3` by `site0/p12`. */
async function batchesOf(engine: Engine, jobId: string): Promise<ReadonlyMap<string, string>> {
  const items = await engine.ledger.itemsAt(jobId, 0, 10_000);
  return new Map(items.map(({ input, group }) => [`${input['site']}${input['path']}`, group ?? '']));
}

/** The shortest time between two requests of one batch, whatever they were for. */
function shortestGap(models: readonly Model[], batches: ReadonlyMap<string, string>): number {
  const byBatch = Map.groupBy(
    models.flatMap(({ id, seen }) => seen.map(({ path, at }) => ({ at, page: id + path.replace(/\.md$/, '') }))),
    ({ page }) => batches.get(page) ?? assert.fail(`${page} is in no batch`),
  );
  const gaps = [...byBatch.values()].flatMap((requests) => {
    const times = requests.map(({ at }) => at).sort((a, b) => a - b);
    return times.slice(1).map((at, index) => at - (times[index] ?? 0));
  });
  return Math.min(...gaps);
}

test('a list over five sites is pulled politely, completely and once; a second pull asks only for what is too old', async () => {
  const models = await Promise.all(Array.from({ length: SITES }, (_, at) => openModel(`site${at}`)));
  const overrides = { dataDir: tempDataDir(), workers: 2, slots: 64, allowAddresses: 'loopback' };
  await withEngine(overrides, async (engine, pids) => {
    const url = await engine.listen(loadConfig({ port: 0, logLevel: 'silent' }));
    for (const { id, origin } of models) {
      const config = { baseUrl: origin, mode: 'fetch', content: { markdown: 'none' } };
      assert.ok((await call(url, 'PUT', `/sites/${id}`, config)).status < 300);
    }
    const urls = Array.from({ length: URLS }, (_, at) => models.map((model) => urlsOf(model)[at] ?? '')).flat();
    const input = {
      ...{ total_urls: SITES * URLS, to_scrape: SITES * PAGES, assets: SITES * ASSETS, unknown: 0 },
      sites: models.map(({ id }) => id),
    };
    const pull = (jobId: string, more: object = {}) =>
      call<BulkCreatedAnswer>(url, 'POST', '/jobs/bulk', {
        ...{ urls, job_id: jobId, delay_ms: DELAY_MS, max_containers: CONTAINERS, ...more },
      });

    const created = await pull('first');
    assert.deepEqual(created, {
      status: 201,
      json: { job_id: 'first', status: 'in_progress', batches: CONTAINERS, input },
    });
    for (const [kill, share] of [0.1, 0.4].entries()) {
      await untilJob(engine, 'first', ({ counts }) => counts.success >= SITES * PAGES * share);
      process.kill(pids()[kill % pids().length] ?? 0, 'SIGKILL');
    }
    await untilFinished(engine, 'first');

    const { json: job } = await call<BulkJobAnswer>(url, 'GET', '/jobs/first');
    assert.deepEqual(
      { job_id: job.job_id, status: job.status, progress_pct: job.progress_pct, input: job.input },
      { job_id: 'first', status: 'completed', progress_pct: 100, input },
    );
    // What a killed worker had read, and not settled, was read by this job all the same.
    assert.deepEqual(
      { progress: job.progress, workers: job.workers, errors: job.errors, failures: job.failures },
      {
        progress: { completed: SITES * PAGES, success: SITES * PAGES, skipped: 0, failed: 0 },
        workers: { total: CONTAINERS, completed: CONTAINERS },
        ...{ errors: [], failures: [] },
      },
    );
    assert.equal(Number(job.elapsed_seconds.toFixed(1)), job.elapsed_seconds);
    const rows = await rowsOf(url, 'first');
    assert.equal(rows.length, SITES * PAGES);
    for (const { input: asked, data } of rows) {
      assert.equal(data.markdown, `# ${asked.site}${asked.path}\n\nVersion 1.\n`);
    }
    assert.equal(new Set(rows.map(({ item_id }) => item_id)).size, SITES * PAGES);
    const asked = models.flatMap(({ id, seen }) => seen.map(({ path }) => id + path));
    assert.equal(new Set(asked).size, SITES * PAGES, 'every page, and no asset');
    // A page whose worker was killed between its answer and its record is asked for again; every slot may have had one.
    assert.ok(asked.length - new Set(asked).size <= 2 * overrides.slots, `${asked.length} requests`);
    const batches = await batchesOf(engine, 'first');
    assert.equal(new Set(batches.values()).size, CONTAINERS);
    // Timers may fire a millisecond early, and the model may notice a request a moment late.
    assert.ok(shortestGap(models, batches) >= DELAY_MS * 0.9, `${shortestGap(models, batches)} ms`);

    const { json: cache } = await call<{ entries: { type: string; url: string }[] }>(
      url,
      'GET',
      '/cache/keys?limit=1000',
    );
    const assets = cache.entries.filter(({ type }) => type === 'asset').map((key) => key.url);
    assert.deepEqual(assets.sort(), urls.filter((each) => each.endsWith('.pdf')).sort());

    const links = await fetch(`${url}/jobs/first/links`);
    assert.deepEqual(
      [
        links.headers.get('content-type'),
        (await links.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ],
      [
        'application/x-ndjson',
        urls
          .filter((each) => each.endsWith('.pdf'))
          .map((asset) => {
            const { id = '', origin = '' } = models.find((model) => asset.startsWith(`${model.origin}/`)) ?? {};
            return { type: 'asset', url: asset, site: id, path: asset.slice(origin.length) };
          }),
      ],
    );
    const { json: results } = await call<ResultsAnswer>(url, 'GET', '/jobs/first/results');
    assert.deepEqual(results.links, { assets: SITES * ASSETS, unknown: 0, href: '/jobs/first/links' });

    const { json: list } = await call<{ jobs: { sites: string[]; progress: string }[] }>(url, 'GET', '/jobs?limit=1');
    assert.deepEqual(
      list.jobs.map(({ sites, progress }) => ({ sites, progress })),
      [{ sites: input.sites, progress: `${SITES * PAGES}/${SITES * PAGES}` }],
    );

    for (const { seen } of models) seen.length = 0;
    await pull('second');
    const { counts } = await untilFinished(engine, 'second');
    assert.deepEqual([counts.skipped, models.flatMap(({ seen }) => seen)], [SITES * PAGES, []]);

    for (const { versions } of models) for (const page of [1, 2]) versions.set(`/p${page}`, 2);
    await pull('third', { max_age: 0, delay_ms: 0 });
    await untilFinished(engine, 'third');
    const statuses = Map.groupBy(
      models.flatMap(({ seen }) => seen),
      ({ status }) => status,
    );
    assert.deepEqual([statuses.get(304)?.length, statuses.get(200)?.length], [SITES * (PAGES - 2), SITES * 2]);
    const changed = (await rowsOf(url, 'third')).filter(({ data }) => data.markdown.includes('Version 2.'));
    assert.equal(changed.length, SITES * 2);
  });
});

test('lists without URLs are refused, and those without pages are complete at once', async () => {
  const model = await openModel('docs');
  await withEngine({ dataDir: tempDataDir(), workers: 1, allowAddresses: 'loopback' }, async (engine) => {
    const url = await engine.listen(loadConfig({ port: 0, logLevel: 'silent' }));
    const none = await call<{ code: string; detail: string }>(url, 'POST', '/jobs/bulk', { urls: [] });
    assert.deepEqual([none.status, none.json.detail], [400, 'No URLs provided']);
    await call(url, 'PUT', '/sites/docs', { baseUrl: model.origin, mode: 'fetch', content: { markdown: 'none' } });
    const urls = [`${model.origin}/a.zip`, 'https://nowhere.test/'];
    const { status, json } = await call<BulkCreatedAnswer>(url, 'POST', '/jobs/bulk', { urls });
    const input = { total_urls: 2, to_scrape: 0, assets: 1, unknown: 1, sites: [] };
    assert.deepEqual(
      [status, json],
      [200, { job_id: json.job_id, status: 'completed', message: 'No scrapeable URLs', input }],
    );
    await untilFinished(engine, json.job_id);
    const { json: job } = await call<BulkJobAnswer>(url, 'GET', `/jobs/${json.job_id}`);
    assert.deepEqual(
      [job.status, job.progress_pct, job.input, job.workers],
      [...['completed', 100, input], { total: 0, completed: 0 }],
    );
    assert.equal((await call(url, 'POST', '/jobs', { job_id: 'bulk' })).status, 422);
    assert.equal((await call(url, 'GET', '/jobs?limit=101')).status, 422);
  });
});
