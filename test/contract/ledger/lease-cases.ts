import assert from 'node:assert/strict';
import { MAX_STRIKES } from '../../../src/domain/strikes.ts';
import { NOW, partOf, SCRAPED } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  change,
  checkBooks,
  claim,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  leaseOf,
  NEVER_QUEUED_TOO_LONG,
  refusal,
  takeOne,
  takeOut,
} from './hands.ts';

/** Who holds a batch, and for how long. */
export function leaseCases(add: AddCase<LedgerParts>): void {
  add('a claim gives the worker its items, and counts the delivery before any work is done', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    const refs = await dispatch(ledger, jobId);
    const [lease] = await claim(ledger, refs, { until: NOW + 777 });
    assert.ok(lease);
    assert.deepEqual(lease.ref, refs[0]);
    assert.equal(lease.until, NOW + 777);
    assert.equal(lease.suspect, false);
    assert.equal(lease.policyRevision, 1);
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual(lease.items, [{ seq: item.seq, itemId: 'p-0', input: { apn: 'p-0' }, attempt: 1 }]);
    assert.equal(item.status, 'in_progress');
    assert.equal(item.deliveries, 1);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.queued, counts.inProgress], [0, 1]);
  });

  add('a batch that a worker holds is reported as held, and nothing about it changes', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const refs = await dispatch(ledger, jobId);
    const [lease] = await claim(ledger, refs);
    assert.ok(lease);
    const before = await jobOf(ledger, jobId);
    assert.deepEqual(await ledger.claim(refs, 'worker-2', NOW + LEASE_MS, NOW), ['held']);
    assert.deepEqual(await jobOf(ledger, jobId), before);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).deliveries, 1);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['recorded']);
  });

  add('a batch whose lease ran out is still held until it is expired', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const refs = await dispatch(ledger, jobId);
    await claim(ledger, refs);
    const late = NOW + 2 * LEASE_MS;
    assert.deepEqual(await ledger.claim(refs, 'worker-2', late + LEASE_MS, late), ['held']);
  });

  add('a worker that asks again for what it holds gets the same lease, and no other delivery', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    const [ref] = await dispatch(ledger, jobId);
    assert.ok(ref);
    const [first, doubled] = await claim(ledger, [ref, ref]);
    const [second] = await claim(ledger, [ref]);
    assert.deepEqual(doubled, first);
    assert.deepEqual(second, first);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).deliveries, 1);
    assert.equal((await jobOf(ledger, jobId)).counts.inProgress, 1);
  });

  add('a worker that asks again after a part was settled gets only what is left', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
    const refs = await dispatch(ledger, jobId, 5);
    const [lease] = await claim(ledger, refs);
    assert.ok(lease);
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 2))], NOW);
    const [again] = await claim(ledger, refs);
    assert.deepEqual(again?.items, lease.items.slice(2));
    assert.equal(again?.token, lease.token);
  });

  add('each claim answers in the order of its refs, and says gone of what is over', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 4 });
    const [done, recalled, held, free] = await dispatch(ledger, jobId);
    assert.ok(done && recalled && held && free);
    const [lease] = await claim(ledger, [done]);
    assert.ok(lease);
    await ledger.settle([partOf(lease)], NOW);
    await ledger.recall([recalled], NOW);
    await claim(ledger, [held], { worker: 'worker-2' });
    const unknown = { ...done, batchId: 'no-such-batch' };
    const answers = await ledger.claim([done, held, free, unknown, recalled], 'worker-1', NOW + LEASE_MS, NOW);
    assert.deepEqual(
      answers.map((answer) => (typeof answer === 'object' ? answer.items.map((item) => item.itemId) : answer)),
      ['gone', 'held', ['p-3'], 'gone', 'gone'],
    );
    await checkBooks(ledger, jobId);
  });

  add('a pause does not keep workers from claiming what is already queued', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const refs = await dispatch(ledger, jobId);
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: 'later', evidence: [] } });
    const [lease] = await claim(ledger, refs);
    assert.ok(lease);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['recorded']);
    assert.equal((await jobOf(ledger, jobId)).status, 'paused');
  });

  add('every claim has a token of its own, and each delivery a higher attempt number', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const tokens = new Set<string>();
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const lease = await takeOne(ledger, jobId);
      assert.equal(lease.items[0]?.attempt, attempt);
      tokens.add(lease.token);
      assert.equal(await ledger.release(lease.token, 'drained', NOW), true);
    }
    assert.equal(tokens.size, 5);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).deliveries, 5);
  });

  add('a work order says how to work, and its revision changes with the policy', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, scraperId: 'maricopa-az' });
    const { policy, createdAt: jobCreatedAt } = await jobOf(ledger, jobId);
    const order = { isHalted: false, excess: 0, jobCreatedAt, scraperId: 'maricopa-az', policy, policyRevision: 1 };
    assert.deepEqual(await ledger.workOrder(jobId), order);
    const slower = { ...policy, throttling: { ...policy.throttling, max_concurrent_workers: 1 } };
    await change(ledger, jobId, { kind: 'policy', policy: slower });
    assert.deepEqual(await ledger.workOrder(jobId), { ...order, policy: slower, policyRevision: 2 });
    const lease = await takeOne(ledger, jobId);
    assert.deepEqual([lease.policyRevision, lease.jobCreatedAt], [2, jobCreatedAt]);
    const late = { kind: 'policy', policy, ifRevision: 1 } as const;
    assert.match(await refusal(ledger, jobId, late), /changed meanwhile/);
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    assert.equal((await ledger.workOrder(jobId))?.isHalted, true);
    await change(ledger, jobId, { kind: 'resume' });
    assert.equal((await ledger.workOrder(jobId))?.isHalted, false);
    await change(ledger, jobId, { kind: 'cancel' });
    assert.equal((await ledger.workOrder(jobId))?.isHalted, true);
    assert.equal(await ledger.workOrder('nobody'), null);
  });

  add('a work order says what share of the items in flight is too many', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 8, policy: { throttling: { max_concurrent_workers: 4 } } });
    await takeOut(ledger, jobId);
    assert.equal((await ledger.workOrder(jobId))?.excess, 0);
    const { policy } = await jobOf(ledger, jobId);
    const slower = { ...policy, throttling: { ...policy.throttling, max_concurrent_workers: 1 } };
    await change(ledger, jobId, { kind: 'policy', policy: slower });
    assert.equal((await ledger.workOrder(jobId))?.excess, 0.75);
  });

  add('a renewed lease lasts until its new time', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    assert.deepEqual(await ledger.renew([lease.token], NOW + 3 * LEASE_MS), []);
    const early = await ledger.expire(dueBy(NOW + 2 * LEASE_MS, NEVER_QUEUED_TOO_LONG), 100);
    assert.deepEqual(early, { leases: 0, queued: 0 });
    const late = await ledger.expire(dueBy(NOW + 3 * LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 100);
    assert.deepEqual(late, { leases: 1, queued: 0 });
  });

  add('a renewal that arrives after a later one does not shorten the lease', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await ledger.renew([lease.token], NOW + 3 * LEASE_MS);
    assert.deepEqual(await ledger.renew([lease.token], NOW + LEASE_MS), []);
    assert.equal((await ledger.expire(dueBy(NOW + 2 * LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
  });

  add('renewing names the leases that are lost, and extends the others all the same', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    const [done, kept, released] = await takeOut(ledger, jobId);
    assert.ok(done && kept && released);
    await ledger.settle([partOf(done)], NOW);
    await ledger.release(released.token, 'drained', NOW);
    const tokens = [done.token, kept.token, 'no-such-token', released.token];
    const lost = await ledger.renew(tokens, NOW + 3 * LEASE_MS);
    assert.deepEqual(new Set(lost), new Set([done.token, 'no-such-token', released.token]));
    assert.equal((await ledger.expire(dueBy(NOW + 2 * LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
  });

  add('a mark is taken only from the holder of the lease', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const seq = lease.items[0]?.seq ?? -1;
    assert.equal(await ledger.begin(lease.token, seq), true);
    assert.equal(await ledger.begin(lease.token, seq), true);
    await ledger.release(lease.token, 'drained', NOW);
    assert.equal(await ledger.begin(lease.token, seq), false);
    assert.equal(await ledger.begin('no-such-token', seq), false);
  });

  add('a worker gives back what it has not done, and nothing is charged for it', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
    for (let round = 1; round <= MAX_STRIKES + 1; round += 1) {
      const lease = await takeOne(ledger, jobId, { perBatch: 5 });
      const because = (['drained', 'storage', { error: 'TypeError: x is not a function' }] as const)[round % 3];
      assert.ok(because);
      assert.equal(await ledger.release(lease.token, because, NOW), true);
      const item = await itemOf(ledger, jobId, 'p-0');
      assert.deepEqual([item.status, item.strikes, item.deliveries, item.attempts], ['pending', 0, round, []]);
    }
    assert.equal((await jobOf(ledger, jobId)).itemsInFlight, 0);
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 2))], NOW);
    assert.equal(await ledger.release(lease.token, 'drained', NOW), true);
    assert.equal((await itemOf(ledger, jobId, 'p-1')).status, 'success');
    assert.equal((await itemOf(ledger, jobId, 'p-2')).status, 'pending');
    assert.equal(await ledger.release(lease.token, 'drained', NOW), false);
    await checkBooks(ledger, jobId);
  });

  add('a batch that is over cannot be given back', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease)], NOW);
    assert.equal(await ledger.release(lease.token, 'drained', NOW), false);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'success');
  });

  add('recall takes back what is queued, leaves alone what is held, and counts only the former', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    const [queued, taken] = await dispatch(ledger, jobId);
    assert.ok(queued && taken);
    await claim(ledger, [taken]);
    const unknown = { ...queued, batchId: 'no-such-batch' };
    assert.equal(await ledger.recall([queued, taken, unknown], NOW), 1);
    assert.equal(await ledger.recall([queued, taken, unknown], NOW), 0);
    const back = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([back.status, back.deliveries, back.strikes], ['pending', 0, 0]);
    assert.equal((await itemOf(ledger, jobId, 'p-1')).status, 'in_progress');
    await checkBooks(ledger, jobId);
  });

  add('expire leaves alone what is not overdue', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [one] = await dispatch(ledger, jobId);
    assert.ok(one);
    await claim(ledger, [one]);
    assert.deepEqual(await ledger.expire(dueBy(NOW + LEASE_MS - 1, NOW), 100), { leases: 0, queued: 0 });
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.queued, counts.inProgress], [1, 1]);
  });

  add('a lease that ran out ends, and its items are pending with a strike', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 1))], NOW);
    assert.deepEqual(await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 100), {
      leases: 1,
      queued: 0,
    });
    const strikes = lease.items.map((item) => itemOf(ledger, jobId, item.itemId));
    assert.deepEqual(
      (await Promise.all(strikes)).map((item) => [item.status, item.strikes]),
      [['success', 0], ...Array(4).fill(['pending', 1])],
    );
    assert.equal((await jobOf(ledger, jobId)).itemsInFlight, 0);
    await checkBooks(ledger, jobId);
  });

  add('a batch that was never fetched comes back without a strike and without a delivery', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    const [ref] = await dispatch(ledger, jobId, 1, NOW);
    assert.ok(ref);
    assert.deepEqual(await ledger.expire(dueBy(NOW + 1000, NOW + 1), 100), { leases: 0, queued: 1 });
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([item.status, item.strikes, item.deliveries], ['pending', 0, 0]);
    assert.deepEqual(await ledger.claim([ref], 'worker-1', NOW + LEASE_MS, NOW), ['gone']);
    await checkBooks(ledger, jobId);
  });

  add('expire ends the oldest first over all jobs, and no more than it was asked to', async ({ ledger }) => {
    for (const [index, jobId] of ['job-a', 'job-b', 'job-c'].entries()) {
      await givenJob(ledger, { jobId, items: 2 });
      const [early, late] = await dispatch(ledger, jobId);
      assert.ok(early && late);
      await claim(ledger, [early], { until: NOW + 10 * index + 1 });
      await claim(ledger, [late], { until: NOW + 10 * index + 1000 });
    }
    const inProgress = async () => {
      const jobs = ['job-a', 'job-b', 'job-c'].map((jobId) => jobOf(ledger, jobId));
      return (await Promise.all(jobs)).map((job) => job.counts.inProgress);
    };
    const limited = await ledger.expire(dueBy(NOW + 5000, NEVER_QUEUED_TOO_LONG), 3);
    assert.deepEqual(limited, { leases: 3, queued: 0 });
    assert.deepEqual(await inProgress(), [1, 1, 1]);
    await ledger.expire(dueBy(NOW + 5000, NEVER_QUEUED_TOO_LONG), 2);
    assert.deepEqual(await inProgress(), [0, 0, 1]);
  });

  add('batches queued for too long end oldest first as well', async ({ ledger }) => {
    for (const [index, jobId] of ['job-a', 'job-b', 'job-c'].entries()) {
      await givenJob(ledger, { jobId });
      // The youngest job was dispatched first.
      await dispatch(ledger, jobId, 1, NOW + 100 - index);
    }
    assert.deepEqual(await ledger.expire(dueBy(NOW, NOW + 1000), 2), { leases: 0, queued: 2 });
    const jobs = await Promise.all(['job-a', 'job-b', 'job-c'].map((jobId) => jobOf(ledger, jobId)));
    assert.deepEqual(
      jobs.map((job) => job.counts.queued),
      [1, 0, 0],
    );
  });

  add('the leases of a dead worker run out at once, and no others do', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    const refs = await dispatch(ledger, jobId);
    await claim(ledger, refs.slice(0, 2), { worker: 'dead' });
    await claim(ledger, refs.slice(2), { worker: 'alive' });
    assert.equal(await ledger.abandon('dead', NOW + 5), 2);
    assert.equal(await ledger.abandon('unknown', NOW + 5), 0);
    assert.deepEqual(await ledger.expire(dueBy(NOW + 5, NEVER_QUEUED_TOO_LONG), 100), { leases: 2, queued: 0 });
    assert.equal((await jobOf(ledger, jobId)).counts.inProgress, 1);
  });

  add('a lease that ran out and was not expired yet is still good', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await ledger.abandon('worker-1', NOW + 1);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW + 9 * LEASE_MS), ['recorded']);
    assert.equal((await ledger.expire(dueBy(NOW + 9 * LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
  });

  add('a time that cannot be trusted ends nothing, and corrects nothing', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [one] = await dispatch(ledger, jobId, 1, NOW);
    assert.ok(one);
    await claim(ledger, [one]);
    assert.deepEqual(await ledger.expire(() => null, 100), { leases: 0, queued: 0 });
    assert.equal(await ledger.clampTimes(() => null), 0);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.queued, counts.inProgress], [1, 1]);
    const overdue = await ledger.expire(dueBy(NOW + 9 * LEASE_MS, NOW + 1), 100);
    assert.deepEqual(overdue, { leases: 1, queued: 1 });
  });

  add('a caller whose clock is slow does its work, and does not end the work of others', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [one, two] = await dispatch(ledger, jobId, 1, NOW);
    assert.ok(one && two);
    const behind = NOW - 3_600_000;
    const [lease] = await claim(ledger, [one], { now: behind, until: behind + LEASE_MS });
    const [other] = await claim(ledger, [two], { worker: 'worker-2' });
    assert.ok(lease && other);
    assert.deepEqual(await ledger.expire(dueBy(behind, behind), 100), { leases: 0, queued: 0 });
    assert.deepEqual(await ledger.settle([partOf(lease)], behind), ['recorded']);
    assert.equal(await ledger.release(other.token, 'drained', behind), true);
    const [again] = await takeOut(ledger, jobId, { now: behind });
    assert.equal(again?.items[0]?.itemId, other.items[0]?.itemId);
    await checkBooks(ledger, jobId);
  });

  add('after a batch has come back, its old message has no effect', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const refs = await dispatch(ledger, jobId);
    const [first] = await claim(ledger, refs);
    assert.ok(first);
    await ledger.release(first.token, 'drained', NOW);
    const again = await dispatch(ledger, jobId);
    assert.equal(again.length, 1);
    const [old] = await ledger.claim(refs, 'worker-2', NOW + LEASE_MS, NOW);
    if (old !== 'gone') assert.equal(leaseOf(old).ref.batchId, again[0]?.batchId);
  });
}
