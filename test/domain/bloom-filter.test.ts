import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BloomFilter } from '../../src/domain/bloom-filter.ts';

const hash = fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 });

test('what was added may be there, whatever the hashes and the size', () => {
  fc.assert(
    fc.property(
      fc.array(hash),
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: 1, max: 8 }),
      (all, bits, probes) => {
        const filter = new BloomFilter({ bits, probes });
        for (const each of all) filter.add(each);
        for (const each of all) assert.ok(filter.mayHave(each));
      },
    ),
  );
});

test('an empty filter has nothing, and a filled one is rarely wrong', () => {
  fc.assert(fc.property(hash, (each) => !new BloomFilter({ bits: 0, probes: 6 }).mayHave(each)));
  const filter = new BloomFilter({ bits: 16 * 20_000, probes: 6 });
  const spread = (number: number) => Math.imul(number, 0x9e3779b1) >>> 0;
  for (let each = 0; each < 20_000; each += 1) filter.add(spread(each));
  let wrong = 0;
  for (let each = 20_000; each < 120_000; each += 1) if (filter.mayHave(spread(each))) wrong += 1;
  assert.ok(wrong < 300, `${wrong} of 100,000`);
});
