import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  lastFailureType,
  listFailedTries,
  MAX_FAILED_TRIES,
  MAX_TRY_MESSAGE_LENGTH,
  mostTelling,
  tellingOf,
} from '../../src/domain/failed-try.ts';
import { FAILURE_TYPES, type FailureType, failure, isRetryable } from '../../src/domain/failure.ts';
import { NOW } from './builders.ts';

/** Types of the failed tries in their order, and which of them names the item. */
const NAMED: readonly (readonly [readonly FailureType[], FailureType, string])[] = [
  [['timeout'], 'timeout', 'the only one'],
  [['navigation_failed', 'navigation_failed', 'navigation_failed', 'server_error'], 'navigation_failed', 'a late 503'],
  [
    ['navigation_failed', 'rate_limited', 'rate_limited', 'rate_limited'],
    'navigation_failed',
    'seen once, but a fault',
  ],
  [['rate_limited', 'unexpected', 'blocked', 'maintenance'], 'unexpected', 'seen once, but a fault'],
  [['unexpected', 'unexpected', 'navigation_failed'], 'unexpected', 'two faults: the more frequent'],
  [['unexpected', 'navigation_failed', 'timeout'], 'navigation_failed', 'two faults, equally frequent: the later'],
  [
    ['navigation_failed', 'navigation_failed', 'no_results'],
    'no_results',
    'the page was reached, and that is the answer',
  ],
  [['unexpected', 'unexpected', 'structure_changed'], 'structure_changed', 'nothing follows what is not tried again'],
  [['server_error', 'server_error', 'not_found'], 'not_found', 'likewise'],
  [['timeout', 'timeout', 'proxy_config'], 'proxy_config', 'what stops the job must stop it'],
  [['maintenance', 'server_error', 'server_error'], 'maintenance', 'the site says so, and a bare 503 does not deny it'],
  [['rate_limited', 'blocked', 'timeout', 'timeout'], 'blocked', 'the site says so'],
  [['blocked', 'maintenance', 'blocked', 'timeout'], 'blocked', 'said twice'],
  [['blocked', 'navigation_failed', 'blocked'], 'navigation_failed', 'a fault tells more of the item'],
  [['rate_limited', 'rate_limited', 'server_error'], 'rate_limited', 'passing ones: the most frequent'],
  [['server_error', 'network_error', 'server_error', 'network_error'], 'network_error', 'a draw: the last'],
  [['proxy_error', 'timeout'], 'timeout', 'a draw: the last'],
];

for (const [types, expected, why] of NAMED) {
  test(`${types.join(', ')}: the item is named ${expected} (${why})`, () => {
    assert.equal(mostTelling(types.slice(0, -1), types.at(-1) as FailureType), expected);
  });
}

test('every type says something about the item, about the site, or about that moment', () => {
  const passing = FAILURE_TYPES.filter((type) => tellingOf(type) === 'passing');
  assert.deepEqual(passing, [...['timeout', 'network_error', 'server_error', 'rate_limited', 'proxy_error']]);
  for (const type of FAILURE_TYPES) assert.equal(tellingOf(type) === 'decided', !isRetryable(type), type);
});

function seen(count: number, message = 'no') {
  return Array.from({ length: count }, (_, index) => {
    return { number: index + 1, failure: failure('timeout', message), at: NOW + index, waitMs: 1000 };
  });
}

test('failed tries are listed with their time and wait, and none where there was one try', () => {
  assert.deepEqual(listFailedTries(seen(1), 2), {
    failedTries: [{ number: 1, type: 'timeout', message: 'no', at: NOW, waitMs: 1000 }],
  });
  assert.deepEqual(listFailedTries(seen(1), 1), {}, 'its failure is that of the attempt');
  assert.deepEqual(listFailedTries([], 1), {});
});

test('only the last failed tries are listed, with their numbers, and messages are cut short', () => {
  const { failedTries = [] } = listFailedTries(seen(21, `${'x'.repeat(MAX_TRY_MESSAGE_LENGTH - 2)}👩👩`), 21);
  assert.deepEqual([failedTries.length, failedTries.at(-1)?.number], [MAX_FAILED_TRIES, 21]);
  for (const { message } of failedTries) {
    assert.equal(message.length, MAX_TRY_MESSAGE_LENGTH);
    assert.ok(message.isWellFormed());
  }
});

test('what the site did last is what the last try saw, not what names the item', () => {
  const named = failure('navigation_failed', 'lost');
  const last = { number: 2, type: 'rate_limited', message: '', at: NOW, waitMs: null } as const;
  assert.equal(lastFailureType(named, [{ ...last, type: 'navigation_failed', number: 1 }, last]), 'rate_limited');
  assert.equal(lastFailureType(named), 'navigation_failed');
});
