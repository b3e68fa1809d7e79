import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Finisher } from '../../src/controller/engine/finisher.ts';
import { currentItems } from '../../src/controller/results/current-items.ts';
import { whyInUse } from '../../src/controller/results/job-in-use.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { type Faults, NO_FAULTS } from '../../src/ports/faults.ts';
import type { LeasedItem, Ledger } from '../../src/ports/ledger.ts';
import { allPages, change, checkBooks, jobOf, reopenAll } from '../contract/ledger/hands.ts';
import { failedWith } from '../support/builders.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { NO_ITEM_MANIFESTS } from '../support/no-item-manifests.ts';
import { resultRows } from '../support/result-rows.ts';
import { openDesk, pageOf } from './extraction-support.ts';

type Desk = Awaited<ReturnType<typeof openDesk>>;

const BROKEN = failure('structure_changed', 'nothing matches #owner');

/** What an attempt whose parse failed leaves. */
function brokenPage(item: LeasedItem) {
  const { html, metadata } = pageOf(item);
  return { html, metadata, failure: BROKEN };
}

/** Items whose number is divisible by three fail with a page, the ones after them without; a newer parse reads all. */
async function extracted(desk: Desk, count = 6): Promise<void> {
  await desk.givenJob(count, (item) => {
    if (item.seq % 3 === 1) return failedWith('timeout');
    return item.seq % 3 === 0 ? brokenPage(item) : pageOf(item);
  });
  await desk.begin();
  await desk.carryOut('new', ({ itemId }) => ({ data: { owner: `new ${itemId}` } }));
}

function finisherOf(
  desk: Desk,
  { faults = NO_FAULTS, mayWork = () => true }: { faults?: Faults; mayWork?: () => boolean } = {},
) {
  return new Finisher({
    ...openMemoryRecordings(),
    ...desk,
    faults,
    events: new EventStream(),
    itemManifests: NO_ITEM_MANIFESTS,
    mayWork,
  });
}

async function itemsNow(ledger: Ledger): Promise<ItemRecord[]> {
  const items = currentItems(ledger, await jobOf(ledger, 'old'));
  return allPages((after) => items.items('old', { status: null, errorType: null }, { after, limit: 4 }));
}

const shown = ({ status, artifacts }: ItemRecord) => [
  status,
  artifacts.find(({ kind }) => kind === 'data')?.key ?? null,
];

test('failed items whose pages a newer parse could read count as successes, in counts, lists, index and export', async (t) => {
  const desk = await openDesk(t);
  const { ledger, store, digest } = desk;
  await extracted(desk);
  const finisher = finisherOf(desk);
  await desk.replace();
  const marked = await jobOf(ledger, 'old');
  assert.deepEqual([marked.recovering, marked.manifest, marked.counts.failed], [true, null, 4]);
  assert.equal(await finisher.runOnce(), 1);

  const job = await jobOf(ledger, 'old');
  assert.ok(job.manifest !== null && !('recovering' in job));
  assert.deepEqual([job.status, job.counts.success, job.counts.failed], ['completed', 4, 2]);
  assert.deepEqual((await itemsNow(ledger)).map(shown), [
    ['success', 'new/items/p-0/data.json'],
    ['failed', null],
    ['success', 'new/items/p-2/data.json'],
    ['success', 'new/items/p-3/data.json'],
    ['failed', null],
    ['success', 'new/items/p-5/data.json'],
  ]);
  const recovered = await ledger.item('old', 'p-0');
  assert.deepEqual(
    recovered?.artifacts.map(({ key }) => key),
    ['old/items/p-0/html.html', 'old/items/p-0/metadata.json', 'new/items/p-0/data.json'],
  );
  assert.deepEqual(
    recovered?.attempts.map(({ attempt, end, failure: why, scraperVersion }) => [
      attempt,
      end,
      why?.type,
      scraperVersion,
    ]),
    [
      [1, 'failed', 'structure_changed', undefined],
      [2, 'success', undefined, '2.0.0'],
    ],
  );
  const groups = await ledger.failureGroups('old', 10);
  assert.deepEqual(
    groups.map(({ type, count }) => [type, count]),
    [['timeout', 2]],
  );
  const part = JSON.parse(Buffer.from((await store.get('old/manifests/success/part-0.json')) ?? []).toString());
  assert.deepEqual(
    part.items.map(({ item_id }: { item_id: string }) => item_id),
    ['p-0', 'p-2', 'p-3', 'p-5'],
  );
  const report = await verifyJob({ store, digest }, 'old');
  assert.ok(report.kind === 'checked');
  assert.deepEqual([report.problems, report.counts.success, report.counts.failed], [[], 4, 2]);
  const rows = await Array.fromAsync(
    resultRows({ ledger: currentItems(ledger, job), store, pathOf: ({ key }) => key }, 'old'),
  );
  assert.deepEqual(
    rows.map(({ status, data, error }) => [status, data, error?.type]),
    [
      ['success', { owner: 'new p-0' }, undefined],
      ['failed', null, 'timeout'],
      ['success', { owner: 'new p-2' }, undefined],
      ['success', { owner: 'new p-3' }, undefined],
      ['failed', null, 'timeout'],
      ['success', { owner: 'new p-5' }, undefined],
    ],
  );
  await checkBooks(ledger, 'old');
});

