import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  FAILURE_TYPES,
  FAILURES,
  type FailureType,
  failure,
  isRetryable,
  MAX_MESSAGE_LENGTH,
} from '../../src/domain/failure.ts';
import { anyFailureType, anyText } from './builders.ts';

/** What is promised of each type: whether it is retried, and counts for the breaker. Written out, so that a slip shows. */
const PROMISED: readonly [FailureType, boolean, boolean][] = [
  ['timeout', true, true],
  ['network_error', true, true],
  ['server_error', true, true],
  ['blocked', true, true],
  ['rate_limited', true, true],
  ['maintenance', true, true],
  ['proxy_error', true, false],
  ['proxy_config', false, false],
  ['structure_changed', false, true],
  ['navigation_failed', true, true],
  ['no_results', false, false],
  ['not_found', false, false],
  ['invalid_input', false, false],
  ['invalid_output', false, true],
  ['too_large', false, false],
  ['refused_address', false, false],
  ['poison', false, true],
  ['unexpected', true, true],
];

test('the list of failures is the promised one, in its order', () => {
  assert.deepEqual(
    FAILURE_TYPES,
    PROMISED.map(([type]) => type),
  );
});

for (const [type, retried, breaker] of PROMISED) {
  test(`${type} is ${retried ? '' : 'not '}retried and ${breaker ? 'counts' : 'does not count'} for the breaker`, () => {
    assert.equal(isRetryable(type), retried);
    assert.equal(FAILURES[type].breaker, breaker);
  });
}

test('only a block, and a site that is asked too often, are refusals that slow a job down', () => {
  const refusals = FAILURE_TYPES.filter((type) => FAILURES[type].refusal);
  assert.deepEqual(refusals, ['blocked', 'rate_limited']);
});

test('only a wrong proxy configuration stops the job', () => {
  const stoppers = FAILURE_TYPES.filter((type) => FAILURES[type].retry === 'stops-the-job');
  assert.deepEqual(stoppers, ['proxy_config']);
});

test('errors without a type of their own, and whatever kills workers, are blamed on us', () => {
  assert.deepEqual(
    FAILURE_TYPES.filter((type) => FAILURES[type].blame === 'us'),
    ['poison', 'unexpected'],
  );
});

test('what is the fault of the input is neither retried nor held against the site', () => {
  for (const type of FAILURE_TYPES.filter((each) => FAILURES[each].blame === 'input')) {
    assert.equal(isRetryable(type), false, type);
    assert.equal(FAILURES[type].breaker, false, type);
  }
});

test('a failure has no cause and no hint unless one is given', () => {
  assert.deepEqual(failure('timeout', 'no answer'), {
    type: 'timeout',
    message: 'no answer',
    cause: null,
    retryAfterMs: null,
  });
  assert.deepEqual(failure('timeout', 'no answer', { cause: null, retryAfterMs: null }).cause, null);
});

test('the cause is the error underneath in its own words, with its code', () => {
  const reset = Object.assign(new TypeError('socket hang up'), { code: 'ECONNRESET' });
  assert.equal(failure('network_error', 'reset', { cause: reset }).cause, 'TypeError: socket hang up [ECONNRESET]');
  assert.equal(failure('network_error', 'reset', { cause: new Error('boom') }).cause, 'Error: boom');
  assert.equal(failure('unexpected', 'thrown', { cause: 42 }).cause, '42');
  const odd = Object.assign(new Error('odd'), { code: 7 });
  assert.equal(failure('unexpected', 'thrown', { cause: odd }).cause, 'Error: odd');
});

test('a hint from the site is kept, zero included', () => {
  assert.equal(failure('rate_limited', 'slow down', { retryAfterMs: 0 }).retryAfterMs, 0);
  assert.equal(failure('rate_limited', 'slow down', { retryAfterMs: 1500 }).retryAfterMs, 1500);
});

test('a message at the limit stays whole and one above it is cut', () => {
  assert.equal(MAX_MESSAGE_LENGTH, 1000);
  const whole = 'x'.repeat(MAX_MESSAGE_LENGTH);
  assert.equal(failure('timeout', whole).message, whole);
  assert.equal(failure('timeout', `${whole}y`).message, `${'x'.repeat(MAX_MESSAGE_LENGTH - 1)}…`);
});

test('messages and causes of any length and script come out short and as valid text', () => {
  const text = fc.oneof(
    anyText(40),
    fc
      .tuple(
        fc.integer({ min: 990, max: 1001 }),
        fc.string({ unit: fc.constantFrom('😀', 'é', '\ud83d'), maxLength: 9 }),
      )
      .map(([length, end]) => 'x'.repeat(length) + end),
  );
  fc.assert(
    fc.property(anyFailureType, text, text, (type, message, cause) => {
      const made = failure(type, message, { cause });
      for (const part of [made.message, made.cause ?? '']) {
        assert.ok(part.length <= MAX_MESSAGE_LENGTH);
        assert.ok(part.isWellFormed());
      }
      if (message.length <= MAX_MESSAGE_LENGTH && message.isWellFormed()) assert.equal(made.message, message);
    }),
  );
});

test('a failure names the page that it was seen on only where there was one', () => {
  assert.equal(failure('blocked', 'go away', { page: 'f1' }).page, 'f1');
  assert.ok(!('page' in failure('blocked', 'go away')));
  assert.ok(!('page' in failure('blocked', 'go away', { page: null })));
  assert.ok((failure('blocked', 'go away', { page: 'x'.repeat(5000) }).page?.length ?? 0) <= MAX_MESSAGE_LENGTH);
});
