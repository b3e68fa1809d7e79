import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Circuit, CLOSED, EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import {
  acceptsItems,
  applyJobEvent,
  isActive,
  isRefusal,
  type JobEvent,
  type JobRecord,
  needsManifest,
  type Refusal,
  whenItemsAdded,
  whenUndone,
} from '../../src/domain/job.ts';
import { JOB_STATUSES } from '../../src/domain/job-steps.ts';
import { BY_USER, FALLEN, jobOf, MANIFEST, NOW } from './builders.ts';

/** How a job that is over is taken up again, and how its results are indexed again. */

const OPEN: Circuit = { state: 'open', since: NOW, probeAt: null };

function added(job: JobRecord, items: number, openUntil: number): JobRecord {
  assert.ok(acceptsItems(job));
  return whenItemsAdded(job, { added: items, replaced: 0 }, openUntil);
}

function corrected(job: JobRecord, items: number, openUntil: number): JobRecord {
  assert.ok(acceptsItems(job));
  return whenItemsAdded(job, { added: 0, replaced: items }, openUntil);
}

function changed(job: JobRecord, event: JobEvent, now = NOW): JobRecord {
  const result = applyJobEvent(job, event, now);
  assert.ok(!isRefusal(result), isRefusal(result) ? result.refused : '');
  return result;
}

function refusedBecause(result: JobRecord | Refusal): string | null {
  return isRefusal(result) ? result.refused : null;
}

test('items are taken by every job but a cancelled one', () => {
  assert.deepEqual(
    JOB_STATUSES.filter((status) => !acceptsItems(jobOf({}, { status }))),
    ['cancelled'],
  );
});

test('items that are added to a job that is not over change its total and how long it waits, and nothing else', () => {
  for (const status of ['pending', 'in_progress', 'paused', 'failed'] as const) {
    const finishedAt = status === 'failed' ? NOW : null;
    const job = jobOf({}, { status, reason: BY_USER, circuit: OPEN, tally: FALLEN, finishedAt, total: 3 });
    const expected = { ...job, counts: { ...job.counts, total: 5 }, openUntil: NOW + 9 };
    assert.deepEqual(added(job, 2, NOW + 9), expected, status);
    assert.deepEqual(added(job, 0, NOW + 9), { ...job, openUntil: NOW + 9 }, status);
  }
});

test('failed items that get another input are no longer counted as failed, and begin a new round of a completed job', () => {
  const counts = { ...NO_COUNTS, total: 5, success: 2, failed: 3 };
  for (const status of ['in_progress', 'paused', 'failed'] as const) {
    const job = jobOf({}, { status, reason: BY_USER, circuit: OPEN, tally: FALLEN, counts });
    assert.deepEqual(corrected(job, 2, NOW + 9), { ...job, counts: { ...counts, failed: 1 }, openUntil: NOW + 9 });
  }
  const over = jobOf({}, { status: 'completed', round: 4, manifest: MANIFEST, finishedAt: NOW, tally: FALLEN, counts });
  const next = corrected(over, 1, NOW + 9);
  assert.deepEqual([next.status, next.round, next.manifest, next.finishedAt], ['in_progress', 5, null, null]);
  assert.deepEqual([next.counts.failed, next.counts.total], [2, 5]);
  assert.equal(corrected(over, 0, NOW + 9), over);
});

test('a completed job begins a new round with the first item that is added, as if it had never failed', () => {
  const counts = { ...NO_COUNTS, total: 3, success: 2, failed: 1 };
  const over = { counts, manifest: MANIFEST, finishedAt: NOW, startedAt: NOW - 5, tally: FALLEN, circuit: OPEN };
  const job = jobOf({}, { status: 'completed', reason: BY_USER, round: 4, replacedBy: 'x', ...over });
  const next = added(job, 2, NOW + 9);
  assert.deepEqual([next.status, next.round, next.manifest], ['in_progress', 5, null]);
  assert.deepEqual([next.finishedAt, next.reason, next.circuit, next.tally], [null, null, CLOSED, EMPTY_TALLY]);
  assert.deepEqual([next.counts, next.openUntil], [{ ...counts, total: 5 }, NOW + 9]);
  assert.deepEqual([next.startedAt, next.replacedBy, isActive(next)], [NOW - 5, 'x', true]);
});

test('a completed job to which nothing was added is the same as before', () => {
  const job = jobOf({}, { status: 'completed', manifest: MANIFEST, finishedAt: NOW });
  assert.equal(added(job, 0, NOW + 9), job);
});

