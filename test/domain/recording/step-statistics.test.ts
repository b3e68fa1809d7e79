import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { describeDrift, driftOf, findDrift } from '../../../src/domain/recording/drift.ts';
import { compareSteps, failuresByStep } from '../../../src/domain/recording/step-failures.ts';
import { addSpan, NO_SPANS, quantileMs } from '../../../src/domain/recording/step-spans.ts';
import {
  addSeen,
  type JobSteps,
  MAX_COUNTED,
  MAX_SLICES,
  MAX_STEPS,
  mergeSteps,
  NO_STEPS,
  nameSelectors,
  OTHER_STEPS,
} from '../../../src/domain/recording/step-statistics.ts';
import { stepsFromText, stepsToText } from '../../../src/domain/recording/steps-text.ts';
import { sized } from '../../support/sized.ts';

const MINUTE = 60_000;

interface Item {
  readonly path: string;
  readonly alternative: number | null;
  readonly ms: number;
  readonly minute: number;
}

function seen(items: readonly Item[]): JobSteps {
  return items.reduce((steps: JobSteps, { path, alternative, ms, minute }) => {
    const spans = addSpan(NO_SPANS, ms);
    const one = { step: { path, label: 'click "Search"' }, selectors: ['#btnGo', 'text/Search'], spans, alternative };
    return addSeen(steps, [one], minute * MINUTE);
  }, NO_STEPS);
}

/** This many items, one after another, in which this alternative of step 4 matched. */
function matching(count: number, alternative: number | null, minute = 0): readonly Item[] {
  return Array.from({ length: count }, () => ({ path: '4', alternative, ms: 10, minute }));
}

function driftIn(...items: readonly (readonly Item[])[]): string | null {
  const [drift] = findDrift(seen(items.flat()));
  return drift === undefined ? null : describeDrift(drift);
}

test('a first selector that no longer matches is drift, and the message says what matches instead', () => {
  assert.equal(
    driftIn(matching(20, 0), matching(180, 1)),
    'step 4, click "Search": the first selector (#btnGo) matched nothing in 180 of 200 items; the second (text/Search) did',
  );
});

test('a few pages that differ are not drift, and neither are items in which nothing matched', () => {
  assert.equal(driftIn(matching(1, 1)), null);
  assert.equal(driftIn(matching(4, 1)), null);
  assert.equal(driftIn(matching(100, 0), matching(40, 1)), null);
  assert.equal(driftIn(matching(50, null)), null);
  assert.equal(driftIn(matching(50, 0), matching(50, null)), null);
  assert.notEqual(driftIn(matching(5, 1)), null);
});

test('drift that begins late in a large job is noticed within the last minutes, and passes with them', () => {
  const before = matching(5000, 0, 1);
  assert.match(String(driftIn(before, matching(30, 1, 9))), /matched nothing in 30 of the last 30 items/);
  assert.equal(driftIn(before, matching(30, 1, 9), matching(40, 0, 12)), null);
  assert.equal(driftIn(before, matching(3, 1, 9)), null, 'three of the last minute are too few');
});

test('alternatives beyond those that are counted count as the last of them', () => {
  const [step] = seen(matching(6, 17));
  assert.deepEqual(step?.matched, [0, 0, 0, 0, 6]);
  assert.equal(step === undefined ? null : driftOf(step)?.instead.number, MAX_COUNTED);
});

const item: fc.Arbitrary<Item> = fc.record({
  path: fc.constantFrom('1', '2', '10', '4.then.2', '4.else.1', 'login.1'),
  alternative: fc.constantFrom(null, 0, 1, 2),
  ms: fc.integer({ min: 0, max: 400_000 }),
  minute: fc.integer({ min: 0, max: 30 }),
});

