import assert from 'node:assert/strict';
import { EMPTY_TALLY, tallyOutcome } from '../../../src/domain/breaker.ts';
import { FAILURE_TYPES, type FailureType } from '../../../src/domain/failure.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import {
  failedOn,
  failedWith,
  NOW,
  partOf,
  SCRAPED,
  SKIPPED,
  scrapedWith,
  settlement,
} from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  complete,
  givenJob,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  reopenAll,
  takeOne,
  takeOut,
  trip,
} from './hands.ts';

const ONE_WORKER = { throttling: { max_concurrent_workers: 1 } };

/** How items end, and who may say so. */
export function settleCases(add: AddCase<LedgerParts>): void {
  add('a success is recorded with its artifacts and its attempt', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const [item] = lease.items;
    assert.ok(item);
    const outcome = scrapedWith('job-1/items/p-0/html.html', 'job-1/items/p-0/data.json');
    const ended = { ...settlement(item, outcome, NOW + 5), tries: 3, durationMs: 1234 };
    assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items: [ended] }], NOW + 9), ['recorded']);
    const record = await itemOf(ledger, jobId, 'p-0');
    assert.equal(record.status, 'success');
    assert.ok(outcome.kind === 'scraped');
    assert.deepEqual(record.artifacts, outcome.artifacts);
    assert.deepEqual(record.attempts, [
      { attempt: 1, tries: 3, startedAt: NOW + 5, durationMs: 1234, end: 'success', failure: null },
    ]);
    await checkBooks(ledger, jobId);
  });

  add('a failed item lists what was fetched of it, until it is reopened', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: { throttling: { max_concurrent_workers: 2 } } });
    const outcome = failedOn('job-1/items/p-0/html.html', 'job-1/items/p-0/metadata.json');
    const [first, second] = await takeOut(ledger, jobId);
    assert.ok(first && second && outcome.kind === 'failed');
    await ledger.settle([partOf(first, outcome), partOf(second, failedWith('timeout'))], NOW);
    const shown = async () => (await allItems(ledger, jobId)).map(({ status, artifacts }) => [status, artifacts]);
    const kept = ['failed', outcome.artifacts];
    assert.deepEqual(await shown(), [kept, ['failed', []]]);
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).artifacts, outcome.artifacts);
    assert.deepEqual((await allItems(ledger, jobId, { status: 'failed' }))[0]?.artifacts, outcome.artifacts);
    await checkBooks(ledger, jobId);

    await reopenAll(ledger, jobId, { itemIds: ['p-0'] });
    assert.deepEqual((await shown())[0], ['pending', []]);
    const again = await takeOne(ledger, jobId);
    await ledger.settle([partOf(again, scrapedWith('job-1/items/p-0/attempt-2/html.html'))], NOW);
    const renewed = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual(
      [renewed.status, renewed.artifacts.map(({ key }) => key)],
      ['success', ['job-1/items/p-0/attempt-2/html.html']],
    );
    await checkBooks(ledger, jobId);
  });

  add(
    'an attempt names the version that was run, if it is not the one that the job was created with',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 4, policy: ONE_WORKER });
      const { scraperVersion } = await jobOf(ledger, jobId);
      const outcomes = [SCRAPED, failedWith('timeout'), SKIPPED, SCRAPED];
      const settleAll = async (versions: readonly (string | undefined)[]) => {
        const lease = await takeOne(ledger, jobId, { perBatch: versions.length });
        const items = lease.items.map((item, index) => {
          const ran = versions[index];
          return { ...settlement(item, outcomes[item.seq]), ...(ran === undefined ? {} : { scraperVersion: ran }) };
        });
        assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
      };
      const told = async () =>
        (await allItems(ledger, jobId)).map(({ attempts }) =>
          attempts.map((attempt) => ('scraperVersion' in attempt ? attempt.scraperVersion : 'as the job')),
        );
      await settleAll([scraperVersion, '9.0.0', '9.1.0', '9.2.0']);
      assert.deepEqual(await told(), [['as the job'], ['9.0.0'], ['9.1.0'], ['9.2.0']]);
      for (const version of [scraperVersion, '10.0.0', undefined]) {
        assert.equal(await reopenAll(ledger, jobId), 1);
        assert.equal((await itemOf(ledger, jobId, 'p-1')).attempts[0]?.scraperVersion, '9.0.0', 'also while it waits');
        await settleAll([version]);
      }
      const [, tried] = await told();
      assert.deepEqual(tried, ['9.0.0', 'as the job', '10.0.0', 'as the job']);
      await checkBooks(ledger, jobId);
    },
  );

  add(
    'an attempt lists its failed tries, even once it is history, and one with a single try lists none',
    async ({ ledger }) => {
      const failedTries = [
        { number: 1, type: 'rate_limited', message: 'HTTP 429 “später”', at: NOW + 1, waitMs: 1500 },
        { number: 2, type: 'timeout', message: '', at: NOW + 1600.5, waitMs: 0 },
        { number: 3, type: 'navigation_failed', message: 'lost', at: NOW + 1700, waitMs: null },
      ] as const;
      const [first] = failedTries;
      const jobId = await givenJob(ledger, { items: 3, policy: ONE_WORKER });
      const lease = await takeOne(ledger, jobId, { perBatch: 3 });
      const outcomes = [failedWith('navigation_failed'), SCRAPED, SCRAPED];
      const listed = [{ tries: 3, failedTries }, { tries: 2, failedTries: [first] }, {}];
      const items = lease.items.map((item, index) => ({ ...settlement(item, outcomes[index]), ...listed[index] }));
      assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
      const told = async () =>
        (await allItems(ledger, jobId)).map(({ attempts }) =>
          attempts.map((attempt) => ('failedTries' in attempt ? attempt.failedTries : 'none')),
        );
      assert.deepEqual(await told(), [[failedTries], [[first]], ['none']]);
      await reopenAll(ledger, jobId);
      assert.deepEqual((await told())[0], [failedTries], 'also while it waits');
      const again = await takeOne(ledger, jobId);
      const ended = again.items.map((item) => ({ ...settlement(item, SCRAPED), tries: 2, failedTries: [first] }));
      await ledger.settle([{ token: again.token, jobId, items: ended }], NOW);
      assert.deepEqual((await told())[0], [failedTries, [first]]);
      assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).attempts[0]?.failedTries, failedTries);
      await checkBooks(ledger, jobId);
    },
  );

  add('a refusal is counted by the last try of a failed item, not by what names its failure', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 4, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 4 });
    const tried = (...types: readonly FailureType[]) => ({
      tries: types.length,
      failedTries: types.map((type, at) => ({ number: at + 1, type, message: '', at: NOW, waitMs: 1 })),
    });
    const ends = [
      { outcome: failedWith('navigation_failed'), ...tried('navigation_failed', 'rate_limited') },
      { outcome: failedWith('blocked'), ...tried('blocked', 'blocked', 'timeout') },
      { outcome: failedWith('blocked') },
      { outcome: SCRAPED, ...tried('blocked') },
    ];
    const items = lease.items.map((item, index) => ({ ...settlement(item), ...ends[index] }));
    assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
    assert.equal((await jobOf(ledger, jobId)).refusals, 2);
    await checkBooks(ledger, jobId);
  });

  add('every kind of outcome is counted, and tallied for the breaker in the order it came', async ({ ledger }) => {
    const outcomes: Outcome[] = [SCRAPED, SKIPPED, ...FAILURE_TYPES.map((type) => failedWith(type)), SCRAPED];
    outcomes.push(failedWith('timeout'), failedWith('blocked'));
    const jobId = await givenJob(ledger, { items: outcomes.length, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: outcomes.length });
    const items = lease.items.map((item, index) => settlement(item, outcomes[index]));
    assert.deepEqual(await ledger.settle([{ token: lease.token, jobId, items }], NOW), ['recorded']);
    const job = await jobOf(ledger, jobId);
    assert.deepEqual(job.tally, outcomes.reduce(tallyOutcome, EMPTY_TALLY));
    assert.equal(job.refusals, 3);
    assert.deepEqual([job.counts.success, job.counts.skipped, job.counts.failed], [2, 1, FAILURE_TYPES.length + 2]);
    const types = (await allItems(ledger, jobId)).map((item) => item.attempts.at(-1)?.failure?.type ?? item.status);
    assert.deepEqual(types, ['success', 'skipped', ...FAILURE_TYPES, 'success', 'timeout', 'blocked']);
    await checkBooks(ledger, jobId);
  });

  add('a batch may be settled in parts and in any order, and ends with its last item', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    for (const [done, index] of [3, 0, 4, 2, 1].entries()) {
      const { counts, itemsInFlight } = await jobOf(ledger, jobId);
      assert.deepEqual([counts.success, counts.inProgress, itemsInFlight], [done, 1, 5 - done]);
      const part = partOf(lease, SCRAPED, lease.items.slice(index, index + 1));
      assert.deepEqual(await ledger.settle([part], NOW), ['recorded']);
      await checkBooks(ledger, jobId);
    }
    const { counts, itemsInFlight } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.success, counts.inProgress, itemsInFlight], [5, 0, 0]);
    assert.deepEqual(await ledger.renew([lease.token], NOW + LEASE_MS), [lease.token]);
  });

  add('parts of several batches and jobs are settled in one call, each answered for itself', async ({ ledger }) => {
    await givenJob(ledger, { jobId: 'a', items: 2 });
    await givenJob(ledger, { jobId: 'b', items: 1 });
    const [one, lost] = await takeOut(ledger, 'a');
    const other = await takeOne(ledger, 'b');
    assert.ok(one && lost);
    await ledger.release(lost.token, 'drained', NOW);
    const parts = [partOf(one), partOf(lost), partOf(other, failedWith('timeout')), partOf(one)];
    assert.deepEqual(await ledger.settle(parts, NOW), ['recorded', 'fenced', 'recorded', 'recorded']);
    const [a, b] = [await jobOf(ledger, 'a'), await jobOf(ledger, 'b')];
    assert.deepEqual([a.counts.success, a.fenced, b.counts.failed, b.fenced], [1, 1, 1, 0]);
    assert.deepEqual(await ledger.settle([], NOW), []);
    await checkBooks(ledger, 'a');
    await checkBooks(ledger, 'b');
  });

  add('two parts of one batch in one call are both recorded', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    const parts = [partOf(lease, SCRAPED, lease.items.slice(0, 3)), partOf(lease, SKIPPED, lease.items.slice(3))];
    assert.deepEqual(await ledger.settle(parts, NOW), ['recorded', 'recorded']);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.success, counts.skipped, counts.inProgress], [3, 2, 0]);
  });

  add('a worker that lost its lease changes nothing, and is counted', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10);
    const before = await jobOf(ledger, jobId);
    const items = await allItems(ledger, jobId);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['fenced']);
    assert.deepEqual(await jobOf(ledger, jobId), { ...before, fenced: 1 });
    assert.deepEqual(await allItems(ledger, jobId), items);
    assert.equal(await ledger.begin(lease.token, lease.items[0]?.seq ?? -1), false);
    assert.equal(await ledger.release(lease.token, 'drained', NOW), false);
    assert.equal((await jobOf(ledger, jobId)).fenced, 1);
  });

  add('a worker that lost its lease cannot overwrite the result of the next attempt', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const late = await takeOne(ledger, jobId, { worker: 'late' });
    await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 10);
    const next = await takeOne(ledger, jobId, { worker: 'next' });
    assert.deepEqual(await ledger.settle([partOf(late, failedWith('timeout'))], NOW), ['fenced']);
    assert.deepEqual(await ledger.settle([partOf(next, scrapedWith('second'))], NOW), ['recorded']);
    const done = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual(await ledger.settle([partOf(late, scrapedWith('first'))], NOW), ['fenced']);
    assert.deepEqual(await itemOf(ledger, jobId, 'p-0'), done);
    assert.equal(done.attempts.length, 1);
    assert.equal(done.attempts[0]?.attempt, 2);
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.fenced, job.counts.success, job.counts.failed], [2, 1, 0]);
    await checkBooks(ledger, jobId);
  });

  add('a repetition of what was recorded is recorded, and changes nothing', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    const first = partOf(lease, failedWith('timeout'), lease.items.slice(0, 2));
    await ledger.settle([first], NOW);
    const midway = await jobOf(ledger, jobId);
    assert.deepEqual(await ledger.settle([first], NOW), ['recorded']);
    assert.deepEqual(await jobOf(ledger, jobId), midway);
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(2))], NOW);
    await complete(ledger, jobId);
    const [job, items] = [await jobOf(ledger, jobId), await allItems(ledger, jobId)];
    assert.deepEqual(await ledger.settle([first, partOf(lease)], NOW), ['recorded', 'recorded']);
    assert.deepEqual([await jobOf(ledger, jobId), await allItems(ledger, jobId)], [job, items]);
    await checkBooks(ledger, jobId);
  });

  add('a part that repeats some and adds some records what is new, under a good lease', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 2))], NOW);
    assert.deepEqual(await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 4))], NOW), ['recorded']);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.success, counts.inProgress], [4, 1]);
    await checkBooks(ledger, jobId);
  });

  add('a part that repeats some and adds some is fenced as a whole when the lease is lost', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 5, policy: ONE_WORKER });
    const lease = await takeOne(ledger, jobId, { perBatch: 5 });
    await ledger.settle([partOf(lease, SCRAPED, lease.items.slice(0, 2))], NOW);
    await ledger.release(lease.token, 'drained', NOW);
    const items = await allItems(ledger, jobId);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['fenced']);
    assert.deepEqual(await allItems(ledger, jobId), items);
    assert.equal((await jobOf(ledger, jobId)).fenced, 1);
  });

  add('writes with an unknown lease or job are fenced', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const forged = { ...partOf(lease), token: 'no-such-token' };
    assert.deepEqual(await ledger.settle([forged, { ...forged, jobId: 'nobody' }], NOW), ['fenced', 'fenced']);
    assert.equal((await jobOf(ledger, jobId)).fenced, 1);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'in_progress');
  });

  add('settling goes on while a job is paused or failed', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const [one, two] = await takeOut(ledger, jobId);
    assert.ok(one && two);
    await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    assert.deepEqual(await ledger.settle([partOf(one, failedWith('timeout'))], NOW), ['recorded']);
    await change(ledger, jobId, { kind: 'resume' });
    await trip(ledger, jobId);
    assert.deepEqual(await ledger.settle([partOf(two)], NOW), ['recorded']);
    assert.partialDeepStrictEqual((await jobOf(ledger, jobId)).counts, { success: 1, failed: 1 });
  });
}
