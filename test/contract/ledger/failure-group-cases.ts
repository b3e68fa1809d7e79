import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import { MAX_GROUPS, OTHER_PATTERN, type ReadGroup } from '../../../src/domain/failure-group.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { encodeLayout } from '../../../src/domain/page-layout.ts';
import { failuresByStep } from '../../../src/domain/recording/step-failures.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { failedAtStep, failedWith, NOW, partOf, SCRAPED, storedArtifact } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  checkBooks,
  complete,
  finished,
  givenJob,
  idsOf,
  type LedgerParts,
  reopenAll,
  runAll,
  takeOne,
  word,
} from './hands.ts';

const ONE_AT_A_TIME = { throttling: { max_concurrent_workers: 1 } };

/** What a group reports about its failures, and that it can be retried. */
export function failureGroupCases(add: AddCase<LedgerParts>): void {
  add(
    'a group says when and where its failures were seen, and which of its examples have a page',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3, policy: ONE_AT_A_TIME });
      const ends = [
        { outcome: failedAt('county.test/parcel/#', { kind: 'failed_page' }), startedAt: NOW + 50, durationMs: 7 },
        { outcome: failedAt('county.test/parcel/#'), startedAt: NOW + 10, durationMs: 3 },
        { outcome: failedAt('county.test/login', { kind: 'html' }), startedAt: NOW + 90, durationMs: 0 },
      ];
      for (const end of ends) {
        const part = partOf(await takeOne(ledger, jobId), SCRAPED);
        await ledger.settle([{ ...part, items: part.items.map((item) => ({ ...item, ...end })) }], NOW);
      }
      const shown = (await ledger.failureGroups(jobId, 10)).map(({ place, count, firstAt, lastAt, examples }) => {
        return { place, count, times: [firstAt, lastAt], pages: examples.map(({ itemId, page }) => [itemId, page]) };
      });
      assert.deepEqual(shown, [
        {
          ...{ place: 'county.test/parcel/#', count: 2, times: [NOW + 13, NOW + 57] },
          pages: [
            ['p-0', 'failed_page'],
            ['p-1', undefined],
          ],
        },
        { place: 'county.test/login', count: 1, times: [NOW + 90, NOW + 90], pages: [['p-2', 'html']] },
      ]);
      await checkBooks(ledger, jobId);
    },
  );

  add('an example with a page is shown rather than an earlier one without', async ({ ledger }) => {
    const place = 'county.test/parcel/#';
    const plain = Array.from({ length: 4 }, () => failedAt(place));
    const jobId = await finished(ledger, [...plain, failedAt(place, { kind: 'failed_page' }), failedAt(place)]);
    const examples = async () => (await ledger.failureGroups(jobId, 1))[0]?.examples.map(({ itemId }) => itemId);
    assert.equal((await examples())?.[0], 'p-4');
    assert.equal((await examples())?.length, 3);
    await reopenAll(ledger, jobId, { itemIds: ['p-4'] });
    assert.ok(!(await examples())?.includes('p-4'));
    await checkBooks(ledger, jobId);
  });

  add('a retry of a group reopens its items and no others, page by page', async ({ ledger }) => {
    for (const limit of [1, 2, 100]) {
      const jobId = await finished(
        ledger,
        [
          ...[SCRAPED, failedAt('a.test/x'), failedAt('a.test/y'), failedWith('timeout', 'nothing matches')],
          ...[failedAt('a.test/x'), failedWith('structure_changed', 'nothing matches'), failedAt('a.test/x')],
        ],
        `job-${limit}`,
      );
      await complete(ledger, jobId);
      const { keys } = await groupWith(ledger, jobId, ({ place }) => place === 'a.test/x');
      assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys, preview: true }, { limit }), 3);
      assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'pending' })), []);
      assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys }, { limit }), 3);
      assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'pending' })), ['p-1', 'p-4', 'p-6']);
      assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys }, { limit }), 0, 'they have not failed now');
      await checkBooks(ledger, jobId);
    }
  });

  add('a retry of a group may name items, too: both must be true of an item', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedAt('a.test/x'), failedAt('a.test/y'), failedAt('a.test/x')]);
    const { keys } = await groupWith(ledger, jobId, ({ place }) => place === 'a.test/x');
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys, itemIds: ['p-2', 'p-1', 'nobody'] }), 1);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys, errorType: 'timeout' }), 0);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys, errorType: 'structure_changed' }), 1);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'failed' })), ['p-1']);
  });

  add('an item is retried with the group of its last failure, not of an earlier one', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedAt('a.test/x'), failedAt('a.test/x'), failedAt('a.test/y')]);
    const before = await groupWith(ledger, jobId, ({ place }) => place === 'a.test/x');
    await reopenAll(ledger, jobId, { itemIds: ['p-0'] });
    await runAll(ledger, jobId, failedAt('a.test/y'));
    const after = await groupWith(ledger, jobId, ({ place }) => place === 'a.test/y');
    assert.deepEqual([before.count, after.count], [2, 2]);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: before.keys }), 1);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'pending' })), ['p-1']);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: after.keys }), 2);
    await checkBooks(ledger, jobId);
  });

  add('a group that is read as one is retried as one, though it is counted by several layouts', async ({ ledger }) => {
    const layout = (...hashes: readonly string[]) => encodeLayout(hashes, (text) => text.padEnd(12, '.'));
    const [plain, badge] = [layout('bbb', 'ccc', 'ddd'), layout('aaa', 'bbb', 'ccc', 'ddd')];
    const jobId = await finished(
      ledger,
      [plain, badge, badge].map((page) => failedWith('structure_changed', 'nothing matches', page)),
    );
    const [group, ...others] = await ledger.failureGroups(jobId, 10);
    assert.deepEqual([group?.count, group?.keys.length, others.length], [3, 2, 0]);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: group?.keys ?? [] }), 3);
    assert.deepEqual(await ledger.failureGroups(jobId, 10), []);
  });

  add(
    'how many items failed at each step of a recording is exact, and a retried item no longer counts',
    async ({ ledger }) => {
      const jobId = await finished(ledger, [
        ...[failedAtStep('4', 'structure_changed'), failedAtStep('4.then.2', 'timeout'), failedAtStep('4', 'timeout')],
        ...[failedWith('timeout'), SCRAPED, failedAtStep('4', 'structure_changed')],
      ]);
      const read = async () => {
        const { steps, elsewhere } = failuresByStep(await ledger.failureGroups(jobId, 1000));
        return [...steps.map(({ step, types }) => [step.path, step.label, Object.fromEntries(types)]), elsewhere];
      };
      assert.deepEqual(await read(), [
        ['4', 'click "Search"', { structure_changed: 2, timeout: 1 }],
        ['4.then.2', 'click "Search"', { timeout: 1 }],
        1,
      ]);
      const item = (await allItems(ledger, jobId)).find(({ itemId }) => itemId === 'p-0');
      assert.deepEqual(item?.attempts.at(-1)?.failure?.step, { path: '4', label: 'click "Search"' });
      await reopenAll(ledger, jobId, { itemIds: ['p-0', 'p-1'] });
      assert.deepEqual(await read(), [['4', 'click "Search"', { structure_changed: 1, timeout: 1 }], 1]);
      await checkBooks(ledger, jobId);
    },
  );

  add('failures at a step are counted at that step, however many kinds of messages there are', async ({ ledger }) => {
    const words = Array.from({ length: MAX_GROUPS + 3 }, (_, index) => word(index));
    const jobId = await finished(
      ledger,
      words.map((text, index) => failedAtStep(index % 2 === 0 ? '2' : '10', 'timeout', text)),
    );
    const { steps, elsewhere } = failuresByStep(await ledger.failureGroups(jobId, 1000));
    assert.deepEqual(
      steps.map(({ step, count }) => [step.path, count]),
      [
        ['2', (MAX_GROUPS + 4) / 2],
        ['10', (MAX_GROUPS + 2) / 2],
      ],
    );
    assert.equal(elsewhere, 0);
    assert.equal(await reopenAll(ledger, jobId, {}), words.length);
    assert.deepEqual(await ledger.failureGroups(jobId, 1000), []);
  });

  add('failures that share a group because there are too many are retried together', async ({ ledger }) => {
    const words = Array.from({ length: MAX_GROUPS + 3 }, (_, index) => word(index));
    const jobId = await finished(
      ledger,
      words.map((text) => failedWith('timeout', text)),
    );
    const { keys, count } = await groupWith(ledger, jobId, ({ pattern }) => pattern === OTHER_PATTERN);
    assert.equal(await reopenAll(ledger, jobId, { groupKeys: keys }), count);
    assert.equal((await allItems(ledger, jobId, { status: 'failed' })).length, words.length - count);
    await checkBooks(ledger, jobId);
  });
}

function failedAt(place: string, kept?: { readonly kind: 'failed_page' | 'html' }): Outcome {
  return {
    kind: 'failed',
    failure: { ...failure('structure_changed', 'nothing matches'), place },
    ...(kept === undefined ? {} : { artifacts: [{ ...storedArtifact('a-key'), ...kept }] }),
  };
}

async function groupWith(ledger: Ledger, jobId: string, isIt: (group: ReadGroup) => boolean): Promise<ReadGroup> {
  const found = (await ledger.failureGroups(jobId, 1000)).find(isIt);
  assert.ok(found);
  return found;
}
