import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { parquetMetadata, parquetRead, parquetReadObjects, parquetSchema } from 'hyparquet';
import { exportJob } from '../../src/controller/results/export/export-job.ts';
import { failure } from '../../src/domain/failure.ts';
import { NOW } from '../domain/builders.ts';
import { AS_USUAL, bytesOf, jobOfItems, jobOfList, type Scraped } from './export-support.ts';

const SCRAPER = {
  input: { type: 'object', properties: { apn: { type: 'string' } } },
  output: {
    type: 'object',
    properties: {
      owner: { type: 'string' },
      total: { type: 'number' },
      year: { type: 'integer' },
      paid: { type: 'boolean' },
      bills: { type: 'array' },
    },
  },
};

async function fileOf(parts: ReturnType<typeof jobOfList>['parts'], scraper: typeof SCRAPER | null = null) {
  return arrayBufferOf(await bytesOf(parts, { format: 'parquet', scraper }));
}

function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

/** Rows as lists, because a reader that makes objects of them would trip over some names. */
async function tableOf(items: readonly Scraped[], scraper: typeof SCRAPER | null = null) {
  const file = await fileOf(jobOfList(items).parts, scraper);
  const names = parquetSchema(parquetMetadata(file)).children.map(({ element }) => element.name);
  let rows: unknown[][] = [];
  await parquetRead({
    file,
    rowFormat: 'array',
    onComplete: (read) => {
      rows = read;
    },
  });
  return { names, rows };
}

test('columns have the types of the schema, and a value of another type is in the last one', async () => {
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const { parts } = jobOfList([
    { json: '{"owner":"SMITH é","total":-12.5,"year":2025,"paid":true,"bills":[{"a":1}]}', input: { apn: '1' } },
    {
      status: 'failed',
      attempts: [{ ...attempt, failure: failure('blocked', 'no entry', { cause: 'a wall' }), usage: [4, 400, 41_000] }],
    },
    { json: '{"owner":7,"total":"n/a","paid":"yes","bills":"none","new":{"b":null}}', input: { apn: 5 } },
    { json: '{"owner":null,"total":9007199254740993,"year":1e300,"paid":false}', input: {} },
  ]);
  const file = await fileOf(parts, SCRAPER);
  assert.deepEqual(
    parquetSchema(parquetMetadata(file)).children.map(({ element: { name, type, repetition_type } }) => [
      name,
      type,
      repetition_type,
    ]),
    [
      ...['item_id', 'status', 'error_type', 'error_message'].map((name) => [name, 'BYTE_ARRAY', 'OPTIONAL']),
      ['error_retryable', 'BOOLEAN', 'OPTIONAL'],
      ...['requests', 'bytes_up', 'bytes_down'].map((name) => [name, 'DOUBLE', 'OPTIONAL']),
      ['input.apn', 'BYTE_ARRAY', 'OPTIONAL'],
      ['owner', 'BYTE_ARRAY', 'OPTIONAL'],
      ['total', 'DOUBLE', 'OPTIONAL'],
      ['year', 'DOUBLE', 'OPTIONAL'],
      ['paid', 'BOOLEAN', 'OPTIONAL'],
      ['bills', 'BYTE_ARRAY', 'OPTIONAL'],
      // A struct has no type of its own.
      ['new', undefined, 'OPTIONAL'],
      ...['html_path', 'screenshot_path', 'document_path'].map((name) => [name, 'BYTE_ARRAY', 'OPTIONAL']),
      ['more', 'BYTE_ARRAY', 'OPTIONAL'],
    ],
  );
  const none = {
    ...{ error_type: null, error_message: null, error_retryable: null, 'input.apn': null, owner: null },
    ...{ total: null, year: null, paid: null, bills: null, new: null, more: null },
    ...{ html_path: null, screenshot_path: null, document_path: null },
    ...{ requests: 0, bytes_up: 0, bytes_down: 0 },
  };
  const success = { ...none, status: 'success' };
  assert.deepEqual(plain(await parquetReadObjects({ file })), [
    {
      ...{ ...success, item_id: 'p-0', 'input.apn': '1', owner: 'SMITH é' },
      ...{ total: -12.5, year: 2025, paid: true, bills: '[{"a":1}]' },
    },
    {
      ...{ ...none, item_id: 'p-1', status: 'failed', 'input.apn': '101-01-001' },
      ...{ error_type: 'blocked', error_message: 'no entry', error_retryable: true },
      ...{ requests: 4, bytes_up: 400, bytes_down: 41_000 },
      more: '{"error":{"cause":"a wall"}}',
    },
    {
      ...{ ...success, item_id: 'p-2', bills: '"none"', new: { b: null } },
      more: '{"input":{"apn":5},"data":{"owner":7,"total":"n/a","paid":"yes"}}',
    },
    { ...success, item_id: 'p-3', total: 9007199254740992, year: 1e300, paid: false },
  ]);
});

/** Readers return a missing value as undefined in some places and null in others. */
function plain(rows: readonly Readonly<Record<string, unknown>>[]) {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? null])));
}

test('a job without items is a file with columns and without rows', async () => {
  const file = await fileOf(jobOfList([]).parts, SCRAPER);
  const metadata = parquetMetadata(file);
  assert.equal(metadata.num_rows, 0n);
  assert.equal(parquetSchema(metadata).children.length, 18);
  assert.deepEqual(await parquetReadObjects({ file }), []);
});

