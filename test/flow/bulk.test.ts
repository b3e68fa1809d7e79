import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import type { BulkCreatedAnswer, BulkJobAnswer } from '../../src/contract/bulk-answers.ts';
import type { Engine } from '../../src/main/engine.ts';
import { sized } from '../support/sized.ts';
import { tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

const SITES = 5;
/** Of each site; every twentieth is an asset. */
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

/** The shortest time between two requests of one batch. */
async function shortestGap(engine: Engine, jobId: string, models: readonly Model[]): Promise<number> {
  const byBatch = new Map<string, number[]>();
  const items = await engine.ledger.itemsAt(jobId, 0, 10_000);
  for (const { input, group } of items) {
    const model = models.find(({ id }) => id === input['site']);
    const at = model?.seen.find(({ path }) => path === input['path'])?.at ?? Number.NaN;
    byBatch.set(group ?? '', [...(byBatch.get(group ?? '') ?? []), at]);
  }
  const gaps = [...byBatch.values()].flatMap((times) =>
    times.toSorted((a, b) => a - b).map((at, index, sorted) => at - (sorted[index - 1] ?? Number.NEGATIVE_INFINITY)),
  );
  return Math.min(...gaps);
}

test('a list over five sites is pulled politely, completely and once; a second pull asks only for what is too old', async () => {
  const models = await Promise.all(Array.from({ length: SITES }, (_, at) => openModel(`site${at}`)));
  const overrides = { dataDir: tempDataDir(), slots: 64, allowAddresses: 'loopback' };
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
    await untilJob(engine, 'first', ({ counts }) => counts.success >= 20);
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await untilFinished(engine, 'first');

    const { json: job } = await call<BulkJobAnswer>(url, 'GET', '/jobs/first');
    assert.deepEqual(
      { status: job.status, pct: job.progress_pct, input: job.input, progress: job.progress, workers: job.workers },
      {
        ...{ status: 'completed', pct: 100, input },
        // What a killed worker had recorded in the cache, and not in the ledger, is skipped the second time.
        progress: { completed: SITES * PAGES, success: job.progress.success, skipped: job.progress.skipped, failed: 0 },
        workers: { total: CONTAINERS, completed: CONTAINERS },
      },
    );
    assert.equal(job.progress.success + job.progress.skipped, SITES * PAGES);
    assert.deepEqual([job.errors, job.failures], [[], []]);
    assert.equal(Number(job.elapsed_seconds.toFixed(1)), job.elapsed_seconds);
    const rows = await rowsOf(url, 'first');
    for (const { input: asked, data } of rows) {
      assert.equal(data.markdown, `# ${asked.site}${asked.path}\n\nVersion 1.\n`);
    }
    assert.equal(new Set(rows.map(({ item_id }) => item_id)).size, SITES * PAGES);
    assert.equal(models.flatMap(({ seen }) => seen).filter(({ path }) => path.endsWith('.pdf')).length, 0);
    // Timers may fire a millisecond early.
    assert.ok((await shortestGap(engine, 'first', models)) >= DELAY_MS - 2);

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
