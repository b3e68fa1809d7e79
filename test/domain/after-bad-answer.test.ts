import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterBadAnswer, type BadAnswer, speaksAgainstHost } from '../../src/domain/after-bad-answer.ts';
import { type FailureType, failure } from '../../src/domain/failure.ts';

function after(
  type: FailureType,
  {
    retryAfterMs = null,
    maxRetries = 3,
    ...bad
  }: Partial<BadAnswer> & { retryAfterMs?: number | null; maxRetries?: number } = {},
) {
  const what = failure(type, 'x', { retryAfterMs });
  const usual = { method: 'GET', status: 503, isLost: false, repeats: 0, trouble: 'rare' } as const;
  return afterBadAnswer({ failure: what, ...usual, ...bad }, maxRetries);
}

const FAILS = { kind: 'fail', pauseMs: null };

test('a rare refusal with a short Retry-After delays its own request and no other', () => {
  assert.deepEqual(after('rate_limited', { retryAfterMs: 1000 }), { kind: 'repeat', delayMs: 1000 });
  assert.deepEqual(after('rate_limited', { retryAfterMs: 1000, repeats: 1 }), { kind: 'repeat', delayMs: 1000 });
  assert.deepEqual(after('rate_limited', { retryAfterMs: 1000, repeats: 2 }), FAILS);
  assert.deepEqual(after('rate_limited', { retryAfterMs: 1000, method: 'POST' }), FAILS);
  assert.deepEqual(after('rate_limited', { retryAfterMs: 0 }), { kind: 'repeat', delayMs: 250 });
});

test('a frequent refusal, or one with a long Retry-After, pauses the host', () => {
  const pause = { kind: 'fail', pauseMs: 1000 };
  assert.deepEqual(after('rate_limited', { retryAfterMs: 1000, trouble: 'frequent' }), pause);
  assert.deepEqual(after('rate_limited', { retryAfterMs: 5001 }), { kind: 'fail', pauseMs: 5001 });
  assert.deepEqual(after('blocked', { retryAfterMs: 1000 }), pause);
});

test('a gateway that fails and a lost connection are asked again, twice and a little later each time', () => {
  for (const status of [502, 503, 504]) {
    assert.deepEqual(after('server_error', { status }), { kind: 'repeat', delayMs: 250 });
    assert.deepEqual(after('server_error', { status, repeats: 1 }), { kind: 'repeat', delayMs: 500 });
    assert.deepEqual(after('server_error', { status, repeats: 2 }), FAILS);
  }
  assert.deepEqual(after('network_error', { status: null, isLost: true }), { kind: 'repeat', delayMs: 250 });
});

test('a request that would fail again, or must not be sent twice, is not repeated', () => {
  assert.deepEqual(after('server_error', { status: 500 }), FAILS);
  assert.deepEqual(after('network_error', { status: null }), FAILS);
  assert.deepEqual(after('maintenance'), FAILS);
  assert.deepEqual(after('timeout', { status: null }), FAILS);
  assert.deepEqual(after('not_found', { status: 404 }), FAILS);
  assert.deepEqual(after('server_error', { method: 'POST' }), FAILS);
  assert.deepEqual(
    after('server_error', { trouble: 'frequent' }),
    FAILS,
    'a site that is down is not asked three times as often',
  );
});

test('a job without retries gets none, and one with a single retry gets one', () => {
  assert.deepEqual(after('server_error', { maxRetries: 0 }), FAILS);
  assert.deepEqual(after('server_error', { maxRetries: 1 }), { kind: 'repeat', delayMs: 250 });
  assert.deepEqual(after('server_error', { maxRetries: 1, repeats: 1 }), FAILS);
});

test('refusals, gateways that fail and lost connections speak against a host; single pages that fail do not', () => {
  const speaks = (type: FailureType, status: number | null) =>
    speaksAgainstHost({ failure: failure(type, 'x'), status });
  assert.ok(speaks('rate_limited', 429) && speaks('blocked', 403) && speaks('server_error', 503));
  assert.ok(speaks('network_error', null));
  for (const type of ['not_found', 'no_results', 'structure_changed', 'navigation_failed'] as const) {
    assert.ok(!speaks(type, 404), type);
  }
  assert.ok(!speaks('server_error', 500) && !speaks('blocked', 401));
});
