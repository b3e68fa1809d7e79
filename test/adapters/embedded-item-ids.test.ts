import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Database, openDatabase } from '../../src/adapters/embedded/ledger/database.ts';
import { IdFilter } from '../../src/adapters/embedded/ledger/id-filter.ts';
import { ItemIds } from '../../src/adapters/embedded/ledger/item-ids.ts';
import { rowKey } from '../../src/adapters/embedded/ledger/row-key.ts';
import { newItems } from '../support/builders.ts';
import { dataDirOf } from './embedded-support.ts';

const JOB = 7;

function openIds(t: TestContext): {
  database: Database;
  ids: ItemIds;
  append: (prefix: string, count: number) => void;
} {
  const database = openDatabase(join(dataDirOf(t), 'ledger.db'));
  t.after(() => database.close());
  const ids = new ItemIds(database.sql);
  let total = 0;
  const append = (prefix: string, count: number) => {
    const items = newItems(count, { prefix });
    for (const [index, { itemId }] of items.entries()) {
      database.sql.insertItem.run(rowKey(JOB, total + index), itemId, '{}');
    }
    ids.append(JOB, total, items);
    total += count;
  };
  return { database, ids, append };
}

function runsOf({ sql }: Database): number[] {
  return sql.idRunsBetween.all(rowKey(JOB, 0), rowKey(JOB + 1, 0) - 1).map((row) => Number(row['size']));
}

/** What the filter and the tables together say. */
function knownOf(ids: ItemIds, total: number, itemIds: readonly string[]): number[] {
  const items = itemIds.map((itemId) => ({ itemId, input: {} }));
  return ids.known(JOB, total, items).map(({ index }) => index);
}

test('every id is found at its place, and no other', (t) => {
  const { ids, append } = openIds(t);
  append('a', 3000);
  append('b', 1);
  append('c', 500);
  for (const [itemId, place] of [
    ['a-0', 0],
    ['a-2999', 2999],
    ['b-0', 3000],
    ['c-0', 3001],
    ['c-499', 3500],
  ] as const) {
    assert.equal(ids.find(JOB, itemId), place);
  }
  for (const itemId of ['a-3000', 'b-1', 'c-500', '', 'A-0']) assert.equal(ids.find(JOB, itemId), null);
  assert.equal(ids.find(JOB + 1, 'a-0'), null);
});

test('ids of any characters and length are distinguished', (t) => {
  const { database, ids } = openIds(t);
  const odd = [
    '',
    ' ',
    '0',
    '\u0000',
    'a\u0000b',
    'ä',
    'a\u0308',
    '🦞',
    'x'.repeat(1000),
    `${'x'.repeat(999)}y`,
    'ab',
    'ba',
  ];
  for (const [place, itemId] of odd.entries()) database.sql.insertItem.run(rowKey(JOB, place), itemId, '{}');
  ids.append(
    JOB,
    0,
    odd.map((itemId) => ({ itemId })),
  );
  for (const [place, itemId] of odd.entries()) assert.equal(ids.find(JOB, itemId), place, JSON.stringify(itemId));
});

test('items that come one at a time make few runs, so that finding one stays cheap', (t) => {
  const { database, ids, append } = openIds(t);
  database.transaction(() => {
    for (let count = 0; count < 5000; count += 1) append(`one-${count}`, 1);
  });
  const sizes = runsOf(database);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    5000,
  );
  assert.ok(sizes.length <= 14, `${sizes.length} runs`);
  assert.equal(ids.find(JOB, 'one-0-0'), 0);
  assert.equal(ids.find(JOB, 'one-4999-0'), 4999);
  const buckets = database.sql.idsBetween.all(rowKey(JOB, 0), rowKey(JOB + 1, 0) - 1).length;
  assert.ok(buckets < 200, `${buckets} rows`);
});

test('large chunks are merged only up to a bound, so that no merge takes long', (t) => {
  const { database, append } = openIds(t);
  database.transaction(() => {
    for (let chunk = 0; chunk < 20; chunk += 1) append(`chunk-${chunk}`, 10_000);
  });
  const sizes = runsOf(database);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    200_000,
  );
  assert.ok(Math.max(...sizes) <= 65_536);
  assert.ok(sizes.length <= 7, sizes.join());
});

test('an id is known if the job has it or it occurs earlier in the list', (t) => {
  const { ids, append } = openIds(t);
  append('a', 100);
  assert.deepEqual(knownOf(ids, 100, ['new', 'a-5', 'new', 'newer', 'a-99', 'a-100']), [1, 2, 4]);
});

test('the answer is the same with the filter, without it, and after the ledger forgot', (t) => {
  const { database, ids, append } = openIds(t);
  append('a', 20_000);
  const asked = ['a-1', 'b-1', 'a-19999', 'b-2'];
  // One question costs less than making a filter; ten thousand do not.
  assert.deepEqual(knownOf(ids, 20_000, asked), [0, 2]);
  const many = newItems(10_000, { prefix: 'c' }).map(({ itemId }) => itemId);
  assert.deepEqual(knownOf(ids, 20_000, [...many, 'a-7']), [10_000]);
  assert.deepEqual(knownOf(ids, 20_000, asked), [0, 2]);
  // What was asked about and never added, or rolled back, is still new.
  assert.deepEqual(knownOf(ids, 20_000, ['c-1', 'b-1']), []);
  ids.forget();
  assert.deepEqual(knownOf(ids, 20_000, asked), [0, 2]);
  assert.deepEqual(knownOf(new ItemIds(database.sql), 20_000, asked), [0, 2]);
});

test('the filter never denies what it was given, and seldom says maybe to what it was not', () => {
  const filter = new IdFilter();
  const spread = (number: number) => Math.imul(number, 0x9e3779b1) >>> 0;
  for (let number = 0; number < 100_000; number += 1) filter.add(spread(number));
  for (let number = 0; number < 100_000; number += 1) assert.equal(filter.add(spread(number)), false);
  let maybe = 0;
  for (let number = 100_000; number < 110_000; number += 1) if (!filter.add(spread(number))) maybe += 1;
  assert.ok(maybe < 100, `${maybe} of 10,000`);
  assert.ok(filter.bytes < 1_000_000, `${filter.bytes} bytes`);
});
