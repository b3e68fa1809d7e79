import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config.ts';
import type { ProblemAnswer } from '../../src/contract/problem-answer.ts';
import { startApi } from '../../src/controller/api/start-api.ts';
import { DEFAULT_FEED_SETTINGS } from '../../src/controller/feed/job-feeds.ts';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { openLog } from '../../src/main/log.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { NO_ITEM_WAITS } from '../../src/ports/item-waits.ts';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { nextEvent, tempDataDir } from '../flow/engine.ts';
import { openEngineHere } from '../flow/in-process.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { openMemoryHostPauses } from '../support/memory/host-pauses.ts';
import { openMemoryHostRecords } from '../support/memory/host-records.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryRuns } from '../support/memory/run-book.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';
import { openMemoryStepRecords } from '../support/memory/step-records.ts';
import { untilTrue } from '../support/until.ts';
import { ask, startService } from './service.ts';
import { Client, noopItems } from './suite/client.ts';

const SHIPPED = fileURLToPath(new URL('../../scrapers', import.meta.url));

/** The API on an engine in this process, whose disk fails on demand. */
async function startFragile() {
  const disk = { isFailing: false };
  const dataDir = tempDataDir();
  const engine = await openEngineHere(dataDir, {
    async sync() {
      if (disk.isFailing) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    },
  });
  const { ledger, store, queue, clock, events, controller, embedded } = engine;
  const parts = {
    ...{
      ledger,
      store,
      links: null,
      pathOf: ({ key }: { readonly key: string }) => key,
      queue,
      hostPauses: openMemoryHostPauses(),
      hostSettings: openMemoryHostSettings(),
      hostRecords: openMemoryHostRecords(ledger),
      stepRecords: openMemoryStepRecords(ledger),
      itemWaits: NO_ITEM_WAITS,
      ...openMemorySiteData(),
      runs: openMemoryRuns(),
      fileSites: new Map(),
      siteInspector: { inspect: async () => ({ kind: 'unreadable' as const, message: 'there is no web here' }) },
      clock,
      events,
      faults: NO_FAULTS,
      version: '0.0.0',
    },
    digest: (text: string) => hash('sha256', text),
    ...openMemoryRecordings(),
    catalog: openFileCatalog(await loadScrapers([SHIPPED])),
    defaultScraper: 'example-mock',
    prices: NO_PRICES,
    runService: { problem: 'no ETL API' },
    browserProvider: 'local',
    servedLanes: () => null,
    proxyProblem: () => null,
    standing: () => controller.standing(),
    onStorageTrouble: (message: string) => controller.storageTrouble(message),
  };
  const config = loadConfig({ port: 0, logLevel: 'silent' }, {});
  const { url, drain, close } = await startApi(parts, config, openLog(config));
  const stop = async () => {
    disk.isFailing = false;
    embedded.limitSize(null);
    await drain(1000);
    await close();
    await engine.stop();
  };
  after(stop);
  const recovered = () => nextEvent(engine, ({ kind }) => kind === 'storage-recovered');
  const client = await Client.of({
    ...{ url, backend: 'embedded', stop },
    ask: (method, path, asked = {}) => ask(url + path, method, asked),
  });
  return { client, disk, embedded, recovered, dataDir };
}

interface Ready {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly message: string | null }[];
}

async function readiness(client: Client): Promise<[number, boolean, Ready['checks'][number] | undefined]> {
  const { status, json } = await client.ask('GET', '/ready');
  const { ready, checks } = json as Ready;
  return [status, ready, checks.find(({ name }) => name === 'storage')];
}

const WELL = [200, true, { name: 'storage', ok: true, message: null }];

test('while the disk fails nothing is accepted and the service reports that it is not ready; afterwards it is ready again', async () => {
  const { client, disk, recovered } = await startFragile();
  const json = { job_id: 'promised', scraper_id: 'example-noop', items: noopItems(3) };
  await client.create({ ...json, job_id: 'before', hold: true });
  assert.deepEqual(await readiness(client), WELL);

  disk.isFailing = true;
  const isWell = recovered();
  const headers = { 'idempotency-key': 'only-once' };
  const answer = await client.ask('POST', '/jobs', { json, headers });
  const { code, detail } = answer.json as ProblemAnswer;
  assert.deepEqual([answer.status, code, answer.headers.get('retry-after')], [503, 'storage_trouble', '2']);
  assert.match(detail, /sync/);
  const [status, ready, storage] = await readiness(client);
  assert.deepEqual([status, ready, storage?.ok], [503, false, false]);
  assert.match(storage?.message ?? '', /sync/);
  // The service is alive, and what it has can be read.
  for (const path of ['/health', '/jobs/before', '/jobs/before/items', '/metrics']) {
    assert.equal((await client.ask('GET', path)).status, 200, path);
  }
  assert.match((await client.ask('GET', '/metrics')).text, /^trawl_storage_trouble 1$/m);

  disk.isFailing = false;
  await isWell;
  assert.deepEqual(await readiness(client), WELL);
  assert.match((await client.ask('GET', '/metrics')).text, /^trawl_storage_trouble 0$/m);
  // The client that was refused repeats its request, whether or not the job was written in the end.
  const again = await client.ask('POST', '/jobs', { json, headers });
  assert.ok(again.status === 200 || again.status === 201, again.text);
  assert.equal((await client.ended('promised')).summary.success, 3);
});

