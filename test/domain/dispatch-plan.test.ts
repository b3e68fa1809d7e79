import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import { applyJobEvent, isRefusal, type JobReason, type JobRecord } from '../../src/domain/job.ts';
import { whenClaimed, whenDispatched, whenSettled } from '../../src/domain/job-progress.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { failedWith, jobOf, MANIFEST, NOW, SCRAPED } from './builders.ts';

const DONE = { ...NO_COUNTS, total: 3, success: 3 };
const BROKEN = { ...EMPTY_TALLY, finished: 50, failed: 50, streak: 50 };
const BY_USER: JobReason = { code: 'user', message: 'wait', evidence: [] };
const BY_BREAKER: JobReason = { code: 'breaker', message: '50 of 50 failed', evidence: [] };
const WAIT = { kind: 'wait', until: null };

const running = (changes: Parameters<typeof jobOf>[1] = {}) => jobOf({}, { status: 'in_progress', ...changes });

/** Plays the scheduler and all workers of a job for one look: returns the job when there is nothing more to do. */
function runToStandstill(job: JobRecord, outcomeOf: (index: number) => Outcome): { job: JobRecord; attempted: number } {
  let attempted = 0;
  for (let look = 0; look < 1000; look += 1) {
    const plan = planDispatch(job, 1, NOW);
    switch (plan.kind) {
      case 'go': {
        const { batches } = plan.allowance;
        const { throttle } = plan;
        job = whenDispatched(job, { batches, items: batches, throttle }, NOW);
        assert.ok(job.counts.queued + job.counts.inProgress <= job.policy.throttling.max_concurrent_workers);
        break;
      }
      case 'wait': {
        if (job.counts.queued === 0) return { job, attempted };
        job = whenSettled(whenClaimed(job), { outcome: outcomeOf(attempted) }, true);
        attempted += 1;
        break;
      }
      case 'finish': {
        const finishing = applyJobEvent(job, { kind: 'finish' }, NOW);
        assert.ok(!isRefusal(finishing));
        const index = { kind: 'complete', round: job.round, manifest: MANIFEST } as const;
        const completed = applyJobEvent(finishing, index, NOW);
        assert.ok(!isRefusal(completed));
        job = completed;
        break;
      }
      case 'verdict': {
        assert.ok(plan.verdict.kind === 'trip');
        const after = applyJobEvent(job, { kind: 'trip', evidence: [] }, NOW);
        assert.ok(!isRefusal(after));
        job = after;
      }
    }
  }
  return assert.fail('the job does not come to rest');
}

test('ten failing items with min_requests 5, threshold 0.8 and 3 workers end after five', () => {
  const job = jobOf(
    {
      throttling: { max_concurrent_workers: 3 },
      circuit_breaker: { min_requests: 5, failure_threshold_percentage: 0.8 },
    },
    { total: 10 },
  );
  const end = runToStandstill(job, () => failedWith('timeout'));
  assert.equal(end.attempted, 5);
  assert.equal(end.job.status, 'failed');
  assert.equal(end.job.reason?.message, '5 of 5 failed (100 %, limit 80 %)');
  assert.deepEqual(end.job.counts, { ...NO_COUNTS, total: 10, failed: 5 });
});

test('the same job goes on where it stopped once it is resumed and the site works', () => {
  const policy = { circuit_breaker: { min_requests: 5, failure_threshold_percentage: 0.8 } };
  const { job } = runToStandstill(jobOf(policy, { total: 10 }), () => failedWith('timeout'));
  const resumed = applyJobEvent(job, { kind: 'resume' }, NOW);
  assert.ok(!isRefusal(resumed));
  const end = runToStandstill(resumed, () => SCRAPED);
  assert.equal(end.job.status, 'completed');
  assert.deepEqual(end.job.counts, { ...NO_COUNTS, total: 10, failed: 5, success: 5 });
});

test('a job whose items are mostly fine runs to its end', () => {
  const end = runToStandstill(jobOf({}, { total: 200 }), (index) =>
    index % 5 === 0 ? failedWith('timeout') : SCRAPED,
  );
  assert.equal(end.job.status, 'completed');
  assert.deepEqual(end.job.counts, { ...NO_COUNTS, total: 200, success: 160, failed: 40 });
});

test('"no such property" is not a reason to trip while some items succeed', () => {
  let at = 0;
  const end = runToStandstill(jobOf({}, { total: 300 }), () => {
    at += 1;
    return at % 10 < 3 ? failedWith('no_results') : SCRAPED;
  });
  assert.deepEqual([end.job.status, end.job.counts.failed], ['completed', 90]);
});

test('a job in which nothing works ends after min_requests items, again after each resume, and a smaller one never trips', () => {
  const nothing = (job: JobRecord) => runToStandstill(job, () => failedWith('not_found')).job;
  const first = nothing(jobOf({}, { total: 300 }));
  assert.deepEqual([first.status, first.counts.failed], ['failed', 50]);
  assert.equal(first.reason?.message, 'none of the first 50 items succeeded');
  const resumed = applyJobEvent(first, { kind: 'resume' }, NOW);
  assert.ok(!isRefusal(resumed));
  const second = nothing(resumed);
  assert.deepEqual([second.status, second.counts.failed], ['failed', 100]);
  assert.equal(second.reason?.message, 'none of the first 100 items succeeded');
  assert.equal(nothing(jobOf({}, { total: 50 })).status, 'completed');
});

