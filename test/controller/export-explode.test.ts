import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { explodeProblem } from '../../src/controller/results/export/explode.ts';
import { exportJob } from '../../src/controller/results/export/export-job.ts';
import { AS_USUAL, bytesOf, jobOfItems, jobOfList } from './export-support.ts';

/** Child records as rows of their own. */

const ITEMS = [
  {
    json: '{"owner":"SMITH","legal":{"lot":1},"bills":[{"year":2024,"tax":1.5},{"year":2025,"tags":["a"]}]}',
    input: { apn: '1' },
  },
  { json: '{"owner":"JONES","bills":[]}', input: { apn: '2' } },
  { status: 'failed', attempts: [], input: { apn: '3' } },
  { json: '{"owner":"PE\u00d1A","bills":null}', input: { apn: '4' } },
  { json: '{"owner":"WU","bills":[{"year":2023}]}', input: { apn: '5' } },
] as const;

const OUTPUT = {
  type: 'object',
  properties: {
    owner: { type: 'string' },
    legal: { type: 'object', properties: { lot: { type: 'number' } } },
    bills: {
      anyOf: [{ type: 'array', items: { $ref: '#/$defs/bill' } }, { type: 'null' }],
    },
    codes: { type: 'array', items: { type: 'string' } },
  },
  $defs: {
    bill: {
      type: 'object',
      properties: { year: { type: 'integer' }, tax: { type: 'number' }, tags: { type: 'array' } },
    },
  },
};
const SCRAPER = { input: { type: 'object', properties: { apn: { type: 'string' } } }, output: OUTPUT };

const NOTHING_USED = { requests: 0, bytes_up: 0, bytes_down: 0 };

test('a line of JSONL is a child record in place of its list, with the fields of its item', async () => {
  const lines = (await bytesOf(jobOfList(ITEMS).parts, { explode: 'bills' })).toString().trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      {
        ...{ item_id: 'p-0', status: 'success', index: 0, input: { apn: '1' }, error: null, ...NOTHING_USED },
        data: { owner: 'SMITH', bills: { year: 2024, tax: 1.5 } },
      },
      {
        ...{ item_id: 'p-0', status: 'success', index: 1, input: { apn: '1' }, error: null, ...NOTHING_USED },
        data: { owner: 'SMITH', bills: { year: 2025, tags: ['a'] } },
      },
      {
        ...{ item_id: 'p-4', status: 'success', index: 0, input: { apn: '5' }, error: null, ...NOTHING_USED },
        data: { owner: 'WU', bills: { year: 2023 } },
      },
    ],
  );
});

test('a table has a column per field of the child records, by the schema or by what the first have', async () => {
  for (const scraper of [SCRAPER, null]) {
    const csv = (await bytesOf(jobOfList(ITEMS).parts, { format: 'csv', explode: 'bills', scraper })).toString();
    const [header = [], ...rows] = parse(csv) as string[][];
    assert.deepEqual(header, [
      ...['item_id', 'status', 'error_type', 'error_message', 'error_retryable'],
      ...['requests', 'bytes_up', 'bytes_down', 'index', 'input.apn', 'owner'],
      ...['bills.year', 'bills.tax', 'bills.tags', 'html_path', 'screenshot_path', 'document_path', 'more'],
    ]);
    assert.deepEqual(
      rows.map((row) => [row[0], ...row.slice(8, 14)]),
      [
        ['p-0', '0', '1', 'SMITH', '2024', '1.5', ''],
        ['p-0', '1', '1', 'SMITH', '2025', '', '["a"]'],
        ['p-4', '0', '5', 'WU', '2023', '', ''],
      ],
    );
  }
  const parquet = await bytesOf(jobOfList(ITEMS).parts, { format: 'parquet', explode: 'bills', scraper: SCRAPER });
  const rows = await parquetReadObjects({ file: Uint8Array.from(parquet).buffer });
  assert.deepEqual(
    rows.map((row) => [row['index'], row['bills.year'], row['bills.tax'] ?? null]),
    [
      [0, 2024, 1.5],
      [1, 2025, null],
      [0, 2023, null],
    ],
  );
});

test('entries that are not objects are a column with the name of the list', async () => {
  const { parts } = jobOfList([{ json: '{"codes":["a",null,"b"]}', input: {} }]);
  for (const scraper of [SCRAPER, null]) {
    const rows = parse((await bytesOf(parts, { format: 'csv', explode: 'codes', scraper })).toString(), {
      columns: true,
    });
    assert.deepEqual(
      (rows as Record<string, string>[]).map((row) => [row['index'], row['codes']]),
      [
        ['0', 'a'],
        ['1', ''],
        ['2', 'b'],
      ],
    );
  }
});

test('values of a child record that no column holds are in the last one, and a field that is not a list is reported as such', async () => {
  const { parts } = jobOfList([
    { json: '{"owner":7,"bills":[{"year":"last"},5]}', input: {} },
    { json: '{"owner":"X","bills":"none"}', input: {} },
  ]);
  const bytes = await bytesOf(parts, { format: 'parquet', explode: 'bills', scraper: SCRAPER });
  const rows = await parquetReadObjects({ file: Uint8Array.from(bytes).buffer });
  assert.deepEqual(
    rows.map((row) => [row['index'] ?? null, row['bills'] ?? null, JSON.parse(String(row['more'] ?? null))]),
    [
      [0, null, { data: { owner: 7, bills: { year: 'last' } } }],
      // An entry that is not an object has a column of its own.
      [1, 5, { data: { owner: 7 } }],
      [null, null, { data_problem: 'bills is not a list' }],
    ],
  );
});

test('a field that is not a list is refused with the lists there are, and one that is a list is not', async () => {
  const problem = (items: Parameters<typeof jobOfList>[0], field: string, scraper: typeof SCRAPER | null) =>
    explodeProblem(jobOfList(items).parts, 'job-1', field, scraper);
  assert.equal(await problem([], 'bills', SCRAPER), null);
  assert.equal(await problem([], 'owner', SCRAPER), 'owner is not a list. Lists in the data: bills, codes');
  assert.equal(
    await problem([], 'bill', SCRAPER),
    'there is no list bill in the data. Lists in the data: bills, codes',
  );
  assert.equal(await problem(ITEMS, 'bills', null), null);
  assert.equal(await problem(ITEMS, 'owner', null), 'owner is not a list (see item p-0). Lists in the data: bills');
  assert.equal(await problem(ITEMS, 'bill', null), 'there is no list bill in the data. Lists in the data: bills');
  // Nothing is known yet, and an older version of the scraper may have had it.
  assert.equal(await problem([], 'bills', null), null);
  assert.equal(await problem([{ json: '{"sales":[1]}', input: {} }], 'sales', SCRAPER), null);
});

test('child records are streamed: only a few items are read ahead, however many there are', async () => {
  const bills = JSON.stringify({ bills: Array.from({ length: 250 }, (_, year) => ({ year })) });
  const { parts, asked } = jobOfItems(200, () => ({ json: bills, input: {} }));
  let rows = 0;
  let readAtFirst = 0;
  let rest = '';

  const options = { ...AS_USUAL, format: 'csv', explode: 'bills' } as const;
  for await (const piece of exportJob(parts, { jobId: 'job-1' }, options).body) {
    readAtFirst ||= asked.files;
    rest += Buffer.from(piece).toString();
    const lines = rest.split('\r\n');
    rest = lines.pop() ?? '';
    rows += lines.length;
  }
  assert.equal(rows, 1 + 200 * 250);
  assert.ok(readAtFirst <= 3 * 32, `${readAtFirst} files were read before the first chunk`);
});
