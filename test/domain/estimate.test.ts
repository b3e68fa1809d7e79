import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { estimateMean, estimateShare } from '../../src/domain/estimate.ts';
import { seededChance } from '../../src/domain/seeded-chance.ts';

const OPTIONS = { total: 1000, leastSpread: 0.5 };

test('ten values with a known mean and deviation: at least the t-interval of the tables', () => {
  const sample = [12, 15, 11, 14, 13, 12, 16, 10, 14, 13];
  const { expected, low, high } = estimateMean(sample, { ...OPTIONS, chance: seededChance(1) });
  // s = 1.826, t(9) at 95 % = 1.833 (the table's 1.86 of 8 is used), root of (1/10 + 1/1000) = 0.318.
  assert.equal(expected, 13);
  assert.ok(low <= 13 - 1.833 * 1.826 * 0.318 && low > 10, String(low));
  assert.ok(high >= 13 + 1.833 * 1.826 * 0.318 && high < 16, String(high));
});

test('a sample whose values are all the same still has a range, narrower for more of them', () => {
  const width = (n: number) => {
    const { low, high } = estimateMean(Array(n).fill(4), { ...OPTIONS, chance: seededChance(1) });
    return (high - low) / 4;
  };
  assert.ok(width(20) >= 0.2 && width(20) < 0.3, String(width(20)));
  assert.ok(width(5) > width(20) && width(20) > width(200));
  assert.ok(width(1) > 3, 'one value says next to nothing');
});

test('the range contains what is expected, is not negative, and covers a sample of any shape', () => {
  const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 1e7 }), fc.integer(), (sample, total, seed) => {
      const { expected, low, high } = estimateMean(sample, { total, leastSpread: 0.5, chance: seededChance(seed) });
      assert.ok(0 <= low && low <= expected && expected <= high && Number.isFinite(high));
    }),
  );
});

test('few further values scatter more than many', () => {
  const sample = Array.from({ length: 20 }, (_, at) => 1 + (at % 5));
  const width = (total: number) => {
    const { low, high } = estimateMean(sample, { total, leastSpread: 0.5, chance: seededChance(3) });
    return high - low;
  };
  assert.ok(width(10) > width(100) && width(100) > width(100_000));
});

interface Population {
  readonly draw: (chance: () => number) => number;
  readonly holds: number;
}

/** As jobs have them. Of 20 items, one sample in eight has none of the items that are one in ten, and cannot know of them. */
const POPULATIONS: Readonly<Record<string, Population>> = {
  'even times': { draw: (chance) => 80 + 40 * chance(), holds: 0.9 },
  'times with a long tail': { draw: (chance) => 100 * Math.exp(normal(chance)), holds: 0.9 },
  'every tenth item is tried four times': { draw: (chance) => (chance() < 0.1 ? 16 : 4), holds: 0.85 },
  'one page or three': { draw: (chance) => (chance() < 0.3 ? 1 : 3), holds: 0.9 },
};

for (const [name, { draw, holds }] of Object.entries(POPULATIONS)) {
  test(`predictions hold as often as they say: ${name}`, () => {
    const chance = seededChance(4711);
    const rounds = 500;
    let held = 0;
    for (let round = 0; round < rounds; round += 1) {
      const sample = Array.from({ length: 20 }, () => draw(chance));
      const { low, high } = estimateMean(sample, { total: 500, leastSpread: 0.5, chance });
      let sum = 0;
      for (let at = 0; at < 500; at += 1) sum += draw(chance);
      if (low <= sum / 500 && sum / 500 <= high) held += 1;
    }
    assert.ok(held / rounds >= holds, `${held} of ${rounds}`);
  });
}

test('a share has the interval of Wilson, which is not empty for none or for all', () => {
  const round = ({ expected, low, high }: ReturnType<typeof estimateShare>) =>
    [expected, low, high].map((value) => Math.round(value * 1000) / 1000);
  assert.deepEqual(round(estimateShare(2, 20)), [0.1, 0.034, 0.262]);
  assert.deepEqual(round(estimateShare(0, 20)), [0, 0, 0.119]);
  assert.deepEqual(round(estimateShare(20, 20)), [1, 0.881, 1]);
  assert.deepEqual(estimateShare(0, 0), { expected: 0, low: 0, high: 1 });
});

function normal(chance: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}
