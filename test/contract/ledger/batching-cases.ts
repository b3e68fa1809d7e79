import assert from 'node:assert/strict';
import type { NewItem } from '../../../src/domain/item.ts';
import type { NewJob } from '../../../src/domain/job.ts';
import type { Lease, Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, newJob, partOf, policyOf, SCRAPED } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  checkBooks,
  claim,
  dispatch,
  itemOf,
  jobOf,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  reopenAll,
  runAll,
  takeOne,
  takeOut,
} from './hands.ts';

/** `a-0`, `a-1` … of group a, and so on; `-` means items without a group. */
function itemsOf(...parts: readonly (readonly [group: string, count: number, from?: number])[]): NewItem[] {
  return parts.flatMap(([group, count, from = 0]) =>
    Array.from({ length: count }, (_, index): NewItem => {
      const itemId = `${group}-${from + index}`;
      return { itemId, input: { url: itemId }, ...(group === '-' ? {} : { group }) };
    }),
  );
}

async function givenBatched(
  ledger: Ledger,
  items: readonly NewItem[],
  maxItems: number,
  job: Parameters<typeof newJob>[0] = {},
): Promise<string> {
  const batched: NewJob = newJob({ batching: { by: 'group', maxItems }, ...job });
  assert.equal((await ledger.createJob(batched, items, NOW)).kind, 'created');
  return batched.jobId;
}

function idsIn(leases: readonly Lease[]): string[][] {
  return leases.map((lease) => lease.items.map((item) => item.itemId));
}

