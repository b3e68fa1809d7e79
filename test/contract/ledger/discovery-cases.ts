import assert from 'node:assert/strict';
import { NO_DISCOVERY } from '../../../src/domain/discovery-counts.ts';
import type { NewItem } from '../../../src/domain/item.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, newItems, partOf, SCRAPED, settlement } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  complete,
  givenJob,
  idsOf,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  refusal,
  reopenAll,
  runAll,
  takeOne,
  takeOut,
} from './hands.ts';

const ONE_WORKER = { throttling: { max_concurrent_workers: 1 } };

/** `d-0`, `d-1` … */
function details(count: number, { from = 0, depth = 1, prefix = 'd' } = {}): NewItem[] {
  return newItems(count, { prefix, from }).map((item) => ({ ...item, depth }));
}

function scrapedWith(items: readonly NewItem[], more: { invalid?: number; beyond?: number } = {}): Outcome {
  return { kind: 'scraped', artifacts: [], found: { items, ...more } };
}

async function settleOne(ledger: Ledger, jobId: string, outcome: Outcome): Promise<void> {
  assert.deepEqual(await ledger.settle([partOf(await takeOne(ledger, jobId), outcome)], NOW), ['recorded']);
}

async function discoveryOf(ledger: Ledger, jobId: string) {
  return (await jobOf(ledger, jobId)).discovery;
}

