import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, spreadMs } from '../../src/domain/backoff.ts';

test('each wait is twice the one before it, up to the longest', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 1000].map((times) => backoffMs(times, 100, 700)),
    [100, 200, 400, 700, 700, 700],
  );
  assert.equal(backoffMs(10, 1), 1024, 'without a limit');
});

test('a wait is spread over its upper half', () => {
  assert.deepEqual(
    [0, 0.5, 1].map((chance) => spreadMs(1000, chance)),
    [500, 750, 1000],
  );
});
