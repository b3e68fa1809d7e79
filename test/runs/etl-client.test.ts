import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dialect, openEtlServer, PLAIN } from './etl-server.ts';
import { openClient } from './support.ts';

const URLS = ['https://county.gov/1', 'https://county.gov/2', 'https://www.county.gov/3'];
const ITEMS = URLS.map((url) => ({ url }));

const DIALECTS: readonly Dialect[] = [
  PLAIN,
  { ...PLAIN, ids: 'id', names: 'snake', one: 'data', list: 'runs', nulls: true, batches: 'refused' },
  {
    ...PLAIN,
    ids: 'id',
    one: 'run',
    list: 'bare',
    nulls: true,
    batches: 'ignored',
    finalizes: 'finalize',
    byStatus: false,
  },
];

for (const dialect of DIALECTS) {
  const { one, list, names, batches } = dialect;
  test(`a run from its creation to its end: answers ${one}, lists ${list}, names ${names}, batches ${batches}`, async (t) => {
    const server = await openEtlServer(t, dialect);
    const { etl } = openClient(server.endpoint);
    assert.equal(await etl.getLatestRunForDomain('county.gov'), null);
    const created = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
    assert.deepEqual(
      created.items,
      URLS.map((url) => ({ url, done: false })),
    );
    const [first, second, third] = URLS.map((url) => ({ url }));
    assert.ok(first && second && third);
    await etl.updateScrapeRunItem(created._id, { updateItem: { ...first, changes: { done: true } } });
    await etl.updateScrapeRunItems(created._id, [
      { ...second, changes: { failed: true, failedReason: 'timeout' } },
      { ...third, changes: { invalid: true } },
      { ...second, changes: { failedReason: 'blocked' } },
    ]);
    const { items } = await etl.fetchScrapeRun(created._id);
    assert.deepEqual(
      items.map(({ done, failed, invalid, failedReason }) => [done, failed, invalid, failedReason]),
      [
        [true, undefined, undefined, undefined],
        [false, true, undefined, 'blocked'],
        [false, undefined, true, undefined],
      ],
    );
    const endTime = '2026-01-02T03:04:05.000Z';
    await etl.finalizeScrapeRun(created._id, { status: 'finished', endTime, metadata: { finished_count: 1 } });
    const latest = await etl.getLatestRunForDomain('county.gov');
    assert.deepEqual([latest?._id, latest?.endTime, latest?.metadata?.finished_count], [created._id, endTime, 1]);
    assert.ok(server.seen.every(({ key }) => key === 'Bearer etl-secret'));
  });
}

test('a broken connection or half an answer is tried again after one, two and four seconds, and then reported', async (t) => {
  const server = await openEtlServer(t);
  const { etl, waits, warnings } = openClient(server.endpoint);
  const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
  server.troubles.push('refused', 'half', 'lost');
  assert.equal((await etl.fetchScrapeRun(run)).items.length, 3);
  assert.equal(warnings.length, 3);
  assert.deepEqual(
    waits.map((ms, index) => ms > 500 * 2 ** index && ms <= 1000 * 2 ** index),
    [true, true, true],
  );
  server.troubles.push('refused', 'refused', 'refused', 'refused');
  await assert.rejects(etl.fetchScrapeRun(run), /could not be reached for GET \/api\/scrape-runs\/run-1/);
});

test('429 and 503 are tried again when the server says, and other refusals are not', async (t) => {
  const server = await openEtlServer(t);
  const { etl, waits } = openClient(server.endpoint);
  const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
  server.troubles.push({ status: 429, retryAfter: '7' }, { status: 503, retryAfter: '100000' });
  await etl.updateScrapeRunItem(run, { updateItem: { url: URLS[0] ?? '', changes: { done: true } } });
  assert.deepEqual(waits, [7000, 60_000]);

  const before = server.seen.length;
  server.troubles.push({ status: 500 });
  await assert.rejects(etl.fetchScrapeRun(run), /answered 500 to GET \S+: not now$/);
  server.troubles.push('garbage');
  await assert.rejects(etl.fetchScrapeRun(run), /is not JSON: <html>sign in<\/html>$/);
  await assert.rejects(etl.fetchScrapeRun('nobody'), /answered 404/);
  assert.equal(server.seen.length - before, 3);
});

