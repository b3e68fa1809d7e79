import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { measurePace, secondsFor } from '../../src/domain/job-pace.ts';

const width = ({ low, high }: { low: number; high: number }) => high / low;

test('an even pace has a narrow range, an uneven one a wide range, around the same rate', () => {
  const even = measurePace(3000, 30, Array(15).fill(200));
  const uneven = measurePace(3000, 30, [...Array(8).fill(0), ...Array(7).fill(429)]);
  assert.deepEqual([even.perSecond, uneven.perSecond], [100, 100]);
  assert.ok(even.low > 90 && even.low < 92 && even.high > 109 && even.high < 111);
  assert.ok(width(uneven) > 2, String(width(uneven)));
});

test('few items say little, and so does a measurement without stretches', () => {
  assert.ok(width(measurePace(4, 30, Array(15).fill(4 / 15))) > 3);
  assert.ok(width(measurePace(4000, 30)) > 1.6);
});

test('a thousand items at a hundred a second take ten seconds, and nothing is predicted for a job that makes no progress', () => {
  const left = secondsFor(1000, measurePace(3000, 30, Array(15).fill(200)));
  assert.equal(left?.expected, 10);
  assert.ok(left.low > 9 && left.low < 10 && left.high > 10 && left.high < 11.1);
  assert.equal(secondsFor(1000, measurePace(0, 30, Array(15).fill(0))), null);
  assert.equal(secondsFor(1000, null), null);
});

test('a range contains its rate, whatever was measured', () => {
  const stretches = fc.array(fc.nat(10_000), { maxLength: 20 });
  fc.assert(
    fc.property(stretches, fc.double({ min: 0.5, max: 1e5, noNaN: true }), (counts, seconds) => {
      const items = counts.reduce((sum, count) => sum + count, 0);
      const { perSecond, low, high } = measurePace(items, seconds, counts);
      assert.ok(0 <= low && low <= perSecond && perSecond <= high && Number.isFinite(high));
    }),
  );
});