/** Batches by group: one site's pages to one worker. */
export function batchingCases(add: AddCase<LedgerParts>): void {
  add('a batch holds neighbours of one group, in their order and no more than the job wants', async ({ ledger }) => {
    const items = itemsOf(['a', 5], ['b', 2], ['a', 1, 5]);
    const jobId = await givenBatched(ledger, items, 3);
    // Whatever the backend would put into a batch.
    const leases = await takeOut(ledger, jobId, { perBatch: 1 });
    assert.deepEqual(idsIn(leases), [['a-0', 'a-1', 'a-2'], ['a-3', 'a-4'], ['b-0', 'b-1'], ['a-5']]);
    const { counts, itemsInFlight, batching } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.inProgress, itemsInFlight], [4, 8]);
    assert.deepEqual(batching, { by: 'group', maxItems: 3 });
    await checkBooks(ledger, jobId);
    const parts = leases.map((lease) => partOf(lease, SCRAPED));
    assert.deepEqual(await ledger.settle(parts, NOW), ['recorded', 'recorded', 'recorded', 'recorded']);
    assert.equal((await jobOf(ledger, jobId)).counts.success, 8);
  });

  add(
    'no more batches are in flight than workers are allowed, and each freed slot gets the next',
    async ({ ledger }) => {
      const jobId = await givenBatched(ledger, itemsOf(['a', 4], ['b', 3], ['c', 1]), 2, {
        policy: { throttling: { max_concurrent_workers: 2 } },
      });
      const [one, two] = await takeOut(ledger, jobId);
      assert.ok(one && two);
      assert.deepEqual(idsIn([one, two]), [
        ['a-0', 'a-1'],
        ['a-2', 'a-3'],
      ]);
      await ledger.settle([partOf(one, SCRAPED, one.items.slice(0, 1))], NOW);
      assert.equal((await dispatch(ledger, jobId)).length, 0);
      await ledger.settle([partOf(one, SCRAPED, one.items.slice(1))], NOW);
      const next = await takeOne(ledger, jobId);
      await ledger.settle([partOf(two), partOf(next)], NOW);
      assert.deepEqual(idsIn([next, ...(await takeOut(ledger, jobId))]), [['b-0', 'b-1'], ['b-2'], ['c-0']]);
      await checkBooks(ledger, jobId);
    },
  );

  add('items without a group go by themselves, and items added later go on with the last group', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['-', 2], ['a', 2]), 10, { held: true });
    await ledger.addItems(jobId, itemsOf(['a', 3], ['b', 1]), NOW, NOW);
    await ledger.addItems(jobId, itemsOf(['-', 1, 2]), NOW, NOW);
    await ledger.changeJob(jobId, { kind: 'start' }, NOW);
    assert.deepEqual(idsIn(await takeOut(ledger, jobId)), [['--0', '--1'], ['a-0', 'a-1', 'a-2'], ['b-0'], ['--2']]);
  });

  add('a job without batching has the batches it always had, whatever groups its items have', async ({ ledger }) => {
    const job = newJob({ policy: { throttling: { max_concurrent_workers: 2 } } });
    await ledger.createJob(job, itemsOf(['a', 3], ['-', 1], ['b', 4]), NOW);
    assert.deepEqual(idsIn(await takeOut(ledger, job.jobId, { perBatch: 4 })), [
      ['a-0', 'a-1', 'a-2', '--0'],
      ['b-0', 'b-1', 'b-2', 'b-3'],
    ]);
    assert.equal('batching' in (await jobOf(ledger, job.jobId)), false);
  });

  add('an item is read with its group, wherever it came from and whatever became of it', async ({ ledger }) => {
    const items = itemsOf(['a', 2], ['-', 1], ['b', 2]);
    const draft = await ledger.draftJob();
    await draft.add(0, items.slice(0, 2));
    await draft.add(2, items.slice(2));
    assert.deepEqual(await draft.items(0, 100), items);
    assert.deepEqual(await draft.items(3, 1), items.slice(3, 4));
    await draft.commit(newJob({ batching: { by: 'group', maxItems: 2 } }), NOW);
    await ledger.addItems('job-1', itemsOf(['b', 3], ['-', 2]), 0, NOW);

    const expected = ['a', 'a', undefined, 'b', 'b', 'b', undefined];
    const groupsNow = async () => (await allItems(ledger, 'job-1')).map(({ group }) => group);
    assert.deepEqual(await groupsNow(), expected);
    const plain = await itemOf(ledger, 'job-1', '--0');
    assert.equal('group' in plain, false, 'what has no group does not have the field');
    assert.equal((await itemOf(ledger, 'job-1', 'b-2')).group, 'b');
    assert.deepEqual(
      (await ledger.itemsAt('job-1', 1, 3)).map(({ group }) => group),
      ['a', undefined, 'b'],
    );

    const [known] = itemsOf(['a', 1]);
    assert.ok(known);
    const answer = await ledger.addItems('job-1', [{ ...known, group: 'z' }], 0, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: [0], replaced: [], differing: [] });
    assert.deepEqual(await groupsNow(), expected, 'the first group stays');

    const leases = await takeOut(ledger, 'job-1');
    assert.ok(
      leases.flatMap((lease) => lease.items).every((item) => !('group' in item)),
      'a worker needs none',
    );
    await ledger.settle(
      leases.map((lease) => partOf(lease, lease.items[0]?.itemId === 'b-0' ? failedWith('timeout') : SCRAPED)),
      NOW,
    );
    assert.deepEqual(await groupsNow(), expected);
    assert.deepEqual(
      (await allItems(ledger, 'job-1', { status: 'failed' })).map(({ group }) => group),
      ['b', 'b'],
    );
    assert.deepEqual(
      (await allItems(ledger, 'job-1', { status: 'success' }, 2)).map(({ group }) => group),
      [...['a', 'a', undefined, 'b', undefined]],
    );
  });

  add('what came back goes out first, by group and in the order in which it was added', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['a', 6], ['b', 4]), 2, {
      policy: { throttling: { max_concurrent_workers: 4 } },
    });
    const refs = await dispatch(ledger, jobId);
    const [first, second, third, fourth] = await claim(ledger, refs);
    assert.ok(first && second && third && fourth);
    // Not in the order in which they went out.
    await ledger.release(fourth.token, 'drained', NOW);
    await ledger.release(second.token, 'drained', NOW);
    await ledger.release(first.token, 'drained', NOW);
    const again = await takeOut(ledger, jobId);
    assert.equal(again.length, 3);
    for (const ids of idsIn(again)) assert.deepEqual(ids, ids.toSorted(), `the order of ${ids}`);
    assert.deepEqual(idsIn(again).flat().sort(), ['a-0', 'a-1', 'a-2', 'a-3', 'b-0', 'b-1']);
    for (const [one, other] of idsIn(again)) assert.equal(one?.[0], other?.[0], 'one group');
    await checkBooks(ledger, jobId);
  });

  add('items of a lost worker are suspects by group, and recalled ones keep theirs', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['a', 2], ['b', 2], ['c', 2]), 4);
    const [dying, alsoDying, recalled] = await dispatch(ledger, jobId);
    assert.ok(dying && alsoDying && recalled);
    await claim(ledger, [dying, alsoDying], { worker: 'dead' });
    await ledger.abandon('dead', NOW);
    await ledger.expire(dueBy(NOW, NEVER_QUEUED_TOO_LONG), 100);
    await ledger.recall([recalled], NOW);
    const leases = await takeOut(ledger, jobId);
    assert.deepEqual(leases.map(({ suspect, items }) => [suspect, ...items.map((item) => item.itemId)]).sort(), [
      [false, 'c-0', 'c-1'],
      [true, 'a-0', 'a-1'],
      [true, 'b-0', 'b-1'],
    ]);
  });

  add('items that are tried again go out by group', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['a', 3], ['b', 3], ['a', 1, 3]), 2);
    await runAll(ledger, jobId, failedWith('timeout'));
    assert.equal(await reopenAll(ledger, jobId), 7);
    assert.deepEqual(idsIn(await takeOut(ledger, jobId)), [['a-0', 'a-1'], ['a-2'], ['b-0', 'b-1'], ['b-2'], ['a-3']]);
  });

  add('no more is risked than the breaker allows', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['a', 4], ['b', 4]), 4, {
      policy: { circuit_breaker: { min_requests: 6 } },
    });
    const careful = await takeOut(ledger, jobId);
    assert.deepEqual(idsIn(careful), [
      ['a-0', 'a-1', 'a-2', 'a-3'],
      ['b-0', 'b-1'],
    ]);
    await ledger.settle(
      careful.map((lease) => partOf(lease)),
      NOW,
    );
    assert.deepEqual(idsIn(await takeOut(ledger, jobId)), [['b-2', 'b-3']]);
  });

  add('every item of a large job goes out once, in order and with its group alone', async ({ ledger }) => {
    const sizes = [1, 70, 3, 3, 130, 1, 1, 91, 25];
    const items = sizes.flatMap((count, index) => itemsOf([`site ${index}`, count]));
    const job = newJob({
      batching: { by: 'group', maxItems: 25 },
      policy: { throttling: { max_concurrent_workers: 7 } },
    });
    await ledger.createJob(job, items.slice(0, 160), NOW);
    await ledger.addItems(job.jobId, items.slice(160), 0, NOW);
    const seen: string[] = [];
    for (let leases = await takeOut(ledger, job.jobId); leases.length > 0; leases = await takeOut(ledger, job.jobId)) {
      assert.ok(leases.length <= 7);
      for (const ids of idsIn(leases)) {
        assert.ok(ids.length >= 1 && ids.length <= 25);
        assert.equal(new Set(ids.map((id) => id.split('-')[0])).size, 1, `one group: ${ids}`);
        seen.push(...ids);
      }
      await ledger.settle(
        leases.map((lease) => partOf(lease)),
        NOW,
      );
    }
    assert.deepEqual(
      seen,
      items.map((item) => item.itemId),
    );
  });

  add('a policy that is changed leaves the batching as it is', async ({ ledger }) => {
    const jobId = await givenBatched(ledger, itemsOf(['a', 4]), 2);
    const policy = policyOf({ throttling: { max_concurrent_workers: 1 } });
    await ledger.changeJob(jobId, { kind: 'policy', policy }, NOW);
    assert.deepEqual(idsIn([await takeOne(ledger, jobId)]), [['a-0', 'a-1']]);
  });
}
