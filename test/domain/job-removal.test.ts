import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyJobEvent,
  isActive,
  isDispatchable,
  isRefusal,
  type JobEvent,
  needsManifest,
} from '../../src/domain/job.ts';
import { OTHER_INCARNATION } from '../../src/domain/job-removal.ts';
import { jobOf, NOW } from './builders.ts';

const EVENTS = ['remove', 'remove-for-good', 'keep'] as const;

/** How a job is marked after an event, or why it is refused. */
function after(removing: 'asked' | true | undefined, event: JobEvent) {
  const job = jobOf({}, { status: 'paused', ...(removing === undefined ? {} : { removing }) });
  const next = applyJobEvent(job, event, NOW);
  return isRefusal(next) ? next.refused : next.removing;
}

test('a job is asked for, then removed for good, and may be kept only in between', () => {
  const table = [undefined, 'asked' as const, true as const].map((removing) =>
    EVENTS.map((kind) => after(removing, { kind, incarnation: 'incarnation-1' })),
  );
  assert.deepEqual(table, [
    ['asked', 'the job is not being deleted', undefined],
    ['asked', true, undefined],
    [true, true, 'the job is being deleted'],
  ]);
});

test('an event of a removal that means another job of that id is refused, whatever the state', () => {
  for (const removing of [undefined, 'asked', true] as const) {
    for (const kind of EVENTS) assert.equal(after(removing, { kind, incarnation: 'other' }), OTHER_INCARNATION.refused);
  }
});

test('while a job is being deleted, nothing is done with it but that', () => {
  for (const removing of ['asked', true] as const) {
    const job = jobOf({}, { status: 'completed', removing });
    assert.deepEqual([isActive(job), isDispatchable(job), needsManifest(job)], [true, false, false]);
    assert.match(String(after(removing, { kind: 'resume' })), /being deleted/);
  }
  const kept = applyJobEvent(jobOf({}, { removing: 'asked' }), { kind: 'keep', incarnation: 'incarnation-1' }, NOW);
  assert.deepEqual(kept, jobOf(), 'as if it had never been asked for');
});

test('the index of an earlier job of that id is not recorded', () => {
  const manifest = { parts: { full: 1, success: 1, errors: 1 }, metadataSha256: 'abc', writtenAt: NOW };
  const job = jobOf({}, { status: 'completed' });
  const event = { kind: 'manifest', round: 1, manifest } as const;
  assert.equal(applyJobEvent(job, { ...event, incarnation: 'other' }, NOW), OTHER_INCARNATION);
  assert.ok(!isRefusal(applyJobEvent(job, { ...event, incarnation: 'incarnation-1' }, NOW)));
});
