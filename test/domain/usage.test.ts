import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PROXY_TYPES } from '../../src/domain/proxy-policy.ts';
import {
  addUsage,
  attemptUsage,
  fitUsage,
  MAX_ATTEMPT_USAGE_ROWS,
  MAX_USAGE_ROWS,
  NO_USAGE,
  OTHER_HOSTS,
  totalUsage,
  type Usage,
  type UsageRow,
} from '../../src/domain/usage.ts';

const count = fc.nat(1_000_000);
const anyRow: fc.Arbitrary<UsageRow> = fc.record({
  host: fc.nat(40).map((number) => `host-${number}.test`),
  proxy: fc.constantFrom(...PROXY_TYPES),
  requests: fc.integer({ min: 1, max: 1000 }),
  bytesUp: count,
  bytesDown: count,
  refused: count,
  blocked: count,
});
const anyUsage = fc.array(anyRow, { maxLength: 20 });

function sum(usages: readonly Usage[]): Usage {
  return usages.reduce(addUsage, NO_USAGE);
}

test('whatever is added, nothing is lost, no place has two rows, and the list stays short', () => {
  fc.assert(
    fc.property(fc.array(anyUsage, { maxLength: 10 }), (usages) => {
      const added = sum(usages);
      assert.deepEqual(totalUsage(added), totalUsage(usages.flat()));
      assert.ok(added.length <= MAX_ATTEMPT_USAGE_ROWS);
      assert.ok(added.filter(({ host }) => host !== OTHER_HOSTS).length <= MAX_USAGE_ROWS);
      assert.equal(new Set(added.map(({ host, proxy }) => `${host} ${proxy}`)).size, added.length);
    }),
  );
});

test('what fits usage can be added to it row by row', () => {
  fc.assert(
    fc.property(anyUsage, anyUsage, (before, more) => {
      const usage = sum([before]);
      const fitted = fitUsage(usage, more);
      assert.deepEqual(totalUsage(fitted), totalUsage(more));
      const places = new Set([...usage, ...fitted].map(({ host, proxy }) => `${host} ${proxy}`));
      assert.ok(places.size <= MAX_ATTEMPT_USAGE_ROWS);
    }),
  );
});

test('adding nothing answers the same object, and an attempt that used nothing keeps nothing', () => {
  assert.equal(addUsage(NO_USAGE, undefined), NO_USAGE);
  assert.equal(addUsage(NO_USAGE, []), NO_USAGE);
  assert.deepEqual(attemptUsage(undefined), {});
  assert.deepEqual(attemptUsage([]), {});
});

test('only what went through a proxy is proxy traffic', () => {
  const row = { host: 'a.test', requests: 1, bytesUp: 10, bytesDown: 100, refused: 0, blocked: 0 };
  const usage: Usage = [
    { ...row, proxy: 'none' },
    { ...row, proxy: 'custom' },
    { ...row, proxy: 'residential' },
  ];
  assert.equal(totalUsage(usage).proxyBytes, 220);
  assert.deepEqual(attemptUsage(usage), { usage: [3, 30, 300] });
});
