import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { type ExportDeps, type ExportFormat, exportJob } from '../../src/controller/results/export/export-job.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { failure } from '../../src/domain/failure.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { digest } from '../../src/main/digest.ts';
import type { SettlePart } from '../../src/ports/ledger.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { NOW } from '../domain/builders.ts';
import { failedWith, newItems, newJob, partOf } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { AS_USUAL, bytesOf, jobOfItems, jobOfList } from './export-support.ts';

const FORMATS: readonly ExportFormat[] = ['jsonl', 'csv', 'parquet'];

function linesOf(bytes: Buffer): unknown[] {
  return bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

test('a line of JSONL is a row, whatever is in it', async () => {
  const json = '{\n "owner": "SM\\u2028ITH\\n",\n "__proto__": {"a": 1}\n}\n';
  const { parts } = jobOfList([
    { json, input: { apn: '1' } },
    { status: 'pending', input: JSON.parse('{"__proto__": 7}') },
  ]);
  const lines = (await bytesOf(parts)).toString().split('\n');
  assert.deepEqual(lines, [
    '{"item_id":"p-0","status":"success","input":{"apn":"1"},"error":null,"requests":0,"bytes_up":0,"bytes_down":0,"data":{"owner":"SM\u2028ITH\\n","__proto__":{"a":1}}}',
    '{"item_id":"p-1","status":"pending","input":{"__proto__":7},"error":null,"requests":0,"bytes_up":0,"bytes_down":0,"data":null}',
    '',
  ]);
});

test('a filter keeps what succeeded, or what failed, and "all" means every item regardless of its status', async () => {
  const statuses = ['success', 'failed', 'skipped', 'cancelled', 'pending', 'queued', 'in_progress'] as const;
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const attempts = [{ ...attempt, failure: failure('blocked', 'no entry') }];
  const { parts } = jobOfList(statuses.map((status) => ({ status, attempts })));
  const statusesOf = async (filter: 'all' | 'success' | 'errors') =>
    linesOf(await bytesOf(parts, { filter })).map((row) => (row as { status: string }).status);
  assert.deepEqual(await statusesOf('all'), statuses);
  assert.deepEqual(await statusesOf('success'), ['success']);
  assert.deepEqual(await statusesOf('errors'), ['failed']);
});

test('an export is named after its job, in characters that every disk and header takes', () => {
  const nameOf = (jobId: string, format: ExportFormat, filter: 'all' | 'errors') =>
    exportJob(jobOfList([]).parts, { jobId }, { ...AS_USUAL, format, filter }).fileName;
  assert.equal(nameOf('job-1', 'csv', 'all'), 'job-1.csv');
  assert.equal(nameOf('2026/11 "taxes"\r\n', 'parquet', 'errors'), '2026-11-taxes--errors.parquet');
  assert.equal(nameOf('../..', 'jsonl', 'all'), 'job.jsonl');
  assert.equal(nameOf('x'.repeat(200), 'jsonl', 'all'), `${'x'.repeat(100)}.jsonl`);
});

test('chunks are 64 to 256 KiB, except for the last one, even where one row is larger', async () => {
  const json = JSON.stringify({ text: 'é'.repeat(300_000) });
  const { parts } = jobOfItems(4000, (place) => (place === 3 ? { json } : { input: { note: 'n'.repeat(200) } }));
  for (const format of ['jsonl', 'csv'] as const) {
    const { body } = exportJob(parts, { jobId: 'job-1' }, { ...AS_USUAL, format });
    const chunks = await Array.fromAsync(body);
    assert.ok(chunks.length > 8, `${chunks.length}`);
    for (const { byteLength } of chunks) assert.ok(byteLength <= 256 * 1024, `${byteLength}`);
    // The rest of a large row, and of all rows, may be small.
    assert.ok(chunks.filter(({ byteLength }) => byteLength < 64 * 1024).length <= 2);
  }
});

test('other tasks get a turn while an export runs, even where it finds nothing', async () => {
  for (const format of FORMATS) {
    const { parts, asked } = jobOfItems(20_000, () => ({ status: 'pending' }));
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; turns += 1) await setImmediate();
    })();
    await bytesOf(parts, { format, filter: 'success' });
    isOver = true;
    await others;
    assert.equal(asked.pages, 100);
    assert.ok(turns >= 100, `${turns} turns`);
  }
});

