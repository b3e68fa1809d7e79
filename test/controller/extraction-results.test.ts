import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Finisher } from '../../src/controller/engine/finisher.ts';
import { currentItems } from '../../src/controller/results/current-items.ts';
import { whyInUse } from '../../src/controller/results/job-in-use.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { allPages, change, jobOf, reopenAll } from '../contract/ledger/hands.ts';
import { failedWith, newItems, newJob } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { NO_ITEM_MANIFESTS } from '../support/no-item-manifests.ts';
import { resultRows } from '../support/result-rows.ts';
import { type Kept, onlyNamed, openDesk, pageOf } from './extraction-support.ts';

type Desk = Awaited<ReturnType<typeof openDesk>>;

const ALL = { status: null, errorType: null };

/** An old job of six items: p-1 failed, p-3 kept no page, and the page of p-4 can no longer be read. */
async function extracted(desk: Desk): Promise<void> {
  await desk.givenJob(6, (item) => {
    if (item.itemId === 'p-1') return failedWith('not_found');
    return item.itemId === 'p-3' ? { data: { owner: 'kept' } } : { ...pageOf(item), screenshot: 'a picture' };
  });
  await desk.begin();
  await desk.carryOut('new', ({ itemId }) =>
    itemId === 'p-4'
      ? failedWith('structure_changed')
      : { data: { owner: `new ${itemId}` }, metadata: { job_id: 'new' } },
  );
}

async function itemsNow(ledger: Ledger, limit = 4): Promise<ItemRecord[]> {
  const items = currentItems(ledger, await jobOf(ledger, 'old'));
  return allPages((after) => items.items('old', ALL, { after, limit }));
}

function dataKeys(items: readonly ItemRecord[]): (string | null)[] {
  return items.map(({ artifacts }) => artifacts.find(({ kind }) => kind === 'data')?.key ?? null);
}

const REPLACED = [
  'new/items/p-0/data.json',
  null,
  'new/items/p-2/data.json',
  'old/items/p-3/data.json',
  'old/items/p-4/data.json',
  'new/items/p-5/data.json',
];

test('data of a re-extraction replace the old ones where there are any; everything else about an item stays its own', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk);
  const before = await itemsNow(ledger);
  assert.ok(dataKeys(before).every((key) => key === null || key.startsWith('old/')));
  assert.equal((await desk.replace()).kind, 'replaced');

  const now = await itemsNow(ledger);
  assert.deepEqual(dataKeys(now), REPLACED);
  for (const [index, item] of now.entries()) {
    const { artifacts, attempts, ...rest } = item;
    const { artifacts: old, attempts: ended, ...own } = before[index] ?? assert.fail();
    assert.deepEqual(rest, own);
    const version = REPLACED[index]?.startsWith('new/') ? { scraperVersion: '2.0.0' } : {};
    assert.deepEqual(
      attempts,
      ended.map((attempt) => ({ ...attempt, ...version })),
    );
    const others = (all: typeof artifacts) => all.filter(({ kind }) => kind !== 'data' && kind !== 'metadata');
    assert.deepEqual(others(artifacts), others(old));
    assert.equal(artifacts.length, old.length);
  }
  const items = currentItems(ledger, await jobOf(ledger, 'old'));
  assert.deepEqual(await items.itemsAt('old', 0, 10), now);
  assert.deepEqual(await items.itemsAt('old', 2, 2), now.slice(2, 4));
  for (const item of now) assert.deepEqual(await items.item('old', item.itemId), item);
  assert.equal(await items.item('old', 'nobody'), null);
  const failures = await items.items('old', { status: 'failed', errorType: null }, { after: null, limit: 10 });
  assert.deepEqual(
    failures.entries.map(({ itemId }) => itemId),
    ['p-1'],
  );
});

