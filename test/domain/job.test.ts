import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Circuit, CLOSED, EMPTY_TALLY, type Tally } from '../../src/domain/breaker.ts';
import { NO_COUNTS, pendingOf } from '../../src/domain/counts.ts';
import { type FailureType, failure } from '../../src/domain/failure.ts';
import { emptyGroup, groupKey, groupOf } from '../../src/domain/failure-group.ts';
import {
  acceptsItems,
  applyJobEvent,
  isActive,
  isDispatchable,
  isExhausted,
  isRefusal,
  type JobEvent,
  type JobRecord,
  needsManifest,
  newJobRecord,
  type Refusal,
  whenItemsAdded,
  whenReopened,
} from '../../src/domain/job.ts';
import {
  finalStatusOf,
  whenClaimed,
  whenDispatched,
  whenReturned,
  whenSettled,
} from '../../src/domain/job-progress.ts';
import { isFinishing } from '../../src/domain/job-round.ts';
import { JOB_STATUSES, type JobStatus, type JobStep, NEXT_JOB_STATUS } from '../../src/domain/job-steps.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { FRESH_THROTTLE } from '../../src/domain/throttle.ts';
import {
  BY_STORAGE,
  BY_USER,
  FALLEN,
  failedWith,
  jobOf,
  MANIFEST,
  NOW,
  policyOf,
  SCRAPED,
  SKIPPED,
  TRIP,
} from './builders.ts';

const STEPS: readonly JobStep[] = [
  ...(['start', 'dispatch', 'pause', 'resume', 'fail', 'probe', 'close', 'cancel', 'finish'] as const),
  ...(['complete', 'retry'] as const),
];

/** Every step that exists, written out a second time: all others must be refused. */
const TABLE: Readonly<Record<JobStatus, Partial<Record<JobStep, JobStatus>>>> = {
  pending: { start: 'pending', dispatch: 'in_progress', pause: 'paused', cancel: 'cancelled' },
  in_progress: {
    ...{ dispatch: 'in_progress', pause: 'paused', fail: 'failed', cancel: 'cancelled', complete: 'completed' },
    ...{ close: 'in_progress', retry: 'in_progress', finish: 'in_progress' },
  },
  paused: {
    ...{ pause: 'paused', resume: 'in_progress', probe: 'in_progress', cancel: 'cancelled', complete: 'completed' },
    ...{ retry: 'paused', finish: 'paused' },
  },
  failed: { resume: 'in_progress', cancel: 'cancelled', retry: 'in_progress' },
  completed: { retry: 'in_progress' },
  cancelled: {},
};

function changed(job: JobRecord, event: JobEvent, now = NOW): JobRecord {
  const result = applyJobEvent(job, event, now);
  assert.ok(!isRefusal(result), isRefusal(result) ? result.refused : '');
  return result;
}

const INDEXED = { kind: 'complete', round: 1, manifest: MANIFEST } as const;

/** A job whose items are all final, and whose index is being written. */
function finishing(fields: Partial<JobRecord> = {}): JobRecord {
  const counts = { ...NO_COUNTS, total: 1, success: 1 };
  return changed(jobOf({}, { status: 'in_progress', counts, ...fields }), { kind: 'finish' });
}

function refusedBecause(result: JobRecord | Refusal): string | null {
  return isRefusal(result) ? result.refused : null;
}

const tripped = (breaker: Parameters<typeof policyOf>[0] = {}, tally: Tally = FALLEN): JobRecord =>
  changed(jobOf(breaker, { status: 'in_progress', tally }), TRIP);

for (const status of JOB_STATUSES) {
  for (const name of STEPS) {
    const expected = TABLE[status][name];
    test(`a job that is ${status} ${expected ? `is ${expected} after` : 'refuses'} ${name}`, () => {
      const row: Partial<Record<JobStep, JobStatus>> = NEXT_JOB_STATUS[status];
      assert.equal(row[name], expected);
    });
  }
}

test('a new job is pending, with all its items, and has dispatched nothing', () => {
  const job = jobOf({}, { total: 7 });
  assert.deepEqual(job.counts, { ...NO_COUNTS, total: 7 });
  assert.equal(job.status, 'pending');
  assert.deepEqual([job.round, job.policyRevision, job.startedAt, job.finishedAt], [1, 1, null, null]);
  assert.deepEqual([job.circuit, job.tally, job.throttle], [CLOSED, EMPTY_TALLY, FRESH_THROTTLE]);
  assert.deepEqual([job.createdAt, job.openUntil, job.refusals, job.fenced], [NOW, 0, 0, 0]);
});

