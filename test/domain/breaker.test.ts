import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Circuit,
  CLOSED,
  completeTally,
  EMPTY_TALLY,
  judge as judgeJob,
  pickEvidence,
  type Tally,
  tallyOutcome,
  tripMessage,
} from '../../src/domain/breaker.ts';
import { FAILURE_TYPES, FAILURES, type FailureType } from '../../src/domain/failure.ts';
import type { ReadGroup } from '../../src/domain/failure-group.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { type BreakerPolicy, circuitBreakerSchema } from '../../src/domain/policy.ts';
import { judgeProxyAnswer } from '../../src/domain/proxy-answer.ts';
import { anyOutcome, failedWith, NOW, SCRAPED, SKIPPED } from './builders.ts';

const policyOf = (fields: Partial<BreakerPolicy> = {}) => circuitBreakerSchema.parse(fields);
const tallyOf = (outcomes: readonly Outcome[]) => outcomes.reduce(tallyOutcome, EMPTY_TALLY);
/** Judges a job that has had one success before, unless `success` says otherwise. */
const judge = (circuit: Circuit, tally: Tally, policy: BreakerPolicy, now: number, success = 1) =>
  judgeJob({ circuit, tally, policy: { circuit_breaker: policy }, counts: { success, failed: tally.finished } }, now);
const times = (count: number, outcome: Outcome): Outcome[] => Array<Outcome>(count).fill(outcome);

const TIMEOUT = failedWith('timeout');
const NO_RESULTS = failedWith('no_results');

test('a success ends a streak and counts as finished', () => {
  assert.deepEqual(tallyOf([TIMEOUT, TIMEOUT, SCRAPED]), { ...EMPTY_TALLY, finished: 3, failed: 2 });
});

test('"no such property" shows that the site works: it ends a streak and is not a failure', () => {
  assert.deepEqual(tallyOf([TIMEOUT, NO_RESULTS]), { ...EMPTY_TALLY, finished: 2, failed: 1, missed: 1, dry: 2 });
});

test('what the proxy did, and what was skipped, says nothing about the site', () => {
  const before = tallyOf([TIMEOUT, TIMEOUT]);
  assert.deepEqual(tallyOutcome(before, failedWith('proxy_error')), before);
  assert.deepEqual(tallyOutcome(before, SKIPPED), before);
});

for (const type of FAILURE_TYPES) {
  const counts = FAILURES[type].breaker;
  test(`${type} ${counts ? 'raises' : 'does not raise'} the number of failures`, () => {
    assert.equal(tallyOutcome(EMPTY_TALLY, failedWith(type)).failed, counts ? 1 : 0);
  });
}

test('by default fifty items must have finished and a quarter of them failed', () => {
  const mixed = (failed: number, ok: number) => {
    // Spread out, so that no streak trips first.
    const outcomes = [...times(ok, SCRAPED)];
    for (let i = 0; i < failed; i += 1) outcomes.splice(Math.floor((i * outcomes.length) / failed), 0, TIMEOUT);
    return judge(CLOSED, tallyOf(outcomes), policyOf(), NOW).kind;
  };
  assert.equal(mixed(12, 37), 'stay'); // 49 finished
  assert.equal(mixed(12, 38), 'stay'); // 24 %
  assert.equal(mixed(13, 37), 'trip'); // 26 %
  assert.equal(mixed(25, 75), 'trip'); // 25 % of 100: reached is enough
});

for (const [minRequests, limit] of [
  [5, 20],
  [20, 20],
  [50, 50],
  [1000, 1000],
] as const) {
  test(`by default ${limit} failures in a row stop a job with min_requests ${minRequests}, and one fewer do not`, () => {
    // A share that is never reached: only the streak can trip it. One success makes it less than all.
    const policy = policyOf({ min_requests: minRequests, failure_threshold_percentage: 1 });
    const failing = (count: number) => tallyOf([SCRAPED, ...times(count, TIMEOUT)]);
    assert.equal(judge(CLOSED, failing(limit - 1), policy, NOW).kind, 'stay');
    const tally = failing(limit);
    const message = `${limit} failures in a row (limit ${limit})`;
    assert.deepEqual(judge(CLOSED, tally, policy, NOW), { kind: 'trip', trip: { cause: 'streak', message, tally } });
  });
}

