import assert from 'node:assert/strict';
import type { NewItem } from '../../../src/domain/item.ts';
import { type JobEvent, newJobRecord } from '../../../src/domain/job.ts';
import type { LedgerChange } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, newItems, newJob, partOf, scrapedWith, sourcePage } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  claim,
  complete,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  type LedgerParts,
  MANIFEST,
  refusal,
  reopenAll,
  runAll,
  takeOne,
} from './hands.ts';

const FIRST = { after: null, limit: 100 };
const BY_X: JobEvent = { kind: 'replace-results', by: 'x' };

/** Jobs that read what other jobs kept, and whose data replace theirs. */
export function extractionCases(add: AddCase<LedgerParts>): void {
  add('an item keeps the page that it is to be read from, and hands it to its worker each time', async ({ ledger }) => {
    const [first, second, plain] = sourced();
    assert.ok(first && second && plain);
    const job = newJob({ extracts: 'original', policy: { throttling: { max_concurrent_workers: 3 } } });
    await ledger.createJob(job, [first, plain], NOW);
    await ledger.addItems(job.jobId, [second], 0, NOW);
    const expected = [first.source, undefined, second.source];

    const leases = await claim(ledger, await dispatch(ledger, job.jobId));
    assert.deepEqual(
      leases.map(({ items }) => items.map(({ source }) => source)),
      expected.map((source) => [source]),
    );
    assert.ok(!('source' in (leases[1]?.items[0] ?? {})), 'what has no source does not have the field');
    await ledger.settle(
      leases.map((lease) => partOf(lease, failedWith('timeout'))),
      NOW,
    );
    await reopenAll(ledger, job.jobId, { itemIds: [second.itemId] });
    const again = await takeOne(ledger, job.jobId);
    assert.deepEqual([again.items[0]?.source, again.items[0]?.attempt], [second.source, 2]);
  });

  add('an item shows the page that it is to be read from, in whatever state and list', async ({ ledger }) => {
    const items = sourced();
    const job = newJob({ policy: { throttling: { max_concurrent_workers: 2 } } });
    await ledger.createJob(job, items, NOW);
    const { jobId } = job;
    const sources = items.map(({ source }) => source);
    const shown = (records: readonly { readonly source?: unknown }[]) => records.map(({ source }) => source);
    assert.deepEqual(shown(await allItems(ledger, jobId)), sources);
    const [first, second] = await claim(ledger, await dispatch(ledger, jobId));
    assert.ok(first && second);
    await ledger.settle([partOf(first, scrapedWith('k'))], NOW);
    assert.deepEqual(shown(await allItems(ledger, jobId)), sources);
    assert.deepEqual(shown(await allItems(ledger, jobId, { status: 'in_progress' })), sources.slice(1, 2));
    await ledger.settle([partOf(second, failedWith('timeout'))], NOW);
    assert.deepEqual(shown(await ledger.itemsAt(jobId, 0, 3)), sources);
    assert.deepEqual(shown(await allItems(ledger, jobId, { status: 'success' })), sources.slice(0, 1));
    assert.deepEqual(shown(await allItems(ledger, jobId, { errorType: 'timeout' })), sources.slice(1, 2));
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).source, sources[0]);
    assert.ok(!('source' in (await itemOf(ledger, jobId, 'p-2'))), 'what has no source does not have the field');
  });

  add('a job keeps whose pages it reads, and the digest of the request that made it', async ({ ledger }) => {
    const job = newJob({ extracts: 'original', submission: 'd1g357' });
    await ledger.createJob(job, newItems(1), NOW);
    const { incarnation } = await jobOf(ledger, job.jobId);
    assert.deepEqual(await ledger.job(job.jobId), newJobRecord(job, 1, NOW, incarnation));
    await runAll(ledger, job.jobId);
    const done = await complete(ledger, job.jobId);
    assert.deepEqual([done.extracts, done.submission], ['original', 'd1g357']);
    const plain = await jobOf(ledger, await givenJob(ledger, { jobId: 'plain' }));
    assert.ok(!('extracts' in plain || 'submission' in plain || 'replacedBy' in plain));
  });

  add('a completed job whose results are replaced awaits a new index', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId);
    const done = await complete(ledger, jobId);
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, []);
    const replaced = await change(ledger, jobId, BY_X, NOW + 5);
    assert.deepEqual(replaced, { ...done, replacedBy: 'x', round: 2, manifest: null });
    assert.deepEqual(await jobOf(ledger, jobId), replaced);
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, [replaced]);
    await refusal(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    await change(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, []);
  });

  add('results are replaced in any state of a job, which stays what it is', async ({ ledger }) => {
    const open = await givenJob(ledger, { jobId: 'open', items: 2 });
    const before = await jobOf(ledger, open);
    assert.deepEqual(await change(ledger, open, BY_X), { ...before, replacedBy: 'x' });
    await runAll(ledger, open);
    assert.equal((await complete(ledger, open)).replacedBy, 'x');

    const cancelled = await givenJob(ledger, { jobId: 'cancelled', items: 1 });
    await change(ledger, cancelled, { kind: 'cancel' });
    await change(ledger, cancelled, { kind: 'manifest', round: 1, manifest: MANIFEST });
    const { status, round, manifest, replacedBy } = await change(ledger, cancelled, BY_X);
    assert.deepEqual([status, round, manifest, replacedBy], ['cancelled', 2, null, 'x']);
    assert.equal(await ledger.changeJob('nobody', BY_X, NOW), 'missing');
  });

  add('results that are replaced twice by the same are replaced once', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId);
    await complete(ledger, jobId);
    await change(ledger, jobId, BY_X);
    const once = await change(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
    const heard: LedgerChange[] = [];
    ledger.subscribe((one) => heard.push(one));
    assert.deepEqual(await change(ledger, jobId, BY_X, NOW + 1), once);
    assert.deepEqual([await jobOf(ledger, jobId), heard], [once, []]);
    const other = await change(ledger, jobId, { kind: 'replace-results', by: 'y' });
    assert.deepEqual([other.replacedBy, other.round, other.manifest], ['y', 3, null]);
    assert.deepEqual(
      heard.map((one) => one.kind === 'job' && one.because),
      ['replace-results'],
    );
  });
}

/** Two with a page, one of them without its metadata, and one that has none. */
function sourced(): NewItem[] {
  const [first, second, third] = newItems(3);
  assert.ok(first && second && third);
  const { html } = sourcePage('original/items/p-1');
  const source = { html: { ...html, offset: 7, length: 9 }, metadata: null };
  return [{ ...first, source: sourcePage('original/items/p-0') }, { ...second, source }, third];
}
