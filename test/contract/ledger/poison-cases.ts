import assert from 'node:assert/strict';
import { MAX_STRIKES } from '../../../src/domain/strikes.ts';
import type { Lease, Ledger } from '../../../src/ports/ledger.ts';
import { NOW, partOf, SCRAPED } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  checkBooks,
  givenJob,
  itemOf,
  jobOf,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  reopenAll,
  takeOne,
  takeOut,
} from './hands.ts';

const ONE_WORKER = { throttling: { max_concurrent_workers: 1 } };

/** Items that kill their worker. */
export function poisonCases(add: AddCase<LedgerParts>): void {
  add('an item that kills its worker three times is failed as poison, and its neighbours go on', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    for (let deaths = 0; deaths < 20; deaths += 1) {
      const [lease] = await takeOut(ledger, jobId, { perBatch: 5 });
      if (lease === undefined) break;
      await workUntilDeath(ledger, lease, 'p-2');
      await checkBooks(ledger, jobId);
    }
    const items = await allItems(ledger, jobId);
    assert.deepEqual(
      items.map((item) => item.status),
      ['success', 'success', 'failed', 'success', 'success'],
    );
    assert.ok(items.every((item) => item.itemId === 'p-2' || item.strikes <= 1));
    const guilty = items[2];
    const last = guilty?.attempts.at(-1);
    assert.deepEqual(
      [guilty?.strikes, guilty?.deliveries, last?.attempt, last?.end, last?.failure?.type],
      [MAX_STRIKES, MAX_STRIKES, MAX_STRIKES, 'failed', 'poison'],
    );
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.counts.failed, job.tally.failed, job.itemsInFlight], [1, 1, 0]);
    const groups = await ledger.failureGroups(jobId, 10);
    assert.deepEqual(
      groups.map((group) => [group.type, group.count, group.examples.map((example) => example.itemId)]),
      [['poison', 1, ['p-2']]],
    );
  });

  add('the last item of a batch, failed as poison, ends the batch', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    await strike(ledger, jobId, MAX_STRIKES);
    const { counts, itemsInFlight } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.failed, counts.inProgress, counts.queued, itemsInFlight], [1, 0, 0, 0]);
    assert.deepEqual((await ledger.dispatch(jobId, 1, NOW))?.plan, { kind: 'finish' });
  });

  add('of a suspect batch only the item that was begun gets a strike', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    await die(ledger, await takeOne(ledger, jobId, { perBatch: 5 }));
    const suspect = await takeOne(ledger, jobId, { perBatch: 5 });
    assert.equal(suspect.suspect, true);
    const [first, second] = suspect.items;
    assert.ok(first && second);
    await ledger.begin(suspect.token, first.seq);
    await ledger.settle([partOf(suspect, SCRAPED, [first])], NOW);
    await ledger.begin(suspect.token, second.seq);
    await die(ledger, suspect);
    const strikes = (await allItems(ledger, jobId)).map((item) => [item.itemId === second.itemId, item.strikes]);
    assert.ok(
      strikes.every(([isGuilty, count]) => count === (isGuilty ? 2 : 1)),
      JSON.stringify(strikes),
    );
  });

  add('a suspect batch whose worker died between two items charges no item', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
    await die(ledger, await takeOne(ledger, jobId, { perBatch: 3 }));
    await die(ledger, await takeOne(ledger, jobId, { perBatch: 3 }));
    const suspect = await takeOne(ledger, jobId, { perBatch: 3 });
    const [first] = suspect.items;
    assert.ok(first);
    await ledger.begin(suspect.token, first.seq);
    await ledger.settle([partOf(suspect, SCRAPED, [first])], NOW);
    await die(ledger, suspect);
    assert.deepEqual(
      (await allItems(ledger, jobId)).map((item) => item.strikes),
      [1, 1, 1],
    );
    await checkBooks(ledger, jobId);
  });

  add('a mark belongs to one lease, and does not charge the next one', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await strike(ledger, jobId, 1);
    const first = await takeOne(ledger, jobId);
    await ledger.begin(first.token, first.items[0]?.seq ?? -1);
    await ledger.release(first.token, 'drained', NOW);
    await die(ledger, await takeOne(ledger, jobId));
    assert.equal((await itemOf(ledger, jobId, 'p-0')).strikes, 1);
  });

  add(
    'strikes are carried by an item that is given back, and forgotten by one that is reopened',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger);
      await strike(ledger, jobId, 2);
      const held = await takeOne(ledger, jobId);
      await ledger.release(held.token, 'drained', NOW);
      assert.equal((await itemOf(ledger, jobId, 'p-0')).strikes, 2);
      const again = await takeOne(ledger, jobId);
      assert.equal(again.suspect, true);
      await ledger.begin(again.token, again.items[0]?.seq ?? -1);
      await die(ledger, again);
      assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'failed');

      assert.equal(await reopenAll(ledger, jobId, { errorType: 'poison' }), 1);
      const reopened = await itemOf(ledger, jobId, 'p-0');
      assert.deepEqual([reopened.status, reopened.strikes, reopened.deliveries], ['pending', 0, 4]);
      const fresh = await takeOne(ledger, jobId);
      assert.deepEqual([fresh.suspect, fresh.items[0]?.attempt], [false, 5]);
    },
  );

  add('a worker that was only slow cannot undo a poison verdict', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await strike(ledger, jobId, 2);
    const slow = await takeOne(ledger, jobId);
    await ledger.begin(slow.token, slow.items[0]?.seq ?? -1);
    await die(ledger, slow);
    const failed = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual(await ledger.settle([partOf(slow)], NOW), ['fenced']);
    assert.deepEqual(await itemOf(ledger, jobId, 'p-0'), failed);
    assert.equal((await jobOf(ledger, jobId)).fenced, 1);
  });
}

/** Works as a worker does, marks included, and dies at the item that kills. */
async function workUntilDeath(ledger: Ledger, lease: Lease, killer: string): Promise<void> {
  for (const item of lease.items) {
    if (lease.suspect) assert.equal(await ledger.begin(lease.token, item.seq), true);
    if (item.itemId === killer) return die(ledger, lease);
    await ledger.settle([partOf(lease, SCRAPED, [item])], NOW);
  }
}

/** The worker of the only lease there is goes silent. */
async function die(ledger: Ledger, lease: Lease): Promise<void> {
  const { leases } = await ledger.expire(dueBy(lease.until + 1, NEVER_QUEUED_TOO_LONG), 10);
  assert.equal(leases, 1);
}

async function strike(ledger: Ledger, jobId: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const lease = await takeOne(ledger, jobId);
    await ledger.begin(lease.token, lease.items[0]?.seq ?? -1);
    await die(ledger, lease);
  }
}
