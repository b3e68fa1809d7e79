import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { afterAttempt, type Decision, isProxyFault, MAX_PROXY_RETRIES } from '../../src/domain/after-attempt.ts';
import { FAILURE_TYPES, FAILURES, type FailureType, failure, isRetryable } from '../../src/domain/failure.ts';
import { type RetryPolicy, retriesSchema } from '../../src/domain/policy.ts';
import { anyFailureType } from './builders.ts';

const policyOf = (fields: Partial<RetryPolicy> = {}) => retriesSchema.parse(fields);
const PLENTY = 24 * 60 * 60 * 1000;
/** As little jitter as there is: a delay is then its nominal length. */
const LATEST = 1 - Number.EPSILON;

function after(type: FailureType, tries: number, policy: Partial<RetryPolicy> = {}, chance = LATEST): Decision {
  return afterAttempt({ tries, proxyFaults: 0, remainingMs: PLENTY }, failure(type, 'x'), policyOf(policy), chance);
}

function delays(count: number, policy: Partial<RetryPolicy>, chance = LATEST): number[] {
  return Array.from({ length: count }, (_, index) => {
    const decision = after('timeout', index + 1, { max_retries: 20, ...policy }, chance);
    assert.ok(decision.kind === 'retry');
    return decision.delayMs;
  });
}

test('by default an item is tried again after one, two and four seconds, and then given up', () => {
  assert.deepEqual(delays(3, {}), [1000, 2000, 4000]);
  assert.deepEqual(after('timeout', 4), { kind: 'give-up', because: 'retries-used-up' });
});

test('no delay grows beyond the limit', () => {
  assert.deepEqual(delays(8, {}).slice(5), [32_000, 60_000, 60_000]);
});

test('a linear backoff grows by the same step', () => {
  assert.deepEqual(delays(4, { backoff_strategy: 'linear' }), [1000, 2000, 3000, 4000]);
});

test('the factor stretches every delay, and zero means at once', () => {
  assert.deepEqual(delays(3, { backoff_factor: 2.5 }), [2500, 5000, 10_000]);
  assert.deepEqual(delays(3, { backoff_factor: 0 }), [0, 0, 0]);
});

test('chance takes away up to half of a delay', () => {
  assert.deepEqual(delays(3, {}, 0), [500, 1000, 2000]);
  assert.deepEqual(delays(3, {}, 0.5), [750, 1500, 3000]);
});

test('without retries the first failure is the last', () => {
  assert.deepEqual(after('timeout', 1, { max_retries: 0 }), { kind: 'give-up', because: 'retries-used-up' });
});

test('a site that is down on purpose is asked again after the longest delay', () => {
  const decision = after('maintenance', 1, { max_backoff_seconds: 45 });
  assert.deepEqual(decision, { kind: 'retry', delayMs: 45_000, identity: 'keep' });
});

test('what the site asked for is honoured, even beyond our own limit', () => {
  const asked = (retryAfterMs: number) =>
    afterAttempt(
      { tries: 1, proxyFaults: 0, remainingMs: PLENTY },
      failure('rate_limited', 'x', { retryAfterMs }),
      policyOf(),
      0,
    );
  assert.deepEqual(asked(120_000), { kind: 'retry', delayMs: 120_000, identity: 'keep' });
  assert.deepEqual(asked(10), { kind: 'retry', delayMs: 500, identity: 'keep' });
});

test('a retry that the deadline would cut off is not begun', () => {
  const left = (remainingMs: number) =>
    afterAttempt({ tries: 1, proxyFaults: 0, remainingMs }, failure('timeout', 'x'), policyOf(), LATEST).kind;
  assert.equal(left(1001), 'retry');
  assert.equal(left(1000), 'give-up');
  assert.equal(left(-5), 'give-up');
});

test('a block is retried as a new visitor, a bad proxy with another session, and the rest as before', () => {
  for (const type of FAILURE_TYPES.filter(isRetryable)) {
    const decision = after(type, 1);
    const identity = type === 'blocked' ? 'new' : type === 'proxy_error' ? 'new-proxy-session' : 'keep';
    assert.equal(decision.kind === 'retry' && decision.identity, identity, type);
  }
});

test('a proxy that fails uses up no retry of the item, and has a limit of its own', () => {
  const so = (tries: number, proxyFaults: number) => ({ tries, proxyFaults, remainingMs: PLENTY });
  const decide = (type: FailureType, tries: number, proxyFaults: number, max_retries: number) =>
    afterAttempt(so(tries, proxyFaults), failure(type, 'x'), policyOf({ max_retries }), LATEST);
  assert.deepEqual(decide('proxy_error', 1, 0, 0), { kind: 'retry', delayMs: 1000, identity: 'new-proxy-session' });
  assert.equal(decide('proxy_error', 5, 4, 0).kind, 'retry');
  assert.deepEqual(decide('proxy_error', 6, 5, 20), { kind: 'give-up', because: 'retries-used-up' });
  // Three faults of the proxy, and the second of two tries that the site answered.
  assert.deepEqual(decide('timeout', 4, 3, 1), { kind: 'retry', delayMs: 1000, identity: 'keep' });
  assert.deepEqual(decide('timeout', 5, 3, 1), { kind: 'give-up', because: 'retries-used-up' });
  // What went wrong with the site does not make the proxy wait longer.
  assert.deepEqual(decide('proxy_error', 4, 0, 3), { kind: 'retry', delayMs: 1000, identity: 'new-proxy-session' });
});