test('a held job waits for start, and start counts once', () => {
  const held = newJobRecord({ ...jobOf(), held: true }, 5, NOW, 'incarnation-1');
  assert.equal(isDispatchable(held), false);
  const started = changed(held, { kind: 'start' });
  assert.equal(isDispatchable(started), true);
  assert.equal(started.status, 'pending');
  assert.equal(refusedBecause(applyJobEvent(started, { kind: 'start' }, NOW)), 'the job was already started');
});

test('work goes out only of jobs that are pending and not held, or in progress', () => {
  const may = JOB_STATUSES.filter((status) => isDispatchable(jobOf({}, { status })));
  assert.deepEqual(may, ['pending', 'in_progress']);
});

test('the engine has something to do for a job until it is over and its manifest written', () => {
  const active = (changes: Parameters<typeof jobOf>[1]) => isActive(jobOf({}, changes));
  const open: Circuit = { state: 'open', since: NOW, probeAt: NOW };
  assert.deepEqual(
    JOB_STATUSES.filter((status) => active({ status, manifest: MANIFEST })),
    ['pending', 'in_progress'],
  );
  assert.equal(active({ status: 'completed' }), true);
  assert.equal(active({ status: 'cancelled' }), true);
  const ending = { ...NO_COUNTS, total: 2, cancelled: 1, inProgress: 1 };
  assert.equal(active({ status: 'cancelled', manifest: MANIFEST, counts: ending }), true);
  assert.equal(active({ status: 'failed', circuit: { ...open, probeAt: null } }), false);
  assert.equal(active({ status: 'paused', circuit: open }), true);
  assert.equal(active({ status: 'paused', circuit: { ...open, probeAt: null } }), false);
});

test('a job that was paused while its last items were out is not forgotten: it is still to be completed', () => {
  const counts = { ...NO_COUNTS, total: 2, success: 1 };
  const paused = (more: Partial<typeof counts>) => jobOf({}, { status: 'paused', counts: { ...counts, ...more } });
  assert.equal(isActive(paused({ inProgress: 1 })), false);
  assert.equal(isActive(paused({ failed: 1 })), true);
  assert.equal(isActive(jobOf({}, { status: 'paused', total: 0 })), false);
});

test('a tripped breaker fails the job by default, with the reason and the evidence', () => {
  const kind = groupOf(failure('timeout', 'no answer'));
  const evidence = [{ ...emptyGroup(kind), count: 5, keys: [groupKey(kind)] }];
  const sick = jobOf({ circuit_breaker: { consecutive_failures: 60 } }, { status: 'in_progress', tally: FALLEN });
  const job = changed(sick, { kind: 'trip', evidence });
  assert.equal(job.status, 'failed');
  assert.deepEqual(job.reason, { code: 'breaker', message: '60 failures in a row (limit 60)', evidence });
  assert.deepEqual(job.circuit, { state: 'open', since: NOW, probeAt: null });
  assert.equal(job.finishedAt, NOW);
});

test('a tripped breaker pauses the job if it is configured to', () => {
  const job = tripped({ circuit_breaker: { on_trip: 'pause' } });
  assert.equal(job.status, 'paused');
  assert.deepEqual(job.circuit, { state: 'open', since: NOW, probeAt: null });
});

test('with a cooldown the job pauses whatever on_trip says, and knows when to probe', () => {
  const job = tripped({ circuit_breaker: { cooldown_seconds: 30, on_trip: 'fail' } });
  assert.equal(job.status, 'paused');
  assert.deepEqual(job.circuit, { state: 'open', since: NOW, probeAt: NOW + 30_000 });
});

test('what no probe can repair is not probed, cooldown or not', () => {
  const job = tripped({ circuit_breaker: { cooldown_seconds: 30 } }, { ...FALLEN, stopper: 'proxy_config' });
  assert.equal(job.status, 'failed');
  assert.deepEqual(job.circuit, { state: 'open', since: NOW, probeAt: null });
});

test('a circuit that is open does not trip again', () => {
  const again = applyJobEvent({ ...tripped(), status: 'in_progress' }, TRIP, NOW + 1);
  assert.equal(refusedBecause(again), 'the circuit is already open');
});

