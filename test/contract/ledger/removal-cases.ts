import assert from 'node:assert/strict';
import { NOW, newItems, newJob, partOf } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import { change, givenJob, type LedgerParts, refusal, takeOne } from './hands.ts';

const ANY = { errorType: null, itemIds: null, preview: false } as const;

/** How a job goes: first it is marked, then it is gone, and then its id is free. */
export function removalCases(add: AddCase<LedgerParts>): void {
  add(
    'a job that is being deleted does nothing any more, and is not marked while a worker is at it',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
      const lease = await takeOne(ledger, jobId);
      assert.match(await refusal(ledger, jobId, { kind: 'remove' }), /in progress/);
      await change(ledger, jobId, { kind: 'cancel' });
      assert.match(await refusal(ledger, jobId, { kind: 'remove' }), /still at its last items/);
      await ledger.settle([partOf(lease)], NOW);
      assert.equal((await change(ledger, jobId, { kind: 'remove' })).removing, true);
      assert.equal((await change(ledger, jobId, { kind: 'remove' })).removing, true, 'said twice');
      const active = await ledger.activeJobs({ after: null, limit: 10 });
      assert.deepEqual(
        active.entries.map((job) => job.jobId),
        [jobId],
        'whoever starts next finds it',
      );

      const held = await givenJob(ledger, { items: 3, jobId: 'job-2', held: true });
      await change(ledger, held, { kind: 'remove' });
      for (const event of [{ kind: 'start' }, { kind: 'resume' }, { kind: 'cancel' }] as const) {
        assert.match(await refusal(ledger, held, event), /being deleted/);
      }
      assert.deepEqual((await ledger.dispatch(held, 1, NOW))?.refs, []);
      assert.equal((await ledger.addItems(held, newItems(1, { prefix: 'late' }), 0, NOW)).kind, 'closed');
      assert.ok('refused' in (await ledger.reopen(held, ANY, { after: null, limit: 10 }, 0, NOW)));
      assert.equal(await ledger.removeJob(held), true);
      assert.equal((await ledger.createJob(newJob({ jobId: held }), [], NOW + 1)).kind, 'created');
    },
  );
}
