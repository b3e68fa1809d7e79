import assert from 'node:assert/strict';
import { isRefusal } from '../../../src/domain/job.ts';
import { MAX_USAGE_ROWS, OTHER_HOSTS, totalUsage, type Usage, type UsageRow } from '../../../src/domain/usage.ts';
import type { Lease, Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, partOf, SCRAPED, settlement } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  claim,
  givenJob,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  reopenAll,
  takeOne,
  takeOut,
} from './hands.ts';

const ONE_WORKER = { throttling: { max_concurrent_workers: 1 } };

function row(host: string, counts: Partial<UsageRow> = {}): UsageRow {
  return { host, proxy: 'none', requests: 1, bytesUp: 300, bytesDown: 20_000, refused: 0, blocked: 0, ...counts };
}

/** In an order of their own: rows are a set. */
async function usageOf(ledger: Ledger, jobId: string): Promise<Usage> {
  const { usage } = await jobOf(ledger, jobId);
  return [...usage].sort((one, other) => (`${one.host} ${one.proxy}` < `${other.host} ${other.proxy}` ? -1 : 1));
}

/** What jobs use, added up with their settles. */
export function usageCases(add: AddCase<LedgerParts>): void {
  add('a new job has used nothing, and an attempt that used nothing says nothing', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    assert.deepEqual(await usageOf(ledger, jobId), []);
    await ledger.settle([partOf(await takeOne(ledger, jobId))], NOW);
    assert.deepEqual(await usageOf(ledger, jobId), []);
    const [attempt] = (await itemOf(ledger, jobId, 'p-0')).attempts;
    assert.ok(attempt && !('usage' in attempt));
  });

  add('what attempts used is added up by host and kind of proxy, and kept with each item', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 3 });
    const used: Usage[] = [
      [row('a.test'), row('b.test', { requests: 2, refused: 1 })],
      [row('a.test', { proxy: 'residential', requests: 4, bytesUp: 1, bytesDown: 2, blocked: 3 })],
      [row('a.test', { requests: 5, bytesUp: 6, bytesDown: 7 })],
    ];
    const outcomes = [SCRAPED, failedWith('blocked'), SCRAPED];
    const items = lease.items.map((item, index) => ({
      ...settlement(item, outcomes[index]),
      usage: used[index] ?? [],
    }));
    assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
    assert.deepEqual(await usageOf(ledger, jobId), [
      row('a.test', { requests: 6, bytesUp: 306, bytesDown: 20_007 }),
      row('a.test', { proxy: 'residential', requests: 4, bytesUp: 1, bytesDown: 2, blocked: 3 }),
      row('b.test', { requests: 2, refused: 1 }),
    ]);
    assert.deepEqual(
      (await allItems(ledger, jobId)).map(({ attempts }) => attempts.map(({ usage }) => usage)),
      [[[3, 600, 40_000]], [[4, 1, 2]], [[5, 6, 7]]],
    );
    await checkBooks(ledger, jobId);
  });

  add('a settle that is repeated adds nothing, and neither does one that is fenced', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 2 });
    const items = lease.items.map((item) => ({ ...settlement(item), usage: [row('a.test')] }));
    const [first, second] = items;
    assert.ok(first && second);
    const settle = (part: typeof items) => ledger.settle([{ token: lease.token, jobId, items: part }], NOW);
    assert.deepEqual(await settle([first]), ['recorded']);
    assert.deepEqual(await settle([first]), ['recorded'], 'while the lease is still held');
    assert.equal(totalUsage(await usageOf(ledger, jobId)).requests, 1);
    assert.deepEqual(await settle([first, second]), ['recorded']);
    assert.deepEqual(await settle([first, second]), ['recorded'], 'after its batch has ended');
    assert.deepEqual(await usageOf(ledger, jobId), [row('a.test', { requests: 2, bytesUp: 600, bytesDown: 40_000 })]);

    const late = await givenJob(ledger, { jobId: 'late' });
    const lost = await takeOne(ledger, late);
    await ledger.expire(dueBy(NOW + LEASE_MS, NEVER_QUEUED_TOO_LONG), 10);
    const part = partOf(lost);
    const used = { ...part, items: part.items.map((item) => ({ ...item, usage: [row('a.test')] })) };
    assert.deepEqual(await ledger.settle([used], NOW), ['fenced']);
    assert.deepEqual(await usageOf(ledger, late), []);
  });

  add('what a worker used before it gave its batch back is added once', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    assert.equal(await ledger.release(lease.token, 'drained', NOW, [row('a.test')]), true);
    assert.equal(await ledger.release(lease.token, 'drained', NOW, [row('a.test')]), false);
    assert.deepEqual(await usageOf(ledger, jobId), [row('a.test')]);
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([item.status, item.attempts], ['pending', []], 'and charged to no attempt');

    const again = await takeOne(ledger, jobId);
    await change(ledger, jobId, { kind: 'cancel' });
    assert.equal(await ledger.release(again.token, 'drained', NOW, [row('a.test')]), true, 'in a cancelled job, too');
    assert.equal(totalUsage(await usageOf(ledger, jobId)).requests, 2);
    await checkBooks(ledger, jobId);
  });

  add('listeners hear what was used, once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
    const heard: Usage[] = [];
    const end = ledger.subscribe((event) => {
      if (event.kind === 'settled' && event.jobId === jobId) heard.push(event.usage ?? []);
    });
    const { token, items } = await takeOne(ledger, jobId, { perBatch: 2 });
    const settled = items.map((item) => ({ ...settlement(item), usage: [row('a.test')] }));
    await ledger.settle([{ token, jobId, items: settled }], NOW);
    await ledger.settle([{ token, jobId, items: settled }], NOW);
    assert.deepEqual(heard.flat(), [row('a.test', { requests: 2, bytesUp: 600, bytesDown: 40_000 })]);
    end();
  });

  add('a retry adds to what was used before', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    for (const outcome of [failedWith('timeout'), SCRAPED]) {
      const { token, items } = await takeOne(ledger, jobId);
      const settled = items.map((item) => ({ ...settlement(item, outcome), usage: [row('a.test')] }));
      await ledger.settle([{ token, jobId, items: settled }], NOW);
      await reopenAll(ledger, jobId);
    }
    assert.equal(totalUsage(await usageOf(ledger, jobId)).requests, 2);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).attempts.length, 2);
  });

  add('a job that visits many hosts lists some of them, and the sum of all', async ({ ledger }) => {
    const hosts = 3 * MAX_USAGE_ROWS;
    const jobId = await givenJob(ledger, { items: hosts, policy: { throttling: { max_concurrent_workers: 4 } } });
    for (let at = 0; at < hosts; ) {
      const parts = (await takeOut(ledger, jobId)).map(({ token, items }) => ({
        ...{ token, jobId },
        items: items.map((item) => ({ ...settlement(item), usage: [row(`host-${item.seq}.test`)] })),
      }));
      at += parts.length;
      assert.ok(parts.length > 0);
      await ledger.settle(parts, NOW);
    }
    const usage = await usageOf(ledger, jobId);
    const named = usage.filter(({ host }) => host !== OTHER_HOSTS);
    assert.equal(named.length, MAX_USAGE_ROWS);
    assert.ok(named.every(({ requests }) => requests === 1));
    assert.deepEqual(totalUsage(usage), {
      ...{ requests: hosts, bytesUp: 300 * hosts, bytesDown: 20_000 * hosts },
      ...{ refused: 0, blocked: 0, proxyBytes: 0 },
    });
    await checkBooks(ledger, jobId);
  });
}

