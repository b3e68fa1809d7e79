import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type ResultRow, type RowDeps, rowBatches } from '../../src/controller/results/result-rows.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { parseAddress } from '../../src/domain/result-address.ts';
import { itemOf, NOW } from '../domain/builders.ts';
import { resultRows } from '../support/result-rows.ts';

function dataOf(key: string, size = 1): StoredArtifact {
  return { kind: 'data', key, size, sha256: '', encoding: 'identity', contentType: 'application/json' };
}

/** Pages of items as a ledger gives them, one of them empty, and files by their key. */
function partsOf(pages: readonly (readonly ItemRecord[])[], files: Readonly<Record<string, string>> = {}): RowDeps {
  return {
    pathOf: ({ key, encoding }) => (encoding === 'gzip' ? `${key}.gz` : key),
    ledger: {
      async items(_jobId, _filter, { after }) {
        const at = Number(after ?? 0);
        return { entries: pages[at] ?? [], next: at + 1 < pages.length ? String(at + 1) : null };
      },
    },
    store: {
      async get(at) {
        const { key } = parseAddress(at);
        if (key === 'damaged') throw new Error('the bytes are damaged');
        const text = files[key];
        return text === undefined ? null : Buffer.from(text);
      },
    },
  };
}

async function rowsOf(parts: RowDeps): Promise<ResultRow[]> {
  return await Array.fromAsync(resultRows(parts, 'job-1'));
}

const NOTHING_USED = { requests: 0, bytes_up: 0, bytes_down: 0 };

