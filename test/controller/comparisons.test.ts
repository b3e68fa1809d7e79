import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type ComparisonAnswer, comparisonSchema } from '../../src/contract/extraction-answers.ts';
import { Comparisons } from '../../src/controller/extraction/comparisons.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { jobOf, reopenAll } from '../contract/ledger/hands.ts';
import { failedWith, newItems, newJob } from '../support/builders.ts';
import { openDesk, pageOf } from './extraction-support.ts';

async function openComparisons(t: TestContext, watch: (key: unknown) => void = () => {}) {
  const desk = await openDesk(t);
  const { ledger, store } = desk;
  const errors: unknown[] = [];
  const watched: Pick<ResultStore, 'get'> = {
    get(at) {
      watch(at);
      return store.get(at);
    },
  };
  const comparisons = new Comparisons({ ...desk, store: watched, onError: (_where, error) => errors.push(error) });
  t.after(() => comparisons.close());
  const ask = async (newer: string, older: string): Promise<ComparisonAnswer> =>
    comparisonSchema.strict().parse(comparisons.compare(await jobOf(ledger, newer), await jobOf(ledger, older)));
  const complete = async (newer: string, older: string): Promise<ComparisonAnswer> => {
    for (;;) {
      const answer = await ask(newer, older);
      if (answer.state === 'complete') return answer;
      assert.deepEqual([answer.state, errors], ['comparing', []]);
      await setImmediate();
    }
  };
  return { ...desk, ask, complete };
}

test('two runs of a list: which items changed, appeared and vanished, whatever their order', async (t) => {
  const { givenJob, ledger, clock, carryOut, complete } = await openComparisons(t);
  await givenJob(6, (item) => (item.itemId === 'p-1' ? failedWith('timeout') : pageOf(item)));
  // Without p-0, with p-6, and the other way round.
  const items = newItems(7).slice(1).reverse();
  await ledger.createJob(newJob({ jobId: 'new' }), items, clock.now());
  await carryOut('new', (item) => {
    if (item.itemId === 'p-2') return failedWith('timeout');
    return pageOf(item, item.itemId === 'p-3' ? { owner: 'SMITH' } : { owner: `owner of ${item.itemId}` });
  });
  assert.deepEqual(await complete('new', 'old'), {
    ...{ job_id: 'new', with: 'old', state: 'complete', examined: 10, total: 10 },
    ...{ compared: 3, changed: 1, appeared: 2, vanished: 2 },
    ...{ appeared_examples: ['p-6', 'p-1'], vanished_examples: ['p-0', 'p-2'] },
    fields: [
      {
        ...{ field: 'owner', items: 1, added: 0, removed: 0 },
        examples: [{ item_id: 'p-3', before: 'owner of p-3', after: 'SMITH' }],
      },
    ],
  });
});

test('the data that a job shows now are compared, and data that are the same are not read', async (t) => {
  const reads: unknown[] = [];
  const { givenJob, begin, replace, carryOut, complete } = await openComparisons(t, (at) => reads.push(at));
  await givenJob(3, (item) => pageOf(item), { jobId: 'old' });
  await givenJob(3, (item) => pageOf(item, { owner: 'NOW' }), { jobId: 'next' });
  await begin({ job_id: 'again' }, { from: 'old' });
  await carryOut('again', () => ({ data: { owner: 'NOW' } }));
  assert.equal((await complete('next', 'old')).changed, 3);
  assert.ok(reads.length > 0);
  await replace('again');
  reads.length = 0;
  assert.partialDeepStrictEqual(await complete('next', 'old'), { compared: 3, changed: 0, fields: [] });
  assert.deepEqual(reads, []);
});

test('a comparison waits for a job that is not over, and compares again one that went on', async (t) => {
  const { givenJob, ledger, clock, carryOut, ask, complete } = await openComparisons(t);
  await givenJob(2, (item) => pageOf(item));
  await ledger.createJob(newJob({ jobId: 'new' }), newItems(2), clock.now());
  assert.partialDeepStrictEqual(await ask('new', 'old'), { state: 'waiting', examined: 0, total: 2 });
  await carryOut('new', (item) => (item.itemId === 'p-1' ? failedWith('timeout') : pageOf(item)));
  assert.partialDeepStrictEqual(await complete('new', 'old'), { compared: 1, vanished: 1 });
  await reopenAll(ledger, 'new', {}, { now: clock.now() });
  assert.partialDeepStrictEqual(await ask('new', 'old'), { state: 'waiting' });
  await carryOut('new', (item) => pageOf(item));
  assert.partialDeepStrictEqual(await complete('new', 'old'), { compared: 2, changed: 0, vanished: 0 });
});