for (const type of FAILURE_TYPES.filter((each) => !isRetryable(each))) {
  test(`${type} is never tried again`, () => {
    assert.deepEqual(after(type, 1), { kind: 'give-up', because: 'not-retryable' });
  });
}

const anyRetryPolicy: fc.Arbitrary<RetryPolicy> = fc
  .record({
    max_retries: fc.integer({ min: 0, max: 20 }),
    backoff_strategy: fc.constantFrom<'exponential' | 'linear'>('exponential', 'linear'),
    backoff_factor: fc.double({ min: 0, max: 60, noNaN: true }),
    max_backoff_seconds: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 86_400, noNaN: true })),
  })
  .map(policyOf);

function allowed(type: FailureType, { max_retries }: RetryPolicy): number {
  return isProxyFault({ type }) ? MAX_PROXY_RETRIES : max_retries;
}

const anyCase = fc.record({
  type: anyFailureType,
  policy: anyRetryPolicy,
  tries: fc.integer({ min: 1, max: 30 }),
  faults: fc.nat(30),
  remainingMs: fc.oneof(fc.constant(PLENTY), fc.integer({ min: -1000, max: 300_000 })),
  chance: fc.double({ min: 0, max: LATEST, noNaN: true }),
  retryAfterMs: fc.option(fc.nat({ max: 200_000 })),
});

test('delays lie between half and all of the backoff, or are what the site asked for, under every policy', () => {
  fc.assert(
    fc.property(anyCase, ({ type, policy, tries, faults, remainingMs, chance, retryAfterMs }) => {
      const proxyFaults = Math.min(faults, tries - 1);
      const counted = isProxyFault({ type }) ? proxyFaults + 1 : tries - proxyFaults;
      const decision = afterAttempt(
        { tries, proxyFaults, remainingMs },
        failure(type, 'x', { retryAfterMs }),
        policy,
        chance,
      );
      if (decision.kind === 'give-up') return;
      const longest = policy.max_backoff_seconds * 1000;
      const grown =
        (policy.backoff_strategy === 'linear' ? counted : 2 ** (counted - 1)) * policy.backoff_factor * 1000;
      const backoff = type === 'maintenance' ? longest : Math.min(longest, grown);
      assert.ok(Number.isInteger(decision.delayMs));
      assert.ok(decision.delayMs >= Math.floor(Math.max(backoff / 2, retryAfterMs ?? 0)));
      assert.ok(decision.delayMs <= Math.ceil(Math.max(backoff, retryAfterMs ?? 0)));
    }),
    { numRuns: 1000 },
  );
});

test('nothing is tried more often than allowed, past its time, or if its failure forbids it', () => {
  fc.assert(
    fc.property(anyCase, ({ type, policy, tries, faults, remainingMs, chance, retryAfterMs }) => {
      const proxyFaults = Math.min(faults, tries - 1);
      const counted = isProxyFault({ type }) ? proxyFaults + 1 : tries - proxyFaults;
      const decision = afterAttempt(
        { tries, proxyFaults, remainingMs },
        failure(type, 'x', { retryAfterMs }),
        policy,
        chance,
      );
      if (!isRetryable(type)) assert.deepEqual(decision, { kind: 'give-up', because: 'not-retryable' });
      else if (counted > allowed(type, policy))
        assert.deepEqual(decision, { kind: 'give-up', because: 'retries-used-up' });
      else if (decision.kind === 'give-up') assert.equal(decision.because, 'no-time-left');
      else assert.ok(decision.delayMs < remainingMs);
    }),
    { numRuns: 1000 },
  );
});

test('an item that always fails is tried once and then as often as its policy says', () => {
  fc.assert(
    fc.property(
      anyFailureType,
      anyRetryPolicy,
      fc.double({ min: 0, max: LATEST, noNaN: true }),
      (type, policy, chance) => {
        let tries = 1;
        while (tries < 100) {
          const proxyFaults = isProxyFault({ type }) ? tries - 1 : 0;
          const so = { tries, proxyFaults, remainingMs: Number.POSITIVE_INFINITY };
          if (afterAttempt(so, failure(type, 'x'), policy, chance).kind === 'give-up') break;
          tries += 1;
        }
        assert.equal(tries, isRetryable(type) ? allowed(type, policy) + 1 : 1);
      },
    ),
  );
});

test('a later try never waits less than an earlier one would', () => {
  fc.assert(
    fc.property(anyCase, ({ type, policy, tries, chance }) => {
      fc.pre(isRetryable(type) && tries < allowed(type, policy));
      const at = (count: number) => {
        const proxyFaults = isProxyFault({ type }) ? count - 1 : 0;
        const so = { tries: count, proxyFaults, remainingMs: Number.POSITIVE_INFINITY };
        const decision = afterAttempt(so, failure(type, 'x'), policy, chance);
        return decision.kind === 'retry' ? decision.delayMs : Number.NaN;
      };
      assert.ok(at(tries + 1) >= at(tries));
      assert.equal(FAILURES[type].retry === 'late' ? at(1) : at(tries), at(tries));
    }),
  );
});