test('a reader that stops ends the export at once, both before and after the first chunk', async () => {
  for (const format of FORMATS) {
    const { parts, asked } = jobOfItems(1_000_000, () => ({ json: '{"a":1}' }));
    const { body } = exportJob(parts, { jobId: 'job-1' }, { ...AS_USUAL, format });
    const chunks = body[Symbol.asyncIterator]();
    const first = chunks.next();
    await setImmediate();
    await chunks.return?.();
    await first;
    assert.ok(asked.files < 500, `${format}: ${asked.files} files were read`);
    assert.equal((await chunks.next()).done, true);
  }
  const { parts, asked } = jobOfItems(1_000_000, () => ({ json: `{"a":"${'x'.repeat(10_000)}"}` }));
  const { body } = exportJob(parts, { jobId: 'job-1' }, { ...AS_USUAL, format: 'jsonl' });
  const stream = Readable.from(body, { objectMode: false });
  for await (const _ of stream) break;
  const files = asked.files;
  assert.ok(files < 1000, `${files} files were read`);
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  assert.ok(asked.files <= files + 64, 'reads go on');
});

test('an error of the ledger reaches the reader, and the file does not look complete', async () => {
  const { parts } = jobOfItems(1000, () => ({}));
  let calls = 0;
  const ledger: typeof parts.ledger = {
    items(...asked) {
      calls += 1;
      return calls === 3 ? Promise.reject(new Error('the disk is gone')) : parts.ledger.items(...asked);
    },
  };
  for (const format of FORMATS) {
    calls = 0;
    await assert.rejects(bytesOf({ ...parts, ledger }, { format }), /the disk is gone/);
  }
});

test('a job in a real ledger, with its data in real files, is exported whole', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const store = await openFileResultStore(join(dataDir, 'results'), { clock });
  const { ledger } = openIn(t, dataDir, { clock });
  await ledger.createJob(newJob({ policy: { throttling: { max_concurrent_workers: 1000 } } }), newItems(250), NOW);
  const dispatched = await ledger.dispatch('job-1', 1, NOW);
  const settled: SettlePart[] = [];
  for (const lease of await ledger.claim(dispatched?.refs ?? [], 'worker', NOW + 60_000, NOW)) {
    assert.ok(typeof lease === 'object');
    const [item] = lease.items;
    assert.ok(item !== undefined);
    const key = `job-1/items/${item.itemId}/data.json`;
    const how = { contentType: 'application/json', encoding: 'gzip', ifTaken: 'keep' } as const;
    const stored = await store.put(key, Buffer.from(JSON.stringify({ place: item.seq })), how);
    const artifact: StoredArtifact = { kind: 'data', contentType: how.contentType, ...stored };
    const scraped: Outcome = { kind: 'scraped', artifacts: [artifact] };
    settled.push(partOf(lease, item.seq % 10 === 3 ? failedWith('blocked') : scraped));
  }
  await ledger.settle(settled, NOW);
  const isStillThere = async () => (await ledger.job('job-1')) !== null;
  const parts: ExportDeps = { ledger, store, clock, digest, isStillThere, pathOf: ({ key }) => key };
  const rows = linesOf(await bytesOf(parts)) as { item_id: string; data: unknown }[];
  assert.deepEqual(
    rows.map((row) => [row.item_id, row.data]),
    newItems(250).map(({ itemId }, place) => [itemId, place % 10 === 3 ? null : { place }]),
  );
  assert.equal(linesOf(await bytesOf(parts, { filter: 'errors' })).length, 25);
  assert.equal(linesOf(await bytesOf(parts, { filter: 'success' })).length, 225);
});

test('an export whose job is deleted meanwhile breaks off instead of ending like a complete one', async () => {
  const { parts } = jobOfItems(2000, () => ({}));
  let asked = 0;
  const isStillThere = async () => {
    asked += 1;
    return asked < 10;
  };
  await assert.rejects(bytesOf({ ...parts, isStillThere }), /the job was deleted while it was exported/);
});