test('a limit of consecutive failures that the user set counts, however large min_requests is', () => {
  const policy = policyOf({ min_requests: 1000, consecutive_failures: 3 });
  assert.equal(judge(CLOSED, tallyOf(times(3, TIMEOUT)), policy, NOW).kind, 'trip');
});

test('the message says how many failed and what the limit was', () => {
  const outcomes = [...times(2, TIMEOUT), SCRAPED];
  const policy = policyOf({ min_requests: 3, failure_threshold_percentage: 0.5 });
  const verdict = judge(CLOSED, tallyOf(outcomes), policy, NOW);
  assert.equal(verdict.kind === 'trip' && verdict.trip.message, '2 of 3 failed (66.7 %, limit 50 %)');
});

test('a wrong proxy configuration trips it at once, whatever went well before', () => {
  const verdict = judge(CLOSED, tallyOf([...times(1000, SCRAPED), failedWith('proxy_config')]), policyOf(), NOW);
  assert.equal(verdict.kind === 'trip' && verdict.trip.cause, 'stopper');
  assert.equal(verdict.kind === 'trip' && verdict.trip.message, 'proxy_config: it was proxy_config');
});

test("the reason of a proxy that refuses us has the proxy's code and the remedy", () => {
  const said = judgeProxyAnswer({ at: 'connect', status: 407, headers: { 'x-brd-err-code': 'client_10000' } });
  assert.ok(said);
  const verdict = judge(CLOSED, tallyOf([{ kind: 'failed', failure: said }]), policyOf(), NOW);
  assert.equal(
    verdict.kind === 'trip' && verdict.trip.message,
    'proxy_config: the proxy answered 407 (client_10000): it does not accept our credentials; check customer, zone and ' +
      'password, then resume the job',
  );
});

const groupOf = (type: FailureType, count: number): ReadGroup => {
  const kind = { type, pattern: `it was ${type}`, page: null, place: null, step: null };
  return { ...kind, keys: [type], count, firstAt: null, lastAt: null, examples: [] };
};

test('the failure that stopped the job comes first in the evidence, however rare it is', () => {
  const groups = [groupOf('timeout', 40), groupOf('no_results', 30), groupOf('blocked', 3), groupOf('proxy_config', 1)];
  const types = (outcome: Outcome) => {
    const verdict = judge(CLOSED, tallyOf(times(60, outcome)), policyOf(), NOW);
    assert.equal(verdict.kind, 'trip');
    return verdict.kind === 'trip' ? pickEvidence(verdict.trip, groups).map(({ type }) => type) : [];
  };
  assert.deepEqual(types(failedWith('proxy_config')), ['proxy_config', 'timeout', 'no_results']);
  assert.deepEqual(types(TIMEOUT), ['timeout', 'no_results', 'blocked']);
});

for (const type of ['no_results', 'not_found'] as const) {
  test(`a job in which every item is ${type} is stopped after min_requests, and the reason says so`, () => {
    const judged = (count: number, success: number) =>
      judge(CLOSED, tallyOf(times(count, failedWith(type))), policyOf(), NOW, success);
    assert.equal(judged(49, 0).kind, 'stay');
    const verdict = judged(50, 0);
    assert.ok(verdict.kind === 'trip');
    assert.equal(verdict.trip.cause, 'nothing-works');
    const evidence = [groupOf(type, 48), groupOf('too_large', 1), { ...groupOf(type, 1), pattern: 'another' }];
    const message = `none of the first 50 items succeeded: 49 ${type}, 1 too_large`;
    assert.equal(tripMessage(verdict.trip, evidence), message);
    assert.equal(judged(50, 1).kind, 'stay', 'retried items of a job that has had successes');
  });
}

test('one success shows that something works, and 30 % no_results never stop a job', () => {
  let tally = EMPTY_TALLY;
  for (let at = 0; at < 10_000; at += 1) {
    tally = tallyOutcome(tally, at % 10 < 3 ? NO_RESULTS : SCRAPED);
    assert.equal(judge(CLOSED, tally, policyOf(), NOW, tally.finished - tally.missed).kind, 'stay');
  }
});

