import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemFilter } from '../../src/ports/ledger.ts';
import { allItems, givenJob, idsOf, takeOut } from '../contract/ledger/hands.ts';
import { failedWith, NOW, newJob, partOf, SKIPPED } from '../support/builders.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

const WIDE = { throttling: { max_concurrent_workers: 5000 } };
const all: ItemFilter = { status: null, errorType: null };

test('a page that finds little looks at a bounded number of rows, and says where to go on', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  const jobId = await givenJob(ledger, { items: 2500, policy: WIDE });
  const leases = await takeOut(ledger, jobId);
  const failed = leases.slice(0, 2400).map((lease) => partOf(lease, failedWith('blocked')));
  await ledger.settle([...failed, ...leases.slice(2400, 2410).map((lease) => partOf(lease))], NOW);

  const first = await ledger.items(jobId, { ...all, status: 'success' }, { after: null, limit: 5 });
  assert.deepEqual(first.entries, []);
  assert.notEqual(first.next, null);
  const found = await idsOf(allItems(ledger, jobId, { status: 'success' }, 4));
  assert.deepEqual(
    found,
    Array.from({ length: 10 }, (_, index) => `p-${2400 + index}`),
  );
});

test('what is rare is found at once, wherever in the job it is', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  const jobId = await givenJob(ledger, { items: 3000, policy: WIDE });
  const leases = await takeOut(ledger, jobId);
  const outcomes = new Map([
    [5, failedWith('blocked')],
    [1500, failedWith('timeout')],
    [2500, SKIPPED],
    [2900, failedWith('blocked')],
  ]);
  await ledger.settle(
    leases.slice(0, 2950).map((lease, index) => partOf(lease, outcomes.get(index))),
    NOW,
  );
  const pageOf = async (filter: Partial<ItemFilter>) => {
    const { entries, next } = await ledger.items(jobId, { ...all, ...filter }, { after: null, limit: 10 });
    return [...entries.map((item) => item.seq), next];
  };
  assert.deepEqual(await pageOf({ status: 'failed' }), [5, 1500, 2900, null]);
  assert.deepEqual(await pageOf({ errorType: 'blocked' }), [5, 2900, null]);
  assert.deepEqual(await pageOf({ status: 'failed', errorType: 'timeout' }), [1500, null]);
  assert.deepEqual(await pageOf({ status: 'skipped' }), [2500, null]);
  assert.deepEqual((await pageOf({ status: 'in_progress' })).slice(0, 2), [2950, 2951]);
  assert.deepEqual(await pageOf({ status: 'success', errorType: 'blocked' }), [null]);
});

test('a page of a cursor that makes no sense is empty, and harms nothing', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  await givenJob(ledger, { jobId: 'job-before', items: 3, prefix: 'before' });
  const jobId = await givenJob(ledger, { items: 3 });
  await givenJob(ledger, { jobId: 'job-behind', items: 3, prefix: 'behind' });
  for (const after of ['nonsense', '99', '-5000000000', '4294967299', '1e3', '']) {
    for (const status of [null, 'pending', 'success', 'failed', 'queued'] as const) {
      const { entries } = await ledger.items(jobId, { ...all, status }, { after, limit: 10 });
      assert.deepEqual(entries, [], `${status} after ${after}`);
    }
  }
});

test('a page of large items ends early, in every list, and no item is passed over', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  const filler = 'x'.repeat(500_000);
  const items = Array.from({ length: 12 }, (_, index) => ({ itemId: `p-${index}`, input: { filler } }));
  await ledger.createJob(newJob({ policy: WIDE }), items, NOW);
  const ids = items.map(({ itemId }) => itemId);
  const look = async (filter: Partial<ItemFilter>) => {
    const page = await ledger.items('job-1', { ...all, ...filter }, { after: null, limit: 100 });
    assert.ok(page.entries.length >= 1 && page.entries.length <= 6, `${page.entries.length} on a page`);
    assert.notEqual(page.next, null);
    assert.deepEqual(await idsOf(allItems(ledger, 'job-1', filter, 100)), ids);
  };
  await look({});
  await look({ status: 'pending' });
  const leases = await takeOut(ledger, 'job-1');
  await look({ status: 'in_progress' });
  await ledger.settle(
    leases.map((lease) => partOf(lease, failedWith('timeout'))),
    NOW,
  );
  await look({ status: 'failed' });
  await look({ errorType: 'timeout' });
  const some = await ledger.itemsAt('job-1', 3, 100);
  assert.ok(some.length >= 1 && some.length <= 6);
  assert.equal(some[0]?.itemId, 'p-3');
});
