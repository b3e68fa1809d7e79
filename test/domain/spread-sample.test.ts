import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededChance } from '../../src/domain/seeded-chance.ts';
import { SpreadSample } from '../../src/domain/spread-sample.ts';

function sampleOf(length: number, size: number, seed = 1): readonly number[] {
  const sample = new SpreadSample<number>({ size, chance: seededChance(seed), maxBytes: Number.POSITIVE_INFINITY });
  for (let at = 0; at < length; at += 1) sample.add(at, 1);
  return sample.values();
}

test('a sample has its size, or the whole list if that is shorter, in the order of the list and nothing twice', () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.integer({ min: 0, max: 60 }), fc.integer(), (length, size, seed) => {
      const values = sampleOf(length, size, seed);
      assert.equal(values.length, Math.min(length, size));
      for (const [at, value] of values.entries()) {
        assert.ok(value >= 0 && value < length);
        if (at > 0) assert.ok(value > (values[at - 1] ?? 0), values.join(' '));
      }
    }),
  );
});

test('it is spread over the list: each fifth has its share, wherever a list ends', () => {
  for (const length of [1000, 1023, 1025, 7777, 100_000]) {
    const values = sampleOf(length, 20);
    for (let part = 0; part < 5; part += 1) {
      const share = values.filter((value) => Math.floor((value / length) * 5) === part).length;
      assert.ok(share >= 2 && share <= 6, `${share} of 20 in fifth ${part} of ${length}`);
    }
  }
});

test('every entry has the same chance, within a factor of two', () => {
  const hits = new Float64Array(10);
  for (let seed = 0; seed < 2000; seed += 1)
    for (const value of sampleOf(100, 7, seed)) hits[Math.floor(value / 10)] = (hits[Math.floor(value / 10)] ?? 0) + 1;
  const fair = (2000 * 7) / 10;
  for (const count of hits) assert.ok(count > fair / 2 && count < fair * 2, [...hits].join(' '));
});

test('large values do not pile up: the sample has fewer of them', () => {
  const sample = new SpreadSample<number>({ size: 50, chance: seededChance(1), maxBytes: 1000 });
  for (let at = 0; at < 10_000; at += 1) sample.add(at, 100);
  assert.ok(sample.values().length >= 5 && sample.values().length <= 10);
});
