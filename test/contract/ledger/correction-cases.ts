import assert from 'node:assert/strict';
import type { NewItem } from '../../../src/domain/item.ts';
import { failedOn, failedWith, NOW, newItems, newJob, partOf, SCRAPED, SKIPPED } from '../../support/builders.ts';
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
  itemOf,
  jobOf,
  type LedgerParts,
  reopenAll,
  runAll,
  takeOne,
  takeOut,
  trip,
} from './hands.ts';

/** Items that are added again with another input: a failed one takes it, any other keeps its own. */
export function correctionCases(add: AddCase<LedgerParts>): void {
  add(
    'a failed item takes another input and is pending with it, with its history and no strikes',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3 });
      await runAll(ledger, jobId, failedOn('job-1/p/html.html'));
      await complete(ledger, jobId);
      const answer = await ledger.addItems(jobId, [corrected('p-1'), ...newItems(1)], NOW + 500, NOW);
      assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: [0, 1], replaced: [0], differing: [] });

      const job = await jobOf(ledger, jobId);
      assert.deepEqual([job.status, job.round, job.manifest, job.finishedAt], ['in_progress', 2, null, null]);
      assert.equal(job.openUntil, NOW + 500);
      const item = await itemOf(ledger, jobId, 'p-1');
      assert.deepEqual(item.input, { apn: 'p-1, corrected' });
      assert.deepEqual([item.status, item.strikes, item.deliveries, item.artifacts], ['pending', 0, 1, []]);
      assert.deepEqual(
        item.attempts.map(({ attempt, end }) => [attempt, end]),
        [[1, 'failed']],
      );
      assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'failed', 'the same input reopens nothing');
      await checkBooks(ledger, jobId);

      const lease = await takeOne(ledger, jobId);
      assert.deepEqual(
        lease.items.map(({ itemId, input, attempt }) => ({ itemId, input, attempt })),
        [{ itemId: 'p-1', input: { apn: 'p-1, corrected' }, attempt: 2 }],
      );
      await ledger.settle([partOf(lease, SCRAPED)], NOW);
      assert.equal((await itemOf(ledger, jobId, 'p-1')).status, 'success');
      await checkBooks(ledger, jobId);
    },
  );

  add('the same correction sent twice is taken once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    await runAll(ledger, jobId, failedWith('invalid_input'));
    const correct = () => ledger.addItems(jobId, [corrected('p-0')], 0, NOW);
    assert.deepEqual(await correct(), { kind: 'added', added: 0, duplicates: [0], replaced: [0], differing: [] });
    const nothing = { kind: 'added', added: 0, duplicates: [0], replaced: [], differing: [] };
    assert.deepEqual(await correct(), nothing, 'while it is pending');
    await runAll(ledger, jobId, failedWith('invalid_input'));
    assert.deepEqual(await correct(), nothing, 'it failed with this input, too');
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).attempts.length, 2);
    await checkBooks(ledger, jobId);
  });

  add('an input is replaced as often as the item fails, and the last one counts', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    for (const version of ['one', 'two', 'three', 'two']) {
      await runAll(ledger, jobId, failedWith('invalid_input'));
      const answer = await ledger.addItems(jobId, [corrected('p-0', version)], 0, NOW);
      assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: [0], replaced: [0], differing: [] }, version);
      assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).input, { apn: `p-0, ${version}` });
    }
    const lease = await takeOne(ledger, jobId);
    assert.deepEqual([lease.items[0]?.input, lease.items[0]?.attempt], [{ apn: 'p-0, two' }, 5]);
  });

  add('an item that is not failed keeps its input, and the other one is named', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 6, policy: { throttling: { max_concurrent_workers: 1 } } });
    await ledger.settle([partOf(await takeOne(ledger, jobId), SCRAPED)], NOW);
    await ledger.settle([partOf(await takeOne(ledger, jobId), SKIPPED)], NOW);
    const inProgress = await takeOne(ledger, jobId);
    await change(ledger, jobId, { kind: 'policy', policy: newJob().policy });
    const [queued] = await dispatch(ledger, jobId);
    assert.ok(queued);
    const before = await allItems(ledger, jobId);
    assert.deepEqual(
      before.map(({ status }) => status),
      ['success', 'skipped', 'in_progress', 'queued', 'queued', 'queued'],
    );
    const answer = await ledger.addItems(
      jobId,
      ids(6).map((id) => corrected(id)),
      0,
      NOW,
    );
    const all = [0, 1, 2, 3, 4, 5];
    assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: all, replaced: [], differing: all });
    assert.deepEqual(await allItems(ledger, jobId), before);
    assert.deepEqual((await claim(ledger, [queued]))[0]?.items[0]?.input, { apn: 'p-3' });
    await ledger.settle([partOf(inProgress, SCRAPED)], NOW);
    await checkBooks(ledger, jobId);
  });

  add('a retry that came first keeps the input that it was for', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    await runAll(ledger, jobId, failedWith('timeout'));
    await reopenAll(ledger, jobId);
    const answer = await ledger.addItems(jobId, [corrected('p-0')], 0, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: [0], replaced: [], differing: [0] });
    assert.deepEqual((await takeOne(ledger, jobId)).items[0]?.input, { apn: 'p-0' });
  });

  add('a retry and two corrections of the same items at once reopen each item once', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 30 });
    await runAll(ledger, jobId, failedWith('timeout'));
    const some = ids(30).filter((_, index) => index % 3 !== 0);
    const filter = { errorType: null, itemIds: some.slice(0, 5), groupKeys: null, preview: false };
    const [one, other, retried] = await Promise.all([
      ledger.addItems(
        jobId,
        some.map((id) => corrected(id, 'one')),
        0,
        NOW,
      ),
      ledger.addItems(
        jobId,
        some.map((id) => corrected(id, 'other')),
        0,
        NOW,
      ),
      ledger.reopen(jobId, filter, { after: null, limit: 100 }, 0, NOW),
    ]);
    assert.ok(one.kind === 'added' && other.kind === 'added' && 'kind' in retried && retried.kind === 'reopened');
    const taken = [one, other].flatMap((answer, which) =>
      answer.replaced.map((index) => [some[index], which === 0 ? 'one' : 'other'] as const),
    );
    assert.equal(taken.length + retried.items, some.length);
    const latest = new Map(taken);
    assert.equal(latest.size, taken.length, 'none was taken twice');
    for (const { itemId, input, status } of await allItems(ledger, jobId)) {
      const version = latest.get(itemId);
      assert.deepEqual(input, { apn: version === undefined ? itemId : `${itemId}, ${version}` });
      assert.equal(status, some.includes(itemId) ? 'pending' : 'failed');
    }
    await checkBooks(ledger, jobId);
  });

  add('of two inputs for one id in a list, the first counts, however often the list is sent', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    await runAll(ledger, jobId, failedWith('timeout'));
    const list = [corrected('p-0', 'one'), corrected('p-0', 'two'), ...newItems(1), corrected('p-0', 'one')];
    const first = await ledger.addItems(jobId, list, 0, NOW);
    assert.deepEqual(first, { kind: 'added', added: 0, duplicates: [0, 1, 2, 3], replaced: [0], differing: [1, 2] });
    await runAll(ledger, jobId, failedWith('timeout'));
    const again = await ledger.addItems(jobId, list, 0, NOW);
    assert.deepEqual(again, { kind: 'added', added: 0, duplicates: [0, 1, 2, 3], replaced: [], differing: [1, 2] });
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).input, { apn: 'p-0, one' });
    await checkBooks(ledger, jobId);
  });

  add('the group is replaced with the input, and that of its neighbours is not', async ({ ledger }) => {
    const groups = ['a', 'a', 'a', undefined, 'b'];
    const items = groups.map((group, index) => withGroup({ itemId: `p-${index}`, input: {} }, group));
    await ledger.createJob(newJob({ batching: { by: 'group', maxItems: 5 } }), items, NOW);
    await runAll(ledger, 'job-1', failedWith('timeout'));
    const wanted = ['a', 'z', undefined, 'b', 'b'];
    const list = wanted.map((group, index) => withGroup(corrected(`p-${index}`), group));
    const more = withGroup({ itemId: 'p-5', input: {} }, 'b');
    const answer = await ledger.addItems('job-1', [list[1], list[2], list[3], more] as NewItem[], 0, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 1, duplicates: [0, 1, 2], replaced: [0, 1, 2], differing: [] });
    assert.deepEqual(
      (await allItems(ledger, 'job-1')).map(({ group }) => group),
      [...wanted, 'b'],
    );
    const leases = await takeOut(ledger, 'job-1');
    assert.deepEqual(
      leases.map((lease) => lease.items.map(({ itemId }) => itemId)),
      [['p-1'], ['p-2'], ['p-3', 'p-5']],
    );
    await ledger.settle(
      leases.map((lease) => partOf(lease, failedWith('timeout'))),
      NOW,
    );
    // Back, and the last of the job, which has the group of the one that is added after it.
    await ledger.addItems(
      'job-1',
      [withGroup(corrected('p-1', 'again'), 'a'), withGroup(corrected('p-5'), 'c'), { ...more, itemId: 'p-6' }],
      0,
      NOW,
    );
    assert.deepEqual(
      (await allItems(ledger, 'job-1')).map(({ group }) => group),
      ['a', 'a', undefined, 'b', 'b', 'c', 'b'],
    );
  });

  add('a failed or a paused job takes corrections, and does not go on by itself', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    await runAll(ledger, jobId, failedWith('timeout'));
    await trip(ledger, jobId);
    await ledger.addItems(jobId, [corrected('p-0')], 0, NOW);
    assert.equal((await jobOf(ledger, jobId)).status, 'failed');
    assert.deepEqual(await dispatch(ledger, jobId), []);
    await change(ledger, jobId, { kind: 'resume' });
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    await ledger.addItems(jobId, [corrected('p-1')], 0, NOW);
    assert.equal((await jobOf(ledger, jobId)).status, 'paused');
    await checkBooks(ledger, jobId);
    await change(ledger, jobId, { kind: 'resume' });
    await runAll(ledger, jobId);
    assert.equal((await jobOf(ledger, jobId)).counts.success, 2);
  });

  add('a corrected item that is cancelled has nothing of the page of its old input', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    await runAll(ledger, jobId, failedOn('job-1/p/html.html'));
    await ledger.addItems(jobId, [corrected('p-0')], 0, NOW);
    await change(ledger, jobId, { kind: 'cancel' });
    const item = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([item.status, item.artifacts], ['cancelled', []]);
    const answer = await ledger.addItems(jobId, [corrected('p-1')], 0, NOW);
    assert.deepEqual(answer, { kind: 'closed', status: 'cancelled' });
    assert.deepEqual((await itemOf(ledger, jobId, 'p-1')).input, { apn: 'p-1' });
    await checkBooks(ledger, jobId);
  });

  add('a re-extraction that read the page of the old input recovers nothing', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    await runAll(ledger, jobId, failedOn('job-1/p/html.html'));
    await complete(ledger, jobId);
    await change(ledger, jobId, { kind: 'replace-results', by: 'again' });
    await ledger.addItems(jobId, [corrected('p-0')], 0, NOW);
    const reading = { tries: 1, startedAt: NOW, durationMs: 1 };
    const recover = () => ledger.recover(jobId, 'again', [{ seq: 0, attempt: 1, artifacts: [], reading }], NOW);
    assert.deepEqual(await recover(), { kind: 'recovered', taken: 1, items: 0 }, 'while it is pending');
    await runAll(ledger, jobId, failedWith('timeout'));
    assert.deepEqual(await recover(), { kind: 'recovered', taken: 1, items: 0 }, 'it failed with the new input');
    await checkBooks(ledger, jobId);
  });

  add('many large inputs are replaced by one call, over the whole job', async ({ ledger }) => {
    const count = sized({ quick: 120, slow: 230 });
    const jobId = await givenJob(ledger, { items: count, policy: { throttling: { max_concurrent_workers: 300 } } });
    await runAll(ledger, jobId, failedWith('invalid_input'));
    const text = 'x'.repeat(20_000);
    const list = ids(count).map((itemId) => ({ itemId, input: { apn: `${itemId}, corrected`, text } }));
    const answer = await ledger.addItems(jobId, list, 0, NOW);
    const all = list.map((_, index) => index);
    assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: all, replaced: all, differing: [] });
    await checkBooks(ledger, jobId);
    const leases = await takeOut(ledger, jobId);
    const taken = leases.flatMap((lease) => lease.items.map(({ itemId, input }) => ({ itemId, input })));
    const byId = (one: NewItem, other: NewItem) => (one.itemId < other.itemId ? -1 : 1);
    assert.deepEqual(taken.toSorted(byId), list.toSorted(byId));
  });

  add('an input of a megabyte replaces a failed one, and its neighbours are still found', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    await runAll(ledger, jobId, failedWith('invalid_input'));
    const text = noise(1_000_000);
    const answer = await ledger.addItems(jobId, [{ itemId: 'p-1', input: { text } }], 0, NOW);
    assert.deepEqual(answer, { kind: 'added', added: 0, duplicates: [0], replaced: [0], differing: [] });
    const lease = await takeOne(ledger, jobId);
    assert.equal(lease.items[0]?.input['text'], text);
    await reopenAll(ledger, jobId);
    const neighbours = (await takeOut(ledger, jobId)).flatMap(({ items }) => items.map(({ input }) => input));
    assert.deepEqual(neighbours, [{ apn: 'p-0' }, { apn: 'p-2' }]);
  });

  add('one of several large items that were added together is found by itself', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 0, policy: { throttling: { max_concurrent_workers: 1 } } });
    const items = ids(6).map((itemId, index) => ({ itemId, input: { text: noise(240_000, index) } }));
    await ledger.addItems(jobId, items, 0, NOW);
    for (const { itemId, input } of items) {
      const lease = await takeOne(ledger, jobId);
      assert.deepEqual([lease.items[0]?.itemId, lease.items[0]?.input['text'] === input.text], [itemId, true]);
      await ledger.settle([partOf(lease, SCRAPED)], NOW);
    }
  });
}

function corrected(itemId: string, version = 'corrected'): NewItem {
  return { itemId, input: { apn: `${itemId}, ${version}` } };
}

function withGroup(item: NewItem, group: string | undefined): NewItem {
  return group === undefined ? item : { ...item, group };
}

function ids(count: number): string[] {
  return newItems(count).map(({ itemId }) => itemId);
}

/** Text that is hardly any smaller when it is packed. */
function noise(length: number, seed = 1): string {
  let state = seed;
  const letters = Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(33 + ((state >>> 16) % 90));
  });
  return letters.join('');
}