test('rows of several row groups come back in order, even where columns are empty or alike', async () => {
  const count = 12_345;
  const { parts } = jobOfItems(count, (place) => ({
    json: JSON.stringify({ owner: `owner ${place}`, total: place / 4, paid: place % 3 === 0, year: 2025 }),
    input: { apn: place % 5000 === 0 ? String(place) : 'same' },
  }));
  const file = await fileOf(parts, SCRAPER);
  const metadata = parquetMetadata(file);
  assert.equal(metadata.num_rows, BigInt(count));
  assert.deepEqual(
    metadata.row_groups.map(({ num_rows }) => Number(num_rows)),
    [5000, 5000, 2345],
  );
  const rows = await parquetReadObjects({ file });
  assert.equal(rows.length, count);
  for (const [place, row] of rows.entries()) {
    assert.deepEqual(
      [row['item_id'], row['input.apn'], row['owner'], row['total'], row['paid'], row['year'], row['more'] ?? null],
      [
        ...[`p-${place}`, place % 5000 === 0 ? String(place) : 'same', `owner ${place}`],
        ...[place / 4, place % 3 === 0, 2025, null],
      ],
    );
  }
});

test('a row group of large rows ends after some megabytes, and its bytes are there before the last row is read', async () => {
  // A text that cannot be compressed, and is not the same in two rows.
  const noise = Array.from({ length: 1200 }, (_, at) => hash('sha512', String(at), 'base64')).join('');
  const text = (place: number) => noise.slice(place, place + 100_000);
  const { parts, asked } = jobOfItems(150, (place) => ({ json: JSON.stringify({ text: text(place) }) }));
  const { body } = exportJob(parts, { jobId: 'job-1' }, { ...AS_USUAL, format: 'parquet' });
  const pieces: Uint8Array[] = [];
  let readAtFirst = 0;
  for await (const piece of body) {
    if (pieces.length === 0) readAtFirst = asked.files;
    pieces.push(piece);
  }
  assert.equal(asked.files, 150);
  // The first rows are looked at before any is written: eight megabytes of them, and two batches are under way.
  assert.ok(readAtFirst <= 84 + 2 * 32, `${readAtFirst} files were read before the first chunk`);
  const file = arrayBufferOf(Buffer.concat(pieces));
  const groups = parquetMetadata(file).row_groups.map(({ num_rows }) => Number(num_rows));
  assert.deepEqual(groups, [...new Array(7).fill(21), 3]);
  const rows = await parquetReadObjects({ file });
  assert.deepEqual(
    rows.map((row) => row['text']),
    rows.map((_, place) => text(place)),
  );
});

test('a row group is written column by column, and other tasks get a turn after each', async () => {
  const { parts } = jobOfItems(5000, (place) => ({ input: { a: `${place}` } }));
  let turns = 0;
  const clock = {
    turn() {
      turns += 1;
      return setImmediate();
    },
  };
  await bytesOf({ ...parts, clock }, { format: 'parquet' });
  // 25 pages of 200 items are 175 batches; the columns are the eight fixed ones, input.a, three paths and more.
  assert.equal(turns, 175 + 13);
});

test('columns with hostile names come back under them', async () => {
  const data = '{"__proto__":1,"":2,"a\\"b\\n":3,"=x":4,"status":5,"data.status":6,"\\ud800":"\\udc00","\\ud801":8}';
  const { names, rows } = await tableOf([{ itemId: 'p\ud800', json: data, input: { apn: 'A' } }]);
  assert.deepEqual(names.slice(8), [
    ...['input.apn', '__proto__', 'data.', 'a"b\n', '=x', 'data.status', 'data.data.status', '\ufffd', 'data.\ufffd'],
    ...['html_path', 'screenshot_path', 'document_path', 'more'],
  ]);
  const more = '{"item_id":"p\\ud800","data":{"\\ud800":"\\udc00"}}';
  assert.deepEqual(rows, [
    ['p\ufffd', 'success', null, null, null, 0, 0, 0, 'A', 1, 2, 3, 4, 5, 6, null, 8, null, null, null, more],
  ]);
});

test('out of ten thousand fields, a thousand are columns and the others are in the last one', async () => {
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, at]));
  const file = await fileOf(jobOfList([{ json: JSON.stringify(data), input: {} }]).parts);
  const [first, ...others] = parquetSchema(parquetMetadata(file)).children.slice(8, -4);
  assert.equal(others.length, 999);
  assert.equal(first?.element.name, 'f0');
  // The reader takes its time with each.
  const [row] = await parquetReadObjects({ file, columns: ['f0', 'f999', 'more'] });
  assert.deepEqual([row?.['f0'], row?.['f999']], [0, 999]);
  const more = JSON.parse(String(row?.['more'])).data;
  assert.deepEqual(Object.keys(more), Object.keys(data).slice(1000));
  assert.equal(more.f9999, 9999);
});

test('a row group of a wide table ends sooner, because each row has a cell in every column', async () => {
  const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`f${at}`, { type: 'number' }]));
  const { parts } = jobOfItems(1000, () => ({ input: {} }));
  const bytes = await bytesOf(parts, { format: 'parquet', scraper: { input: {}, output: { properties } } });
  const groups = parquetMetadata(arrayBufferOf(bytes)).row_groups.map(({ num_rows }) => Number(num_rows));
  assert.deepEqual(groups, [989, 11]);
});
