import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { UnreadableItems } from '../../src/controller/intake/csv-columns.ts';
import { readItems } from '../../src/controller/intake/read-items.ts';
import { sized } from '../support/sized.ts';
import { read } from './read-all.ts';

test('JSON is an array, whose entries are counted where lines would be', async () => {
  const { items, bad } = await read('[{"apn":"1"}, 5, {"item_id":"b","input":{}}]');
  assert.deepEqual(
    items.map(({ id, line }) => [id, line]),
    [
      ['1', 1],
      ['b', 3],
    ],
  );
  assert.deepEqual(bad, [{ line: 2, problem: 'it is not an object' }]);
  for (const other of ['{"apn":"1"}', '5', '  \n ']) await assert.rejects(read(other, 'json'), /is an array/);
  assert.deepEqual(await read(' [ ] ', 'json'), { items: [], bad: [] });
});

test('where a JSON array stops making sense, one entry says so, with its position, and those before it are kept', async () => {
  const cases: readonly (readonly [string, number, number, RegExp, number])[] = [
    ['[{"a":"1"},{"a":', 1, 2, /the bytes end before the list does/, 16],
    ['[{"a":"1"},', 1, 2, /the bytes end before the list does/, 11],
    ['[{"a":"1"}', 1, 2, /the bytes end before the list does/, 10],
    ['[{"a":"1"},]', 1, 2, /an item must follow the comma/, 11],
    ['[,{"a":"1"}]', 0, 1, /an item, or ], must follow/, 1],
    ['[{"a":"1"} {"a":"2"}]', 1, 2, /a comma or ] must follow an item/, 11],
    ['[{"a":"1"}] {"a":"2"}', 1, 2, /something follows the end/, 12],
    ['[{"a":"1},{"a":"2"}]', 0, 1, /a quote or a comma is missing/, 12],
    ['[{"a":"1},\n{"a":"2"}]', 0, 1, /a quote is opened and not closed in its line/, 10],
    ['\uFEFF[{"a":"1"}]]', 1, 2, /something follows the end/, 14],
  ];
  for (const [text, kept, line, problem, at] of cases) {
    const { items, bad } = await read(text, 'json');
    assert.equal(items.length, kept, text);
    assert.deepEqual([bad.length, bad[0]?.line], [1, line], text);
    assert.match(bad[0]?.problem ?? '', problem, text);
    assert.ok(bad[0]?.problem.includes(`(byte ${at}): nothing from there on was read`), text);
  }
});

test('a bad entry of a JSON array does not affect the others', async () => {
  const text = '[{"a":1,}, {b:2}, {"c":3], {"d":NaN}, nul, {"e":5}, "x", [{}], {"f":"Jos\xE9"}, {"g":7}]';
  const { items, bad } = await read(Buffer.from(text, 'latin1'), 'json');
  assert.deepEqual(
    items.map(({ input, line }) => [input, line]),
    [
      [{ e: 5 }, 6],
      [{ g: 7 }, 10],
    ],
  );
  assert.deepEqual(
    bad.map(({ line }) => line),
    [1, 2, 3, 4, 5, 7, 8, 9],
  );
});

test('an entry of a JSON array over a mebibyte is named, and the next is read', async () => {
  const { items, bad } = await read(`[{"a":"${'x'.repeat(1_100_000)}"},{"a":"2"}]`, 'json', 65_536);
  assert.deepEqual(bad, [{ line: 1, problem: 'it is longer than 1 MiB' }]);
  assert.deepEqual(
    items.map(({ id, line }) => [id, line]),
    [['2', 2]],
  );
});

test('a JSON array without an end is read with memory for one chunk of it', async () => {
  let given = 0;
  async function* endless() {
    yield Buffer.from('[');
    for (; ; given += 1) yield Buffer.from(`{"apn":"${given}"},`);
  }
  let read = 0;
  for await (const { items } of readItems(endless(), 'json')) {
    read += items.length;
    assert.ok(given <= read + 1, 'no more is taken than was asked for');
    if (read >= 5000) break;
  }
});

