import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatOfName, type ItemFormat } from '../../src/contract/item-formats.ts';
import { UnreadableItems } from '../../src/controller/intake/csv-columns.ts';
import { readItems } from '../../src/controller/intake/read-items.ts';
import { inPieces, read } from './read-all.ts';

test('columns of a CSV become the input as texts, and item_id becomes the id', async () => {
  const { items, bad } = await read('item_id,apn,year\np-1,200-14-030,2025\n,7,\n');
  assert.deepEqual(bad, []);
  assert.deepEqual(items, [
    { id: 'p-1', input: { apn: '200-14-030', year: '2025' }, line: 2 },
    { id: '[["apn","7"],["year",""]]', input: { apn: '7', year: '' }, line: 3 },
  ]);
});

test('one column without item_id is its own id', async () => {
  assert.deepEqual((await read('apn\n200-14-030')).items, [
    { id: '200-14-030', input: { apn: '200-14-030' }, line: 2 },
  ]);
});

test('quoted fields hold delimiters, quotes and line breaks; blank lines and a byte order mark are ignored', async () => {
  const text = '\uFEFFapn,owner\r\n1,"SMITH, ""JO"""\r\n\r\n2,"two\r\nlines"\r\n3,plain\r\n';
  const { items, bad } = await read(text);
  assert.deepEqual(bad, []);
  assert.deepEqual(
    items.map(({ input, line }) => [input, line]),
    [
      [{ apn: '1', owner: 'SMITH, "JO"' }, 2],
      [{ apn: '2', owner: 'two\r\nlines' }, 4],
      [{ apn: '3', owner: 'plain' }, 6],
    ],
  );
});

test('semicolons and tabs are recognised by the header', async () => {
  for (const delimiter of [';', '\t']) {
    const { items } = await read(`apn${delimiter}owner\n1${delimiter}A, B\n`);
    assert.deepEqual(items[0]?.input, { apn: '1', owner: 'A, B' });
  }
});

test('a line with too few or too many fields is named, and the others are read', async () => {
  const { items, bad } = await read('a,b\n1,2\n3\n4,5,6\n7,8\n');
  assert.deepEqual(
    items.map(({ line }) => line),
    [2, 5],
  );
  assert.deepEqual(bad, [
    { line: 3, problem: 'it has 1 fields, and the header 2' },
    { line: 4, problem: 'it has 3 fields, and the header 2' },
  ]);
});

test('a stray quote costs no other line', async () => {
  const { items, bad } = await read('a,b\n1,6" pipe\n"2"x,y\n3,z\n');
  assert.deepEqual(bad, []);
  assert.deepEqual(
    items.map(({ input }) => input),
    [
      { a: '1', b: '6" pipe' },
      { a: '"2"x', b: 'y' },
      { a: '3', b: 'z' },
    ],
  );
});

test('a quote that is never closed is reported with the lines that are lost in it', async () => {
  const { items, bad } = await read('a,b\n1,2\n3,"4\n5,6\n7,8\n');
  assert.deepEqual(
    items.map(({ line }) => line),
    [2],
  );
  assert.deepEqual(bad, [
    { line: 3, code: 'lines_lost', problem: 'a quote is opened and not closed: lines 3 to 6 are lost in it' },
  ]);
});

test('a line over a mebibyte is named, and the next is read', async () => {
  const long = 'x'.repeat(1_100_000);
  for (const text of [`a\n${long}\n2\n`, `a,b\n"${long}\n${long}",1\n2,3\n`, `{"a":"${long}"}\n{"a":"2"}\n`]) {
    const { items, bad } = await read(text, null, 65_536);
    assert.match(bad[0]?.problem ?? '', /longer than 1 MiB/);
    assert.equal(items.at(-1)?.id.includes('2'), true);
  }
});

test('a header that makes no sense is refused as a whole', async () => {
  await assert.rejects(read('a,,c\n1,2,3\n'), /column 2 of the header has no name/);
  await assert.rejects(read('a,b,a\n1,2,3\n'), /two columns of the header have the name a/);
  await assert.rejects(read(Buffer.from('\xFF\xFEa\0', 'latin1')), /UTF-16/);
  await assert.rejects(read(Buffer.from('par\xE9\n1\n', 'latin1')), UnreadableItems);
});

test('bytes that are not UTF-8 make their line a bad one', async () => {
  const csv = await read(Buffer.from('a\nJos\xE9\nfine\n', 'latin1'));
  assert.deepEqual([csv.items.length, csv.bad.length, csv.bad[0]?.line], [1, 1, 2]);
  const jsonl = await read(Buffer.from('{"a":"Jos\xE9"}\n{"a":"fine"}\n', 'latin1'));
  assert.deepEqual([jsonl.items.length, jsonl.bad.length, jsonl.bad[0]?.line], [1, 1, 1]);
});

test('a column called __proto__ is a column', async () => {
  const { items } = await read('__proto__,b\nx,y\n');
  assert.deepEqual(Object.entries(items[0]?.input as object), [
    ['__proto__', 'x'],
    ['b', 'y'],
  ]);
});

test('JSONL takes the input alone or with its id, and names lines that are neither', async () => {
  const lines = [
    '{"item_id":"p-1","input":{"apn":"1"}}',
    '{"apn":"2"}',
    '{"item_id":3,"apn":"3"}',
    '{"input":"a text"}',
    '',
    '{"apn":',
    '[1]',
    '{"item_id":{},"apn":"4"}',
    '{}',
  ];
  const { items, bad } = await read(lines.join('\n'));
  assert.deepEqual(items, [
    { id: 'p-1', input: { apn: '1' }, line: 1 },
    { id: '2', input: { apn: '2' }, line: 2 },
    { id: '3', input: { apn: '3' }, line: 3 },
    { id: 'a text', input: { input: 'a text' }, line: 4 },
  ]);
  assert.deepEqual(
    bad.map(({ line }) => line),
    [6, 7, 8, 9],
  );
});