test('a trip that comes after the user paused the job does not take the pause over: it would end by itself', () => {
  const policy = { circuit_breaker: { cooldown_seconds: 30 } };
  const sick = jobOf(policy, { status: 'in_progress', tally: FALLEN });
  const paused = changed(sick, { kind: 'pause', reason: BY_USER });
  const late = applyJobEvent(paused, TRIP, NOW);
  assert.equal(refusedBecause(late), 'a job that is paused cannot trip');
});

test('trouble with the storage does not take over a pause of the user or of the breaker, and so does not end it', () => {
  const byUser = changed(jobOf({}, { status: 'in_progress' }), { kind: 'pause', reason: BY_USER });
  const byBreaker = tripped({ circuit_breaker: { on_trip: 'pause' } });
  for (const job of [byUser, byBreaker]) {
    const late = applyJobEvent(job, { kind: 'pause', reason: BY_STORAGE }, NOW);
    assert.equal(refusedBecause(late), 'the job is already paused');
  }
});

test('a user who pauses a job that the engine paused takes it over', () => {
  const byStorage = changed(jobOf({}, { status: 'in_progress' }), { kind: 'pause', reason: BY_STORAGE });
  assert.deepEqual(changed(byStorage, { kind: 'pause', reason: BY_USER }).reason, BY_USER);
});

test('when there is room again, what waited for it goes on, and nothing that a user paused meanwhile', () => {
  const byStorage = changed(jobOf({}, { status: 'in_progress' }), { kind: 'pause', reason: BY_STORAGE });
  const goesOn = changed(byStorage, { kind: 'resume', ifPausedFor: 'storage' });
  assert.deepEqual([goesOn.status, goesOn.reason], ['in_progress', null]);
  const byUser = changed(byStorage, { kind: 'pause', reason: BY_USER });
  const refused = applyJobEvent(byUser, { kind: 'resume', ifPausedFor: 'storage' }, NOW);
  assert.equal(refusedBecause(refused), 'the job is not paused for storage');
});

test('resume closes an open circuit, forgets its tally and goes on', () => {
  for (const policy of [{}, { circuit_breaker: { on_trip: 'pause' as const } }]) {
    const resumed = changed(tripped(policy), { kind: 'resume' });
    assert.equal(resumed.status, 'in_progress');
    assert.deepEqual([resumed.circuit, resumed.tally], [CLOSED, EMPTY_TALLY]);
    assert.deepEqual([resumed.reason, resumed.finishedAt], [null, null]);
  }
});

test('a held job that was paused runs when it is resumed', () => {
  const paused = changed(jobOf({}, { held: true }), { kind: 'pause', reason: BY_USER });
  const resumed = changed(paused, { kind: 'resume' });
  assert.deepEqual([resumed.status, resumed.held, isDispatchable(resumed)], ['in_progress', false, true]);
});

test('a pause by the user does not forget what the breaker has counted', () => {
  const tally = { ...EMPTY_TALLY, finished: 4, failed: 3, streak: 3 };
  const paused = changed(jobOf({}, { status: 'in_progress', tally }), { kind: 'pause', reason: BY_USER });
  assert.deepEqual(changed(paused, { kind: 'resume' }).tally, tally);
});

test('a probe puts the job in progress with an empty tally, and a good end closes the circuit', () => {
  const paused = tripped({ circuit_breaker: { cooldown_seconds: 30 } });
  const probing = changed(paused, { kind: 'probe' }, NOW + 30_000);
  assert.equal(probing.status, 'in_progress');
  assert.deepEqual(probing.circuit, { state: 'probing', since: NOW + 30_000 });
  assert.deepEqual([probing.tally, probing.reason], [EMPTY_TALLY, null]);
  const closed = changed({ ...probing, tally: { ...EMPTY_TALLY, finished: 1 } }, { kind: 'close-circuit' });
  assert.deepEqual([closed.status, closed.circuit], ['in_progress', CLOSED]);
});

test('a probe that fails pauses the job again for another cooldown', () => {
  const paused = tripped({ circuit_breaker: { cooldown_seconds: 30 } });
  const probing = changed(paused, { kind: 'probe' }, NOW + 30_000);
  const failed = { ...probing, tally: { ...EMPTY_TALLY, finished: 1, failed: 1, streak: 1 } };
  const again = changed(failed, TRIP, NOW + 31_000);
  assert.equal(again.status, 'paused');
  assert.deepEqual(again.circuit, { state: 'open', since: NOW + 31_000, probeAt: NOW + 61_000 });
});

test('a user who paused a tripped job does not get it probed', () => {
  const paused = changed(tripped({ circuit_breaker: { cooldown_seconds: 30 } }), { kind: 'pause', reason: BY_USER });
  const probe = applyJobEvent(paused, { kind: 'probe' }, NOW + 60_000);
  assert.equal(refusedBecause(probe), 'the job was not stopped by the breaker');
});

