import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobStepsSchema } from '../../src/contract/step-answers.ts';
import { presentSteps } from '../../src/controller/jobs/present-steps.ts';
import { failure } from '../../src/domain/failure.ts';
import { emptyGroup, type FailureGroup, groupOf } from '../../src/domain/failure-group.ts';
import { addSpan, NO_SPANS } from '../../src/domain/recording/step-spans.ts';
import { addSeen, type JobSteps, NO_STEPS } from '../../src/domain/recording/step-statistics.ts';

const SEARCH = { path: '4', label: 'click "Search"' };

function seenBy(items: number, path: string, alternative: number): JobSteps {
  const seen = {
    ...{ step: { ...SEARCH, path }, selectors: ['#go', 'text/Search'], alternative },
    spans: addSpan(addSpan(NO_SPANS, 100), 300),
  };
  return Array.from({ length: items }).reduce((steps: JobSteps) => addSeen(steps, [seen], 0), NO_STEPS);
}

function failedAt(path: string | null, type: 'no_results' | 'structure_changed', count: number): FailureGroup {
  const step = path === null ? null : { ...SEARCH, path };
  return { ...emptyGroup(groupOf(failure(type, `${type} at ${path}`, { step }))), count };
}

test('a job without a recording says nothing about steps', () => {
  assert.equal(presentSteps([], []), null);
  assert.equal(presentSteps([], [failedAt(null, 'no_results', 3)]), null);
});

test('a step has its durations, its selectors and its share of the failures', () => {
  const answer = presentSteps(seenBy(10, '4', 1), [
    ...[failedAt('4', 'structure_changed', 90), failedAt('4', 'no_results', 7), failedAt('2', 'no_results', 1)],
    failedAt(null, 'structure_changed', 2),
  ]);
  assert.deepEqual(jobStepsSchema.parse(answer), answer);
  assert.equal(answer?.failures_elsewhere, 2);
  assert.deepEqual(
    answer?.steps.map(({ step, failures, failures_pct }) => [step, failures, failures_pct]),
    [
      ['2', 1, 1],
      ['4', 97, 97],
    ],
  );
  const [unseen, search] = answer?.steps ?? [];
  assert.deepEqual([unseen?.items, unseen?.duration_ms, unseen?.selectors], [0, null, []]);
  assert.deepEqual(
    [search?.items, search?.times, search?.duration_ms?.mean, search?.duration_ms?.max],
    [10, 20, 200, 300],
  );
  assert.deepEqual(search?.selectors, [
    { selector: '#go', matched: 0 },
    { selector: 'text/Search', matched: 10 },
  ]);
  assert.deepEqual(search?.failure_types, [
    { type: 'structure_changed', count: 90 },
    { type: 'no_results', count: 7 },
  ]);
  assert.match(search?.drift ?? '', /matched nothing in 10 of 10 items/);
});

test('a recording that fails at a thousand steps still gives a short answer, and no failure is missing from it', () => {
  const groups = Array.from({ length: 1000 }, (_, index) => failedAt(`${index + 1}`, 'no_results', 2));
  const answer = presentSteps(seenBy(1, '4', 0), groups);
  assert.equal(answer?.steps.length, 42);
  assert.equal(answer?.steps.at(-1)?.step, 'other');
  assert.equal(
    answer?.steps.reduce((sum, { failures }) => sum + failures, 0),
    2000,
  );
});
