import assert from 'node:assert/strict';
import { newJobRecord } from '../../../src/domain/job.ts';
import type { JobDraft } from '../../../src/ports/ledger.ts';
import { NOW, newItems, newJob } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import { allItems, checkBooks, complete, givenJob, idsOf, itemOf, jobOf, type LedgerParts, runAll } from './hands.ts';

const FIRST = { after: null, limit: 100 };

/** Jobs created in many steps are invisible until the last. */
export function draftCases(add: AddCase<LedgerParts>): void {
  add('a draft is seen nowhere until it is committed, and then it is a job like any other', async ({ ledger }) => {
    const heard: string[] = [];
    ledger.subscribe((change) => heard.push(change.kind === 'job' ? `${change.job.jobId} ${change.because}` : ''));
    const job = newJob({ jobId: 'large', name: 'County', labels: { team: 'taxes' } });
    const items = newItems(1250);
    const draft = await ledger.draftJob();
    for (const from of [0, 500, 1000]) {
      assert.deepEqual(await draft.add(from, items.slice(from, from + 500)), []);
      assert.equal(await ledger.job('large'), null);
      assert.deepEqual((await ledger.jobs({ status: null, page: FIRST })).entries, []);
      assert.deepEqual((await ledger.activeJobs(FIRST)).entries, []);
      assert.equal(await ledger.item('large', 'p-0'), null);
      assert.equal(await ledger.dispatch('large', 1, NOW), null);
      assert.equal(await ledger.removeJob('large', '1'), false);
    }
    assert.deepEqual(heard, []);
    const answer = await draft.commit(job, NOW + 5);
    const expected = newJobRecord(job, 1250, NOW + 5, answer.job.incarnation);
    assert.deepEqual(answer, { kind: 'created', job: expected });
    assert.deepEqual(await jobOf(ledger, 'large'), expected);
    assert.deepEqual((await ledger.jobs({ status: 'pending', page: FIRST })).entries, [expected]);
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, [expected]);
    assert.deepEqual(
      await idsOf(allItems(ledger, 'large')),
      items.map(({ itemId }) => itemId),
    );
    assert.deepEqual((await itemOf(ledger, 'large', 'p-1249')).input, { apn: 'p-1249' });
    const again = await ledger.addItems('large', [...items.slice(1248), ...newItems(1, { prefix: 'q' })], 0, NOW);
    assert.deepEqual(again, { kind: 'added', added: 1, duplicates: [0, 1], replaced: [], differing: [] });
    assert.deepEqual(heard, ['large created', 'large items']);
    await draft.drop();
    assert.equal((await jobOf(ledger, 'large')).counts.total, 1251, 'a job that was committed is not dropped');
    await checkBooks(ledger, 'large');
  });

  add('a job that was drafted runs to its end', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    await draft.add(0, newItems(2));
    await draft.add(2, newItems(1, { prefix: 'q' }));
    await draft.commit(newJob(), NOW);
    await runAll(ledger, 'job-1');
    const { status, counts } = await complete(ledger, 'job-1');
    assert.deepEqual([status, counts.success], ['completed', 3]);
    await checkBooks(ledger, 'job-1');
  });

  add('a draft may have no items', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    assert.deepEqual(await draft.add(0, []), []);
    assert.equal((await draft.commit(newJob(), NOW)).kind, 'created');
    assert.equal((await jobOf(ledger, 'job-1')).counts.total, 0);
  });

  add(
    'an id that a draft already has is left out, and reported with its place and whether the inputs differ',
    async ({ ledger }) => {
      const draft = await ledger.draftJob();
      const [p0, p1] = newItems(2);
      assert.ok(p0 && p1);
      const other = { itemId: 'p-0', input: { apn: 'other' } };
      assert.deepEqual(await draft.add(0, [p0, p1, other]), [{ index: 2, first: 0, differs: true }]);
      const q = newItems(2, { prefix: 'q' });
      assert.deepEqual(await draft.add(2, [...q, p1, other, ...q]), [
        { index: 2, first: 1, differs: false },
        { index: 3, first: 0, differs: true },
        { index: 4, first: 2, differs: false },
        { index: 5, first: 3, differs: false },
      ]);
      assert.deepEqual(await draft.items(0, 10), [p0, p1, ...q]);
      await draft.drop();
    },
  );

  add('a call that is repeated appends nothing twice, and gets the same answer', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    const [first, second] = [newItems(3), [...newItems(1), ...newItems(2, { prefix: 'q' }), ...newItems(1)]];
    assert.deepEqual(await draft.add(0, first), []);
    assert.deepEqual(await draft.add(0, first), []);
    const answer = [
      { index: 0, first: 0, differs: false },
      { index: 3, first: 0, differs: false },
    ];
    assert.deepEqual(await draft.add(3, second), answer);
    assert.deepEqual(await draft.add(3, second), answer);
    const made = await draft.commit(newJob(), NOW);
    assert.equal(made.kind, 'created');
    assert.deepEqual(await draft.commit(newJob(), NOW + 1), made);
    assert.deepEqual(await idsOf(allItems(ledger, 'job-1')), ['p-0', 'p-1', 'p-2', 'q-0', 'q-1']);
  });

  add('the items of a draft can be read by their places, large ones a few at a time', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    const source = { html: ARTIFACT, metadata: null };
    const items = newItems(230).map((item, n) => (n === 7 ? { ...item, source } : item));
    const large = newItems(4, { prefix: 'q' }).map((item) => ({ ...item, input: { text: 'ü'.repeat(400_000) } }));
    await draft.add(0, items.slice(0, 150));
    await draft.add(150, items.slice(150));
    for (const [index, item] of large.entries()) await draft.add(230 + index, [item]);
    assert.deepEqual(await readAll(draft, 100), [...items, ...large]);
    assert.deepEqual(await draft.items(149, 3), items.slice(149, 152));
    assert.deepEqual(await draft.items(234, 5), []);
    await draft.drop();
  });

  add('of two drafts for one id, the first to be committed becomes the job', async ({ ledger }) => {
    const [one, other] = [await ledger.draftJob(), await ledger.draftJob()];
    await one.add(0, newItems(2));
    await other.add(0, newItems(3, { prefix: 'q' }));
    assert.equal((await other.commit(newJob(), NOW)).kind, 'created');
    const job = await jobOf(ledger, 'job-1');
    assert.deepEqual(await one.commit(newJob({ name: 'second' }), NOW), { kind: 'exists', job });
    assert.deepEqual(await jobOf(ledger, 'job-1'), job);
    // It may still become another job.
    assert.equal((await one.commit(newJob({ jobId: 'job-2' }), NOW)).kind, 'created');
    assert.deepEqual(await idsOf(allItems(ledger, 'job-1')), ['q-0', 'q-1', 'q-2']);
    assert.deepEqual(await idsOf(allItems(ledger, 'job-2')), ['p-0', 'p-1']);
  });

  add('what was dropped is never made, and leaves its id free', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    await draft.add(0, newItems(300));
    await draft.drop();
    await draft.drop();
    await assert.rejects(draft.commit(newJob(), NOW));
    await assert.rejects(draft.add(300, newItems(1, { prefix: 'q' })));
    assert.equal(await ledger.job('job-1'), null);
    await givenJob(ledger, { items: 2 });
    assert.deepEqual(await idsOf(allItems(ledger, 'job-1')), ['p-0', 'p-1']);
  });

  add('jobs that are made beside a draft keep to themselves', async ({ ledger }) => {
    const draft = await ledger.draftJob();
    await draft.add(0, newItems(3));
    await ledger.createJob(newJob({ jobId: 'beside' }), newItems(2), NOW);
    await draft.add(3, newItems(2, { prefix: 'q' }));
    const next = await ledger.draftJob();
    await next.add(0, newItems(1, { prefix: 'r' }));
    await draft.commit(newJob({ jobId: 'drafted' }), NOW);
    await ledger.createJob(newJob({ jobId: 'after' }), newItems(1), NOW);
    await next.commit(newJob({ jobId: 'next' }), NOW);
    const listed = await ledger.jobs({ status: null, page: FIRST });
    assert.deepEqual(
      listed.entries.map(({ jobId, counts }) => [jobId, counts.total]),
      [
        ['after', 1],
        ['next', 1],
        ['beside', 2],
        ['drafted', 5],
      ],
      'newest first, a drafted one by the beginning of its draft',
    );
    for (const { jobId } of listed.entries) await checkBooks(ledger, jobId);
  });
}

const ARTIFACT = {
  kind: 'html',
  key: 'old/items/p-7/html.html',
  size: 3,
  sha256: 'abc',
  contentType: 'text/html',
  encoding: 'identity',
} as const;

async function readAll(draft: JobDraft, limit: number) {
  const all = [];
  for (;;) {
    const some = await draft.items(all.length, limit);
    assert.ok(some.length <= limit);
    if (some.length === 0) return all;
    all.push(...some);
  }
}
