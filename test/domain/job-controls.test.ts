import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { type ControlSeen, FRESH_CONTROLS } from '../../src/domain/control-state.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import { applyJobEvent, isRefusal, type JobEvent, type JobRecord } from '../../src/domain/job.ts';
import { itemsUntilControl } from '../../src/domain/job-controls.ts';
import type { Usage, UsageRow } from '../../src/domain/usage.ts';
import { jobOf, NOW, policyOf } from './builders.ts';

const ITEMS = [{ input: { apn: 'one' } }, { input: { apn: 'two' } }];
const FOUND: ControlSeen = { kind: 'data', digests: { owner: 'abc', value: '1' }, wrong: null };
const LOST: ControlSeen = { kind: 'failed', type: 'no_results', message: 'no records' };
const TIMED_OUT: ControlSeen = { kind: 'failed', type: 'timeout', message: 'too slow' };

const USED: UsageRow = {
  ...{ host: 'county.test', proxy: 'none', requests: 3, bytesUp: 900, bytesDown: 60_000 },
  ...{ refused: 0, blocked: 0 },
};

const given = (changes: Parameters<typeof jobOf>[1] = {}, every = 100) =>
  jobOf(
    { throttling: { max_concurrent_workers: 4 }, controls: { items: ITEMS, every } },
    { status: 'in_progress', total: 1000, ...changes },
  );

function changed(job: JobRecord, event: JobEvent, now = NOW): JobRecord {
  const after = applyJobEvent(job, event, now);
  assert.ok(!isRefusal(after), isRefusal(after) ? after.refused : '');
  return after;
}

/** Sends the control that is due, and reports what it returned. */
function tried(job: JobRecord, seen: ControlSeen, now = NOW, key = 'one', usage: Usage = []): JobRecord {
  assert.equal(planDispatch(job, 1, now).kind, 'control');
  const sent = changed(job, { kind: 'send-control' }, now);
  const report = { number: sent.controls?.tried ?? 0, key, input: '{"apn":"one"}', startedAt: now, seen, usage };
  return changed(sent, { kind: 'control', report }, now);
}

const itemsAllowed = (job: JobRecord, now = NOW) => {
  const plan = planDispatch(job, 100, now);
  return plan.kind === 'go' ? plan.allowance.items : 0;
};

test('nothing goes out before the first control was good', () => {
  const job = given();
  assert.equal(planDispatch(job, 1, NOW).kind, 'control');
  const sent = changed(job, { kind: 'send-control' });
  assert.equal(planDispatch(sent, 1, NOW).kind, 'wait');
  assert.ok(itemsAllowed(tried(job, FOUND)) > 0);
});

test('no more than `every` items are finished or in flight since the last good control was sent', () => {
  const good = tried(given(), FOUND);
  const after = (finished: number, itemsInFlight: number) => ({
    ...good,
    tally: { ...EMPTY_TALLY, finished },
    itemsInFlight,
    counts: { ...NO_COUNTS, total: 1000, success: finished, inProgress: Math.min(itemsInFlight, 1) },
  });
  const single = { ...policyOf({ ...good.policy, throttling: { max_concurrent_workers: 1 } }) };
  assert.equal(itemsAllowed({ ...after(90, 0), policy: single }), 10);
  assert.equal(itemsUntilControl(after(90, 0)), 10);
  assert.equal(planDispatch(after(100, 0), 1, NOW).kind, 'control');
  // With ten in flight, ten items ahead of time.
  assert.equal(planDispatch(after(79, 10), 1, NOW).kind, 'go');
  assert.equal(planDispatch(after(80, 10), 1, NOW).kind, 'control');
  const sent = changed(after(80, 10), { kind: 'send-control' });
  const allowed = itemsAllowed(sent);
  assert.ok(allowed > 0 && allowed <= 10, 'while it is out, until `every` are reached');
});

test('a control takes one of the slots of its job', () => {
  const good = tried(given(), FOUND);
  const busy = { ...good, tally: { ...EMPTY_TALLY, finished: 97 }, itemsInFlight: 4 };
  const counts = { ...NO_COUNTS, total: 1000, success: 97 };
  assert.equal(planDispatch({ ...busy, counts: { ...counts, inProgress: 4 } }, 1, NOW).kind, 'wait');
  const free = { ...busy, itemsInFlight: 3, counts: { ...counts, inProgress: 3 } };
  assert.equal(planDispatch(free, 1, NOW).kind, 'control');
  assert.equal(planDispatch(changed(free, { kind: 'send-control' }), 1, NOW).kind, 'wait');
});

