import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemList, parseInput } from '../../src/cli/jobs/item-list.ts';
import { tempFolder, writeLines } from './trawl.ts';

test('fields given by hand are strings, and JSON where they say so', () => {
  assert.deepEqual(parseInput(['apn=200-14-030', 'url=http://a/?b=c', 'year:=2025', 'tags:=["x"]', 'empty=']), {
    ...{ apn: '200-14-030', url: 'http://a/?b=c', year: 2025 },
    ...{ tags: ['x'], empty: '' },
  });
  assert.throws(() => parseInput(['=x']), /name=value/);
  assert.throws(() => parseInput(['a:=x']), /must be JSON/);
  assert.throws(() => parseInput(['a=1', 'a=2']), /a is given twice/);
});

test('fields given by hand make one item', async () => {
  const list = itemList({ input: ['item_id=p-1', 'apn=7'] });
  assert.deepEqual([list?.name, list?.contentType], ['--input', 'application/json']);
  const bytes = Buffer.concat(await Array.fromAsync(list?.open() ?? []));
  assert.deepEqual(JSON.parse(bytes.toString()), [{ item_id: 'p-1', apn: '7' }]);
});

test('a file is sent as it is, with its size and the type that its name suggests', async () => {
  const path = writeLines(tempFolder(), 'items.csv', ['apn', '7']);
  const list = itemList({ items: path });
  assert.deepEqual([list?.name, list?.contentType, list?.size], [path, 'text/csv', 6]);
  assert.equal(Buffer.concat(await Array.fromAsync(list?.open() ?? [])).toString(), 'apn\n7\n');
});

test('a list and an item by hand cannot be combined, and giving neither is recognized', () => {
  assert.throws(() => itemList({ items: 'a.csv', input: ['a=1'] }), /give one of them/);
  assert.equal(itemList({}), null);
  assert.throws(() => itemList({ items: tempFolder() }), /is a folder/);
});