test('a failed item is in the index with its page, and a check of the results looks at it', async (t) => {
  const desk = await openDesk(t);
  const { ledger, store, digest } = desk;
  await desk.givenJob(1, brokenPage);
  // With this, a real index is written.
  await change(ledger, 'old', { kind: 'replace-results', by: 'one-that-is-gone' });
  assert.equal(await finisherOf(desk).runOnce(), 1);
  const part = JSON.parse(Buffer.from((await store.get('old/manifests/errors/part-0.json')) ?? []).toString());
  assert.deepEqual(
    part.items[0].artifacts.map(({ key }: { key: string }) => key),
    ['old/items/p-0/html.html', 'old/items/p-0/metadata.json'],
  );
  const checked = await verifyJob({ store, digest }, 'old');
  assert.ok(checked.kind === 'checked' && checked.checked.artifacts === 2 && checked.problemCount === 0);
});

test('a recovery that dies halfway is finished by the next one, and until then the counts are right', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk, 1500);
  await desk.replace();
  let times = 0;
  const dies: Faults = {
    at(point) {
      times += point === 'between-recoveries' ? 1 : 0;
      if (times === 2) throw new Error('killed');
    },
  };
  await assert.rejects(finisherOf(desk, { faults: dies }).runOnce(), /killed/);
  const half = await jobOf(ledger, 'old');
  assert.ok(half.recovering && half.counts.success > 500 && half.counts.success < 1000, `${half.counts.success}`);
  await checkBooks(ledger, 'old');
  assert.equal(await finisherOf(desk, { mayWork: () => false }).runOnce(), 0);
  assert.ok((await jobOf(ledger, 'old')).recovering);
  assert.equal(await finisherOf(desk).runOnce(), 1);
  const { counts, manifest } = await jobOf(ledger, 'old');
  assert.deepEqual([counts.success, counts.failed, manifest !== null], [1000, 500, true]);
  await checkBooks(ledger, 'old');
});

test('an item that was fetched again since then keeps what that brought', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  await extracted(desk);
  assert.equal(await reopenAll(ledger, 'old', { itemIds: ['p-0', 'p-3'] }, { now: clock.now() }), 2);
  await desk.carryOut('old', (item) => (item.itemId === 'p-0' ? pageOf(item) : brokenPage(item)));
  await desk.replace();
  await finisherOf(desk).runOnce();
  assert.deepEqual((await itemsNow(ledger)).map(shown), [
    ['success', 'old/items/p-0/attempt-2/data.json'],
    ['failed', null],
    ['success', 'new/items/p-2/data.json'],
    ['failed', null],
    ['failed', null],
    ['success', 'new/items/p-5/data.json'],
  ]);
});

test('re-extractions applied later take nothing away, and a job that items have their data from must not be deleted', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk);
  await desk.replace();
  await finisherOf(desk).runOnce();
  await desk.begin({ job_id: 'newer' });
  await desk.carryOut('newer', ({ itemId }) =>
    itemId === 'p-0' ? failedWith('structure_changed') : { data: { n: 2 } },
  );
  await desk.replace('newer');
  await finisherOf(desk).runOnce();
  assert.deepEqual((await itemsNow(ledger)).map(shown).slice(0, 4), [
    ['success', 'new/items/p-0/data.json'],
    ['failed', null],
    ['success', 'newer/items/p-2/data.json'],
    ['success', 'newer/items/p-3/data.json'],
  ]);
  const why = async (jobId: string) => whyInUse(ledger, await jobOf(ledger, jobId));
  assert.match((await why('new')) ?? '', /^recovered items of the job old have their data in it/);
  assert.match((await why('newer')) ?? '', /^its data replace/);
});

test('a re-extraction whose own failures are retried recovers what it can read then', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  await desk.givenJob(2, brokenPage);
  await desk.begin();
  await desk.carryOut('new', ({ itemId }) => (itemId === 'p-0' ? { data: { n: 1 } } : failedWith('structure_changed')));
  await desk.replace();
  await finisherOf(desk).runOnce();
  assert.equal((await jobOf(ledger, 'old')).counts.success, 1);
  await reopenAll(ledger, 'new', {}, { now: clock.now() });
  await desk.carryOut('new', () => ({ data: { n: 2 } }));
  await desk.replace();
  await finisherOf(desk).runOnce();
  const { counts, recoveredFrom, replacedRound } = await jobOf(ledger, 'old');
  assert.deepEqual([counts.success, counts.failed, recoveredFrom, replacedRound], [2, 0, ['new'], 2]);
});

test('a re-extraction that is gone, or being deleted, recovers nothing, and the index is written all the same', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk);
  await desk.replace();
  const { incarnation } = await jobOf(ledger, 'new');
  await change(ledger, 'new', { kind: 'remove', incarnation });
  assert.equal(await finisherOf(desk).runOnce(), 0, 'the deletion may still be called off');
  await change(ledger, 'new', { kind: 'remove-for-good', incarnation });
  assert.equal(await finisherOf(desk).runOnce(), 1);
  const { counts, manifest } = await jobOf(ledger, 'old');
  assert.deepEqual([counts.failed, manifest !== null], [4, true]);
});
