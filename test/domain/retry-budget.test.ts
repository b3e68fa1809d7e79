import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FRESH_BUDGET, withFirstRequest, withRetry } from '../../src/domain/retry-budget.ts';

test('however requests fail, retries are at most a fifth of them, beyond the ten that are there at the start', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 2000 }), (wantsRetry) => {
      let budget = FRESH_BUDGET;
      let requests = 0;
      let retries = 0;
      for (const wants of wantsRetry) {
        const taken = wants ? withRetry(budget) : null;
        if (taken !== null) retries += 1;
        budget = withFirstRequest(taken ?? budget);
        requests += 1;
      }
      assert.ok(retries <= 10 + requests / 5, `${retries} of ${requests}`);
    }),
  );
});

test('what was not used is saved, but not without end', () => {
  let budget = FRESH_BUDGET;
  for (let n = 0; n < 10_000; n += 1) budget = withFirstRequest(budget);
  let retries = 0;
  for (let next = withRetry(budget); next !== null; next = withRetry(budget)) {
    budget = next;
    retries += 1;
  }
  assert.ok(retries >= 15 && retries <= 20, `${retries}`);
});
