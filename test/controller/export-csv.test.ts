import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { safeText } from '../../src/controller/results/export/safe-text.ts';
import { failure } from '../../src/domain/failure.ts';
import { anyText, NOW } from '../domain/builders.ts';
import { bytesOf, jobOfItems, jobOfList, type Scraped } from './export-support.ts';

const SCRAPER = {
  input: { type: 'object', properties: { apn: { type: 'string' } } },
  output: {
    type: 'object',
    properties: { owner: { type: 'string' }, total: { type: 'number' }, paid: { type: 'boolean' }, bills: {} },
  },
};

/** The columns after those of the data. */
const LAST = ['html_path', 'screenshot_path', 'document_path', 'more'];

async function recordsOf(items: readonly Scraped[], scraper: typeof SCRAPER | null = null): Promise<string[][]> {
  return parse(await bytesOf(jobOfList(items).parts, { format: 'csv', scraper }));
}

test('a row has its columns, those of the schemas first, and whatever fits in none of them as JSON in the last', async () => {
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 9, end: 'failed' } as const;
  const text = (
    await bytesOf(
      jobOfList([
        { json: '{"bills":[{"year":2025}],"total":-12.5,"owner":"SMITH, \\"JO\\"","new":1}', input: { apn: '1' } },
        {
          status: 'failed',
          attempts: [
            { ...attempt, failure: failure('timeout', 'too slow'), usage: [1, 300, 0] },
            { ...attempt, failure: failure('blocked', 'no\nentry', { cause: 'a wall' }), usage: [4, 400, 41_000] },
          ],
        },
        { json: '[1,2]', input: { apn: '', county: null } },
        { json: 'nothing' },
        { json: '{"owner":"","paid":false,"total":null}', input: {} },
        { status: 'skipped', attempts: [{ ...attempt, end: 'skipped', failure: null, skipReason: 'robots' }] },
      ]).parts,
      { format: 'csv', scraper: SCRAPER },
    )
  ).toString();
  assert.deepEqual(text.split('\r\n'), [
    'item_id,status,error_type,error_message,error_retryable,requests,bytes_up,bytes_down,input.apn,input.county,owner,total,paid,bills,new,html_path,screenshot_path,document_path,more',
    'p-0,success,,,,0,0,0,1,,"SMITH, ""JO""",-12.5,,"[{""year"":2025}]",1,,,,',
    'p-1,failed,blocked,"no\nentry",true,5,700,41000,101-01-001,,,,,,,,,,"{""error"":{""cause"":""a wall""}}"',
    'p-2,success,,,,0,0,0,"",,,,,,,,,,"{""data"":[1,2]}"',
    `p-3,success,,,,0,0,0,101-01-001,,,,,,,,,,"{""data_problem"":""3: ${problemWith('nothing').replaceAll('"', '""')}""}"`,
    'p-4,success,,,,0,0,0,,,"",,false,,,,,,',
    'p-5,skipped,,,,0,0,0,101-01-001,,,,,,,,,,"{""skip_reason"":""robots""}"',
    '',
  ]);
});

function problemWith(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return JSON.stringify((error as Error).message).slice(1, -1);
  }
}

test('a byte order mark comes first, where one is wanted', async () => {
  const bytes = await bytesOf(jobOfList([]).parts, { format: 'csv', hasBom: true });
  assert.equal(bytes.subarray(0, 10).toString('hex'), `efbbbf${Buffer.from('item_id').toString('hex')}`);
});

test('the files of an item are in columns of their own', async () => {
  const file = { size: 1, sha256: '', encoding: 'identity', contentType: 'a/b' } as const;
  const artifacts = [
    { ...file, kind: 'html', key: 'j/items/a/html.html' },
    { ...file, kind: 'document', key: 'j/items/a/document.pdf' },
  ] as const;
  const [header, record] = await recordsOf([{ artifacts, input: {} }]);
  assert.deepEqual(header?.slice(8), LAST);
  assert.deepEqual(record?.slice(8), ['j/items/a/html.html', '', 'j/items/a/document.pdf', '']);
});

test('named pages have a column each, and those that turn up late are in the last one', async () => {
  const page = { kind: 'page', size: 1, sha256: '', encoding: 'identity', contentType: 'text/html' } as const;
  const { parts } = jobOfItems(1001, (place) => ({
    artifacts: [{ ...page, name: place < 1000 ? 'taxes' : 'sales', key: `j/${place}` }],
    input: {},
  }));
  const [header, ...records] = parse(await bytesOf(parts, { format: 'csv' })) as string[][];
  assert.deepEqual(header?.slice(8), ['page_paths.taxes', ...LAST]);
  assert.deepEqual(records[7]?.slice(8), ['j/7', '', '', '', '']);
  assert.deepEqual(records[1000]?.slice(8), ['', '', '', '', '{"page_paths":{"sales":"j/1000"}}']);
});

test('a job without items is a header', async () => {
  const text = (await bytesOf(jobOfList([]).parts, { format: 'csv' })).toString();
  assert.equal(
    text,
    'item_id,status,error_type,error_message,error_retryable,requests,bytes_up,bytes_down,html_path,screenshot_path,document_path,more\r\n',
  );
});

