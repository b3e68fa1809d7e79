import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ThrottlingPolicy, throttlingSchema } from '../../src/domain/policy.ts';
import { adapt, FRESH_THROTTLE, type Throttle, type ThrottleEvidence } from '../../src/domain/throttle.ts';

const policyOf = (max: number, adaptive = true): ThrottlingPolicy =>
  throttlingSchema.parse({ max_concurrent_workers: max, adaptive });

const NOTHING: ThrottleEvidence = { refusals: 0, successes: 0, finished: 0 };

/** Counters that go up as items end, the way a job's do. */
function after(seen: ThrottleEvidence, ends: { ok?: number; refused?: number; failed?: number }): ThrottleEvidence {
  const { ok = 0, refused = 0, failed = 0 } = ends;
  return {
    refusals: seen.refusals + refused,
    successes: seen.successes + ok,
    finished: seen.finished + ok + refused + failed,
  };
}

test('a fresh job may use all its workers', () => {
  assert.deepEqual(
    { ...FRESH_THROTTLE, ceiling: 0 },
    { ceiling: 0, seenRefusals: 0, seenSuccesses: 0, cutAtFinished: 0, cutFrom: 0 },
  );
  assert.equal(adapt(FRESH_THROTTLE, NOTHING, policyOf(8)).ceiling, 8);
});

test('a refusal cuts the ceiling in half', () => {
  assert.equal(adapt(FRESH_THROTTLE, after(NOTHING, { refused: 1 }), policyOf(8)).ceiling, 4);
});

test('eight workers that are refused together cut the ceiling once, and the next wave cuts it again', () => {
  const policy = policyOf(8);
  let seen = NOTHING;
  let throttle = FRESH_THROTTLE;
  for (let i = 0; i < 8; i += 1) {
    seen = after(seen, { refused: 1 });
    throttle = adapt(throttle, seen, policy);
    assert.equal(throttle.ceiling, 4, `refusal ${i + 1} of the first wave`);
  }
  seen = after(seen, { refused: 1 });
  assert.equal(adapt(throttle, seen, policy).ceiling, 2);
});

test("a ceiling's worth of successes raises it by one", () => {
  const cut = adapt(FRESH_THROTTLE, after(NOTHING, { refused: 1 }), policyOf(8));
  const raised = adapt(cut, after(NOTHING, { refused: 1, ok: 4 }), policyOf(8));
  assert.equal(Math.round(raised.ceiling * 1e6) / 1e6, 5);
});

test('successes beyond the maximum raise nothing', () => {
  assert.equal(adapt(FRESH_THROTTLE, after(NOTHING, { ok: 1000 }), policyOf(8)).ceiling, 8);
});

test('errors that are not refusals leave the ceiling where it is', () => {
  const seen = after(NOTHING, { refused: 1 });
  const cut = adapt(FRESH_THROTTLE, seen, policyOf(8));
  assert.equal(adapt(cut, after(seen, { failed: 100 }), policyOf(8)).ceiling, 4);
});

test('a new maximum counts at once, and the ceiling comes back slowly', () => {
  const cut = adapt(FRESH_THROTTLE, after(NOTHING, { refused: 1 }), policyOf(100));
  assert.equal(cut.ceiling, 50);
  assert.equal(adapt(cut, after(NOTHING, { refused: 1 }), policyOf(10)).ceiling, 10);
});

test('a job that is not to adapt keeps its maximum, and notes what it saw in case it is to adapt later', () => {
  const seen = after(NOTHING, { refused: 5 });
  const noted = adapt(FRESH_THROTTLE, seen, policyOf(8, false));
  assert.equal(noted.ceiling, 8);
  assert.equal(adapt(noted, seen, policyOf(8)).ceiling, 8);
});

test('refusals after a retry of the whole job cut the ceiling, although fewer items have finished than at the last cut', () => {
  const policy = policyOf(8);
  const before = { refusals: 500, successes: 0, finished: 1000 };
  const cut = adapt(FRESH_THROTTLE, before, policy);
  const reopened = { ...before, finished: 500 };
  assert.equal(adapt(cut, after(reopened, { refused: 1 }), policy).ceiling, 2);
});

type Ends = { ok: number; refused: number; failed: number };
const small = fc.nat({ max: 5 });
const anyEnds: fc.Arbitrary<Ends> = fc.record({ ok: small, refused: fc.oneof(fc.constant(0), small), failed: small });
const anyMax = fc.integer({ min: 1, max: 64 });

