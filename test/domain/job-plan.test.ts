import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isActive } from '../../src/domain/job.ts';
import { defaultSampleSize, ERRAND_LIFE_MS, PLAN_LIFE_MS, passingStep } from '../../src/domain/job-plan.ts';
import type { JobStatus } from '../../src/domain/job-steps.ts';
import { jobOf, NOW } from './builders.ts';

const LIST = { items: 100, received: 103, bad: 1, duplicates: 2, conflicts: 1, isKept: false };
const STATUSES: readonly JobStatus[] = ['pending', 'in_progress', 'paused', 'completed', 'failed', 'cancelled'];

test('a sample is left alone for a day, then ended and removed; a cancelled one goes at once', () => {
  const stepsAt = (age: number, isKept = false) =>
    STATUSES.map((status) =>
      passingStep({ status, createdAt: NOW, itemsInFlight: 0, plan: { ...LIST, isKept } }, NOW + age),
    );
  assert.deepEqual(stepsAt(PLAN_LIFE_MS - 1), ['none', 'none', 'none', 'none', 'none', 'remove']);
  assert.deepEqual(stepsAt(PLAN_LIFE_MS), ['cancel', 'cancel', 'cancel', 'remove', 'remove', 'remove']);
  assert.deepEqual(stepsAt(PLAN_LIFE_MS, true), Array(6).fill('none'), 'kept');
  const job = { status: 'cancelled', createdAt: NOW, itemsInFlight: 1, plan: LIST };
  assert.equal(passingStep(job, NOW), 'none', 'a worker is still at it');
  assert.equal(passingStep({ status: 'cancelled', createdAt: 0, itemsInFlight: 0 }, NOW), 'none', 'no plan');
});

test('the engine has something to do for a sample until it is gone, unless it is kept', () => {
  for (const status of ['completed', 'failed'] as const) {
    const job = jobOf({}, { status, manifest: { parts: { full: 1, success: 1, errors: 0 } } as never });
    assert.deepEqual(
      [isActive(job), isActive({ ...job, plan: LIST }), isActive({ ...job, plan: { ...LIST, isKept: true } })],
      [false, true, false],
      status,
    );
  }
});

test('an errand that its request did not remove is ended and removed after a quarter of an hour', () => {
  const stepsAt = (age: number) =>
    STATUSES.map((status) => passingStep({ status, createdAt: NOW, itemsInFlight: 0, errand: true }, NOW + age));
  assert.deepEqual(stepsAt(ERRAND_LIFE_MS - 1), ['none', 'none', 'none', 'none', 'none', 'remove']);
  assert.deepEqual(stepsAt(ERRAND_LIFE_MS), ['cancel', 'cancel', 'cancel', 'remove', 'remove', 'remove']);
});

test('a sample has three items for each slot, at least 20 and at most 200', () => {
  const sizes = [1, 3, 10, 1000].map((max_concurrent_workers) => defaultSampleSize({ max_concurrent_workers }));
  assert.deepEqual(sizes, [20, 20, 30, 200]);
});