/** What attempts found becomes items of the job, in the step that settles them. */
export function discoveryCases(add: AddCase<LedgerParts>): void {
  add('a job in which nothing was found says nothing about it', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId);
    assert.ok(!('discovery' in (await jobOf(ledger, jobId))));
    assert.ok(!('depth' in (await itemOf(ledger, jobId, 'p-0'))));
  });

  add(
    'what an attempt found is part of the job, with its depth, as soon as the attempt is settled',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
      await settleOne(ledger, jobId, scrapedWith(details(3)));
      assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['p-0', 'p-1', 'd-0', 'd-1', 'd-2']);
      const found = await itemOf(ledger, jobId, 'd-1');
      assert.deepEqual([found.status, found.depth, found.input], ['pending', 1, { apn: 'd-1' }]);
      assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 3 });
      await checkBooks(ledger, jobId);

      const seen: [string, number | undefined][] = [];
      for (let left = 4; left > 0; left -= 1) {
        const lease = await takeOne(ledger, jobId);
        for (const { itemId, depth } of lease.items) seen.push([itemId, depth]);
        const deeper = lease.items.flatMap(({ itemId, depth = 0 }) =>
          itemId === 'd-0' ? details(1, { prefix: 'e', depth: depth + 1 }) : [],
        );
        if (deeper.length > 0) left += 1;
        await ledger.settle([partOf(lease, deeper.length > 0 ? scrapedWith(deeper) : SCRAPED)], NOW);
      }
      assert.deepEqual(seen, [
        ['p-1', undefined],
        ['d-0', 1],
        ['d-1', 1],
        ['d-2', 1],
        ['e-0', 2],
      ]);
      assert.equal((await complete(ledger, jobId)).counts.success, 6);
      await checkBooks(ledger, jobId);
    },
  );

  add('what a skipped attempt found counts, and what a failed one found does not', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
    await settleOne(ledger, jobId, { kind: 'skipped', reason: 'cached', found: { items: details(1) } });
    await settleOne(ledger, jobId, failedWith('timeout'));
    assert.equal((await jobOf(ledger, jobId)).counts.total, 3);
    await reopenAll(ledger, jobId);
    await runAll(ledger, jobId, scrapedWith(details(2)));
    assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['p-0', 'p-1', 'd-0', 'd-1']);
    await checkBooks(ledger, jobId);
  });

  add('a job is never exhausted between its last item and what that found', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { policy: ONE_WORKER });
    await settleOne(ledger, jobId, scrapedWith(details(1)));
    assert.match(await refusal(ledger, jobId, { kind: 'finish' }), /not every item is final/);
    assert.equal((await ledger.dispatch(jobId, 1, NOW))?.plan.kind, 'go');
  });

  add('an item is added once, whatever found or submitted it before, and the first input stays', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
    const other = (item: NewItem): NewItem => ({ ...item, input: { apn: 'another' } });
    const [one, two] = details(2);
    assert.ok(one && two);
    await settleOne(ledger, jobId, scrapedWith([one, ...details(1, { prefix: 'p' }), two, one, other(two)]));
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 2, duplicates: 2, conflicts: 1 });
    await settleOne(ledger, jobId, scrapedWith([two, other(one), ...details(1, { prefix: 'p', from: 1 }).map(other)]));
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 2, duplicates: 3, conflicts: 3 });
    assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['p-0', 'p-1', 'p-2', 'd-0', 'd-1']);
    assert.deepEqual((await itemOf(ledger, jobId, 'd-0')).input, { apn: 'd-0' });

    const added = await ledger.addItems(
      jobId,
      [...newItems(1, { prefix: 'd' }), ...newItems(1, { prefix: 'x' })],
      0,
      NOW,
    );
    assert.ok(added.kind === 'added');
    assert.deepEqual([added.added, added.duplicates], [1, [0]], 'submitting what was found adds nothing either');
    await runAll(ledger, jobId, scrapedWith([one, two, ...details(1, { prefix: 'x' })]));
    assert.equal((await jobOf(ledger, jobId)).counts.total, 6);
    await checkBooks(ledger, jobId);
  });

  add('a failed item keeps its input when it is found again with another', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
    await settleOne(ledger, jobId, failedWith('timeout'));
    await settleOne(ledger, jobId, scrapedWith([{ itemId: 'p-0', input: { apn: 'another' }, depth: 1 }]));
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([item.status, item.input], ['failed', { apn: 'p-0' }]);
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, conflicts: 1 });
  });

  add('a settle that is repeated adds nothing, and neither does one that is fenced', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 2 });
    const [first] = lease.items;
    assert.ok(first);
    const part = { token: lease.token, jobId, items: [settlement(first, scrapedWith(details(2)))] };
    assert.deepEqual(await ledger.settle([part], NOW), ['recorded']);
    assert.deepEqual(await ledger.settle([part], NOW), ['recorded'], 'while the lease is still held');
    await ledger.settle([partOf(lease)], NOW);
    assert.deepEqual(await ledger.settle([part], NOW), ['recorded'], 'after its batch has ended');
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 2 });

    const late = await givenJob(ledger, { jobId: 'late' });
    const lost = await takeOne(ledger, late);
    await ledger.expire(dueBy(NOW + LEASE_MS, NEVER_QUEUED_TOO_LONG), 10);
    assert.deepEqual(await ledger.settle([partOf(lost, scrapedWith(details(2)))], NOW), ['fenced']);
    assert.deepEqual([(await jobOf(ledger, late)).counts.total, await discoveryOf(ledger, late)], [1, undefined]);
    await settleOne(ledger, late, scrapedWith(details(2)));
    assert.equal((await jobOf(ledger, late)).counts.total, 3, 'the next attempt finds the same');
    await checkBooks(ledger, late);
  });

  add('several items that end together may find the same', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 4 });
    const leases = await takeOut(ledger, jobId, { perBatch: 2 });
    const parts = leases.map((lease, index) => partOf(lease, scrapedWith(details(3, { from: index }))));
    assert.ok((await ledger.settle(parts, NOW)).every((answer) => answer === 'recorded'));
    const total = 4 + 3 + leases.length - 1;
    assert.equal((await jobOf(ledger, jobId)).counts.total, total);
    assert.equal(new Set(await idsOf(allItems(ledger, jobId))).size, total);
    const { added = 0, duplicates = 0 } = (await discoveryOf(ledger, jobId)) ?? {};
    assert.deepEqual([added, added + duplicates], [total - 4, 12]);
    await checkBooks(ledger, jobId);
  });

  add('limits of depth and number hold, and what exceeds them is counted', async ({ ledger }) => {
    const discovery = { max_depth: 1, max_items: 3 };
    const jobId = await givenJob(ledger, { items: 2, policy: { ...ONE_WORKER, discovery } });
    await settleOne(
      ledger,
      jobId,
      scrapedWith([...details(2), ...details(1, { prefix: 'e', depth: 2 })], { invalid: 1 }),
    );
    await settleOne(ledger, jobId, scrapedWith(details(4), { beyond: 7 }));
    assert.deepEqual(await discoveryOf(ledger, jobId), {
      ...{ added: 3, duplicates: 2, conflicts: 0, tooDeep: 1, overLimit: 8, invalid: 1 },
    });
    assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['p-0', 'p-1', 'd-0', 'd-1', 'd-2']);
    await checkBooks(ledger, jobId);
  });

  add('a paused job takes up what its last workers found; a cancelled one does not', async ({ ledger }) => {
    const reason = { code: 'user', message: '', evidence: [] } as const;
    const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
    const paused = await takeOne(ledger, jobId);
    await change(ledger, jobId, { kind: 'pause', reason });
    await ledger.settle([partOf(paused, scrapedWith(details(2)))], NOW);
    assert.equal((await jobOf(ledger, jobId)).counts.total, 5);
    await checkBooks(ledger, jobId);
    await change(ledger, jobId, { kind: 'resume' });
    const busy = await takeOne(ledger, jobId);
    await change(ledger, jobId, { kind: 'cancel' });
    await ledger.settle([partOf(busy, scrapedWith(details(4)))], NOW);
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 2, overLimit: 4 });
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.total, counts.success, counts.cancelled], [5, 2, 3]);
    await checkBooks(ledger, jobId);
  });

  add('found items have groups, and are batched by them', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { policy: ONE_WORKER, batching: { by: 'group', maxItems: 10 } });
    const groups = ['a', 'a', 'b'];
    await settleOne(ledger, jobId, scrapedWith(details(3).map((item, at) => ({ ...item, group: groups[at] ?? '' }))));
    const first = await takeOne(ledger, jobId, { perBatch: 10 });
    assert.deepEqual(
      first.items.map(({ itemId }) => itemId),
      ['d-0', 'd-1'],
    );
    assert.equal((await itemOf(ledger, jobId, 'd-2')).group, 'b');
  });

  add('thousands of items may be found at a time, some of them large, and each of them once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
    const large = { itemId: 'large', input: { text: 'x'.repeat(500_000) }, depth: 1 };
    await settleOne(ledger, jobId, scrapedWith(details(4000)));
    await settleOne(ledger, jobId, scrapedWith([...details(2000, { from: 3000 }), large]));
    assert.deepEqual(await discoveryOf(ledger, jobId), { ...NO_DISCOVERY, added: 5001, duplicates: 1000 });
    assert.equal((await itemOf(ledger, jobId, 'large')).input['text'], large.input.text);
    const places = await Promise.all(['d-0', 'd-3999', 'd-4999'].map((id) => itemOf(ledger, jobId, id)));
    assert.deepEqual(
      places.map(({ seq, depth }) => [seq, depth]),
      [
        [3, 1],
        [4002, 1],
        [5002, 1],
      ],
    );
    const lease = await takeOne(ledger, jobId, { perBatch: 50 });
    assert.deepEqual(
      lease.items.slice(0, 2).map(({ itemId, depth }) => [itemId, depth]),
      [
        ['p-2', undefined],
        ['d-0', 1],
      ],
    );
  });

  add('listeners hear that the job has more items', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { policy: ONE_WORKER });
    const totals: number[] = [];
    const end = ledger.subscribe((event) => {
      if (event.kind === 'job' && event.because === 'items') totals.push(event.job.counts.total);
    });
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, scrapedWith(details(2)))], NOW);
    end();
    assert.deepEqual(totals, [3]);
  });
}
