import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Counts, finishedOf, inFlightOf, NO_COUNTS, pendingOf } from '../../src/domain/counts.ts';

test('a job without items has nothing of anything', () => {
  assert.deepEqual(new Set(Object.values(NO_COUNTS)), new Set([0]));
  assert.equal(pendingOf(NO_COUNTS), 0);
});

test('what is neither in flight nor finished is pending', () => {
  const counts: Counts = { total: 100, queued: 1, inProgress: 2, success: 50, failed: 5, skipped: 4, cancelled: 3 };
  assert.equal(inFlightOf(counts), 3);
  assert.equal(finishedOf(counts), 62);
  assert.equal(pendingOf(counts), 35);
});

test('the seven counts add up to the total, whatever they are', () => {
  const n = fc.nat({ max: 10_000_000 });
  const parts = fc.record({ queued: n, inProgress: n, success: n, failed: n, skipped: n, cancelled: n });
  fc.assert(
    fc.property(parts, n, (inner, pending) => {
      const sum = inner.queued + inner.inProgress + inner.success + inner.failed + inner.skipped + inner.cancelled;
      const counts = { total: sum + pending, ...inner };
      assert.equal(pendingOf(counts), pending);
      assert.equal(pendingOf(counts) + inFlightOf(counts) + finishedOf(counts), counts.total);
    }),
  );
});