/** Every state that a sequence of looks leads through. */
function looks(ends: readonly Ends[], policy: ThrottlingPolicy): { before: Throttle; after: Throttle; ends: Ends }[] {
  let seen = NOTHING;
  let throttle = adapt(FRESH_THROTTLE, seen, policy);
  return ends.map((each) => {
    seen = after(seen, each);
    const before = throttle;
    throttle = adapt(throttle, seen, policy);
    return { before, after: throttle, ends: each };
  });
}

test('the ceiling is never above the maximum and never below one', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 40, size: 'max' }), anyMax, fc.boolean(), (ends, max, adaptive) => {
      for (const look of looks(ends, policyOf(max, adaptive))) {
        assert.ok(look.after.ceiling >= 1 && look.after.ceiling <= max);
      }
    }),
  );
});

test('errors never speed a job up: only successes raise the ceiling, and not together with a refusal', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 40, size: 'max' }), anyMax, (ends, max) => {
      for (const look of looks(ends, policyOf(max))) {
        if (look.ends.refused > 0 || look.ends.ok === 0) assert.ok(look.after.ceiling <= look.before.ceiling);
      }
    }),
  );
});

test('without refusals the ceiling never falls', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 40, size: 'max' }), anyMax, (ends, max) => {
      for (const look of looks(ends, policyOf(max))) {
        if (look.ends.refused === 0) assert.ok(look.after.ceiling >= look.before.ceiling);
      }
    }),
  );
});

test('one look at most halves the ceiling', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 40, size: 'max' }), anyMax, (ends, max) => {
      for (const look of looks(ends, policyOf(max))) {
        assert.ok(look.after.ceiling >= Math.max(1, look.before.ceiling / 2));
      }
    }),
  );
});

test('what was in flight at a cut does not cut again: between two cuts a whole wave has finished', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 60, size: 'max' }), anyMax, (ends, max) => {
      let sinceCut = Number.POSITIVE_INFINITY;
      let wave = 0;
      for (const look of looks(ends, policyOf(max))) {
        sinceCut += look.ends.ok + look.ends.refused + look.ends.failed;
        if (look.after.ceiling >= look.before.ceiling) continue;
        assert.ok(sinceCut >= wave, `cut again ${sinceCut} items after a wave of ${wave}`);
        wave = Math.floor(look.before.ceiling);
        sinceCut = 0;
      }
    }),
    { numRuns: 300 },
  );
});

test('successes heard one by one, late or all together lead to the same ceiling', () => {
  fc.assert(
    fc.property(anyMax, fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 20, size: 'max' }), (max, bundles) => {
      const policy = policyOf(max);
      const seen = after(NOTHING, { refused: 1 });
      const cut = adapt(FRESH_THROTTLE, seen, policy);
      const total = bundles.reduce((sum, ok) => sum + ok, 0);
      const together = adapt(cut, after(seen, { ok: total }), policy);
      let heard = seen;
      let throttle = cut;
      for (const ok of bundles) {
        heard = after(heard, { ok });
        throttle = adapt(throttle, heard, policy);
      }
      assert.ok(Math.abs(throttle.ceiling - together.ceiling) < 1e-6);
    }),
  );
});

test('after any trouble enough successes bring the whole maximum back', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { maxLength: 20, size: 'max' }), anyMax, (ends, max) => {
      const policy = policyOf(max);
      const seen = ends.reduce(after, NOTHING);
      const throttle = looks(ends, policy).at(-1)?.after ?? FRESH_THROTTLE;
      // From one to the maximum it takes 1 + 2 + 3 + … successes.
      const needed = (max * (max + 1)) / 2;
      assert.equal(adapt(throttle, after(seen, { ok: needed }), policy).ceiling, max);
    }),
  );
});

test('looking again without news changes nothing', () => {
  fc.assert(
    fc.property(fc.array(anyEnds, { minLength: 1, maxLength: 20, size: 'max' }), anyMax, (ends, max) => {
      const policy = policyOf(max);
      const last = looks(ends, policy).at(-1)?.after ?? FRESH_THROTTLE;
      const again = adapt(last, ends.reduce(after, NOTHING), policy);
      assert.ok(Math.abs(again.ceiling - last.ceiling) < 1e-9);
      assert.deepEqual({ ...again, ceiling: 0 }, { ...last, ceiling: 0 });
    }),
  );
});
