import assert from 'node:assert/strict';
import type { Lease, Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, newItems, partOf, SCRAPED } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  claim,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  refusal,
  takeOne,
  takeOut,
  trip,
} from './hands.ts';

/** The end that a user wants: what waits is cancelled, what a worker holds ends by itself. */
export function cancelCases(add: AddCase<LedgerParts>): void {
  add('cancelling ends what waits and leaves each worker the item it is at', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 12, policy: { throttling: { max_concurrent_workers: 2 } } });
    const refs = await dispatch(ledger, jobId, 5);
    const [held] = await claim(ledger, refs.slice(0, 1));
    assert.ok(held);
    await ledger.settle([partOf(held, SCRAPED, held.items.slice(0, 2))], NOW);
    const job = await change(ledger, jobId, { kind: 'cancel' }, NOW + 3);
    assert.deepEqual([job.status, job.finishedAt, job.itemsInFlight], ['cancelled', NOW + 3, 1]);
    assert.deepEqual(
      (await allItems(ledger, jobId)).map((item) => item.status),
      ['success', 'success', 'in_progress', ...Array(9).fill('cancelled')],
    );
    await checkBooks(ledger, jobId);
    assert.deepEqual(await ledger.claim(refs.slice(1), 'worker-2', NOW + LEASE_MS, NOW), ['gone']);
    assert.deepEqual(await ledger.renew([held.token], NOW + LEASE_MS), []);
    assert.deepEqual(await ledger.settle([partOf(held, failedWith('timeout'), held.items.slice(2, 3))], NOW), [
      'recorded',
    ]);
    const { counts, itemsInFlight } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.inProgress, counts.failed, counts.cancelled, itemsInFlight], [0, 1, 9, 0]);
    await checkBooks(ledger, jobId);
  });

  add('what was cut off from a batch stays cancelled, and the rest of the part is recorded', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await change(ledger, jobId, { kind: 'cancel' });
    assert.deepEqual(await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 3))], NOW), ['recorded']);
    assert.deepEqual(
      (await allItems(ledger, jobId)).map((item) => item.status),
      ['success', ...Array(4).fill('cancelled')],
    );
    await checkBooks(ledger, jobId);
    assert.deepEqual(await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(3))], NOW), ['fenced']);
    assert.equal((await jobOf(ledger, jobId)).fenced, 1);
    await checkBooks(ledger, jobId);
  });

  add(
    'what is cancelled in a batch after the item that a worker is at keeps its delivery, however that one ends',
    async ({ ledger }) => {
      const ends: Record<string, (lease: Lease) => Promise<unknown>> = {
        settled: (lease) => ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 1))], NOW),
        failed: (lease) => ledger.settle([partOf(lease, failedWith('timeout'), lease.items.slice(0, 1))], NOW),
        released: (lease) => ledger.release(lease.token, 'drained', NOW),
        expired: () => ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10),
      };
      for (const [jobId, end] of Object.entries(ends)) {
        await givenJob(ledger, { jobId, items: 4, policy: { throttling: { max_concurrent_workers: 1 } } });
        const lease = await takeOne(ledger, jobId, { perBatch: 3 });
        await change(ledger, jobId, { kind: 'cancel' });
        const deliveries = async () => (await allItems(ledger, jobId)).map((item) => item.deliveries);
        assert.deepEqual(await deliveries(), [1, 1, 1, 0], `${jobId}: while the worker is at it`);
        await end(lease);
        assert.deepEqual(await deliveries(), [1, 1, 1, 0], jobId);
        await checkBooks(ledger, jobId);
      }
    },
  );

  add('an item of a cancelled job that is given back is cancelled', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [one, two] = await takeOut(ledger, jobId);
    assert.ok(one && two);
    await change(ledger, jobId, { kind: 'cancel' });
    assert.equal(await ledger.release(one.token, 'drained', NOW), true);
    assert.equal((await itemOf(ledger, jobId, one.items[0]?.itemId ?? '')).status, 'cancelled');
    await ledger.settle([partOf(two)], NOW);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.cancelled, counts.success, counts.inProgress], [1, 1, 0]);
    await checkBooks(ledger, jobId);
  });

  add(
    'an item of a cancelled job whose worker is lost is cancelled, however many strikes it has',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger);
      for (let strikes = 1; strikes <= 3; strikes += 1) {
        const lease = await takeOne(ledger, jobId);
        await ledger.begin(lease.token, lease.items[0]?.seq ?? -1);
        if (strikes === 3) await change(ledger, jobId, { kind: 'cancel' });
        await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10);
      }
      const { counts, itemsInFlight } = await jobOf(ledger, jobId);
      assert.deepEqual([counts.cancelled, counts.failed, counts.inProgress, itemsInFlight], [1, 0, 0, 0]);
      assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'cancelled');
      await checkBooks(ledger, jobId);
    },
  );

  add('what came back or has a strike is cancelled with the rest', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 6, policy: { throttling: { max_concurrent_workers: 3 } } });
    const [released, died] = await takeOut(ledger, jobId);
    assert.ok(released && died);
    await ledger.release(released.token, 'drained', NOW);
    await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10);
    await change(ledger, jobId, { kind: 'cancel' });
    assert.equal((await jobOf(ledger, jobId)).counts.cancelled, 6);
    await checkBooks(ledger, jobId);
  });

  add('a job can be cancelled from every state in which it is not over', async ({ ledger }) => {
    const before: Record<string, (jobId: string) => Promise<unknown>> = {
      pending: async () => {},
      in_progress: (jobId) => dispatch(ledger, jobId),
      paused: (jobId) => change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } }),
      failed: async (jobId) => {
        const [lease] = await takeOut(ledger, jobId);
        assert.ok(lease);
        await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
        await ledger.expire(dueBy(NOW + LEASE_MS, NEVER_QUEUED_TOO_LONG), 10);
        return trip(ledger, jobId);
      },
    };
    for (const [jobId, prepare] of Object.entries(before)) {
      await givenJob(ledger, { jobId, items: 3 });
      await prepare(jobId);
      assert.equal((await jobOf(ledger, jobId)).status, jobId);
      const { failed, cancelled } = (await change(ledger, jobId, { kind: 'cancel' })).counts;
      assert.equal(failed + cancelled, 3);
      await checkBooks(ledger, jobId);
    }
  });

  add('cancelled is for good', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    await change(ledger, jobId, { kind: 'cancel' });
    const before = await state(ledger, jobId);
    await refusal(ledger, jobId, { kind: 'cancel' });
    await refusal(ledger, jobId, { kind: 'resume' });
    assert.equal((await dispatch(ledger, jobId)).length, 0);
    assert.equal((await ledger.addItems(jobId, newItems(1, { prefix: 'q' }), 0, NOW)).kind, 'closed');
    const filter = { errorType: null, itemIds: null, groupKeys: null, preview: false };
    const reopened = await ledger.reopen(jobId, filter, { after: null, limit: 10 }, 0, NOW);
    assert.ok('refused' in reopened);
    assert.deepEqual(await state(ledger, jobId), before);
  });
}

async function state(ledger: Ledger, jobId: string) {
  return { job: await jobOf(ledger, jobId), items: await allItems(ledger, jobId) };
}