test('the version reported for data is that of the scraper that read them last', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  await ledger.createJob(newJob({ jobId: 'old' }), newItems(2), clock.now());
  await desk.carryOut('old', (item) => (item.seq === 0 ? failedWith('timeout') : pageOf(item)), '1.5.0');
  await reopenAll(ledger, 'old', {}, { now: clock.now() });
  await desk.carryOut('old', pageOf, '1.6.0');
  const told = async () =>
    (await itemsNow(ledger)).map(({ attempts }) =>
      attempts.map(({ scraperId, scraperVersion }) => [scraperId, scraperVersion]),
    );
  const own = [
    [
      [undefined, '1.5.0'],
      [undefined, '1.6.0'],
    ],
    [[undefined, '1.5.0']],
  ];
  assert.deepEqual(await told(), own);

  const replacedBy = async (jobId: string, scraper: { id: string; version: string }, ran?: string, kept?: Kept) => {
    desk.scrapers.set(scraper.id, { ...scraper, lane: 'http', canExtract: true });
    await desk.begin({ job_id: jobId, scraper_id: scraper.id });
    await desk.carryOut(jobId, () => kept ?? { data: {} }, ran);
    assert.equal((await desk.replace(jobId)).kind, 'replaced');
    const now = await told();
    assert.deepEqual(now[0]?.[0], [undefined, '1.5.0'], 'earlier attempts ran what they ran');
    return [now[0]?.[1], now[1]?.[0]];
  };
  const both = (scraperId: string | undefined, version: string | undefined) => Array(2).fill([scraperId, version]);
  const demo = (version: string) => ({ id: 'demo', version });
  assert.deepEqual(await replacedBy('new-1', demo('2.0.0')), both(undefined, '2.0.0'));
  assert.deepEqual(await replacedBy('new-2', demo('2.0.0'), '2.0.1'), both(undefined, '2.0.1'));
  assert.deepEqual(await replacedBy('new-3', demo('1.0.0')), both(undefined, undefined), 'that of the job again');
  const other = { id: 'other', version: '1.0.0' };
  assert.deepEqual(await replacedBy('new-4', other), both('other', undefined));
  await replacedBy('new-5', demo('3.0.0'), '3.0.0', {});
  assert.deepEqual(await told(), own, 'where nothing came of it, the data are still their own');
});

test('a job whose results are its own is read from the ledger itself', async (t) => {
  const { givenJob, ledger } = await openDesk(t);
  assert.equal(currentItems(ledger, await givenJob(1, pageOf)), ledger);
});

test('a job deleted in spite of the check leaves the old data where they were', async (t) => {
  const desk = await openDesk(t);
  await extracted(desk);
  await desk.replace();
  await deleteJob(desk.ledger, 'new');
  assert.ok(dataKeys(await itemsNow(desk.ledger)).every((key) => key === null || key.startsWith('old/')));
});

test('pages of both jobs are read side by side, with one lookup per page instead of one per item', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await desk.givenJob(1000, (item) => (item.seq % 10 === 0 ? failedWith('not_found') : onlyNamed(item)));
  await desk.begin();
  await desk.carryOut('new', (item) => onlyNamed(item));
  await desk.replace();
  const calls = { item: 0, itemsAt: 0, items: 0, job: 0 };
  const counted: Parameters<typeof currentItems>[0] = {
    job: (...given) => counting('job', ledger.job(...given)),
    item: (...given) => counting('item', ledger.item(...given)),
    items: (...given) => counting('items', ledger.items(...given)),
    itemsAt: (...given) => counting('itemsAt', ledger.itemsAt(...given)),
  };
  function counting<T>(name: keyof typeof calls, answer: T): T {
    calls[name] += 1;
    return answer;
  }
  const items = currentItems(counted, await jobOf(ledger, 'old'));
  await allPages((after) => items.items('old', ALL, { after, limit: 200 }));
  assert.ok(calls.item <= 6 && calls.itemsAt <= 6 && calls.job === 1, JSON.stringify(calls));
});

test('the order of a re-extraction is expected but not relied on', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  await desk.givenJob(30, (item) => pageOf(item));
  const old = await itemsNow(ledger);
  const { policy, scraperId, scraperVersion, lane, labels } = await jobOf(ledger, 'old');
  const job = {
    jobId: 'new',
    name: null,
    policy,
    scraperId,
    scraperVersion,
    lane,
    labels,
    held: false,
    extracts: 'old',
  };
  const mixed = [...old].sort((a, b) => ((a.seq * 7) % 30) - ((b.seq * 7) % 30));
  await ledger.createJob(
    job,
    mixed.map(({ itemId, input, artifacts: [html] }) => {
      assert.ok(html?.kind === 'html');
      return { itemId, input, source: { html, metadata: null } };
    }),
    clock.now(),
  );
  await desk.carryOut('new', ({ itemId }) => ({ data: itemId }));
  await desk.replace();
  assert.deepEqual(
    dataKeys(await itemsNow(ledger, 7)),
    old.map(({ itemId }) => `new/items/${itemId}/data.json`),
  );
});