test('a control that is not reported is sent again under the same number, later and later', () => {
  let job = changed(given(), { kind: 'send-control' });
  assert.deepEqual(planDispatch(job, 1, NOW), { kind: 'wait', until: NOW + 30_000 });
  assert.equal(planDispatch(job, 1, NOW + 30_000).kind, 'control');
  job = changed(job, { kind: 'send-control' }, NOW + 30_000);
  assert.deepEqual([job.controls?.tried, job.controls?.out?.sendAgainAt], [1, NOW + 90_000]);
});

test('a report that is not awaited changes nothing', () => {
  const job = tried(given(), FOUND);
  const report = { number: 1, key: 'one', input: '', startedAt: NOW, seen: LOST, usage: [USED] };
  assert.ok(isRefusal(applyJobEvent(job, { kind: 'control', report }, NOW)));
  const next = changed({ ...job, controls: { ...FRESH_CONTROLS, tried: 1 } }, { kind: 'send-control' });
  assert.ok(isRefusal(applyJobEvent(next, { kind: 'control', report }, NOW)), 'number 2 is');
});

test('what a control used is added to what its job used, whatever it returned', () => {
  const held: ControlSeen = { kind: 'held', host: 'county.test', until: NOW + 1000, reason: '429' };
  for (const seen of [FOUND, LOST, TIMED_OUT, held]) {
    const job = tried(given({ usage: [USED] }), seen, NOW, 'one', [USED]);
    assert.deepEqual(job.usage, [{ ...USED, requests: 6, bytesUp: 1800, bytesDown: 120_000 }], seen.kind);
  }
});

test('a job whose budget its controls have used up is stopped by it', () => {
  const job = jobOf(
    { budget: { max_requests: 3 }, controls: { items: ITEMS, every: 100 } },
    { status: 'in_progress', total: 1000 },
  );
  assert.equal(planDispatch(tried(job, FOUND, NOW, 'one', [{ ...USED, requests: 2 }]), 1, NOW).kind, 'go');
  assert.equal(planDispatch(tried(job, FOUND, NOW, 'one', [USED]), 1, NOW).kind, 'exhausted');
});

test('other data than the first time are bad, and the fields are named', () => {
  let job = tried(given(), FOUND);
  job = tried(
    { ...job, tally: { ...EMPTY_TALLY, finished: 100 } },
    { ...FOUND, digests: { owner: 'xyz', extra: '2' } },
  );
  assert.deepEqual([job.status, job.reason?.code], ['paused', 'control']);
  assert.match(
    job.reason?.message ?? '',
    /control \{"apn":"one"\} returned other data .*: extra, owner, value\. Items that/,
  );
});

test('each control has data of its own to be compared with', () => {
  const job = tried(given(), FOUND);
  const other = tried(
    { ...job, tally: { ...EMPTY_TALLY, finished: 100 } },
    { ...FOUND, digests: { owner: 'xyz' } },
    NOW,
    'two',
  );
  assert.deepEqual([other.status, other.controls?.good], ['in_progress', 2]);
});

const STOPS = ['proxy_config', 'invalid_input', 'refused_address'];
const BAD = ['no_results', 'not_found', 'structure_changed', 'invalid_output', 'too_large'];
for (const type of FAILURE_TYPES) {
  const expected = BAD.includes(type) ? 'bad' : STOPS.includes(type) ? 'stop' : 'unclear';
  test(`a control that returns ${type} is ${expected}`, () => {
    const job = tried(given(), { kind: 'failed', type, message: 'x' });
    assert.equal(job.status, expected === 'unclear' ? 'in_progress' : 'paused');
    assert.equal(job.controls?.suspect !== null, expected === 'bad', 'whether negatives are in doubt');
  });
}

test('an unclear control is tried again after a while, and pauses the job after eight times in a row', () => {
  const timeout: ControlSeen = { kind: 'failed', type: 'timeout', message: 'too long' };
  let job = given();
  let now = NOW;
  for (let time = 1; time < 8; time += 1) {
    job = tried(job, timeout, now);
    const plan = planDispatch(job, 1, now);
    assert.ok(plan.kind === 'wait' && plan.until !== null && plan.until > now);
    now = plan.until;
  }
  job = tried(job, timeout, now);
  assert.deepEqual([job.status, job.controls?.suspect], ['paused', null]);
  assert.match(job.reason?.message ?? '', /could not be tried 8 times in a row: timeout/);
});

test('a host that keeps a control waiting keeps the job waiting, and nothing is held against it', () => {
  const held: ControlSeen = { kind: 'held', host: 'county.test', until: NOW + 3_600_000, reason: 'Retry-After' };
  const job = tried(given(), held);
  assert.deepEqual(planDispatch(job, 1, NOW + 1), { kind: 'wait', until: NOW + 3_600_000 });
  assert.equal(planDispatch(job, 1, NOW + 3_600_000).kind, 'control');
});