test('a field that first appears after a thousand rows is in the last column', async () => {
  // The first item is left out, so that the thousandth row is not the last of a page.
  const { parts } = jobOfItems(1003, (place) => ({
    status: place === 0 ? 'pending' : 'success',
    json: place < 1000 ? '{"a":1}' : `{"a":1,"late-${place}":2}`,
  }));
  const [header, ...records] = parse(await bytesOf(parts, { format: 'csv', filter: 'success' })) as string[][];
  assert.deepEqual(header?.slice(9), ['a', 'late-1000', ...LAST]);
  assert.deepEqual(records.at(999)?.slice(9), ['1', '2', '', '', '', '']);
  assert.deepEqual(records.at(1000)?.slice(9), ['1', '', '', '', '', '{"data":{"late-1001":2}}']);
});

test('large rows are looked at until they add up to eight megabytes', async () => {
  const text = 'x'.repeat(3_000_000);
  const { parts } = jobOfItems(8, (place) => ({ json: JSON.stringify({ text, [`field-${place}`]: 1 }) }));
  const [header] = (await bytesOf(parts, { format: 'csv' })).toString().split('\r\n', 1);
  assert.equal(header?.split(',input.apn,')[1], `text,field-0,field-1,field-2,${LAST.join(',')}`);
});

test('text that a spreadsheet would take for a formula gets an apostrophe', () => {
  const formulas = ['=1+1', '+SUM(A1)', '-2+3', '@x', '\tx', '\rx', '\nx', ' =1', '\u00a0=1', '\ufeff=1', '\u200b=1'];
  formulas.push('\0=1', '＝1', '＋x', '－x', '＠x', '﹦1', '-', '+', '=', '-1,000', '+1 480 555', '-.', "'=1", "''-1");
  for (const text of formulas) assert.equal(safeText(text), `'${text}`, JSON.stringify(text));
});

test('text that is not a formula stays as it is, and so do plain numbers', () => {
  const plain = [
    '',
    'SMITH',
    'a=b',
    '1+1',
    '-12.50',
    '+1',
    '-.5',
    '+5.',
    '-1e-7',
    '12',
    "O'BRIEN",
    "'quoted'",
    ' x',
    '{}',
  ];
  for (const text of plain) assert.equal(safeText(text), text);
});

test('any text comes back from the file as it was, once the apostrophe is taken away', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyText(12), { minLength: 1, maxLength: 5 }), anyText(8), async (texts, start) => {
      const values = [...texts, `=${start}`, `'-${start}`, `"${start}\r\n`];
      const [, ...records] = await recordsOf(values.map((value) => ({ json: JSON.stringify({ value }) })));
      const read = records.map((record) => record[9] ?? '');
      for (const cell of read) assert.ok(!/^\s*[=@]/.test(cell), JSON.stringify(cell));
      assert.deepEqual(
        read.map((cell) => (cell.startsWith("'") && safeText(cell.slice(1)) === cell ? cell.slice(1) : cell)),
        values,
      );
    }),
    { numRuns: 200, seed: 4 },
  );
});

test('names of fields are made safe like any text, quoted where they must be, and never the same twice', async () => {
  const data =
    '{"__proto__":1,"":2,"a\\"b,\\r\\nc":3,"=x":4,"\'=x":5,"status":6,"data.status":7,"more":8,"input.apn":9,"\\ud800":10,"\\ud801":11}';
  const [header, record] = await recordsOf([{ json: data, input: { apn: 'A' } }]);
  assert.deepEqual(header?.slice(8), [
    ...['input.apn', '__proto__', 'data.', 'a"b,\r\nc', "'=x", "''=x", 'data.status', 'data.data.status'],
    ...['data.more', 'data.input.apn', '\ufffd', 'data.\ufffd', ...LAST],
  ]);
  assert.deepEqual(record?.slice(8), ['A', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '', '', '', '']);
});

test('out of ten thousand fields, a thousand are columns and the others are in the last one', async () => {
  const fields = Array.from({ length: 10_000 }, (_, at) => `f${at}`);
  const data = Object.fromEntries(fields.map((field, at) => [field, at]));
  const [header, record] = await recordsOf([{ json: JSON.stringify(data), input: {} }]);
  assert.equal(header?.length, 8 + 1000 + LAST.length);
  const more = JSON.parse(record?.at(-1) ?? '').data;
  const columns = header.slice(8, -LAST.length).map((name, at) => [name, Number(record?.[8 + at])]);
  assert.deepEqual({ ...Object.fromEntries(columns), ...more }, data);
});

test('half a character, which no file can hold, is written as JSON', async () => {
  const [, record] = await recordsOf([{ itemId: 'p\ud800', json: '{"a":"\\ud800","b":["\\udc00"]}' }]);
  assert.equal(record?.[0], 'p\ufffd');
  assert.deepEqual(record?.slice(9), ['', '["\\udc00"]', '', '', '', '{"item_id":"p\\ud800","data":{"a":"\\ud800"}}']);
});