test('deep nesting, a number that is too large, and half a character are named, in every format', async () => {
  const deep = (levels: number) => `{"item_id":"d","input":${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels)}`;
  const lines = [
    deep(64),
    deep(65),
    `${'['.repeat(500_000)}`,
    '{"a":1e999}',
    '{"item_id":"x\\ud800","a":1}',
    '{"a":"\\ud800"}',
  ];
  const told = [/nested more than 64/, /nested more than 64/, /too large/, /surrogate/, /surrogate/];
  for (const [format, text] of [
    ['jsonl', lines.join('\n')],
    ['json', `[${lines.with(2, `${'['.repeat(1000)}${']'.repeat(1000)}`).join()}]`],
  ] as const) {
    const { items, bad } = await read(text, format, 65_536);
    assert.deepEqual(
      items.map(({ line }) => line),
      [1],
    );
    assert.equal(bad.length, told.length);
    for (const [index, problem] of told.entries()) assert.match(bad[index]?.problem ?? '', problem);
  }
});

test('a megabyte of brackets is refused before it is parsed', async () => {
  const { bad } = await read(`${'['.repeat(2 ** 19)}${']'.repeat(2 ** 19)}\n`, 'jsonl', 65_536);
  assert.match(bad[0]?.problem ?? '', /nested/);
});

/** Objects with everything that JSON has, and texts full of characters that mean something to a splitter. */
const entries = fc.array(
  fc.dictionary(
    fc.string({ unit: fc.constantFrom('a', '"', '\\', ',', '{', ']', '\n', 'é', '😀'), maxLength: 4 }),
    fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
    { maxKeys: 4 },
  ),
  { maxLength: 6 },
);

test('any JSON array of objects, written and cut in any way, is read as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(
      entries,
      fc.constantFrom('', ' ', '\n\t'),
      fc.integer({ min: 1, max: 30 }),
      async (list, space, size) => {
        const wrapped = list.map((input, at) => ({ item_id: `i-${at}`, input }));
        const text = JSON.stringify(wrapped, null, space) + space;
        const { items, bad } = await read(text, 'json', size);
        assert.deepEqual(bad, []);
        assert.deepEqual(
          items.map(({ id, input, line }) => [id, input, line]),
          (JSON.parse(text) as typeof wrapped).map(({ item_id, input }, at) => [item_id, input, at + 1]),
        );
      },
    ),
    { numRuns: sized({ quick: 60, slow: 200 }), seed: 5 },
  );
});

test('a JSON array with changed bytes is either still read whole or reported: nothing is lost silently', async () => {
  const change = fc.record({
    at: fc.nat(),
    drop: fc.nat({ max: 2 }),
    put: fc.string({
      unit: fc.constantFrom('"', '\\', ',', ':', '{', '}', '[', ']', '\n', ' ', '1', 'n', '\xff'),
      maxLength: 2,
    }),
  });
  await fc.assert(
    fc.asyncProperty(entries, fc.array(change, { minLength: 1, maxLength: 2 }), async (list, changes) => {
      let bytes = Buffer.from(JSON.stringify(list.map((input, at) => ({ item_id: `i-${at}`, input }))));
      for (const { at, drop, put } of changes) {
        const place = at % bytes.length;
        bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(put, 'latin1'), bytes.subarray(place + drop)]);
        if (bytes.length === 0) return;
      }
      const whole = parsedOrNull(bytes);
      try {
        const { items, bad } = await read(bytes, 'json', 5);
        if (bad.length === 0) assert.equal(items.length, (whole as unknown[] | null)?.length, bytes.toString());
        if (whole === null) assert.ok(bad.length > 0, bytes.toString());
        else assert.equal(items.length + bad.length, (whole as unknown[]).length, bytes.toString());
      } catch (error) {
        if (!(error instanceof UnreadableItems)) throw error;
        assert.ok(!Array.isArray(whole), bytes.toString());
      }
    }),
    { numRuns: sized({ quick: 150, slow: 500 }), seed: 3 },
  );
});

function parsedOrNull(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
