import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn, turnName } from '../../src/domain/batch-turn.ts';

test('turns are a delay apart, and none is in the past', () => {
  assert.deepEqual(nextTurn(null, { delayMs: 100, now: 5000 }), { at: 5000 });
  assert.deepEqual(nextTurn({ at: 5000 }, { delayMs: 100, now: 5000 }), { at: 5100 });
  assert.deepEqual(nextTurn({ at: 5100 }, { delayMs: 100, now: 5000 }), { at: 5200 });
  assert.deepEqual(nextTurn({ at: 5000 }, { delayMs: 100, now: 9000 }), { at: 9000 });
});

test('a clock that was set back by an hour delays a batch once', () => {
  assert.deepEqual(nextTurn({ at: 3_600_000 }, { delayMs: 100, now: 0 }), { at: 100 });
});

test('batches of a job have different turns, as a rule', () => {
  const names = Array.from({ length: 100 }, (_, batch) => turnName('job', batch));
  assert.ok(new Set(names).size > 90);
  assert.equal(turnName('job', 7), turnName('job', 7));
});