test('a re-extraction costs no requests, and is not stopped because nothing works', () => {
  const tally = tallyOf(times(60, NO_RESULTS));
  const job = { circuit: CLOSED, tally, policy: { circuit_breaker: policyOf() }, counts: { success: 0, failed: 60 } };
  assert.equal(judgeJob(job, NOW).kind, 'trip');
  assert.equal(judgeJob({ ...job, extracts: 'job-0' }, NOW).kind, 'stay');
});

test('with count_all_failures, input failures count in the share and in a row', () => {
  const policy = policyOf({ count_all_failures: true });
  const mixed = [...times(37, SCRAPED), ...times(13, NO_RESULTS)];
  assert.equal(judge(CLOSED, tallyOf(mixed), policyOf(), NOW).kind, 'stay');
  const share = judge(CLOSED, tallyOf(mixed), policy, NOW);
  assert.equal(share.kind === 'trip' && share.trip.message, '13 of 50 failed (26 %, limit 25 %)');
  const inRow = [...times(1000, SCRAPED), ...times(25, NO_RESULTS), ...times(25, TIMEOUT)];
  const streak = judge(CLOSED, tallyOf(inRow), policy, NOW);
  assert.equal(streak.kind === 'trip' && streak.trip.message, '50 failures in a row (limit 50)');
});

test('a tally stored by an older version treats what it did not count as successes', () => {
  const stored = completeTally({ finished: 60, failed: 2, streak: 1, stopper: null });
  assert.equal(judge(CLOSED, stored, policyOf(), NOW, 0).kind, 'stay');
});

test('an open circuit waits for its time to probe, or for a user who resumes the job', () => {
  const open = (probeAt: number | null): Circuit => ({ state: 'open', since: NOW - 60_000, probeAt });
  const broken = tallyOf(times(30, TIMEOUT));
  assert.equal(judge(open(NOW + 1), broken, policyOf(), NOW).kind, 'stay');
  assert.equal(judge(open(NOW), broken, policyOf(), NOW).kind, 'probe');
  assert.equal(judge(open(null), broken, policyOf(), Number.MAX_SAFE_INTEGER).kind, 'stay');
});

test('one end decides a probe: a failure opens the circuit again, anything that shows the site works closes it', () => {
  const probing: Circuit = { state: 'probing', since: NOW };
  const judged = (outcomes: readonly Outcome[]) => judge(probing, tallyOf(outcomes), policyOf(), NOW);
  assert.equal(judged([]).kind, 'stay');
  assert.equal(judged([SKIPPED]).kind, 'stay');
  assert.equal(judged([failedWith('proxy_error')]).kind, 'stay');
  assert.equal(judged([SCRAPED]).kind, 'close');
  assert.equal(judged([NO_RESULTS]).kind, 'close');
  const failed = judged([TIMEOUT]);
  assert.equal(failed.kind === 'trip' && failed.trip.cause, 'probe');
});

test('a probe that meets a wrong proxy configuration stops the job for good: no later probe would do better', () => {
  const verdict = judge({ state: 'probing', since: NOW }, tallyOf([failedWith('proxy_config')]), policyOf(), NOW);
  assert.equal(verdict.kind === 'trip' && verdict.trip.cause, 'stopper');
});

/** Small numbers, so that limits are met; shares that divide evenly, so that "reached" is tested on the point. */
const anyPolicy: fc.Arbitrary<BreakerPolicy> = fc
  .record({
    min_requests: fc.integer({ min: 1, max: 12 }),
    failure_threshold_percentage: fc.oneof(
      fc.constantFrom(0.1, 0.2, 0.25, 0.5, 0.8, 1),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
    ),
    consecutive_failures: fc.option(fc.integer({ min: 1, max: 10 })),
    count_all_failures: fc.boolean(),
  })
  .map(policyOf);

