import assert from 'node:assert/strict';
import { NOW, newItems, newJob, partOf } from '../../support/builders.ts';
import { deleteJob } from '../../support/delete-job.ts';
import type { AddCase } from '../suite.ts';
import { allItems, change, givenJob, jobOf, type LedgerParts, refusal, takeOne } from './hands.ts';

const ANY = { errorType: null, itemIds: null, groupKeys: null, preview: false } as const;

/** How a job goes: it is marked, then for good, then it is gone, and its id is free. */
export function removalCases(add: AddCase<LedgerParts>): void {
  add(
    'a job that is being deleted does nothing any more, and is not marked while a worker is at it',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
      const lease = await takeOne(ledger, jobId);
      const remove = { kind: 'remove', incarnation: (await jobOf(ledger, jobId)).incarnation } as const;
      assert.match(await refusal(ledger, jobId, remove), /in progress/);
      await change(ledger, jobId, { kind: 'cancel' });
      assert.match(await refusal(ledger, jobId, remove), /still processing its last items/);
      await ledger.settle([partOf(lease)], NOW);
      assert.equal((await change(ledger, jobId, remove)).removing, 'asked');
      assert.equal((await change(ledger, jobId, remove)).removing, 'asked', 'said twice');
      const active = await ledger.activeJobs({ after: null, limit: 10 });
      assert.deepEqual(
        active.entries.map((job) => job.jobId),
        [jobId],
        'whoever starts next finds it',
      );

      const held = await givenJob(ledger, { items: 3, jobId: 'job-2', held: true });
      const { incarnation } = await jobOf(ledger, held);
      await change(ledger, held, { kind: 'remove', incarnation });
      for (const event of [{ kind: 'start' }, { kind: 'resume' }, { kind: 'cancel' }] as const) {
        assert.match(await refusal(ledger, held, event), /being deleted/);
      }
      assert.deepEqual((await ledger.dispatch(held, 1, NOW))?.refs, []);
      assert.equal((await ledger.addItems(held, newItems(1, { prefix: 'late' }), 0, NOW)).kind, 'closed');
      assert.ok('refused' in (await ledger.reopen(held, ANY, { after: null, limit: 10 }, 0, NOW)));
      assert.equal((await change(ledger, held, { kind: 'remove-for-good', incarnation })).removing, true);
      assert.equal(await ledger.removeJob(held, incarnation), true);
      assert.equal((await ledger.createJob(newJob({ jobId: held }), [], NOW + 1)).kind, 'created');
    },
  );

  add('two jobs of one id, created in the same millisecond, are two incarnations', async ({ ledger }) => {
    const first = await ledger.createJob(newJob(), newItems(1), NOW);
    assert.ok(first.kind === 'created');
    assert.equal((await jobOf(ledger, 'job-1')).incarnation, first.job.incarnation);
    await deleteJob(ledger, 'job-1');
    const second = await ledger.createJob(newJob(), newItems(1), NOW);
    assert.ok(second.kind === 'created');
    assert.equal(second.job.createdAt, first.job.createdAt);
    assert.notEqual(second.job.incarnation, first.job.incarnation);
    const [listed] = (await ledger.jobs({ status: null, page: { after: null, limit: 10 } })).entries;
    assert.equal(listed?.incarnation, second.job.incarnation);
  });

  add('a removal that comes late leaves the next job of that id as it is', async ({ ledger }) => {
    await givenJob(ledger, { items: 2, held: true });
    const { incarnation: former } = await jobOf(ledger, 'job-1');
    await deleteJob(ledger, 'job-1');
    await givenJob(ledger, { items: 3, held: true, prefix: 'q' });
    const next = await jobOf(ledger, 'job-1');
    for (const kind of ['remove', 'remove-for-good', 'keep'] as const) {
      assert.match(await refusal(ledger, 'job-1', { kind, incarnation: former }), /another has its id/);
    }
    assert.equal(await ledger.removeJob('job-1', former), false);
    assert.deepEqual(await jobOf(ledger, 'job-1'), next);

    await change(ledger, 'job-1', { kind: 'remove', incarnation: next.incarnation });
    await change(ledger, 'job-1', { kind: 'remove-for-good', incarnation: next.incarnation });
    assert.equal(await ledger.removeJob('job-1', former), false, 'not even if it is to be deleted itself');
    assert.equal((await allItems(ledger, 'job-1')).length, 3);
    assert.equal(await ledger.removeJob('job-1', next.incarnation), true);
    assert.equal(await ledger.removeJob('job-1', next.incarnation), false, 'said twice');
  });

  add('a job is not removed before that is certain, and until then it may be kept', async ({ ledger }) => {
    await givenJob(ledger, { items: 2, held: true });
    const before = await jobOf(ledger, 'job-1');
    const { incarnation } = before;
    assert.equal(await ledger.removeJob('job-1', incarnation), false);
    assert.match(await refusal(ledger, 'job-1', { kind: 'remove-for-good', incarnation }), /not being deleted/);
    await change(ledger, 'job-1', { kind: 'remove', incarnation });
    assert.equal(await ledger.removeJob('job-1', incarnation), false);
    await change(ledger, 'job-1', { kind: 'keep', incarnation });
    assert.deepEqual(await jobOf(ledger, 'job-1'), before);
    await change(ledger, 'job-1', { kind: 'start' });

    await change(ledger, 'job-1', { kind: 'remove', incarnation });
    await change(ledger, 'job-1', { kind: 'remove-for-good', incarnation });
    assert.match(await refusal(ledger, 'job-1', { kind: 'keep', incarnation }), /being deleted/);
    assert.equal(await ledger.removeJob('job-1', incarnation), true);
  });
}
