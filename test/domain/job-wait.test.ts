import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import { MAX_PAUSE_MS } from '../../src/domain/host-pause.ts';
import { whenHeldBack } from '../../src/domain/job-progress.ts';
import { currentWait, LOOK_AGAIN_MS, MAX_HELD_IN_A_ROW, MAX_WAIT_TEXT } from '../../src/domain/job-wait.ts';
import { jobOf, NOW } from './builders.ts';

const HELD = { host: 'county.gov', until: NOW + 60_000, reason: 'down for maintenance' };

test('a job that waits says for which host, until when and why, and stops saying so when the time is over', () => {
  const job = whenHeldBack(jobOf({}, { total: 5, status: 'in_progress' }), HELD, NOW);
  assert.deepEqual(currentWait(job, NOW + 59_999), { ...HELD, at: NOW, since: NOW, successes: 0 });
  assert.equal(currentWait(job, NOW + 60_000), null);
  assert.equal(currentWait({ ...job, status: 'paused' }, NOW), null);
});

test('waits that follow each other without a success count as one, and a success begins another', () => {
  const first = whenHeldBack(jobOf({}, { total: 5, status: 'in_progress' }), HELD, NOW);
  const second = whenHeldBack(first, { ...HELD, until: NOW + 200_000 }, NOW + 100_000);
  assert.equal(second.waitingFor?.since, NOW);
  const succeeded = { ...second, counts: { ...second.counts, success: 1 } };
  const third = whenHeldBack(succeeded, { ...HELD, until: NOW + 400_000 }, NOW + 300_000);
  assert.deepEqual([third.waitingFor?.since, third.waitingFor?.successes], [NOW + 300_000, 1]);
});

test('a wait is no longer than a pause can be, and ends if the clock is set back by more than its length', () => {
  const job = whenHeldBack(
    jobOf({}, { total: 5, status: 'in_progress' }),
    { ...HELD, until: NOW + 10 * MAX_PAUSE_MS },
    NOW,
  );
  assert.equal(job.waitingFor?.until, NOW + MAX_PAUSE_MS);
  assert.equal(currentWait(job, NOW - 2 * MAX_PAUSE_MS), null);
  const short = whenHeldBack(jobOf({}, { total: 5, status: 'in_progress' }), HELD, NOW);
  assert.equal(currentWait(short, NOW - 61_000), null);
  assert.notEqual(currentWait(short, NOW - 10_000), null);
});

test('what is kept of a wait is short, whatever a host says', () => {
  const job = whenHeldBack(jobOf(), { host: 'h'.repeat(2000), until: NOW + 1, reason: '\u{1f600}'.repeat(500) }, NOW);
  assert.ok((job.waitingFor?.host.length ?? 0) <= MAX_WAIT_TEXT);
  assert.ok((job.waitingFor?.reason.length ?? 0) <= MAX_WAIT_TEXT && job.waitingFor?.reason.isWellFormed());
});

test('in whatever order items come back, the job waits for the latest time, and nothing goes out before', () => {
  const untils = fc.array(fc.integer({ min: 1, max: MAX_PAUSE_MS }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(untils, (given) => {
      const job = given.reduce(
        (before, ms) => whenHeldBack(before, { ...HELD, until: NOW + ms }, NOW),
        jobOf({}, { total: 5, status: 'in_progress' }),
      );
      const latest = NOW + Math.max(...given);
      assert.equal(job.waitingFor?.until, latest);
      const plan = planDispatch(job, 1, latest - 1);
      assert.ok(plan.kind === 'wait' ? (plan.until ?? 0) <= latest : plan.kind === 'give-up-waiting');
    }),
  );
});

const BY_GROUP = { batching: { by: 'group', maxItems: 5 } } as const;

test('a job with batches by group goes on with the others while one waits, unless it has control items', () => {
  const job = jobOf({}, { total: 500, status: 'in_progress', ...BY_GROUP });
  const waiting = whenHeldBack(job, HELD, NOW);
  assert.equal(planDispatch(waiting, 1, NOW).kind, 'go');
  assert.notEqual(currentWait(waiting, NOW), null, 'and says for which host some of its items wait');
  const controls = { items: [{ input: { apn: '1' } }], every: 10 };
  const guarded = { ...job, policy: { ...job.policy, controls: { ...job.policy.controls, ...controls } } };
  assert.equal(planDispatch(whenHeldBack(guarded, HELD, NOW), 1, NOW).kind, 'wait');
});

test('when batch after batch comes back and nothing succeeds, the rest is tried a few at a time', () => {
  let job = jobOf({}, { total: 5000, status: 'in_progress', ...BY_GROUP });
  for (let held = 0; held < MAX_HELD_IN_A_ROW; held += 1) {
    assert.equal(planDispatch(job, 1, NOW).kind, 'go');
    job = whenHeldBack(job, HELD, NOW);
  }
  assert.deepEqual(planDispatch(job, 1, NOW), { kind: 'wait', until: NOW + LOOK_AGAIN_MS });
  const succeeded = { ...job, counts: { ...job.counts, success: 1 } };
  assert.equal(planDispatch(succeeded, 1, NOW).kind, 'go');
  assert.equal(planDispatch(job, 1, NOW + LOOK_AGAIN_MS).kind, 'go');
  const again = whenHeldBack(job, HELD, NOW + LOOK_AGAIN_MS);
  assert.equal(planDispatch(again, 1, NOW + LOOK_AGAIN_MS).kind, 'go');
});

test('the patience of a job that goes on meanwhile ends only if nothing succeeds', () => {
  const policy = { circuit_breaker: { max_wait_seconds: 10 } };
  const waiting = whenHeldBack(jobOf(policy, { total: 500, status: 'in_progress', ...BY_GROUP }), HELD, NOW);
  assert.equal(planDispatch(waiting, 1, NOW + 10_000).kind, 'give-up-waiting');
  const succeeded = { ...waiting, counts: { ...waiting.counts, success: 1 } };
  assert.equal(planDispatch(succeeded, 1, NOW + 10_000).kind, 'go');
});