test('refusals bring the concurrency of a job down to one worker, and it still runs', () => {
  const policy = {
    throttling: { max_concurrent_workers: 8 },
    circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
  };
  const end = runToStandstill(jobOf(policy, { total: 60 }), () => failedWith('rate_limited'));
  assert.equal(end.job.counts.failed, 60);
  assert.equal(end.job.throttle.ceiling, 1);
});

test('a new job may go out, with the throttle that was reckoned with', () => {
  const plan = planDispatch(jobOf(), 1, NOW);
  assert.ok(plan.kind === 'go');
  assert.equal(plan.allowance.batches, 3);
  assert.equal(plan.throttle.ceiling, 3);
});

test('nothing goes out of a job that is held, failed, cancelled or completed, and there is no need to look again', () => {
  assert.deepEqual(planDispatch(jobOf({}, { held: true }), 1, NOW), WAIT);
  for (const status of ['failed', 'cancelled', 'completed'] as const) {
    assert.deepEqual(planDispatch(jobOf({}, { status }), 1, NOW), WAIT, status);
    assert.deepEqual(planDispatch(jobOf({}, { status, counts: DONE }), 1, NOW), WAIT, status);
  }
});

test('a job without items waits for some', () => {
  assert.deepEqual(planDispatch(jobOf({}, { total: 0 }), 1, NOW), WAIT);
  assert.deepEqual(planDispatch(running({ total: 0 }), 1, NOW), WAIT);
});

test('a job with nothing left is completed, even while it is paused', () => {
  assert.deepEqual(planDispatch(running({ counts: DONE }), 1, NOW), { kind: 'finish' });
  const paused = jobOf({}, { status: 'paused', reason: BY_USER, counts: DONE });
  assert.deepEqual(planDispatch(paused, 1, NOW), { kind: 'finish' });
});

test('a job whose index is being written waits for it', () => {
  for (const status of ['in_progress', 'paused'] as const) {
    const job = jobOf({}, { status, counts: DONE, finishedAt: NOW });
    assert.deepEqual(planDispatch(job, 1, NOW + 500), { kind: 'wait', until: null });
  }
});

test('a job with nothing left is completed rather than tripped', () => {
  assert.deepEqual(planDispatch(running({ counts: DONE, tally: BROKEN }), 1, NOW), { kind: 'finish' });
});

test('a job that may still get items is not completed before their time is over', () => {
  const job = running({ counts: DONE, openUntil: NOW + 500 });
  assert.deepEqual(planDispatch(job, 1, NOW), { kind: 'wait', until: NOW + 500 });
  assert.deepEqual(planDispatch(job, 1, NOW + 500), { kind: 'finish' });
});

test('a job whose last items are in flight waits for them', () => {
  const counts = { ...NO_COUNTS, total: 3, success: 2, inProgress: 1 };
  assert.deepEqual(planDispatch(running({ counts, itemsInFlight: 1 }), 1, NOW), WAIT);
  const batch = { ...NO_COUNTS, total: 30, inProgress: 1 };
  assert.deepEqual(planDispatch(running({ counts: batch, itemsInFlight: 30 }), 100, NOW), WAIT);
});

test('a job that has seen too many failures is tripped before anything else goes out', () => {
  const plan = planDispatch(running({ tally: BROKEN }), 1, NOW);
  assert.equal(plan.kind === 'verdict' && plan.verdict.kind, 'trip');
});

test("the breaker's own pause ends when its cooldown is over, and the user's does not", () => {
  const circuit = { state: 'open', since: NOW, probeAt: NOW + 1000 } as const;
  const paused = jobOf({}, { status: 'paused', reason: BY_BREAKER, circuit });
  assert.deepEqual(planDispatch(paused, 1, NOW), { kind: 'wait', until: NOW + 1000 });
  assert.deepEqual(planDispatch(paused, 1, NOW + 1000), { kind: 'verdict', verdict: { kind: 'probe' } });
  assert.deepEqual(planDispatch({ ...paused, reason: BY_USER }, 1, NOW + 1000), WAIT);
  const noCooldown = { ...paused, circuit: { ...circuit, probeAt: null } };
  assert.deepEqual(planDispatch(noCooldown, 1, NOW + 1000), WAIT);
});

test('a probe that went well closes the circuit', () => {
  const job = running({ circuit: { state: 'probing', since: NOW }, tally: { ...EMPTY_TALLY, finished: 1 } });
  assert.deepEqual(planDispatch(job, 1, NOW), { kind: 'verdict', verdict: { kind: 'close' } });
});

test('a job that owes its last control and has used up its budget is paused, instead of sending what no worker would do', () => {
  const policy = { controls: { items: [{ input: { apn: '1' } }], every: 5 } };
  const counts = { ...NO_COUNTS, total: 3, failed: 3 };
  const owing = { status: 'in_progress', counts, tally: { ...EMPTY_TALLY, finished: 3, missed: 3 } } as const;
  assert.equal(planDispatch(jobOf(policy, owing), 1, NOW).kind, 'control');
  const usage = [
    { host: 'a.test', proxy: 'none', requests: 7, bytesUp: 0, bytesDown: 0, refused: 0, blocked: 0 },
  ] as const;
  const used = jobOf({ ...policy, budget: { max_requests: 7 } }, { ...owing, usage });
  assert.equal(planDispatch(used, 1, NOW).kind, 'exhausted');
  const paused = applyJobEvent(used, { kind: 'exhaust' }, NOW);
  assert.ok(!isRefusal(paused));
  assert.deepEqual([paused.status, paused.reason?.code], ['paused', 'budget']);
});
