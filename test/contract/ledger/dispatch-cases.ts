import assert from 'node:assert/strict';
import { inFlightOf } from '../../../src/domain/counts.ts';
import { planDispatch } from '../../../src/domain/dispatch-plan.ts';
import { whenDispatched } from '../../../src/domain/job-progress.ts';
import { failedWith, NOW, partOf, policyOf, SCRAPED } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  change,
  checkBooks,
  claim,
  dispatch,
  givenJob,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  runAll,
  takeOne,
  takeOut,
  trip,
} from './hands.ts';

/** What goes out, how much of it, and in which order. */
export function dispatchCases(add: AddCase<LedgerParts>): void {
  add('what goes out is recorded as queued in the same step', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 5,
      lane: 'browser',
      policy: { throttling: { max_concurrent_workers: 3 } },
    });
    const before = await jobOf(ledger, jobId);
    const dispatched = await ledger.dispatch(jobId, 1, NOW + 7);
    const plan = planDispatch(before, 1, NOW + 7);
    assert.ok(dispatched && plan.kind === 'go');
    assert.deepEqual(dispatched.plan, plan);
    assert.equal(dispatched.refs.length, 3);
    assert.ok(dispatched.refs.every((ref) => ref.jobId === jobId && ref.lane === 'browser'));
    assert.equal(new Set(dispatched.refs.map((ref) => ref.batchId)).size, 3);
    const went = { batches: 3, items: 3, throttle: plan.throttle };
    assert.deepEqual(await jobOf(ledger, jobId), whenDispatched(before, went, NOW + 7));
    await checkBooks(ledger, jobId);
  });

  add('no two callers together exceed the limit of a job', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 20, policy: { throttling: { max_concurrent_workers: 3 } } });
    const answers = await Promise.all(Array.from({ length: 6 }, () => ledger.dispatch(jobId, 1, NOW)));
    assert.equal(answers.flatMap((answer) => answer?.refs ?? []).length, 3);
    assert.equal(inFlightOf((await jobOf(ledger, jobId)).counts), 3);
  });

  add('a slot that is freed can be filled again at once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 2 } } });
    const [one] = await takeOut(ledger, jobId);
    assert.ok(one);
    assert.equal((await dispatch(ledger, jobId)).length, 0);
    await ledger.settle([partOf(one)], NOW);
    assert.equal((await dispatch(ledger, jobId)).length, 1);
    assert.equal((await dispatch(ledger, jobId)).length, 0);
  });

  add('a batch of several items takes one slot until its last item', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 12, policy: { throttling: { max_concurrent_workers: 2 } } });
    const leases = await takeOut(ledger, jobId, { perBatch: 5 });
    assert.deepEqual(
      leases.map((lease) => lease.items.map((item) => item.itemId)),
      [
        ['p-0', 'p-1', 'p-2', 'p-3', 'p-4'],
        ['p-5', 'p-6', 'p-7', 'p-8', 'p-9'],
      ],
    );
    const { counts, itemsInFlight } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.inProgress, itemsInFlight], [2, 10]);
    const [first] = leases;
    assert.ok(first);
    await ledger.settle([partOf(first, SCRAPED, first.items.slice(0, 4))], NOW);
    assert.equal((await dispatch(ledger, jobId, 5)).length, 0);
    assert.equal((await jobOf(ledger, jobId)).itemsInFlight, 6);
    await ledger.settle([partOf(first, SCRAPED, first.items.slice(4))], NOW);
    // Its share of the two that are left: the other slot is to have the other.
    const last = await takeOne(ledger, jobId, { perBatch: 5 });
    assert.deepEqual(
      last.items.map((item) => item.itemId),
      ['p-10'],
    );
    await checkBooks(ledger, jobId);
  });

  add('a smaller limit takes effect with the next dispatch, and takes nothing from a worker', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 9, policy: { throttling: { max_concurrent_workers: 3 } } });
    const leases = await takeOut(ledger, jobId);
    const policy = policyOf({ throttling: { max_concurrent_workers: 1 } });
    await change(ledger, jobId, { kind: 'policy', policy });
    for (const [index, lease] of leases.entries()) {
      assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['recorded']);
      assert.equal((await dispatch(ledger, jobId)).length, index === 2 ? 1 : 0);
    }
  });

  add('nothing goes out of a job that is held, paused, failed, cancelled or completed', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 50,
      held: true,
      policy: { throttling: { max_concurrent_workers: 1 } },
    });
    const nothing = async () => {
      const before = await jobOf(ledger, jobId);
      const dispatched = await ledger.dispatch(jobId, 1, NOW);
      assert.deepEqual(dispatched, { refs: [], plan: planDispatch(before, 1, NOW) });
      assert.deepEqual(await jobOf(ledger, jobId), before);
    };
    await nothing();
    await change(ledger, jobId, { kind: 'start' });
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    await nothing();
    await change(ledger, jobId, { kind: 'resume' });
    await trip(ledger, jobId);
    await nothing();
    await change(ledger, jobId, { kind: 'cancel' });
    await nothing();
  });

  add('what came back goes out before what was never out', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 9, policy: { throttling: { max_concurrent_workers: 3 } } });
    const [released, recalled, kept] = await dispatch(ledger, jobId);
    assert.ok(released && recalled && kept);
    const [lease] = await claim(ledger, [released]);
    assert.ok(lease);
    await ledger.release(lease.token, 'drained', NOW);
    await ledger.recall([recalled], NOW);
    const again = await takeOut(ledger, jobId);
    const ids = again.flatMap((one) => one.items.map((item) => item.itemId));
    assert.deepEqual(ids.sort(), ['p-0', 'p-1']);
    await ledger.settle(
      again.map((one) => partOf(one)),
      NOW,
    );
    const fresh = await takeOut(ledger, jobId);
    assert.deepEqual(
      fresh.map((one) => one.items[0]?.itemId),
      ['p-3', 'p-4'],
    );
  });

  add('items with a strike travel only with their like, in suspect batches', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 20, policy: { throttling: { max_concurrent_workers: 4 } } });
    const [dying, draining] = await dispatch(ledger, jobId, 3);
    assert.ok(dying && draining);
    const [died] = await claim(ledger, [dying], { worker: 'dead' });
    const [drained] = await claim(ledger, [draining], { worker: 'alive' });
    assert.ok(died && drained);
    await ledger.abandon('dead', NOW);
    await ledger.expire(dueBy(NOW, NEVER_QUEUED_TOO_LONG), 100);
    await ledger.release(drained.token, 'drained', NOW);

    const struck = new Set(died.items.map((item) => item.itemId));
    const seen = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      const leases = await takeOut(ledger, jobId, { perBatch: 2 });
      for (const { items, suspect } of leases) {
        assert.ok(
          items.every((item) => struck.has(item.itemId) === suspect),
          'a mixed batch',
        );
        for (const item of items) seen.add(item.itemId);
      }
      await ledger.settle(
        leases.map((lease) => partOf(lease)),
        NOW,
      );
    }
    assert.ok([...struck, ...drained.items.map((item) => item.itemId)].every((itemId) => seen.has(itemId)));
  });

  add('a job with a delay between items has full batches: its workers keep the delay', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 12,
      policy: { throttling: { max_concurrent_workers: 2, min_delay_between_items_seconds: 2 } },
    });
    assert.equal((await dispatch(ledger, jobId, 5, NOW)).length, 2);
    assert.equal((await jobOf(ledger, jobId)).itemsInFlight, 10);
  });

  add('until enough have finished no more are risked than the breaker needs', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 30,
      policy: { throttling: { max_concurrent_workers: 10 }, circuit_breaker: { min_requests: 7 } },
    });
    const leases = await takeOut(ledger, jobId, { perBatch: 5 });
    assert.equal(leases.flatMap((lease) => lease.items).length, 7);
    const [one, two] = leases;
    assert.ok(one && two);
    await ledger.settle([partOf(one)], NOW);
    assert.equal((await dispatch(ledger, jobId, 5)).length, 0);
    // What comes back is not risked any more, and may go out again.
    await ledger.release(two.token, 'drained', NOW);
    const again = await takeOut(ledger, jobId, { perBatch: 5 });
    assert.equal(again.flatMap((lease) => lease.items).length, two.items.length);
  });

  add('a dispatch reports a tripped breaker, and does not act on it', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 10,
      policy: { throttling: { max_concurrent_workers: 10 }, circuit_breaker: { min_requests: 5 } },
    });
    const leases = await takeOut(ledger, jobId);
    assert.equal(leases.length, 5);
    await ledger.settle(
      leases.map((lease) => partOf(lease, failedWith('timeout'))),
      NOW,
    );
    const before = await jobOf(ledger, jobId);
    assert.deepEqual(before.tally, { finished: 5, failed: 5, streak: 5, missed: 0, dry: 5, stopper: null });
    const dispatched = await ledger.dispatch(jobId, 1, NOW);
    assert.deepEqual(dispatched, { refs: [], plan: planDispatch(before, 1, NOW) });
    assert.equal(dispatched.plan.kind, 'verdict');
    assert.deepEqual(await jobOf(ledger, jobId), before);
  });

  add('a probe risks one item, whatever the size of a batch', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 10, policy: { circuit_breaker: { cooldown_seconds: 60 } } });
    const lease = (await takeOut(ledger, jobId))[0];
    assert.ok(lease);
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    await trip(ledger, jobId);
    await ledger.expire(dueBy(NOW + LEASE_MS, NOW + 1), 100);
    await change(ledger, jobId, { kind: 'probe' }, NOW + 60_000);
    const probe = await takeOut(ledger, jobId, { perBatch: 5, now: NOW + 60_000 });
    assert.equal(probe.flatMap((one) => one.items).length, 1);
    assert.equal((await dispatch(ledger, jobId, 5, NOW + 60_001)).length, 0);
  });

  add('refusals cut the concurrency, and the cut is remembered', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 40,
      policy: { throttling: { max_concurrent_workers: 8, adaptive: true } },
    });
    const leases = await takeOut(ledger, jobId);
    assert.equal(leases.length, 8);
    await ledger.settle(
      leases.map((lease) => partOf(lease, failedWith('rate_limited'))),
      NOW,
    );
    assert.equal((await jobOf(ledger, jobId)).refusals, 8);
    assert.equal((await dispatch(ledger, jobId)).length, 4);
    assert.equal((await jobOf(ledger, jobId)).throttle.ceiling, 4);
    assert.equal((await dispatch(ledger, jobId)).length, 0);
  });

  add('a job with nothing left is to be completed', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    await runAll(ledger, jobId);
    assert.deepEqual(await ledger.dispatch(jobId, 5, NOW), { refs: [], plan: { kind: 'finish' } });
  });

  add('a dispatch that finds all items in batches already sends nothing and breaks nothing', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 6, policy: { throttling: { max_concurrent_workers: 1 } } });
    await takeOne(ledger, jobId, { perBatch: 6 });
    await change(ledger, jobId, { kind: 'policy', policy: policyOf({ throttling: { max_concurrent_workers: 5 } }) });
    assert.equal((await dispatch(ledger, jobId, 6)).length, 0);
    const { counts, itemsInFlight } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.queued, counts.inProgress, itemsInFlight], [0, 1, 6]);
    await checkBooks(ledger, jobId);
  });
}