test('a creation whose answer is lost does not make a second run', async (t) => {
  const server = await openEtlServer(t);
  const { etl } = openClient(server.endpoint);
  server.troubles.push('lost');
  const created = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
  assert.deepEqual([created._id, server.runs.size], ['run-1', 1]);
  server.troubles.push('refused');
  assert.equal((await etl.createScrapeRun({ domain: 'other.gov', items: ITEMS }))._id, 'run-2');
  assert.equal(server.runs.size, 2);
});

test('a thousand changes take two requests where the server takes batches, and one each where it does not', async (t) => {
  const urls = Array.from({ length: 1000 }, (_, index) => `https://county.gov/${index}`);
  const updates = urls.map((url) => ({ url, changes: { done: true } }));
  for (const [batches, requests] of [
    ['taken', 2],
    ['refused', 1001],
  ] as const) {
    const server = await openEtlServer(t, { batches });
    const { etl } = openClient(server.endpoint);
    const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: urls.map((url) => ({ url })) });
    const before = server.seen.length;
    await etl.updateScrapeRunItems(run, updates);
    assert.equal(server.seen.length - before, requests, batches);
    assert.ok(server.runs.get(run)?.items.every(({ done }) => done));
  }
});

test('one change that the server does not want costs neither the others nor the batches', async (t) => {
  for (const batches of ['taken', 'refused'] as const) {
    const server = await openEtlServer(t, { batches, strangers: 'refused' });
    const { etl } = openClient(server.endpoint);
    const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
    const done = URLS.map((url) => ({ url, changes: { done: true } }));
    assert.deepEqual(await etl.updateScrapeRunItems(run, done.slice(0, 1)), []);
    const refused = await etl.updateScrapeRunItems(run, [{ url: 'https://county.gov/gone', changes: {} }, ...done]);
    assert.deepEqual(
      refused.map(({ url, reason }) => [url, /answered 404/.test(reason)]),
      [['https://county.gov/gone', true]],
    );
    assert.ok(server.runs.get(run)?.items.every((item) => item.done));
    const before = server.seen.length;
    await etl.updateScrapeRunItems(run, done);
    assert.equal(server.seen.length - before, batches === 'taken' ? 1 : 3);
  }
});

test('batches stay batches even if the first one has a URL that the run does not have', async (t) => {
  const server = await openEtlServer(t);
  const { etl } = openClient(server.endpoint);
  const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: ITEMS });
  const done = URLS.map((url) => ({ url, changes: { done: true } }));
  await etl.updateScrapeRunItems(run, [{ url: 'https://county.gov/gone', changes: { done: true } }, ...done]);
  const before = server.seen.length;
  await etl.updateScrapeRunItems(run, done);
  assert.equal(server.seen.length - before, 1);
});

test('when the server goes away in the middle, nothing is in progress any more once the failure is reported', async (t) => {
  const server = await openEtlServer(t, { batches: 'refused' });
  const { etl } = openClient(server.endpoint);
  const urls = Array.from({ length: 50 }, (_, index) => `https://county.gov/${index}`);
  const { _id: run } = await etl.createScrapeRun({ domain: 'county.gov', items: urls.map((url) => ({ url })) });
  server.troubles.push(null, ...Array.from({ length: 20 }, () => ({ status: 500 })));
  const updates = urls.map((url) => ({ url, changes: { done: true } }));
  await assert.rejects(etl.updateScrapeRunItems(run, updates), /answered 500/);
  // These are the batch, and one change by each of ten senders.
  const sent = server.seen.filter(({ line }) => line.startsWith('PATCH')).length;
  assert.equal(sent, 11);
});
