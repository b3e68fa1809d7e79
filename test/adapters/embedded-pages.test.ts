import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemFilter } from '../../src/ports/ledger.ts';
import { allItems, givenJob, idsOf, takeOut } from '../contract/ledger/hands.ts';
import { failedWith, NOW, partOf, SKIPPED } from '../support/builders.ts';
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

test('what is rare is found at once, wherever in the job it stands', async (t) => {
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