test('a row says what was asked, how it ended, what all its attempts used, and what was found', async () => {
  const attempt = { attempt: 1, tries: 4, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const items = [
    itemOf({ itemId: 'a', input: { apn: '1' }, status: 'success', artifacts: [dataOf('a.json')] }),
    itemOf({
      itemId: 'b',
      input: { apn: '2' },
      status: 'failed',
      artifacts: [],
      attempts: [
        { ...attempt, failure: failure('timeout', 'too slow'), usage: [2, 400, 9000] },
        { ...attempt, failure: failure('blocked', 'no entry', { cause: 'a wall' }), usage: [4, 600, 41_000] },
      ],
    }),
    itemOf({ itemId: 'c', input: { apn: '3' }, status: 'pending', artifacts: [], attempts: [] }),
    itemOf({
      itemId: 'd',
      input: { apn: '4' },
      status: 'skipped',
      artifacts: [],
      attempts: [{ ...attempt, end: 'skipped', failure: null, skipReason: 'robots' }],
    }),
  ];
  assert.deepEqual(await rowsOf(partsOf([items], { 'a.json': '{\n  "owner": "SMITH"\n}\n' })), [
    { item_id: 'a', status: 'success', input: { apn: '1' }, error: null, ...NOTHING_USED, data: { owner: 'SMITH' } },
    {
      item_id: 'b',
      status: 'failed',
      input: { apn: '2' },
      error: { type: 'blocked', message: 'no entry', retryable: true, cause: 'a wall' },
      ...{ requests: 6, bytes_up: 1000, bytes_down: 50_000 },
      data: null,
    },
    { item_id: 'c', status: 'pending', input: { apn: '3' }, error: null, ...NOTHING_USED, data: null },
    {
      ...{ item_id: 'd', status: 'skipped', skip_reason: 'robots', input: { apn: '4' }, error: null },
      ...{ ...NOTHING_USED, data: null },
    },
  ]);
});

test('a row says where the files of its item are, except for those that are part of a larger object', async () => {
  const file = (kind: StoredArtifact['kind'], key: string, more: Partial<StoredArtifact> = {}): StoredArtifact => {
    return { ...dataOf(key), kind, ...more };
  };
  const artifacts = [
    file('html', 'a/html.html', { encoding: 'gzip' }),
    file('document', 'a/document.pdf'),
    dataOf('d'),
  ];
  const packed = [file('html', 'pack', { offset: 0, length: 7 }), file('screenshot', 'b/screenshot.png')];
  const pages = [file('page', 'c/page-a.html', { name: 'a' }), file('page', 'c/page-b.json', { name: 'b' })];
  const items = [artifacts, packed, pages, []].map((files) => itemOf({ artifacts: files }));
  const rows = await rowsOf(partsOf([items], { d: '{}' }));
  assert.deepEqual(
    rows.map((row) => [row.html_path, row.screenshot_path, row.document_path, row.page_paths]),
    [
      ['a/html.html.gz', undefined, 'a/document.pdf', undefined],
      [undefined, 'b/screenshot.png', undefined, undefined],
      [undefined, undefined, undefined, { a: 'c/page-a.html', b: 'c/page-b.json' }],
      [undefined, undefined, undefined, undefined],
    ],
  );
});

test('an item that failed before and is open again has no error', async () => {
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const attempts = [{ ...attempt, failure: failure('blocked', 'no entry') }];
  const [row] = await rowsOf(partsOf([[itemOf({ status: 'pending', attempts, artifacts: [] })]]));
  assert.equal(row?.error, null);
});

test('data that is gone, damaged or not JSON is reported in its row, and the other rows are complete', async () => {
  const items = ['gone', 'damaged', 'text', 'fine'].map((key) => itemOf({ itemId: key, artifacts: [dataOf(key)] }));
  const rows = await rowsOf(partsOf([items], { text: 'hello', fine: '1' }));
  assert.deepEqual(
    rows.map(({ item_id, data, data_problem }) => [item_id, data, data_problem === undefined]),
    [
      ['gone', null, false],
      ['damaged', null, false],
      ['text', null, false],
      ['fine', 1, true],
    ],
  );
  assert.equal(rows[0]?.data_problem, 'gone is missing');
});

test('rows keep the order of the items over all pages', async () => {
  const items = Array.from({ length: 100 }, (_, at) => itemOf({ itemId: `p-${at}`, artifacts: [] }));
  const rows = await rowsOf(partsOf([items.slice(0, 37), [], items.slice(37)]));
  assert.deepEqual(
    rows.map((row) => row.item_id),
    items.map((item) => item.itemId),
  );
});

test('data that is too large for a row is reported in it and not read', async () => {
  const items = [itemOf({ artifacts: [dataOf('large', 64 * 2 ** 20 + 1)] })];
  const [row] = await rowsOf(partsOf([items], { large: '{}' }));
  assert.deepEqual(row?.data_problem, 'large has 67108865 bytes, too many for a row');
  assert.equal(row.data, null);
});

/** The largest number of files, and of bytes, that are open at once. */
async function mostAtOnce(items: readonly ItemRecord[]) {
  const { ledger, pathOf } = partsOf([items]);
  const open = { files: 0, bytes: 0 };
  const most = { files: 0, bytes: 0 };
  const store: RowDeps['store'] = {
    async get(at) {
      const size = Number(parseAddress(at).key.split('-')[0]);
      open.files += 1;
      open.bytes += size;
      most.files = Math.max(most.files, open.files);
      most.bytes = Math.max(most.bytes, open.bytes);
      await setImmediate();
      open.files -= 1;
      open.bytes -= size;
      return Buffer.from('{}');
    },
  };
  const rows = await Array.fromAsync(resultRows({ ledger, store, pathOf }, 'job-1'));
  assert.equal(rows.length, items.length);
  return most;
}

test('files are read in parallel, with a bounded number and total size', async () => {
  const items = (count: number, size: number) =>
    Array.from({ length: count }, (_, at) => itemOf({ input: {}, artifacts: [dataOf(`${size}-${at}`, size)] }));
  assert.equal((await mostAtOnce(items(200, 100))).files, 64);
  const heavy = await mostAtOnce(items(50, 2 ** 20));
  assert.equal(heavy.bytes, 8 * 2 ** 20);
  // Only one at a time and the next one are open where each is larger than the limit for all.
  assert.equal((await mostAtOnce(items(5, 30 * 2 ** 20))).files, 2);
});

test('large inputs count toward the size of a batch, too', async () => {
  const note = 'n'.repeat(2 ** 20);
  const items = Array.from({ length: 10 }, (_, at) => itemOf({ input: at < 6 ? { note } : { list: [note] } }));
  const batches = await Array.fromAsync(rowBatches(partsOf([items]), 'job-1', { status: null, errorType: null }));
  assert.deepEqual(
    batches.map(({ rows }) => rows.length),
    [4, 3, 3],
  );
  assert.equal(batches[0]?.bytes, 4 * 2 ** 20);
  const alone = itemOf({ input: { note: note.repeat(5) } });
  assert.equal(
    (await Array.fromAsync(rowBatches(partsOf([[alone]]), 'job-1', { status: null, errorType: null }))).length,
    1,
  );
});

test('a reader that stops early waits for the reads that are under way, and no more are started', async () => {
  const items = Array.from({ length: 200 }, (_, at) => itemOf({ artifacts: [dataOf(String(at))] }));
  let [begun, ended] = [0, 0];
  const store: RowDeps['store'] = {
    async get() {
      begun += 1;
      await setImmediate();
      ended += 1;
      return Buffer.from('1');
    },
  };
  for await (const _ of resultRows({ ...partsOf([items]), store }, 'job-1')) break;
  assert.equal(begun, 64);
  assert.equal(ended, 64);
});
