import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemStats, RunManager } from '../../src/runs/run-manager.ts';
import { type Dialect, openEtlServer } from './etl-server.ts';
import { openClient } from './support.ts';

const URLS = ['https://county.gov/1', 'https://county.gov/2', 'https://www.city.gov/3', 'https://city.gov/4'];

async function given(t: Parameters<typeof openEtlServer>[0], dialect: Partial<Dialect> = {}) {
  const server = await openEtlServer(t, dialect);
  const { etl, clock } = openClient(server.endpoint);
  return { server, clock, manager: new RunManager(etl, clock), other: new RunManager(etl, clock) };
}

test('the life of a run: what is pending shrinks with each item, and the counts go into its end', async (t) => {
  const { server, manager } = await given(t);
  assert.equal(await manager.getActiveRun('county.gov'), null);
  const { _id: run } = await manager.createRun('county.gov', URLS);
  assert.equal((await manager.getActiveRun('county.gov'))?._id, run);
  const [one, two, three, four] = await manager.getPendingItems(run);
  assert.ok(one && two && three && four);
  await manager.updateItemStatus(run, one, { done: true });
  await manager.updateItemStatus(run, two, { failed: true, failedReason: 'timeout' });
  await manager.updateItemStatuses(run, [{ url: three.url, changes: { invalid: true } }]);
  assert.deepEqual(
    (await manager.getPendingItems(run)).map(({ url }) => url),
    [four.url],
  );
  assert.deepEqual(
    (await manager.getPendingItems(run, { again: ['failed'] })).map(({ url }) => url),
    [two.url, four.url],
  );
  assert.deepEqual(await manager.getRunStats(run), {
    ...{ total: 4, pending: 1, completed: 1, failed: 2 },
    byDomain: { 'county.gov': 2, 'city.gov': 2 },
  });
  await manager.finalizeRun(run);
  const { status, metadata } = server.runs.get(run) ?? {};
  assert.equal(status, 'finished');
  assert.deepEqual([metadata?.['finished_count'], metadata?.['total_count'], metadata?.['failed_count']], [1, 4, 2]);
  assert.equal(await manager.getActiveRun('county.gov'), null);
});

for (const byStatus of [true, false]) {
  const where = byStatus ? 'filters' : 'does not filter';
  test(`the active run is the newest that has not ended, one that is being processed first, where a server ${where} by status`, async (t) => {
    const { server, manager } = await given(t, { byStatus });
    const ids = [];
    for (const _ of Array(3)) ids.push((await manager.createRun('county.gov', URLS))._id);
    assert.equal((await manager.getActiveRun('county.gov'))?._id, ids[2]);
    Object.assign(server.runs.get(ids[0] ?? '') ?? {}, { status: 'processing' });
    assert.equal((await manager.getActiveRun('county.gov'))?._id, ids[0]);
    Object.assign(server.runs.get(ids[0] ?? '') ?? {}, { status: 'completed' });
    await manager.finalizeRun(ids[2] ?? '');
    assert.equal((await manager.getActiveRun('county.gov'))?._id, ids[1]);
  });
}

test('a run that was left open is found after any number that have ended, and no items of those are read', async (t) => {
  const { server, manager } = await given(t);
  const { _id: open } = await manager.createRun('county.gov', URLS);
  for (const _ of Array(30)) await manager.finalizeRun((await manager.createRun('county.gov', URLS))._id);
  assert.equal((await manager.getActiveRun('county.gov'))?._id, open);
  const lists = server.seen.flatMap(({ line }) =>
    line.includes('?') ? [new URL(line.slice(4), server.endpoint)] : [],
  );
  assert.deepEqual(
    lists.map(({ searchParams }) => [searchParams.get('status'), searchParams.get('limit')]),
    [
      ['pending', '1'],
      ['processing', '1'],
    ],
  );
});

test('a run is read once for several queries, and again after a change or some seconds', async (t) => {
  const { server, clock, manager } = await given(t);
  const { _id: run } = await manager.createRun('county.gov', URLS);
  const reads = () => server.seen.filter(({ line }) => line === `GET /api/scrape-runs/${run}`).length;
  await manager.getPendingItems(run);
  await manager.getRunStats(run);
  assert.equal(reads(), 1);
  await manager.updateItemStatus(run, { url: URLS[0] ?? '' }, { done: true });
  assert.equal((await manager.getRunStats(run)).completed, 1);
  assert.equal(reads(), 2);
  await clock.advance(2000);
  await manager.getRunStats(run);
  assert.equal(reads(), 3);
});

test('two managers of one run do not undo each other’s work', async (t) => {
  const { clock, manager, other } = await given(t);
  const { _id: run } = await manager.createRun('county.gov', URLS);
  await Promise.all([manager.getPendingItems(run), other.getPendingItems(run)]);
  await manager.updateItemStatus(run, { url: URLS[0] ?? '' }, { done: true });
  await other.updateItemStatus(run, { url: URLS[1] ?? '' }, { failed: true });
  await other.updateItemStatus(run, { url: URLS[0] ?? '' }, { failedReason: null });
  await clock.advance(2000);
  for (const each of [manager, other]) {
    const { completed, failed, pending } = await each.getRunStats(run);
    assert.deepEqual([completed, failed, pending], [1, 1, 2]);
  }
});

test('names that every object has are domains like others', () => {
  const items = ['constructor', '__proto__', 'constructor'].map((url) => ({ url, done: false }));
  assert.deepEqual(Object.entries(itemStats(items).byDomain), [
    ['constructor', 2],
    ['__proto__', 1],
  ]);
});