test('only an open circuit is probed, and only a probing one is closed by its probe', () => {
  const job = jobOf({}, { status: 'in_progress' });
  assert.equal(refusedBecause(applyJobEvent(job, { kind: 'probe' }, NOW)), 'the circuit is not open');
  assert.equal(refusedBecause(applyJobEvent(job, { kind: 'close-circuit' }, NOW)), 'the circuit is not probing');
});

test('a verdict from before a resume does not trip the job again: what it was made from is forgotten', () => {
  const resumed = changed(tripped(), { kind: 'resume' });
  const since = { ...resumed, tally: { ...EMPTY_TALLY, finished: 8, failed: 1, streak: 1 } };
  for (const job of [resumed, since]) {
    const late = refusedBecause(applyJobEvent(job, TRIP, NOW + 5));
    assert.equal(late, 'the breaker has counted nothing that would stop the job');
  }
});

test('a verdict from before the limits were raised does not trip the job', () => {
  const sick = jobOf({}, { status: 'in_progress', tally: FALLEN });
  const policy = policyOf({ circuit_breaker: { consecutive_failures: 99, min_requests: 99 } });
  assert.ok(refusedBecause(applyJobEvent(changed(sick, { kind: 'policy', policy }), TRIP, NOW)));
});

test('a verdict about an earlier probe neither closes the circuit nor begins another probe', () => {
  const cooling = tripped({ circuit_breaker: { cooldown_seconds: 30 } });
  const early = applyJobEvent(cooling, { kind: 'probe' }, NOW + 29_999);
  assert.equal(refusedBecause(early), 'the cooldown is not over');
  const probing = changed(cooling, { kind: 'probe' }, NOW + 30_000);
  const unproven = applyJobEvent(probing, { kind: 'close-circuit' }, NOW + 30_001);
  assert.equal(refusedBecause(unproven), 'no probe has succeeded');
});

test('a job is finishing when every item is final, nothing is in flight and no more items are on their way', () => {
  const done = { ...NO_COUNTS, total: 3, success: 1, failed: 1, skipped: 1 };
  const job = jobOf({}, { status: 'in_progress', counts: done, openUntil: NOW });
  assert.equal(isExhausted(job, NOW), true);
  assert.equal(isExhausted(job, NOW - 1), false);
  assert.equal(isExhausted({ ...job, counts: { ...done, total: 4 } }, NOW), false);
  assert.equal(isExhausted({ ...job, counts: { ...done, success: 0, inProgress: 1 } }, NOW), false);
  assert.equal(isExhausted({ ...job, counts: NO_COUNTS }, NOW), false);
  const finishing = changed(job, { kind: 'finish' });
  assert.deepEqual([finishing.status, finishing.finishedAt], ['in_progress', NOW]);
  assert.deepEqual([isFinishing(job), isFinishing(finishing), needsManifest(finishing)], [false, true, true]);
  const early = applyJobEvent(job, { kind: 'finish' }, NOW - 1);
  assert.equal(refusedBecause(early), 'not every item is final');
  assert.equal(refusedBecause(applyJobEvent(job, INDEXED, NOW)), 'not every item is final');
  assert.equal(changed(finishing, { kind: 'finish' }, NOW + 9), finishing);
});

test('a job is completed by its index, and once', () => {
  const completed = changed(finishing(), INDEXED, NOW + 9);
  assert.deepEqual([completed.status, completed.finishedAt, completed.manifest], ['completed', NOW, MANIFEST]);
  const again = applyJobEvent(completed, INDEXED, NOW);
  assert.equal(refusedBecause(again), 'a job that is completed cannot complete');
  const paused = changed(finishing(), { kind: 'pause', reason: BY_USER });
  assert.deepEqual([paused.status, isFinishing(paused)], ['paused', true]);
  const resumed = changed(paused, { kind: 'resume' }, NOW + 5);
  assert.deepEqual([resumed.status, resumed.finishedAt], ['in_progress', NOW], 'the index that is begun stays good');
  for (const job of [paused, resumed]) {
    const over = changed(job, INDEXED);
    assert.deepEqual([over.status, over.reason], ['completed', null]);
  }
});