test('it does not matter in which order processes report, and no item is lost', () => {
  fc.assert(
    fc.property(fc.array(fc.array(item, { maxLength: 30 }), { maxLength: 4 }), fc.nat(3), (reports, turn) => {
      const all = reports.map(seen);
      const turned = [...all.slice(turn), ...all.slice(0, turn)];
      const one = all.reduce(mergeSteps, NO_STEPS);
      const other = turned.reduce((sum, each) => mergeSteps(each, sum), NO_STEPS);
      const totals = (steps: JobSteps) =>
        steps.map(({ step, items, spans, matched, slices }) => {
          const sums = [
            slices.reduce((sum, each) => sum + each.items, 0),
            slices.reduce((sum, each) => sum + each.missed, 0),
          ];
          const sizes = [...spans.sizes].sort(([a], [b]) => a - b);
          return [step.path, items, spans.count, spans.totalMs, spans.longestMs, sizes, matched, sums];
        });
      assert.deepEqual(totals(one), totals(other));
      assert.equal(
        one.reduce((sum, { items }) => sum + items, 0),
        reports.flat().length,
      );
      for (const { slices, matched } of one) {
        assert.ok(slices.length <= MAX_SLICES);
        const found = matched.reduce((sum, count) => sum + count, 0);
        assert.equal(
          slices.reduce((sum, { items }) => sum + items, 0),
          found,
        );
      }
      assert.deepEqual(stepsFromText(stepsToText(one)), one);
    }),
    { numRuns: sized({ quick: 60, slow: 200 }) },
  );
});

test('a job keeps the first steps of its recording, and adds up the others', () => {
  const one = (path: number): Item => ({ path: String(path), alternative: 0, ms: 5, minute: 0 });
  const paths = Array.from({ length: MAX_STEPS + 20 }, (_, index) => one(index + 1));
  const steps = mergeSteps(seen(paths.toReversed()), seen(paths));
  assert.equal(steps.length, MAX_STEPS + 1);
  assert.deepEqual([steps[0]?.step.path, steps.at(-2)?.step.path], ['1', String(MAX_STEPS)]);
  const other = steps.at(-1);
  assert.deepEqual([other?.step, other?.items, other?.matched], [OTHER_STEPS, 40, []]);
  assert.ok(stepsToText(steps).length < 8000, 'a few kilobytes');
});

test('what is not a record of steps is not read', () => {
  for (const text of ['', '{}', '[1]', '[["4"]]', JSON.stringify([['4', 'x', [], -1, [0, 0, 0, []], [], []]])]) {
    assert.equal(stepsFromText(text), null);
  }
});

test('a share of durations is exact to about a fifth, and never more than the longest', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 2, max: 300_000 }), { minLength: 1, maxLength: 50 }), (all) => {
      const spans = all.reduce((sum, ms) => addSpan(sum, ms), NO_SPANS);
      const sorted = all.toSorted((a, b) => a - b);
      for (const share of [0.5, 0.9]) {
        const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
        const told = quantileMs(spans, share) ?? 0;
        assert.ok(told <= exact * 1.2 + 1 && told >= exact / 1.2 - 1, `${told} for ${exact}`);
        assert.ok(told <= spans.longestMs);
      }
    }),
  );
  assert.equal(quantileMs(NO_SPANS, 0.5), null);
});

test('steps are listed in the order of the recording', () => {
  const paths = ['login.2', '10', '4.otherwise.1', '4.else.1', '4', '4.then.10', '2', '4.then.2', '4.steps.1', 'a.1'];
  const sorted = paths.map((path) => ({ path, label: '' })).sort(compareSteps);
  assert.deepEqual(
    sorted.map(({ path }) => path),
    ['2', '4', '4.then.2', '4.then.10', '4.else.1', '4.steps.1', '4.otherwise.1', '10', 'a.1', 'login.2'],
  );
});

test('failures are counted by step and type, the worst step first', () => {
  const at = (path: string | null, type: 'timeout' | 'no_results', count: number) => ({
    ...{ type, count, step: path === null ? null : { path, label: 'click' } },
  });
  const { steps, elsewhere } = failuresByStep([
    ...[at('2', 'timeout', 3), at('4', 'timeout', 1), at(null, 'timeout', 7), at('4', 'no_results', 90)],
  ]);
  assert.deepEqual(
    steps.map(({ step, count, types }) => [step.path, count, Object.fromEntries(types)]),
    [
      ['4', 91, { no_results: 90, timeout: 1 }],
      ['2', 3, { timeout: 3 }],
    ],
  );
  assert.equal(elsewhere, 7);
});

test('a selector through shadow roots is named as a path, and a long one is cut', () => {
  assert.deepEqual(nameSelectors([['#host', 'button'], 'text/Search']), ['#host >>> button', 'text/Search']);
  assert.equal(nameSelectors(['x'.repeat(500)])[0]?.length, 60);
  assert.deepEqual(nameSelectors(undefined), []);
});
