import assert from 'node:assert/strict';
import type { ItemRecord, RecoveredItem } from '../../../src/domain/item.ts';
import { isRefusal } from '../../../src/domain/job.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Ledger, LedgerChange } from '../../../src/ports/ledger.ts';
import {
  failedOn,
  failedWith,
  NOW,
  partOf,
  SCRAPED,
  SKIPPED,
  settlement,
  storedArtifact,
} from '../../support/builders.ts';
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
  type LedgerParts,
  MANIFEST,
  refusal,
  reopenAll,
  runAll,
  takeOne,
} from './hands.ts';

const FIRST = { after: null, limit: 100 };
const BY_X = { kind: 'replace-results', by: 'x' } as const;
const READING = { tries: 1, startedAt: NOW + 50, durationMs: 7, scraperVersion: '2.0.0' };

/** Failed items that become successes, because a re-extraction could read their pages. */
export function recoverCases(add: AddCase<LedgerParts>): void {
  add('failed items become successes with their data, and the job is counted again', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [SCRAPED, failedOn('p-1/html'), failedOn('p-2/html'), SKIPPED]);
    const before = await jobOf(ledger, jobId);
    assert.deepEqual([before.recovering, before.manifest, before.round], [true, null, 2]);
    assert.deepEqual(await ledger.recover(jobId, 'x', await failedItems(ledger, jobId), NOW), recovered(2));
    const { success, failed, skipped, total } = (await jobOf(ledger, jobId)).counts;
    assert.deepEqual([success, failed, skipped, total], [3, 0, 1, 4]);
    const item = await itemOf(ledger, jobId, 'p-1');
    assert.deepEqual([item.status, item.deliveries], ['success', 2]);
    assert.deepEqual(
      item.artifacts.map(({ key }) => key),
      ['p-1/html', 'x/p-1/data'],
    );
    assert.deepEqual(item.attempts.at(-1), { attempt: 2, ...READING, end: 'success', failure: null });
    assert.deepEqual([item.attempts.length, item.attempts[0]?.failure?.type], [2, 'structure_changed']);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'success' })), ['p-0', 'p-1', 'p-2']);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'failed' })), []);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { errorType: 'structure_changed' })), []);
    assert.deepEqual(await ledger.failureGroups(jobId, 10), []);
    assert.equal(await reopenAll(ledger, jobId), 0);
    await checkBooks(ledger, jobId);
  });

  add('an attempt names the scraper that read the page, if it is not the job’s', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [failedOn('p-0/html')]);
    const [item] = await failedItems(ledger, jobId);
    assert.ok(item);
    await ledger.recover(jobId, 'x', [{ ...item, reading: { ...READING, scraperId: 'other' } }], NOW);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).attempts.at(-1)?.scraperId, 'other');
  });

  add('the failed tries of an attempt stay in the history of a recovered item', async ({ ledger }) => {
    const failedTries = [{ number: 1, type: 'timeout', message: 'slow', at: NOW, waitMs: 20 }] as const;
    const jobId = await givenJob(ledger, { items: 1 });
    const { token, items } = await takeOne(ledger, jobId);
    const ended = items.map((item) => ({ ...settlement(item, failedOn('p-0/html')), tries: 2, failedTries }));
    await ledger.settle([{ token, jobId, items: ended }], NOW);
    await complete(ledger, jobId);
    await change(ledger, jobId, BY_X);
    assert.deepEqual(await ledger.recover(jobId, 'x', await failedItems(ledger, jobId), NOW), recovered(1));
    const { status, attempts } = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([status, attempts.map((each) => each.failedTries)], ['success', [failedTries, undefined]]);
  });

  add('a recovery requested twice is done once, and only failed items are recovered', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [SCRAPED, failedOn('p-1/html')]);
    const items = await failedItems(ledger, jobId);
    const [item] = items;
    assert.ok(item);
    const success = { ...item, seq: 0 };
    const nowhere = { ...item, seq: 77 };
    const heard: LedgerChange[] = [];
    ledger.subscribe((one) => heard.push(one));
    assert.deepEqual(await ledger.recover(jobId, 'x', [success, nowhere, item, item], NOW), {
      kind: 'recovered',
      taken: 4,
      items: 1,
    });
    const once = await itemOf(ledger, jobId, 'p-1');
    assert.deepEqual(await ledger.recover(jobId, 'x', items, NOW), { kind: 'recovered', taken: 1, items: 0 });
    assert.deepEqual(await itemOf(ledger, jobId, 'p-1'), once);
    assert.deepEqual(
      heard.map((one) => one.kind === 'job' && one.because),
      ['recover'],
    );
    assert.equal((await itemOf(ledger, jobId, 'p-0')).attempts.length, 1);
    await checkBooks(ledger, jobId);
  });

  add('an item that was tried again since is left as it is', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [failedOn('p-0/html'), failedOn('p-1/html'), failedOn('p-2/html')]);
    const items = await failedItems(ledger, jobId);
    await reopenAll(ledger, jobId, { itemIds: ['p-0', 'p-1'] });
    const again = await takeOne(ledger, jobId);
    await ledger.settle([partOf(again, failedOn('p-0/attempt-2/html'))], NOW);
    assert.deepEqual(await ledger.recover(jobId, 'x', items, NOW), { kind: 'recovered', taken: 3, items: 1 });
    assert.deepEqual(
      (await allItems(ledger, jobId)).map(({ status, artifacts }) => [status, artifacts[0]?.key]),
      [
        ['failed', 'p-0/attempt-2/html'],
        ['pending', undefined],
        ['success', 'p-2/html'],
      ],
    );
    await checkBooks(ledger, jobId);
    await runAll(ledger, jobId);
    await checkBooks(ledger, jobId);
  });

  add('only the re-extraction that is in place recovers items, and only until it is done', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [failedOn('p-0/html'), failedOn('p-1/html')]);
    const items = await failedItems(ledger, jobId);
    const refused = async (by: string) => {
      const answer = await ledger.recover(jobId, by, items, NOW);
      assert.ok(isRefusal(answer as never), JSON.stringify(answer));
    };
    await refused('y');
    await change(ledger, jobId, { kind: 'replace-results', by: 'y' });
    await refused('x');
    assert.match(await refusal(ledger, jobId, { kind: 'recovered', by: 'x' }), /not being recovered from x/);
    await ledger.recover(jobId, 'y', items.slice(0, 1), NOW);
    const done = await change(ledger, jobId, { kind: 'recovered', by: 'y' });
    assert.ok(!('recovering' in done));
    await refused('y');
    assert.deepEqual((await jobOf(ledger, jobId)).recoveredFrom, ['y']);
    assert.deepEqual(await ledger.recover('nobody', 'x', items, NOW), { kind: 'missing' });
    const { incarnation } = await jobOf(ledger, jobId);
    await change(ledger, jobId, { kind: 'remove', incarnation });
    await refused('y');
    await checkBooks(ledger, jobId);
  });

  add('a job is active, and has no new index, until its failed items are recovered', async ({ ledger }) => {
    const jobId = await replacedJob(ledger, [SCRAPED, failedOn('p-1/html')]);
    const active = async () => (await ledger.activeJobs(FIRST)).entries.map((job) => job.jobId);
    assert.deepEqual(await active(), [jobId]);
    await refusal(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
    await ledger.recover(jobId, 'x', await failedItems(ledger, jobId), NOW);
    await refusal(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
    await change(ledger, jobId, { kind: 'recovered', by: 'x' });
    await change(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
    assert.deepEqual(await active(), []);
  });

  add('items of a job that is paused, failed or cancelled are recovered like any other', async ({ ledger }) => {
    const paused = await givenJob(ledger, { items: 2, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, paused);
    await ledger.settle([partOf(lease, failedOn('p-0/html'))], NOW);
    await change(ledger, paused, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    await change(ledger, paused, BY_X);
    assert.deepEqual(await ledger.recover(paused, 'x', await failedItems(ledger, paused), NOW), recovered(1));
    await change(ledger, paused, { kind: 'cancel' });
    const { success, failed, cancelled } = (await jobOf(ledger, paused)).counts;
    assert.deepEqual([success, failed, cancelled], [1, 0, 1]);
    await checkBooks(ledger, paused);

    const shut = await givenJob(ledger, {
      jobId: 'shut',
      items: 2,
      policy: { throttling: { max_concurrent_workers: 1 } },
    });
    await ledger.settle([partOf(await takeOne(ledger, shut), failedOn('p-0/html'))], NOW);
    await change(ledger, shut, { kind: 'cancel' });
    await change(ledger, shut, BY_X);
    assert.deepEqual(await ledger.recover(shut, 'x', await failedItems(ledger, shut), NOW), recovered(1));
    assert.deepEqual(
      (await allItems(ledger, shut)).map(({ status }) => status),
      ['success', 'cancelled'],
    );
    await checkBooks(ledger, shut);
  });

  add(
    'many items are recovered in as many steps as it takes, and each group of failures shrinks',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 450 });
      const lost: Outcome = failedWith('timeout');
      for (;;) {
        const leases = await takeAll(ledger, jobId);
        if (leases.length === 0) break;
        await ledger.settle(
          leases.map((lease) => ({
            token: lease.token,
            jobId,
            items: lease.items.flatMap(
              (item) => partOf(lease, item.seq % 3 === 0 ? lost : failedOn(`${item.itemId}/html`), [item]).items,
            ),
          })),
          NOW,
        );
      }
      await complete(ledger, jobId);
      await change(ledger, jobId, BY_X);
      let left = (await failedItems(ledger, jobId)).filter(({ seq }) => seq % 3 !== 0);
      let items = 0;
      while (left.length > 0) {
        const answer = await ledger.recover(jobId, 'x', left, NOW);
        assert.ok('kind' in answer && answer.kind === 'recovered' && answer.taken > 0);
        assert.equal(answer.items, answer.taken);
        items += answer.items;
        left = left.slice(answer.taken);
        await checkBooks(ledger, jobId);
      }
      assert.equal(items, 300);
      const groups = await ledger.failureGroups(jobId, 10);
      assert.deepEqual(
        groups.map(({ type, count }) => [type, count]),
        [['timeout', 150]],
      );
    },
  );
}

function recovered(items: number) {
  return { kind: 'recovered', taken: items, items };
}

async function takeAll(ledger: Ledger, jobId: string) {
  const dispatched = await ledger.dispatch(jobId, 50, NOW);
  const answers = await ledger.claim(dispatched?.refs ?? [], 'worker-1', NOW + 1000, NOW);
  return answers.flatMap((answer) => (typeof answer === 'string' ? [] : [answer]));
}

/** A completed job of which `x` has just replaced the results. */
async function replacedJob(ledger: Ledger, outcomes: readonly Outcome[]): Promise<string> {
  const jobId = await givenJob(ledger, {
    items: outcomes.length,
    policy: { throttling: { max_concurrent_workers: 1 } },
  });
  for (const outcome of outcomes) await ledger.settle([partOf(await takeOne(ledger, jobId), outcome)], NOW);
  await complete(ledger, jobId);
  await change(ledger, jobId, BY_X);
  return jobId;
}

/** All failed items, as if `x` had read each of them. */
async function failedItems(ledger: Ledger, jobId: string): Promise<readonly RecoveredItem[]> {
  return (await allItems(ledger, jobId, { status: 'failed' })).map(recoveredItem);
}

function recoveredItem({ seq, itemId, attempts, artifacts }: ItemRecord): RecoveredItem {
  const data = { ...storedArtifact(`x/${itemId}/data`), kind: 'data' } as const;
  return { seq, attempt: attempts.at(-1)?.attempt ?? 0, artifacts: [...artifacts, data], reading: READING };
}
