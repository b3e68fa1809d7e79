import assert from 'node:assert/strict';
import { ITEM_STATUSES, MAX_HISTORY } from '../../../src/domain/item.ts';
import { failedWith, NOW, newItems, partOf, SCRAPED, SKIPPED, settlement } from '../../support/builders.ts';
import { sized } from '../../support/sized.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  claim,
  complete,
  dispatch,
  givenJob,
  idsOf,
  itemOf,
  jobOf,
  type LedgerParts,
  MANIFEST,
  refusal,
  reopenAll,
  runAll,
  takeOne,
  trip,
} from './hands.ts';

const FIRST = { after: null, limit: 100 };

/** Items: added, found and listed. */
export function itemCases(add: AddCase<LedgerParts>): void {
  add('items are listed in the order in which they were added, in pages of any size', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 7 });
    // An order that neither an alphabet nor a hash would give.
    await ledger.addItems(jobId, newItems(3, { prefix: 'b' }), 0, NOW);
    await ledger.addItems(jobId, newItems(3, { prefix: 'a' }), 0, NOW);
    const expected = [...newItems(7), ...newItems(3, { prefix: 'b' }), ...newItems(3, { prefix: 'a' })];
    for (const limit of [1, 2, 3, 6, 12, 13, 14, 1000]) {
      const items = await allItems(ledger, jobId, {}, limit);
      assert.deepEqual(
        items.map(({ itemId, input }) => ({ itemId, input })),
        expected,
        `limit ${limit}`,
      );
    }
    const items = await allItems(ledger, jobId);
    assert.deepEqual(
      items.map((item) => item.seq),
      items.map((item) => item.seq).sort((a, b) => a - b),
    );
    assert.equal(new Set(items.map((item) => item.seq)).size, 13);
    const page = await ledger.items(jobId, { status: null, errorType: null }, { after: null, limit: 5 });
    assert.ok(page.entries.length <= 5);
    await checkBooks(ledger, jobId);
  });

  add('an item that the job has already is left alone and named by its place', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const other = { itemId: 'p-1', input: { apn: 'other' } };
    const fresh = newItems(1, { prefix: 'q' });
    const answer = await ledger.addItems(jobId, [...fresh, other, ...fresh, ...newItems(1)], 0, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 1, duplicates: [1, 2, 3], replaced: [], differing: [1] });
    assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['p-0', 'p-1', 'q-0']);
    assert.deepEqual((await itemOf(ledger, jobId, 'p-1')).input, { apn: 'p-1' });
    await checkBooks(ledger, jobId);
  });

  add(
    'a duplicate differs if its input does, from that of the job or of an earlier one in the list',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 0 });
      const [one, turned] = [
        { deep: [{ a: 1, b: 2 }], c: 'ü' },
        { c: 'ü', deep: [{ b: 2, a: 1 }] },
      ];
      const first = await ledger.addItems(jobId, [{ itemId: 'x', input: one }], 0, NOW);
      assert.deepEqual(first, { kind: 'added', added: 1, duplicates: [], replaced: [], differing: [] });
      const list = [
        { itemId: 'x', input: turned },
        { itemId: 'y', input: { n: 1 } },
        { itemId: 'y', input: { n: 1 } },
        { itemId: 'x', input: { ...one, c: 'u' } },
        { itemId: 'y', input: { n: '1' } },
        { itemId: 'x', input: one },
      ];
      const answer = await ledger.addItems(jobId, list, 0, NOW);
      assert.deepEqual(answer, {
        kind: 'added',
        added: 1,
        duplicates: [0, 2, 3, 4, 5],
        replaced: [],
        differing: [3, 4],
      });
      assert.deepEqual((await itemOf(ledger, jobId, 'x')).input, one);
      assert.deepEqual((await itemOf(ledger, jobId, 'y')).input, { n: 1 });
    },
  );

  add('the same chunk sent twice is added once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 0 });
    const chunk = newItems(50);
    assert.deepEqual(await ledger.addItems(jobId, chunk, 0, NOW), {
      kind: 'added',
      added: 50,
      duplicates: [],
      replaced: [],
      differing: [],
    });
    const again = await ledger.addItems(jobId, chunk, 0, NOW);
    assert.deepEqual(again, {
      kind: 'added',
      added: 0,
      duplicates: chunk.map((_, index) => index),
      replaced: [],
      differing: [],
    });
    assert.equal((await jobOf(ledger, jobId)).counts.total, 50);
    await checkBooks(ledger, jobId);
  });

  add('a chunk sent again after its items were run changes nothing about them', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    await runAll(ledger, jobId);
    const before = await allItems(ledger, jobId);
    await ledger.addItems(jobId, newItems(3), 0, NOW);
    assert.deepEqual(await allItems(ledger, jobId), before);
    assert.equal((await dispatch(ledger, jobId)).length, 0);
  });

  add('a job takes more items until it is cancelled', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    const more = (prefix: string) => ledger.addItems(jobId, newItems(1, { prefix }), 0, NOW);
    assert.equal((await more('pending')).kind, 'added');
    await dispatch(ledger, jobId);
    assert.equal((await more('running')).kind, 'added');
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    assert.equal((await more('paused')).kind, 'added');
    await change(ledger, jobId, { kind: 'cancel' });
    assert.deepEqual(await more('late'), { kind: 'closed', status: 'cancelled' });
    assert.equal((await jobOf(ledger, jobId)).counts.total, 4);
    assert.deepEqual(await ledger.addItems('nobody', newItems(1), 0, NOW), { kind: 'missing' });
  });

  add('a completed job begins a new round with the first item added', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId, failedWith('timeout'));
    await complete(ledger, jobId);
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, []);
    assert.deepEqual(await ledger.addItems(jobId, newItems(3), NOW + 500, NOW), {
      kind: 'added',
      added: 2,
      duplicates: [0],
      replaced: [],
      differing: [],
    });
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.status, job.round, job.manifest, job.finishedAt], ['in_progress', 2, null, null]);
    assert.deepEqual([job.openUntil, job.tally.finished, job.counts.total], [NOW + 500, 0, 3]);
    assert.deepEqual((await ledger.activeJobs(FIRST)).entries, [job]);
    await refusal(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    await checkBooks(ledger, jobId);
    await runAll(ledger, jobId);
    const { counts, round } = await complete(ledger, jobId, NOW + 500);
    assert.deepEqual([counts.success, counts.failed, round], [2, 1, 2]);
  });

  add(
    'items that are added while the manifest is written begin a new round, and that manifest is void',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger);
      await runAll(ledger, jobId);
      const before = await change(ledger, jobId, { kind: 'finish' });
      assert.deepEqual(await ledger.addItems(jobId, newItems(1), NOW + 500, NOW), {
        ...{ kind: 'added', added: 0, duplicates: [0], replaced: [], differing: [] },
      });
      assert.deepEqual(await jobOf(ledger, jobId), before, 'nothing is new');
      await ledger.addItems(jobId, newItems(2), NOW + 500, NOW);
      const job = await jobOf(ledger, jobId);
      assert.deepEqual([job.status, job.round, job.finishedAt, job.openUntil], ['in_progress', 2, null, NOW + 500]);
      await refusal(ledger, jobId, { kind: 'complete', round: 1, manifest: MANIFEST }, NOW + 500);
      await runAll(ledger, jobId);
      assert.equal((await complete(ledger, jobId, NOW + 500)).counts.success, 2);
    },
  );

  add('a completed job that is sent only what it has stays as it is', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    await runAll(ledger, jobId);
    const before = await complete(ledger, jobId);
    const heard: unknown[] = [];
    ledger.subscribe((one) => heard.push(one));
    const again = await ledger.addItems(jobId, newItems(2), NOW + 9000, NOW);
    assert.deepEqual(again, { kind: 'added', added: 0, duplicates: [0, 1], replaced: [], differing: [] });
    assert.deepEqual(await ledger.addItems(jobId, [], NOW + 9000, NOW), {
      kind: 'added',
      added: 0,
      duplicates: [],
      replaced: [],
      differing: [],
    });
    assert.deepEqual(await jobOf(ledger, jobId), before);
    assert.deepEqual(heard, []);
  });

  add('a job that failed keeps the items that are added until it is resumed', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId, failedWith('timeout'));
    const failed = await trip(ledger, jobId);
    const answer = await ledger.addItems(jobId, newItems(2, { prefix: 'q' }), NOW + 1, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 2, duplicates: [], replaced: [], differing: [] });
    const job = await jobOf(ledger, jobId);
    assert.deepEqual(job, { ...failed, openUntil: NOW + 1, counts: { ...failed.counts, total: 3 } });
    assert.deepEqual([job.status, (await dispatch(ledger, jobId)).length], ['failed', 0]);
    await change(ledger, jobId, { kind: 'resume' });
    await runAll(ledger, jobId);
    await checkBooks(ledger, jobId);
    assert.equal((await complete(ledger, jobId, NOW + 1)).counts.success, 2);
  });

  add(
    'items are found by their places, whatever their state and whichever other jobs there are',
    async ({ ledger }) => {
      await givenJob(ledger, { jobId: 'before', items: 3, prefix: 'b' });
      const jobId = await givenJob(ledger, { items: 7, policy: { throttling: { max_concurrent_workers: 3 } } });
      await givenJob(ledger, { jobId: 'after', items: 3, prefix: 'a' });
      const [first, , third] = await claim(ledger, await dispatch(ledger, jobId));
      assert.ok(first && third);
      await ledger.settle([partOf(first, failedWith('timeout'))], NOW);
      await ledger.release(third.token, 'drained', NOW);
      const all = await allItems(ledger, jobId);
      assert.deepEqual(
        all.map((item) => item.status),
        ['failed', 'in_progress', ...Array(5).fill('pending')],
      );
      for (const [from, limit] of [
        [0, 7],
        [0, 100],
        [0, 1],
        [1, 1],
        [2, 3],
        [6, 10],
        [7, 1],
        [7000, 5],
        [3, 0],
      ] as const) {
        assert.deepEqual(
          await ledger.itemsAt(jobId, from, limit),
          all.slice(from, from + limit),
          `${limit} from ${from}`,
        );
      }
      assert.deepEqual(await idsOf(ledger.itemsAt('before', 0, 100)), ['b-0', 'b-1', 'b-2']);
      assert.deepEqual(await idsOf(ledger.itemsAt('after', 2, 100)), ['a-2']);
      assert.deepEqual(await ledger.itemsAt('nobody', 0, 10), []);
    },
  );

  add('a job that waits for more items is not completed before its time', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 0 });
    await ledger.addItems(jobId, newItems(1), NOW + 1000, NOW);
    assert.equal((await jobOf(ledger, jobId)).openUntil, NOW + 1000);
    await runAll(ledger, jobId);
    await refusal(ledger, jobId, { kind: 'finish' }, NOW + 999);
    assert.deepEqual((await ledger.dispatch(jobId, 1, NOW + 999))?.plan, { kind: 'wait', until: NOW + 1000 });
    await ledger.addItems(jobId, newItems(1), NOW + 2000, NOW);
    await refusal(ledger, jobId, { kind: 'finish' }, NOW + 1000);
    await ledger.addItems(jobId, [], 0, NOW);
    assert.equal((await complete(ledger, jobId, NOW + 1)).status, 'completed');
  });

  add('items added while the job runs go out after the others', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1, policy: { throttling: { max_concurrent_workers: 1 } } });
    const first = await takeOne(ledger, jobId);
    await ledger.addItems(jobId, newItems(1, { prefix: 'late' }), 0, NOW);
    await ledger.settle([partOf(first)], NOW);
    assert.equal((await takeOne(ledger, jobId)).items[0]?.itemId, 'late-0');
  });

  add('an item is found by its id, in its own job', async ({ ledger }) => {
    await givenJob(ledger, { jobId: 'a', items: 2 });
    await givenJob(ledger, { jobId: 'b', items: 1, prefix: 'q' });
    const [, second] = await allItems(ledger, 'a');
    assert.deepEqual(await ledger.item('a', 'p-1'), second);
    assert.deepEqual(
      { ...second, seq: null },
      {
        jobId: 'a',
        seq: null,
        itemId: 'p-1',
        input: { apn: 'p-1' },
        status: 'pending',
        strikes: 0,
        deliveries: 0,
        attempts: [],
        artifacts: [],
      },
    );
    assert.equal(await ledger.item('b', 'p-1'), null);
    assert.equal(await ledger.item('nobody', 'p-1'), null);
    assert.deepEqual(await allItems(ledger, 'nobody'), []);
  });

  add('items are listed by status and by failure, in pages of any size', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 12, policy: { throttling: { max_concurrent_workers: 8 } } });
    const leases = await claim(ledger, (await dispatch(ledger, jobId)).slice(0, 7));
    const outcomes = [SCRAPED, SKIPPED, failedWith('timeout'), failedWith('not_found'), failedWith('timeout'), SCRAPED];
    for (const [index, outcome] of outcomes.entries()) {
      const lease = leases[index];
      assert.ok(lease);
      await ledger.settle([partOf(lease, outcome)], NOW);
    }
    const expected = {
      pending: ['p-8', 'p-9', 'p-10', 'p-11'],
      queued: ['p-7'],
      in_progress: ['p-6'],
      success: ['p-0', 'p-5'],
      failed: ['p-2', 'p-3', 'p-4'],
      skipped: ['p-1'],
      cancelled: [],
    };
    for (const limit of [1, 2, 100]) {
      for (const status of ITEM_STATUSES) {
        assert.deepEqual(await idsOf(allItems(ledger, jobId, { status }, limit)), expected[status], status);
      }
      const listed = (filter: Parameters<typeof allItems>[2]) => idsOf(allItems(ledger, jobId, filter, limit));
      assert.deepEqual(await listed({ errorType: 'timeout' }), ['p-2', 'p-4']);
      assert.deepEqual(await listed({ status: 'failed', errorType: 'not_found' }), ['p-3']);
      assert.deepEqual(await listed({ status: 'success', errorType: 'timeout' }), []);
      assert.deepEqual(await listed({ errorType: 'blocked' }), []);
    }
    await checkBooks(ledger, jobId);
  });

  add('in a batch only the first unsettled item is out, and those after it are pending', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
    const statuses = async () => (await allItems(ledger, jobId)).map((item) => item.status);
    const refs = await dispatch(ledger, jobId, 5);
    assert.equal(refs.length, 1);
    assert.deepEqual(await statuses(), ['queued', 'pending', 'pending', 'pending', 'pending']);
    const [lease] = await claim(ledger, refs);
    assert.ok(lease);
    assert.equal(lease.items.length, 5);
    assert.deepEqual(await statuses(), ['in_progress', 'pending', 'pending', 'pending', 'pending']);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'in_progress' })), ['p-0']);
    const settle = (...indexes: number[]) => {
      const items = lease.items.filter((_, index) => indexes.includes(index));
      return ledger.settle([partOf(lease, SCRAPED, items)], NOW);
    };
    await settle(0, 2);
    assert.deepEqual(await statuses(), ['success', 'in_progress', 'success', 'pending', 'pending']);
    await checkBooks(ledger, jobId);
    await settle(1);
    assert.deepEqual(await statuses(), ['success', 'success', 'success', 'in_progress', 'pending']);
    await settle(3, 4);
    assert.deepEqual(await statuses(), Array(5).fill('success'));
    await checkBooks(ledger, jobId);
  });

  add('what is rare in a large job is found, however many pages that takes', async ({ ledger }) => {
    // Ledgers look at a thousand items for a page.
    const total = sized({ quick: 1510, slow: 5000 });
    const places = [17, 1500, total - 1];
    const jobId = await givenJob(ledger, { items: 0, policy: { throttling: { max_concurrent_workers: 10_000 } } });
    for (let from = 0; from < total; from += 700)
      await ledger.addItems(jobId, newItems(Math.min(700, total - from), { from }), 0, NOW);
    const refs = await dispatch(ledger, jobId);
    for (const index of places) {
      const [lease] = await claim(ledger, refs.slice(index, index + 1));
      assert.ok(lease);
      await ledger.settle([partOf(lease, failedWith('no_results'))], NOW);
    }
    const rare = places.map((index) => `p-${index}`);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'failed' }, 2)), rare);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { errorType: 'no_results' }, 2)), rare);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'cancelled' }, 2)), []);
    assert.equal((await allItems(ledger, jobId, { status: 'queued' }, 700)).length, total - 3);
    await checkBooks(ledger, jobId);
    assert.equal(await reopenAll(ledger, jobId, { preview: true }, { limit: 2 }), 3);
    assert.equal(await reopenAll(ledger, jobId, {}, { limit: 2 }), 3);
    assert.deepEqual(await allItems(ledger, jobId, { status: 'failed' }), []);
  });

  add('an item that is added while a caller reads the pages comes at the end', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 4 });
    const all = { status: null, errorType: null };
    const first = await ledger.items(jobId, all, { after: null, limit: 2 });
    assert.ok(first.next);
    await ledger.addItems(jobId, newItems(1, { prefix: 'a' }), 0, NOW);
    const rest = await ledger.items(jobId, all, { after: first.next, limit: 100 });
    assert.deepEqual(await idsOf(Promise.resolve(rest.entries)), ['p-2', 'p-3', 'a-0']);
  });

  add('every attempt that came to an end is kept, the last ten of them', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const rounds = MAX_HISTORY + 3;
    for (let round = 1; round <= rounds; round += 1) {
      const lease = await takeOne(ledger, jobId);
      const [item] = lease.items;
      assert.ok(item);
      const ended = { ...settlement(item, failedWith('timeout', `late ${round}`), NOW + round), tries: round };
      await ledger.settle([{ token: lease.token, jobId, items: [ended] }], NOW);
      assert.equal(await reopenAll(ledger, jobId), 1);
    }
    const { attempts, deliveries } = await itemOf(ledger, jobId, 'p-0');
    assert.equal(deliveries, rounds);
    assert.deepEqual(
      attempts.map((one) => one.attempt),
      Array.from({ length: MAX_HISTORY }, (_, index) => rounds - MAX_HISTORY + 1 + index),
    );
    const last = attempts.at(-1);
    assert.deepEqual(last, {
      attempt: rounds,
      tries: rounds,
      startedAt: NOW + rounds,
      durationMs: 10,
      end: 'failed',
      failure: { type: 'timeout', message: `late ${rounds}`, cause: null, retryAfterMs: null },
    });
  });
}
