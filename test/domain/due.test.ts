import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../src/domain/breaker.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import { isDue } from '../../src/domain/due.ts';
import { newJobRecord, OPEN_MS } from '../../src/domain/job.ts';
import { newJob } from '../support/builders.ts';
import { jobOf, NOW } from './builders.ts';

const HOUR = 3_600_000;

test('a wait is over at its end, and not before', () => {
  assert.deepEqual([isDue(NOW + 1, NOW, 100), isDue(NOW, NOW, 100), isDue(NOW - 1, NOW, 100)], [false, true, true]);
});

test('a wait that ends further ahead than it can have been set is over; a clock a little ahead is believed', () => {
  assert.equal(isDue(NOW + 200, NOW, 100), false);
  assert.equal(isDue(NOW + 201, NOW, 100), true);
});

test('a cooldown does not last as long as the clock was set back', () => {
  const circuit = { state: 'open', since: NOW, probeAt: NOW + 60_000 } as const;
  const at = (now: number) => judge(jobOf({}, { circuit }), now).kind;
  assert.equal(at(NOW + 59_999), 'stay');
  assert.equal(at(NOW + 60_000), 'probe');
  assert.equal(at(NOW - 1000), 'stay', 'another controller whose clock is behind');
  assert.equal(at(NOW - HOUR), 'probe');
});

test('a job whose upload broke off does not stay open for as long as the clock was set back', () => {
  const job = newJobRecord(newJob(), 1, NOW, 'first');
  const done = {
    ...job,
    status: 'in_progress',
    counts: { ...job.counts, success: 1 },
    openUntil: NOW + OPEN_MS,
  } as const;
  assert.deepEqual(planDispatch(done, 1, NOW), { kind: 'wait', until: NOW + OPEN_MS });
  assert.deepEqual(planDispatch(done, 1, NOW - 1000), { kind: 'wait', until: NOW + OPEN_MS });
  assert.deepEqual(planDispatch(done, 1, NOW - HOUR), { kind: 'finish' });
});