test('negatives in doubt are reopened after the resume, when nothing is in flight, before anything else', () => {
  const good = tried(given(), FOUND, NOW - 1000);
  const paused = tried({ ...good, tally: { ...EMPTY_TALLY, finished: 100, missed: 99 } }, LOST);
  assert.deepEqual(paused.controls?.suspect, { since: NOW - 1000 });
  const resumed = changed(paused, { kind: 'resume' });
  const busy = { ...resumed, counts: { ...resumed.counts, inProgress: 1 }, itemsInFlight: 1 };
  assert.equal(planDispatch(busy, 1, NOW).kind, 'wait');
  assert.deepEqual(planDispatch(resumed, 1, NOW), { kind: 'reopen', since: NOW - 1000 });
  const reopened = changed(resumed, { kind: 'negatives-reopened' });
  assert.equal(planDispatch(reopened, 1, NOW).kind, 'control', 'the next control goes first');
});

test('a job that its user paused meanwhile keeps that reason, and what is in doubt is remembered', () => {
  const sent = changed(given(), { kind: 'send-control' });
  const paused = changed(sent, { kind: 'pause', reason: { code: 'user', message: 'wait', evidence: [] } });
  const report = { number: 1, key: 'one', input: '', startedAt: NOW, seen: LOST, usage: [USED] };
  const after = changed(paused, { kind: 'control', report });
  assert.deepEqual([after.status, after.reason?.code, after.controls?.suspect], ['paused', 'user', { since: null }]);
  assert.equal(planDispatch(changed(after, { kind: 'resume' }), 1, NOW).kind, 'reopen');
});

test('a job in which items were not found since the last good control is not finished before another one', () => {
  const over = { ...NO_COUNTS, total: 10, success: 8, failed: 2 };
  const good = tried(given({ total: 10 }), FOUND);
  const found = { ...good, counts: { ...over, success: 10, failed: 0 }, tally: { ...EMPTY_TALLY, finished: 10 } };
  assert.equal(planDispatch(found, 1, NOW).kind, 'finish');
  const missed = { ...good, counts: over, tally: { ...EMPTY_TALLY, finished: 10, missed: 2 } };
  assert.ok(isRefusal(applyJobEvent(missed, { kind: 'finish' }, NOW)));
  const last = tried(missed, FOUND);
  assert.equal(planDispatch(last, 1, NOW).kind, 'finish');
});

test('a job that the breaker paused with nothing left but a control goes on by itself after the cooldown', () => {
  const circuit = { state: 'open', since: NOW - 5000, probeAt: NOW } as const;
  const counts = { ...NO_COUNTS, total: 10, success: 1, failed: 9 };
  const reason = { code: 'breaker', message: '9 of 10 failed', evidence: [] } as const;
  const good = tried(given({ total: 10 }), FOUND);
  const paused: JobRecord = {
    ...good,
    status: 'paused',
    reason,
    circuit,
    counts,
    tally: { ...EMPTY_TALLY, missed: 5 },
  };
  assert.equal(planDispatch(paused, 1, NOW - 1).kind, 'wait');
  assert.deepEqual(planDispatch(paused, 1, NOW), { kind: 'verdict', verdict: { kind: 'probe' } });
  assert.equal(planDispatch(tried(changed(paused, { kind: 'probe' }), FOUND), 1, NOW).kind, 'finish');
});

test('after a trip of the breaker the next control goes first, although what was counted starts over', () => {
  const good = { ...tried(given(), FOUND), tally: { ...EMPTY_TALLY, finished: 60, failed: 60, streak: 60 } };
  const resumed = changed(changed(good, { kind: 'trip', evidence: [] }), { kind: 'resume' });
  assert.equal(planDispatch(resumed, 1, NOW).kind, 'control');
});

test('a job without controls, and a re-extraction, have none to try', () => {
  assert.equal(planDispatch(jobOf({}, { status: 'in_progress' }), 1, NOW).kind, 'go');
  assert.equal(planDispatch({ ...given(), extracts: 'job-0' }, 1, NOW).kind, 'go');
  const removed = { ...tried(given(), FOUND), policy: policyOf({}) };
  assert.equal(planDispatch({ ...removed, tally: { ...EMPTY_TALLY, finished: 500 } }, 1, NOW).kind, 'go');
});

test('a held job waits for its start, and one without items for its items', () => {
  assert.equal(planDispatch(given({ status: 'pending', held: true }), 1, NOW).kind, 'wait');
  assert.ok(isRefusal(applyJobEvent(given({ status: 'pending', held: true }), { kind: 'send-control' }, NOW)));
  assert.equal(planDispatch(given({ status: 'pending', total: 0 }), 1, NOW).kind, 'wait');
});