/** The definition in docs/failures-and-retries.md, counted again from the start for every prefix. */
function shouldTrip(outcomes: readonly Outcome[], policy: BreakerPolicy): boolean {
  const kinds = outcomes.flatMap((outcome) => {
    if (outcome.kind === 'skipped') return [];
    if (outcome.kind === 'scraped') return ['ok'];
    const { type } = outcome.failure;
    if (type === 'proxy_config') return ['stop'];
    if (type === 'proxy_error') return [];
    return [FAILURES[type].breaker || policy.count_all_failures ? 'bad' : 'missed'];
  });
  if (kinds.includes('stop')) return true;
  const bad = kinds.filter((kind) => kind === 'bad').length;
  const lastOk = Math.max(kinds.lastIndexOf('ok'), kinds.lastIndexOf('missed'));
  const streakLimit = policy.consecutive_failures ?? Math.max(20, policy.min_requests);
  if (kinds.length - 1 - lastOk >= streakLimit) return true;
  if (kinds.length < policy.min_requests) return false;
  return bad / kinds.length >= policy.failure_threshold_percentage || !kinds.includes('ok');
}

test('it trips exactly when the definition says, after every outcome of any sequence', () => {
  fc.assert(
    fc.property(fc.array(anyOutcome, { maxLength: 30, size: 'max' }), anyPolicy, (outcomes, policy) => {
      let tally: Tally = EMPTY_TALLY;
      for (const [index, outcome] of outcomes.entries()) {
        tally = tallyOutcome(tally, outcome);
        const success = outcomes.slice(0, index + 1).filter(({ kind }) => kind === 'scraped').length;
        const verdict = judge(CLOSED, tally, policy, NOW, success);
        assert.equal(verdict.kind === 'trip', shouldTrip(outcomes.slice(0, index + 1), policy));
        assert.ok(verdict.kind === 'trip' || verdict.kind === 'stay');
      }
    }),
    { numRuns: 500 },
  );
});

test('the share alone never trips it before the minimum has finished', () => {
  fc.assert(
    fc.property(fc.array(anyOutcome, { maxLength: 30, size: 'max' }), anyPolicy, (outcomes, policy) => {
      const tally = tallyOf(outcomes);
      const verdict = judge(CLOSED, tally, policy, NOW);
      if (verdict.kind !== 'trip' || verdict.trip.cause !== 'share') return;
      assert.ok(tally.finished >= policy.min_requests);
      const failed = tally.failed + (policy.count_all_failures ? tally.missed : 0);
      assert.ok(failed / tally.finished >= policy.failure_threshold_percentage);
    }),
    { numRuns: 300 },
  );
});

test('a tally is never negative, and its streak and failures never exceed what finished', () => {
  fc.assert(
    fc.property(fc.array(anyOutcome, { maxLength: 50, size: 'max' }), (outcomes) => {
      const tally = tallyOf(outcomes);
      assert.ok(0 <= tally.streak && tally.streak <= tally.failed && tally.streak <= tally.dry);
      assert.ok(tally.dry <= tally.failed + tally.missed && tally.failed + tally.missed <= tally.finished);
      assert.ok(tally.finished <= outcomes.length);
    }),
  );
});

test('one more success never trips a closed circuit', () => {
  fc.assert(
    fc.property(fc.array(anyOutcome, { maxLength: 30, size: 'max' }), anyPolicy, (outcomes, policy) => {
      const before = tallyOf(outcomes);
      fc.pre(before.finished >= policy.min_requests && judge(CLOSED, before, policy, NOW).kind === 'stay');
      assert.equal(judge(CLOSED, tallyOutcome(before, SCRAPED), policy, NOW).kind, 'stay');
    }),
    { numRuns: 300 },
  );
});

test('a probe is decided by the first end that says something about the site, and stays undecided until then', () => {
  fc.assert(
    fc.property(fc.array(anyOutcome, { maxLength: 10, size: 'max' }), anyPolicy, (outcomes, policy) => {
      const telling = outcomes.find((each) => tallyOutcome(EMPTY_TALLY, each) !== EMPTY_TALLY);
      const upTo = telling === undefined ? outcomes : outcomes.slice(0, outcomes.indexOf(telling) + 1);
      const verdict = judge({ state: 'probing', since: NOW }, tallyOf(upTo), policy, NOW);
      const works =
        telling?.kind === 'scraped' || (telling?.kind === 'failed' && !FAILURES[telling.failure.type].breaker);
      const stops = telling?.kind === 'failed' && telling.failure.type === 'proxy_config';
      const expected = telling === undefined ? 'stay' : works && !stops ? 'close' : 'trip';
      assert.equal(verdict.kind, expected);
    }),
  );
});
