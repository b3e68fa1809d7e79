import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemSource, parseInput } from '../../src/cli/run-items.ts';
import { tempFolder, writeLines } from './trawl.ts';

test('fields by hand are texts, and JSON where they say so', () => {
  assert.deepEqual(parseInput(['apn=200-14-030', 'url=http://a/?b=c', 'year:=2025', 'tags:=["x"]', 'empty=']), {
    ...{ apn: '200-14-030', url: 'http://a/?b=c', year: 2025 },
    ...{ tags: ['x'], empty: '' },
  });
  assert.throws(() => parseInput(['=x']), /name=value/);
  assert.throws(() => parseInput(['a:=x']), /must be JSON/);
  assert.throws(() => parseInput(['a=1', 'a=2']), /a is given twice/);
});

test('fields by hand make one item', async () => {
  const chunks = await Array.fromAsync(itemSource({ input: ['item_id=p-1', 'apn=7'] })?.open() ?? []);
  assert.deepEqual(chunks, [{ items: [{ itemId: 'p-1', input: { apn: '7' } }], bad: [] }]);
});

test('a limit takes the first items, over the chunks, and reads no further', async () => {
  const lines = Array.from({ length: 2500 }, (_, at) => ({ apn: `${at}` }));
  const file = writeLines(tempFolder(), 'items.jsonl', lines);
  const take = async (limit?: number) => {
    const chunks = await Array.fromAsync(itemSource({ items: file, ...(limit ? { limit } : {}) })?.open() ?? []);
    return chunks.flatMap(({ items }) => items.map(({ itemId }) => itemId));
  };
  assert.equal((await take()).length, 2500);
  assert.deepEqual(await take(1), ['0']);
  const some = await take(1001);
  assert.deepEqual([some.length, some.at(-1)], [1001, '1000']);
});

test('a list and an item by hand are not both meant, and none is told apart', () => {
  assert.throws(() => itemSource({ items: 'a.csv', input: ['a=1'] }), /give one of them/);
  assert.equal(itemSource({}), null);
  assert.throws(() => itemSource({ items: tempFolder() }), /is a folder/);
});

test('a file that makes no sense is named', async () => {
  const file = writeLines(tempFolder(), 'items.csv', ['a,a', '1,2']);
  await assert.rejects(Array.fromAsync(itemSource({ items: file })?.open() ?? []), /items\.csv: two columns/);
});