test('whatever there is to do again while the index is written makes it void', () => {
  const job = finishing({ counts: { ...NO_COUNTS, total: 2, success: 1, failed: 1 } });
  assert.ok(acceptsItems(job));
  const begunAgain = [
    whenItemsAdded(job, { added: 1, replaced: 0 }, NOW),
    whenReopened(job, 1),
    changed(job, { kind: 'cancel' }),
    changed(job, { kind: 'replace-results', by: 'x' }),
  ];
  for (const next of begunAgain) {
    assert.ok(!isRefusal(next));
    assert.equal(next.round, 2);
    assert.ok(isRefusal(applyJobEvent(next, INDEXED, NOW)));
  }
  assert.equal(whenItemsAdded(job, { added: 0, replaced: 0 }, NOW + 9), job, 'nothing was added');
  const policy = policyOf({ throttling: { max_concurrent_workers: 9 } });
  const other = changed(job, { kind: 'policy', policy });
  assert.equal(
    refusedBecause(applyJobEvent(other, { ...INDEXED, policyRevision: 1 }, NOW)),
    'the policy has changed since the manifest was written',
  );
});

test('a job with nothing left does not trip, and a paused one keeps its reason until it is over', () => {
  const trip = applyJobEvent(finishing(), TRIP, NOW);
  assert.equal(refusedBecause(trip), 'every item is final: there is nothing left to stop');
  const paused = changed(finishing(), { kind: 'pause', reason: BY_USER });
  const added = whenItemsAdded({ ...paused, status: 'paused' }, { added: 1, replaced: 0 }, NOW);
  assert.deepEqual([added.status, added.reason, added.finishedAt], ['paused', BY_USER, null]);
});

test('a cancelled job loses what waits, the rest of every batch included, and keeps what a worker is at', () => {
  const counts = { ...NO_COUNTS, total: 100, queued: 2, inProgress: 3, success: 10, failed: 1 };
  const job = changed(jobOf({}, { status: 'in_progress', counts, itemsInFlight: 45 }), { kind: 'cancel' });
  assert.equal(job.status, 'cancelled');
  assert.deepEqual(job.counts, { ...counts, queued: 0, cancelled: 86 });
  assert.deepEqual([job.itemsInFlight, pendingOf(job.counts), job.finishedAt], [3, 0, NOW]);
});

test('an item of a cancelled job that a worker still has ends by itself, or is cancelled when it comes back', () => {
  const counts = { ...NO_COUNTS, total: 10, inProgress: 2 };
  const job = changed(jobOf({}, { status: 'in_progress', counts, itemsInFlight: 8 }), { kind: 'cancel' });
  const ended = whenSettled(job, { outcome: SCRAPED }, true);
  assert.equal(ended.counts.success, 1);
  assert.equal(needsManifest(ended), false);
  const over = whenReturned(ended, 'in_progress', 1);
  assert.deepEqual(over.counts, { ...NO_COUNTS, total: 10, success: 1, cancelled: 9 });
  assert.equal(needsManifest(over), true);
});

test('a changed policy has a new revision, so that workers ask for it; a cancelled job needs none', () => {
  const policy = policyOf({ throttling: { max_concurrent_workers: 9 } });
  const job = changed(jobOf(), { kind: 'policy', policy });
  assert.deepEqual([job.policy, job.policyRevision], [policy, 2]);
  const late = applyJobEvent(jobOf({}, { status: 'cancelled' }), { kind: 'policy', policy }, NOW);
  assert.equal(refusedBecause(late), 'the job is cancelled');
});

test('a manifest is recorded once, and only for the round it was written of', () => {
  const job = jobOf({}, { status: 'completed', round: 2 });
  const recorded = changed(job, { kind: 'manifest', round: 2, manifest: MANIFEST });
  assert.deepEqual(recorded.manifest, MANIFEST);
  for (const [late, round] of [
    [job, 1],
    [recorded, 2],
    [jobOf({}, { status: 'in_progress' }), 1],
  ] as const) {
    const result = applyJobEvent(late, { kind: 'manifest', round, manifest: MANIFEST }, NOW);
    assert.equal(refusedBecause(result), 'no manifest of that round is awaited');
  }
});

test('the first dispatch starts the job, and later ones do not start it again', () => {
  const went = { batches: 2, items: 5, throttle: { ...FRESH_THROTTLE, ceiling: 3 } };
  const job = whenDispatched(jobOf(), went, NOW);
  assert.deepEqual([job.status, job.startedAt, job.counts.queued, job.itemsInFlight], ['in_progress', NOW, 2, 5]);
  assert.equal(job.throttle.ceiling, 3);
  assert.equal(whenDispatched(job, went, NOW + 99).startedAt, NOW);
});