/** What becomes of a job when its budget is used up. */
export function budgetCases(add: AddCase<LedgerParts>): void {
  const settleAll = async (ledger: Ledger, jobId: string, leases: readonly Lease[], requests: number) => {
    const used = (lease: Lease) => ({
      ...{ token: lease.token, jobId },
      items: lease.items.map((item) => ({ ...settlement(item), usage: [row('a.test', { requests })] })),
    });
    assert.ok((await ledger.settle(leases.map(used), NOW)).every((answer) => answer === 'recorded'));
  };

  add(
    'nothing goes out once the budget is used up, and everything does again when it is raised',
    async ({ ledger }) => {
      const policy = { throttling: { max_concurrent_workers: 5 }, budget: { max_requests: 20 } };
      const jobId = await givenJob(ledger, { items: 100, policy });
      let went = 0;
      for (;;) {
        const before = totalUsage((await jobOf(ledger, jobId)).usage).requests;
        const answer = await ledger.dispatch(jobId, 50, NOW);
        assert.ok(answer);
        assert.equal(answer.plan.kind === 'exhausted', before >= 20, `${before} requests, and ${answer.plan.kind}`);
        if (answer.plan.kind === 'exhausted') break;
        const leases = await claim(ledger, answer.refs);
        const items = leases.flatMap((lease) => lease.items).length;
        went += items;
        assert.ok(items <= 5 || before + 3 * items <= 20, `${items} items with ${before} requests used`);
        if (before === 0)
          assert.ok(
            leases.every((lease) => lease.items.length === 1),
            'one by one at first',
          );
        await settleAll(ledger, jobId, leases, 3);
      }
      assert.equal(went, 7, 'by threes, the seventh item reaches twenty');
      assert.equal((await ledger.workOrder(jobId))?.isHalted, true, 'workers know it before the job is paused');
      const paused = await change(ledger, jobId, { kind: 'exhaust' });
      assert.deepEqual([paused.status, paused.reason?.code], ['paused', 'budget']);
      assert.match(paused.reason?.message ?? '', /21 of 20 requests; raise budget\.max_requests/);
      assert.deepEqual(await ledger.dispatch(jobId, 50, NOW), { refs: [], plan: { kind: 'wait', until: null } });

      const refused = await ledger.changeJob(jobId, { kind: 'resume' }, NOW);
      assert.ok(refused !== 'missing' && isRefusal(refused));
      assert.match(refused.refused, /the budget is used up/);
      const { policy: inForce } = await jobOf(ledger, jobId);
      const raised = { ...inForce, budget: { ...inForce.budget, max_requests: 1000 } };
      const prices = { residential: { perGb: 8 } };
      await change(ledger, jobId, { kind: 'policy', policy: raised, prices });
      assert.deepEqual((await jobOf(ledger, jobId)).prices, prices);
      await change(ledger, jobId, { kind: 'resume' });
      assert.ok((await takeOut(ledger, jobId, { perBatch: 50 })).length > 0);
      await checkBooks(ledger, jobId);
    },
  );

  add('an event that is too late does not pause a job whose budget was raised', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: { budget: { max_requests: 1 } } });
    await settleAll(ledger, jobId, await takeOut(ledger, jobId), 1);
    const { policy } = await jobOf(ledger, jobId);
    await change(ledger, jobId, {
      kind: 'policy',
      policy: { ...policy, budget: { ...policy.budget, max_requests: 9 } },
    });
    const late = await ledger.changeJob(jobId, { kind: 'exhaust' }, NOW);
    assert.ok(late !== 'missing' && isRefusal(late));
    assert.equal((await jobOf(ledger, jobId)).status, 'in_progress');
  });

  add('a job whose last item used up the budget is finished, not paused', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1, policy: { budget: { max_requests: 1 } } });
    await settleAll(ledger, jobId, await takeOut(ledger, jobId), 4);
    assert.equal((await ledger.dispatch(jobId, 1, NOW))?.plan.kind, 'finish');
  });
}