test('a job whose results are replaced stays what it is, and one that is over awaits a new index', () => {
  for (const status of JOB_STATUSES) {
    const finishedAt = ['failed', 'completed', 'cancelled'].includes(status) ? NOW : null;
    const job = jobOf({}, { status, round: 3, manifest: MANIFEST, finishedAt, reason: BY_USER });
    const next = changed(job, { kind: 'replace-results', by: 'x' });
    const isOver = status === 'completed' || status === 'cancelled';
    assert.deepEqual(next, { ...job, replacedBy: 'x', ...(isOver ? { round: 4, manifest: null } : {}) }, status);
    if (isOver) assert.ok(needsManifest(next) && isActive(next), status);
  }
});

test('results that are replaced by the same a second time change nothing, and by another they do', () => {
  const once = changed(jobOf({}, { status: 'completed' }), { kind: 'replace-results', by: 'x' });
  const indexed = changed(once, { kind: 'manifest', round: 2, manifest: MANIFEST });
  assert.equal(applyJobEvent(indexed, { kind: 'replace-results', by: 'x' }, NOW), indexed);
  const other = changed(indexed, { kind: 'replace-results', by: 'y' });
  assert.deepEqual([other.replacedBy, other.round, other.manifest], ['y', 3, null]);
});

test('an index that was begun before the results were replaced comes too late', () => {
  const job = changed(jobOf({}, { status: 'completed' }), { kind: 'replace-results', by: 'x' });
  refusedBecause(applyJobEvent(job, { kind: 'manifest', round: 1, manifest: MANIFEST }, NOW));
});

test('a job cannot replace its own data, and a later round of its re-extraction can replace an earlier one', () => {
  const job = jobOf({}, { status: 'completed', round: 1 });
  assert.deepEqual(applyJobEvent(job, { kind: 'replace-results', by: job.jobId }, NOW), {
    refused: 'a job cannot replace its own data',
  });
  const first = changed(job, { kind: 'replace-results', by: 'x', ofRound: 1 });
  const second = changed(first, { kind: 'replace-results', by: 'x', ofRound: 2 });
  assert.deepEqual([second.replacedBy, second.replacedRound, second.round], ['x', 2, 3]);
  assert.equal(changed(second, { kind: 'replace-results', by: 'x', ofRound: 2 }), second);
  const other = changed(second, { kind: 'replace-results', by: 'y', ofRound: 1 });
  assert.deepEqual([other.replacedBy, other.replacedRound, other.round], ['y', undefined, 4]);
});

test('withdrawn results leave what was there before, and only if they are still in place', () => {
  const [x, y] = [
    { by: 'x', round: 1 },
    { by: 'y', round: 2 },
  ];
  const own = jobOf({}, { status: 'completed' });
  const byX = changed(own, { kind: 'replace-results', by: 'x', insteadOf: null });
  const withdrawn = changed(byX, { kind: 'withdraw-results', by: x, insteadOf: null });
  assert.deepEqual(withdrawn, { ...own, round: 3, manifest: null });
  const byY = changed(byX, { kind: 'replace-results', by: 'y', ofRound: 2, insteadOf: x });
  assert.equal(changed(byY, { kind: 'withdraw-results', by: x, insteadOf: null }), byY, 'others stand there by now');
  const backToX = changed(byY, { kind: 'withdraw-results', by: y, insteadOf: x });
  assert.deepEqual([backToX.replacedBy, backToX.replacedRound], ['x', undefined]);
  const late = applyJobEvent(byY, { kind: 'replace-results', by: 'z', insteadOf: x }, NOW);
  assert.match(refusedBecause(late) ?? '', /put in place at the same moment/);
});

test('a completed job whose item has not ended after all is taken up again, with its circuit closed', () => {
  const counts = { ...NO_COUNTS, total: 2, success: 1, failed: 1 };
  const tally = { ...EMPTY_TALLY, finished: 2, failed: 1 };
  const done = jobOf(
    {},
    {
      status: 'completed',
      counts,
      circuit: OPEN,
      tally,
      manifest: MANIFEST,
      finishedAt: NOW,
      round: 1,
    },
  );
  const undone = whenUndone(done, 'success');
  assert.deepEqual(
    [undone.status, undone.circuit, undone.tally, undone.manifest, undone.finishedAt, undone.round],
    ['in_progress', CLOSED, EMPTY_TALLY, null, null, 2],
  );
  assert.deepEqual(undone.counts, { ...counts, success: 0 });
});

test('in a cancelled job, such an item is cancelled', () => {
  const counts = { ...NO_COUNTS, total: 2, success: 1, cancelled: 1 };
  const {
    status,
    counts: after,
    manifest,
  } = whenUndone(jobOf({}, { status: 'cancelled', counts, manifest: MANIFEST }), 'success');
  assert.deepEqual([status, after, manifest], ['cancelled', { ...counts, success: 0, cancelled: 2 }, null]);
});