test('a claim moves one batch from queued to in progress', () => {
  const job = whenClaimed(jobOf({}, { counts: { ...NO_COUNTS, total: 9, queued: 2, inProgress: 1 } }));
  assert.deepEqual([job.counts.queued, job.counts.inProgress], [1, 2]);
});

test('a settled item is counted by its end, and its batch stays in progress until its last one', () => {
  const job = jobOf({}, { counts: { ...NO_COUNTS, total: 9, inProgress: 1 }, itemsInFlight: 3 });
  const one = whenSettled(job, { outcome: SCRAPED }, false);
  const two = whenSettled(one, { outcome: SKIPPED }, false);
  const three = whenSettled(two, { outcome: failedWith('blocked') }, true);
  assert.deepEqual(two.counts, { ...NO_COUNTS, total: 9, inProgress: 1, success: 1, skipped: 1 });
  assert.deepEqual(three.counts, { ...NO_COUNTS, total: 9, success: 1, skipped: 1, failed: 1 });
  assert.deepEqual([three.itemsInFlight, three.refusals], [0, 1]);
  assert.deepEqual(three.tally, { ...EMPTY_TALLY, finished: 2, failed: 1, streak: 1, dry: 1 });
});

test('a failed item whose last try was refused counts as a refusal, whatever names its failure', () => {
  const tries = (...types: readonly FailureType[]) =>
    types.map((type, index) => ({ number: index + 1, type, message: '', at: NOW, waitMs: 0 }));
  const job = jobOf();
  const refusals = (outcome: Outcome, ...types: readonly FailureType[]) =>
    whenSettled(job, { outcome, failedTries: tries(...types) }, true).refusals;
  assert.equal(refusals(failedWith('navigation_failed'), 'navigation_failed', 'rate_limited'), 1);
  assert.equal(refusals(failedWith('navigation_failed'), 'rate_limited', 'navigation_failed'), 0);
  assert.equal(refusals(failedWith('blocked'), 'blocked', 'blocked', 'timeout'), 0);
  assert.equal(refusals(SCRAPED, 'rate_limited'), 0, 'the site gave in');
});

test('a batch that comes back is pending again, and nothing is charged', () => {
  const job = jobOf({}, { counts: { ...NO_COUNTS, total: 9, queued: 1, inProgress: 1 }, itemsInFlight: 6 });
  const back = whenReturned(whenReturned(job, 'queued', 4), 'in_progress', 2);
  assert.deepEqual([back.counts, back.itemsInFlight], [{ ...NO_COUNTS, total: 9 }, 0]);
  assert.deepEqual(back.tally, EMPTY_TALLY);
});

test('a retry of a completed job begins a new round, whose manifest is still to be written', () => {
  const counts = { ...NO_COUNTS, total: 10, success: 6, failed: 4 };
  const job = jobOf({}, { status: 'completed', counts, manifest: MANIFEST, finishedAt: NOW });
  const reopened = whenReopened(job, 3);
  assert.ok(!isRefusal(reopened));
  assert.deepEqual([reopened.status, reopened.round, reopened.manifest], ['in_progress', 2, null]);
  assert.deepEqual([reopened.counts.failed, pendingOf(reopened.counts)], [1, 3]);
  assert.deepEqual([reopened.finishedAt, reopened.tally], [null, EMPTY_TALLY]);
});

test('a retry of a failed job closes its circuit and stays in the same round', () => {
  const job = { ...tripped(), counts: { ...NO_COUNTS, total: 10, failed: 5 } };
  const reopened = whenReopened(job, 5);
  assert.ok(!isRefusal(reopened));
  assert.deepEqual([reopened.status, reopened.round, reopened.reason], ['in_progress', 1, null]);
  assert.deepEqual([reopened.circuit, reopened.tally], [CLOSED, EMPTY_TALLY]);
});

test('a retry in a paused job does not resume it, and a cancelled job has none', () => {
  const paused = whenReopened(jobOf({}, { status: 'paused', counts: { ...NO_COUNTS, total: 2, failed: 1 } }), 1);
  assert.ok(!isRefusal(paused) && paused.status === 'paused');
  assert.ok(isRefusal(whenReopened(jobOf({}, { status: 'cancelled' }), 1)));
});

test('every outcome has one final status', () => {
  assert.deepEqual([SCRAPED, SKIPPED, failedWith('timeout')].map(finalStatusOf), ['success', 'skipped', 'failed']);
});