for (const [what, happen] of [
  ['deleted', (dataDir: string) => rmSync(dataDir, { recursive: true })],
  ['moved away', (dataDir: string) => renameSync(dataDir, `${dataDir}-away`)],
  [
    'overwritten',
    (dataDir: string) => writeFileSync(join(dataDir, 'ledger.db'), new Uint8Array(100_000), { flag: 'r+' }),
  ],
] as const) {
  test(`a ledger that is ${what} while the service runs: no job is accepted, and the service is not ready`, async () => {
    const { client, dataDir } = await startFragile();
    const json = { job_id: 'promised', scraper_id: 'example-noop', items: noopItems(3) };
    await client.create({ ...json, job_id: 'before', hold: true });
    happen(dataDir);
    const { status, json: problem } = await client.ask('POST', '/jobs', { json });
    const { code, detail } = problem as ProblemAnswer;
    assert.deepEqual([status, code], [503, 'storage_trouble']);
    assert.match(detail, /ledger\.db was .* by another program .* Stop Trawl, .* and start again\.$/);
    const [answered, ready, storage] = await readiness(client);
    assert.deepEqual([answered, ready, storage?.ok], [503, false, false]);
    assert.match(storage?.message ?? '', /by another program/);
    // What it had can still be read.
    assert.equal((await client.ask('GET', '/jobs/before')).status, 200);
    assert.equal((await client.ask('POST', '/jobs/before/start')).status, 503);
  });
}

test('while results/ is moved away the service reports that it is not ready, and recovers by itself when it is back', async () => {
  const { client, recovered, dataDir } = await startFragile();
  const [root, away] = [join(dataDir, 'results'), join(dataDir, 'away')];
  await client.create({ job_id: 'waits', scraper_id: 'example-slow', items: slowItems(30) });
  renameSync(root, away);
  const isWell = recovered();
  await untilTrue(async () => !(await readiness(client))[1]);
  const [status, , storage] = await readiness(client);
  assert.equal(status, 503);
  assert.match(storage?.message ?? '', /results is missing: put it back|a worker could not store/);
  renameSync(away, root);
  await isWell;
  assert.deepEqual(await readiness(client), WELL);
  const { summary } = await client.ended('waits');
  assert.deepEqual([summary.success, summary.failed], [30, 0]);
});

/** These items store bytes, and take long enough for something to happen in the meantime. */
function slowItems(count: number) {
  return noopItems(count).map((item) => ({ ...item, input: { ms: 20, bytes: 100 } }));
}

test('items for which there is no room are refused, and are accepted when sent again once there is room', async () => {
  const { client, embedded, recovered } = await startFragile();
  await client.create({ job_id: 'filled', scraper_id: 'example-noop', hold: true });
  const body = noopItems(5000)
    .map((item) => `${JSON.stringify(item)}\n`)
    .join('');
  const headers = { 'content-type': 'application/x-ndjson' };
  embedded.limitSize(1);
  const isWell = recovered();
  const answer = await client.ask('POST', '/jobs/filled/items', { body, headers });
  assert.deepEqual(
    [answer.status, (answer.json as ProblemAnswer).code, answer.headers.get('retry-after')],
    [503, 'storage_trouble', '2'],
  );
  embedded.limitSize(null);
  await isWell;
  const taken = await client.send<{ received: number; added: number; duplicates: number }>(
    'filled',
    headers['content-type'],
    body,
  );
  assert.deepEqual([taken.received, taken.added + taken.duplicates], [5000, 5000]);
  await client.post('/jobs/filled/start');
  assert.equal((await client.ended('filled')).summary.success, 5000);
});

test('one watcher too many is asked to come back later, and is let in when another has left', async () => {
  const client = await Client.of(await startService({ workers: 0 }));
  const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', items: noopItems(1), hold: true });
  const path = `/jobs/${jobId}/events`;
  const watchers = await Promise.all(
    Array.from({ length: DEFAULT_FEED_SETTINGS.maxWatchers }, () => watching(client.url + path)),
  );
  assert.deepEqual([...new Set(watchers.map(({ statusCode }) => statusCode))], [200]);
  const { headers } = await client.ask('GET', path);
  assert.equal(headers.get('retry-after'), '2');
  await client.refused(503, 'too_many_watchers', 'GET', path);
  const open = async () => Number(/^trawl_feed_watchers (\d+)$/m.exec((await client.ask('GET', '/metrics')).text)?.[1]);
  assert.equal(await open(), DEFAULT_FEED_SETTINGS.maxWatchers);
  watchers[0]?.destroy();
  await untilTrue(async () => (await open()) < DEFAULT_FEED_SETTINGS.maxWatchers);
  const late = await watching(client.url + path);
  assert.equal(late.statusCode, 200);
  for (const watcher of [...watchers, late]) watcher.destroy();
});

/** A stream of events that is open, and of which nothing more is read. */
function watching(url: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(url, { agent: false }, (response) => {
    response.on('error', () => {});
    resolve(response);
  }).on('error', reject);
  return promise;
}
