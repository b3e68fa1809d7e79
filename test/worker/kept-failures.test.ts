import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { MAX_GROUPS } from '../../src/domain/failure-group.ts';
import { KeptFailures } from '../../src/worker/kept-failures.ts';

const JOB = { jobId: 'job', jobCreatedAt: 1, attempt: 1 };
const late = (text = 'late') => failure('timeout', text);

test('so many of each group are kept, and no more', () => {
  const kept = new KeptFailures();
  const taken = (text: string) => kept.reserve(JOB, late(text), 2) !== null;
  assert.deepEqual(['late by 1 s', 'late by 2 s', 'late by 3 s', 'gone', 'gone'].map(taken), [
    ...[true, true, false],
    ...[true, true],
  ]);
});

test('a place that is given back can be taken again', () => {
  const kept = new KeptFailures();
  kept.reserve(JOB, late(), 1)?.();
  assert.ok(kept.reserve(JOB, late(), 1));
  assert.equal(kept.reserve(JOB, late(), 1), null);
});

test('jobs, jobs that had the same id before, and attempts are counted on their own', () => {
  const kept = new KeptFailures();
  for (const job of [JOB, { ...JOB, jobId: 'other' }, { ...JOB, jobCreatedAt: 2 }, { ...JOB, attempt: 2 }]) {
    assert.ok(kept.reserve(job, late(), 1));
    assert.equal(kept.reserve(job, late(), 1), null);
  }
});

test('failures that are one problem share their places, whatever their addresses have in them', () => {
  const kept = new KeptFailures();
  const taken = (place: string) => kept.reserve(JOB, { ...late(), place }, 1) !== null;
  assert.deepEqual(['a.test/x/#', 'a.test/x/ABC', 'a.test/login'].map(taken), [true, false, true]);
});

test('failures without end of patterns share the places of their type', () => {
  const kept = new KeptFailures();
  const letters = (index: number) => [...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  let taken = 0;
  for (let index = 0; index < 10 * MAX_GROUPS; index += 1) {
    if (kept.reserve(JOB, late(letters(index)), 1) !== null) taken += 1;
  }
  assert.equal(taken, MAX_GROUPS + 1);
});