test('only a completed re-extraction replaces results, and doing it twice is the same as once', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  assert.deepEqual(await desk.replace(), { kind: 'missing' });
  await desk.givenJob(2, pageOf);
  await desk.begin();
  const because = async (jobId = 'new') => {
    const answer = await desk.replace(jobId);
    return answer.kind === 'refused' ? answer.because : answer.kind;
  };
  assert.match(await because(), /^the job new is pending/);
  assert.equal(await because('old'), 'the job old is not a re-extraction');
  assert.equal((await jobOf(ledger, 'old')).replacedBy, undefined);
  await desk.carryOut('new', () => ({ data: {} }));
  const first = await desk.replace();
  assert.ok(first.kind === 'replaced');
  assert.deepEqual([first.source.jobId, first.source.replacedBy, first.source.round], ['old', 'new', 2]);
  assert.deepEqual(await desk.replace(), first);

  await desk.begin({ job_id: 'newer' });
  await ledger.changeJob('newer', { kind: 'cancel' }, clock.now());
  assert.match(await because('newer'), /^the job newer is cancelled/);
  await deleteJob(ledger, 'old');
  assert.equal(await because(), 'the job old, whose pages it read, is gone');
});

test('a job whose data replace those of another must not be deleted', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk);
  const why = async (jobId: string) => whyInUse(ledger, await jobOf(ledger, jobId));
  assert.equal(await why('new'), null);
  await desk.replace();
  assert.match((await why('new')) ?? '', /^its data replace those of the job old/);
  assert.equal(await why('old'), null);
  await desk.begin({ job_id: 'newer' });
  await desk.carryOut('newer', () => ({ data: {} }));
  await desk.replace('newer');
  assert.equal(await why('new'), null, 'others stand for them now');
  await deleteJob(ledger, 'old');
  assert.equal(await why('newer'), null);
});

test('the index of a replaced job is created again, and everything that it names exists', async (t) => {
  const desk = await openDesk(t);
  const { ledger, store, digest } = desk;
  const finisher = new Finisher({
    ...openMemoryRecordings(),
    ...desk,
    events: new EventStream(),
    itemManifests: NO_ITEM_MANIFESTS,
    mayWork: () => true,
  });
  await extracted(desk);
  await desk.replace();
  assert.equal((await jobOf(ledger, 'old')).manifest, null);
  assert.equal(await finisher.runOnce(), 1);
  const part = JSON.parse(Buffer.from((await store.get('old/manifests/full/part-0.json')) ?? []).toString());
  assert.deepEqual(dataKeys(part.items), REPLACED);
  assert.deepEqual(
    part.items.map((entry: { scraper_version?: string }) => entry.scraper_version),
    ['2.0.0', undefined, '2.0.0', undefined, undefined, '2.0.0'],
  );
  const report = await verifyJob({ store, digest }, 'old');
  assert.ok(report.kind === 'checked');
  assert.deepEqual([report.problems, report.counts.success, report.counts.failed], [[], 5, 1]);
  const rows = await Array.fromAsync(
    resultRows({ ledger: currentItems(ledger, await jobOf(ledger, 'old')), store, pathOf: ({ key }) => key }, 'old'),
  );
  assert.deepEqual(
    rows.map(({ data }) => data),
    [
      { owner: 'new p-0' },
      null,
      { owner: 'new p-2' },
      { owner: 'kept' },
      { owner: 'owner of p-4' },
      { owner: 'new p-5' },
    ],
  );
});

test('results that are replaced while the index is being written make that index void', async (t) => {
  const desk = await openDesk(t);
  const { ledger } = desk;
  await extracted(desk);
  await change(ledger, 'old', { kind: 'replace-results', by: 'one-that-is-gone' });
  await change(ledger, 'old', { kind: 'recovered', by: 'one-that-is-gone' });
  let isDone = false;
  const faults = {
    async at(point: string) {
      if (point !== 'after-manifest-before-record' || isDone) return;
      isDone = true;
      await desk.replace();
    },
  };
  const finisher = new Finisher({
    ...openMemoryRecordings(),
    ...desk,
    faults,
    events: new EventStream(),
    itemManifests: NO_ITEM_MANIFESTS,
    mayWork: () => true,
  });
  assert.equal(await finisher.finish(await jobOf(ledger, 'old')), false);
  assert.equal(await finisher.runOnce(), 1);
  const part = await desk.store.get('old/manifests/full/part-0.json');
  assert.match(Buffer.from(part ?? []).toString(), /new\/items\/p-0\/data\.json/);
});

test('failed items of a re-extraction can be retried, and then they count, too', async (t) => {
  const desk = await openDesk(t);
  const { ledger, clock } = desk;
  await extracted(desk);
  assert.equal(await reopenAll(ledger, 'new', {}, { now: clock.now() }), 1);
  await desk.carryOut('new', ({ source }) => {
    assert.equal(source?.html.key, 'old/items/p-4/html.html');
    return { data: { owner: 'at last' } };
  });
  await desk.replace();
  assert.equal(dataKeys(await itemsNow(ledger))[4], 'new/items/p-4/attempt-2/data.json');
});
