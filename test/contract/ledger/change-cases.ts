import assert from 'node:assert/strict';
import { MAX_STRIKES } from '../../../src/domain/strikes.ts';
import type { LedgerChange } from '../../../src/ports/ledger.ts';
import {
  failedWith,
  NOW,
  newItems,
  partOf,
  SCRAPED,
  SKIPPED,
  scrapedWith,
  settlement,
} from '../../support/builders.ts';
import { deleteJob } from '../../support/delete-job.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  change,
  claim,
  dispatch,
  givenJob,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  refusal,
  reopenAll,
  runAll,
  takeOne,
} from './hands.ts';

/** What listeners hear. */
export function changeCases(add: AddCase<LedgerParts>): void {
  add('a listener hears of each change, and of nothing that did not happen', async ({ ledger }) => {
    const heard: LedgerChange[] = [];
    ledger.subscribe((one) => heard.push(one));
    const hears = (...expected: Partial<LedgerChange>[]) => {
      const told = heard.splice(0);
      assert.deepEqual(
        told.map((one) => one.kind),
        expected.map((one) => one.kind),
      );
      for (const [index, one] of expected.entries()) assert.partialDeepStrictEqual(told[index], one);
    };

    const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 2 } } });
    hears({ kind: 'job', because: 'created' });
    await ledger.addItems(jobId, newItems(1, { prefix: 'q' }), 0, NOW);
    hears({ kind: 'job', because: 'items' });
    const refs = await dispatch(ledger, jobId);
    hears({ kind: 'dispatched', jobId, batches: 2, items: 2 });
    await dispatch(ledger, jobId);
    await refusal(ledger, jobId, { kind: 'finish' });
    hears();
    const [lease] = await claim(ledger, refs.slice(0, 1));
    assert.ok(lease);
    hears({ kind: 'claimed', jobId, batches: 1 });
    await ledger.claim(refs.slice(0, 1), 'worker-2', NOW + LEASE_MS, NOW);
    hears();
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    const [{ seq, itemId } = { seq: -1, itemId: '' }] = lease.items;
    const ended = { seq, itemId, durationMs: 10, status: 'failed', errorType: 'timeout', artifacts: 0 } as const;
    hears({ kind: 'settled', jobId, items: [ended] });
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    hears();
    await reopenAll(ledger, jobId);
    hears({ kind: 'job', because: 'retry' });
    await ledger.recall(refs, NOW);
    hears({ kind: 'returned', jobId, because: 'recalled', items: 1 });
    const [broken] = await claim(ledger, await dispatch(ledger, jobId));
    assert.ok(broken);
    heard.length = 0;
    await ledger.release(broken.token, { error: 'Error: ours' }, NOW);
    hears({ kind: 'returned', jobId, because: { error: 'Error: ours' }, items: 1 });
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    hears({ kind: 'job', because: 'pause' });
  });

  add('a listener hears which item ended, how long it took and what it kept', async ({ ledger }) => {
    const heard: LedgerChange[] = [];
    const jobId = await givenJob(ledger, { items: 6, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId, { perBatch: 6 });
    ledger.subscribe((one) => heard.push(one));
    const kept = scrapedWith('a/html.html', 'a/data.json');
    const outcomes = [SCRAPED, SKIPPED, failedWith('timeout'), failedWith('timeout'), failedWith('timeout'), kept];
    const items = lease.items.map((item, index) => ({ ...settlement(item, outcomes[index]), durationMs: index + 0.5 }));
    await ledger.settle([{ token: lease.token, jobId, items: items.slice(0, 2) }], NOW);
    await ledger.settle([{ token: lease.token, jobId, items: items.slice(2) }], NOW);
    const told = heard.flatMap((one) => (one.kind === 'settled' ? one.items : []));
    assert.deepEqual(
      told,
      ['success', 'skipped', 'failed', 'failed', 'failed', 'success'].map((status, seq) => ({
        seq,
        itemId: `p-${seq}`,
        durationMs: seq + 0.5,
        status,
        errorType: status === 'failed' ? 'timeout' : null,
        artifacts: seq === 5 ? 2 : 0,
      })),
    );
  });

  add('an item that ends as poison is reported like any other', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { prefix: 'deadly' });
    const heard: LedgerChange[] = [];
    ledger.subscribe((one) => heard.push(one));
    for (let strikes = 1; strikes <= MAX_STRIKES; strikes += 1) {
      const lease = await takeOne(ledger, jobId, { now: NOW });
      await ledger.begin(lease.token, 0);
      await ledger.expire(dueBy(NOW + LEASE_MS + 7, NEVER_QUEUED_TOO_LONG), 10);
    }
    const settled = heard.filter((one) => one.kind === 'settled');
    const ended = { seq: 0, itemId: 'deadly-0', durationMs: LEASE_MS + 7, artifacts: 0 };
    const end = { ...ended, status: 'failed', errorType: 'poison' };
    assert.deepEqual(settled, [{ kind: 'settled', jobId, items: [end] }]);
  });

  add('a lost lease is reported, and so is what its worker tries to write', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const heard: LedgerChange[] = [];
    ledger.subscribe((one) => heard.push(one));
    await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10);
    await ledger.settle([partOf(lease)], NOW);
    const { batchId } = lease.ref;
    assert.deepEqual(heard, [
      { kind: 'returned', jobId, batchId, because: 'expired', items: 1 },
      { kind: 'fenced', jobId, batchId },
    ]);
    await dispatch(ledger, jobId);
    heard.length = 0;
    await ledger.expire(dueBy(NOW, NOW + 1), 10);
    assert.partialDeepStrictEqual(heard, [{ kind: 'returned', jobId, because: 'lost', items: 1 }]);
  });

  add('by the time a change is reported, it has taken effect', async ({ ledger }) => {
    const seen: Promise<number>[] = [];
    const jobId = await givenJob(ledger, { items: 3 });
    ledger.subscribe((one) => {
      if (one.kind === 'settled') seen.push(jobOf(ledger, jobId).then((job) => job.counts.success));
    });
    await runAll(ledger, jobId, SCRAPED);
    assert.equal((await Promise.all(seen)).at(-1), 3);
    assert.ok((await Promise.all(seen)).every((success) => success > 0));
  });

  add('a listener that has unsubscribed hears nothing more', async ({ ledger }) => {
    let heard = 0;
    const [one, two] = [ledger.subscribe(() => heard++), ledger.subscribe(() => heard++)];
    await givenJob(ledger);
    assert.equal(heard, 2);
    one();
    one();
    await dispatch(ledger, 'job-1');
    assert.equal(heard, 3);
    two();
    await deleteJob(ledger, 'job-1');
    assert.equal(heard, 3);
  });
}