test('an item may have a group beside its id and its input; a field of the input is never taken for one', async () => {
  const lines = [
    '{"item_id":"a","input":{"apn":"1"},"group":"north"}',
    '{"input":{"apn":"2"},"group":null}',
    '{"apn":"3","group":"of the input"}',
    '{"input":{"apn":"4"},"group":"","item_id":"d"}',
    '{"input":{"apn":"5"},"group":7}',
    `{"input":{"apn":"6"},"group":"${'x'.repeat(201)}"}`,
    '{"input":{"apn":"7"},"group":"\\u0000"}',
  ];
  const { items, bad } = await read(lines.join('\n'), 'jsonl');
  assert.deepEqual(items, [
    { id: 'a', input: { apn: '1' }, group: 'north', line: 1 },
    { id: '2', input: { apn: '2' }, line: 2 },
    { id: '[["apn","3"],["group","of the input"]]', input: { apn: '3', group: 'of the input' }, line: 3 },
  ]);
  assert.deepEqual(
    bad.map(({ line }) => line),
    [4, 5, 6, 7],
  );
  assert.match(bad[0]?.problem ?? '', /group is not a text of 1 to 200 characters/);
  assert.deepEqual((await read('apn,group\n1,north\n')).items[0]?.input, { apn: '1', group: 'north' });
});

test('an item without a usable id is reported as needing one', async () => {
  const { items, bad } = await read(
    `{"apn":"${'x'.repeat(2000)}"}\n{"item_id":"${'y'.repeat(2000)}","apn":"1"}\n{"apn":""}\n`,
  );
  assert.deepEqual(items, []);
  assert.match(bad[0]?.problem ?? '', /needs an item_id/);
  assert.match(bad[1]?.problem ?? '', /longer than 1000/);
  assert.match(bad[2]?.problem ?? '', /needs an item_id/);
});

test('a slow sender’s items are handed over when they are due, not only a thousand at a time', async () => {
  async function* slow() {
    for (let at = 0; at < 6; at += 1) yield Buffer.from(`{"apn":"${at}"}\n`);
  }
  const answers = [false, true, false, true, false, true];
  const sizes: number[] = [];
  for await (const { items } of readItems(slow(), 'jsonl', () => answers.shift() === true)) sizes.push(items.length);
  assert.deepEqual(sizes, [2, 2, 2]);
});

test('chunks are bounded in number and in bytes', async () => {
  const sizes: number[] = [];
  const many = Buffer.from(Array.from({ length: 2500 }, (_, at) => `{"apn":"${at}"}`).join('\n'));
  for await (const { items } of readItems(inPieces(many, 65_536), null)) sizes.push(items.length);
  assert.deepEqual(sizes, [1000, 1000, 500]);
  const large = Buffer.from(
    Array.from({ length: 20 }, (_, at) =>
      JSON.stringify({ item_id: `${at}`, input: { page: 'x'.repeat(900_000) } }),
    ).join('\n'),
  );
  for await (const { items } of readItems(inPieces(large, 65_536), null)) assert.ok(items.length <= 5);
});

test('a reader that stops closes the source', async () => {
  let isClosed = false;
  async function* source() {
    try {
      for (let at = 0; ; at += 1) yield Buffer.from(`{"apn":"${at}"}\n`);
    } finally {
      isClosed = true;
    }
  }
  for await (const _ of readItems(source(), 'jsonl')) break;
  assert.equal(isClosed, true);
});

test('the name of a file determines its format', () => {
  assert.deepEqual(['a.csv', 'b.CSV', 'c.jsonl', 'd.ndjson', 'e.json', 'f.txt', 'g'].map(formatOfName), [
    ...['csv', 'csv', 'jsonl', 'jsonl', 'json'],
    ...[null, null],
  ]);
});

test('what a CSV writer quotes correctly is read back, however the bytes are cut', async () => {
  const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ';', ' ', 'é', '\r\n'), maxLength: 6 });
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(field, field), { maxLength: 5 }),
      fc.integer({ min: 1, max: 20 }),
      async (rows, size) => {
        const csv = ['item_id,a,b', ...rows.map(([a, b], at) => `i-${at},${quoted(a)},${quoted(b)}`)].join('\n');
        const { items, bad } = await read(csv, 'csv', size);
        assert.deepEqual(bad, []);
        assert.deepEqual(
          items.map(({ input }) => input),
          rows.map(([a, b]) => ({ a, b })),
        );
      },
    ),
    { numRuns: 200, seed: 7 },
  );
});

test('whatever the bytes are, every line is an item or named, and nothing hangs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom('csv', 'jsonl', 'json'),
      async (bytes, format) => {
        try {
          await read(bytes, format as ItemFormat, 16);
        } catch (error) {
          assert.ok(error instanceof UnreadableItems, String(error));
        }
      },
    ),
    { numRuns: 300, seed: 11 },
  );
});

test('a quote that another one closes by mistake does not swallow lines in silence', async () => {
  const { items, bad } = await read('id,name\n1,"Smith\n2,Jones\n3,"Lee"\n4,Kim\n5,12" pipe\n6,"Li" Jr\n');
  assert.deepEqual(
    items.map(({ input }) => (input as { id: string }).id),
    ['4', '5', '6'],
  );
  assert.deepEqual(bad, [
    { line: 2, code: 'lines_lost', problem: 'a quote is opened and not closed: lines 2 to 4 are lost in it' },
  ]);
});
