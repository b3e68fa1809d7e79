import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ResultRow, type RowParts, resultRows } from '../../src/controller/result-rows.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { itemOf, NOW } from '../domain/builders.ts';

function dataOf(key: string): StoredArtifact {
  return { kind: 'data', key, size: 1, sha256: '', encoding: 'identity', contentType: 'application/json' };
}

/** Pages of items as a ledger gives them, one of them empty, and files by their key. */
function partsOf(pages: readonly (readonly ItemRecord[])[], files: Readonly<Record<string, string>> = {}): RowParts {
  return {
    ledger: {
      async items(_jobId, _filter, { after }) {
        const at = Number(after ?? 0);
        return { entries: pages[at] ?? [], next: at + 1 < pages.length ? String(at + 1) : null };
      },
    },
    store: {
      async get(key) {
        if (key === 'damaged') throw new Error('the bytes are damaged');
        const text = files[key];
        return text === undefined ? null : Buffer.from(text);
      },
    },
  };
}

async function rowsOf(parts: RowParts): Promise<ResultRow[]> {
  return await Array.fromAsync(resultRows(parts, 'job-1'));
}

test('a row tells what was asked, how it ended and what was found', async () => {
  const attempt = { attempt: 1, tries: 4, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const items = [
    itemOf({ itemId: 'a', input: { apn: '1' }, status: 'success', artifacts: [dataOf('a.json')] }),
    itemOf({
      itemId: 'b',
      input: { apn: '2' },
      status: 'failed',
      artifacts: [],
      attempts: [{ ...attempt, failure: failure('blocked', 'no entry', { cause: 'a wall' }) }],
    }),
    itemOf({ itemId: 'c', input: { apn: '3' }, status: 'pending', artifacts: [], attempts: [] }),
  ];
  assert.deepEqual(await rowsOf(partsOf([items], { 'a.json': '{\n  "owner": "SMITH"\n}\n' })), [
    { item_id: 'a', status: 'success', input: { apn: '1' }, error: null, data: { owner: 'SMITH' } },
    {
      item_id: 'b',
      status: 'failed',
      input: { apn: '2' },
      error: { type: 'blocked', message: 'no entry', retryable: true, cause: 'a wall' },
      data: null,
    },
    { item_id: 'c', status: 'pending', input: { apn: '3' }, error: null, data: null },
  ]);
});

test('an item that failed before and is open again has no error', async () => {
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const attempts = [{ ...attempt, failure: failure('blocked', 'no entry') }];
  const [row] = await rowsOf(partsOf([[itemOf({ status: 'pending', attempts, artifacts: [] })]]));
  assert.equal(row?.error, null);
});

test('data that is gone, damaged or no JSON is said in its row, and the others are there', async () => {
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
