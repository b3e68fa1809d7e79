import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdCache } from '../../../src/adapters/aws/ids/id-cache.ts';
import { IdFilter } from '../../../src/adapters/aws/ids/id-filter.ts';
import { IdTable } from '../../../src/adapters/aws/ids/id-table.ts';

function run(id: string, parts = 1) {
  return { id, from: 0, to: 1000, level: 0, parts };
}

/** Hashes that are spread over the whole range. */
function hashesFrom(first: number, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => Math.imul(first + index, 0x9e3779b1));
}

function tableFrom(first: number): IdTable {
  return IdTable.of(hashesFrom(first, 1000), first);
}

test('a filter knows all the hashes that it was made of, and takes few others for one of them', () => {
  const filter = new IdFilter(hashesFrom(0, 100_000), 100_000);
  assert.ok(hashesFrom(0, 100_000).every((hash) => filter.mayHave(hash)));
  const mistaken = hashesFrom(5_000_000, 100_000).filter((hash) => filter.mayHave(hash)).length;
  assert.ok(mistaken < 50, `${mistaken} of 100,000`);
  assert.equal(filter.bytes, 250_000);
  assert.equal(new IdFilter([], 0).mayHave(7), false);
});

test('a table finds all places of a hash, and is the same after it was cut into parts', () => {
  const table = IdTable.merged([tableFrom(0), tableFrom(1000), IdTable.of(hashesFrom(500, 3), 9000)]);
  const parts = table.cut(7);
  assert.equal(parts.length, 7);
  const again = IdTable.fromParts(parts);
  for (const each of [table, again]) {
    assert.equal(each.entries, 2003);
    const [hash = 0, other = 0] = [...hashesFrom(500, 1), ...hashesFrom(1999, 1)];
    assert.deepEqual(each.seqsOf(hash), [500, 9000]);
    assert.deepEqual(each.seqsOf(other), [1999]);
    assert.deepEqual(each.seqsOf(0xffff_ffff), []);
    assert.deepEqual(each.seqsOf(1), []);
  }
});

test('memory has a limit: what was used longest ago becomes a filter first, and is then forgotten', () => {
  const cache = new IdCache(20_000);
  const kindOf = (id: string) => cache.get('job', run(id))?.constructor.name;
  for (const [index, id] of ['a', 'b'].entries()) cache.put('job', run(id), tableFrom(index * 1000));
  assert.equal(cache.get('other job', run('a')), null);
  assert.equal(kindOf('a'), 'IdTable');
  cache.put('job', run('c'), tableFrom(2000));
  assert.deepEqual(['a', 'b', 'c'].map(kindOf), ['IdTable', 'IdFilter', 'IdTable']);
  for (const id of ['d', 'e', 'f', 'g', 'h']) {
    cache.put('job', run(id), tableFrom(3000));
    assert.ok(cache.bytes <= 20_000);
  }
  assert.deepEqual([kindOf('b'), kindOf('h')], [undefined, 'IdFilter']);
  cache.forget('job', [run('h')]);
  assert.equal(kindOf('h'), undefined);
  cache.forgetJob('job');
  assert.equal(cache.bytes, 0);
});

test('a run is read whole when its parts have been asked for as often as it has parts', () => {
  const cache = new IdCache(100_000);
  assert.equal(cache.isWorthReading('job', run('small', 1), 1), true);
  const asked = [3, 3, 3, 3].map((parts) => cache.isWorthReading('job', run('large', 10), parts));
  assert.deepEqual(asked, [false, false, false, true]);
});
