import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import { failurePattern, MAX_EXAMPLES, MAX_GROUPS, OTHER_PATTERN } from '../../../src/domain/failure-group.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { failedWith, NOW, partOf, SCRAPED, SKIPPED, scrapedWith } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  complete,
  finished,
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
  word,
} from './hands.ts';

const FIRST = { after: null, limit: 100 };
const EVERYTHING = { errorType: null, itemIds: null, groupKeys: null, preview: false };

/** Reopening what failed, and what is known of failures. */
export function retryCases(add: AddCase<LedgerParts>): void {
  add('a retry reopens what failed, and nothing else', async ({ ledger }) => {
    const jobId = await finished(ledger, [SCRAPED, failedWith('timeout'), SKIPPED, failedWith('not_found')]);
    await complete(ledger, jobId);
    assert.equal(await reopenAll(ledger, jobId), 2);
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.status, job.round, job.manifest, job.finishedAt], ['in_progress', 2, null, null]);
    assert.deepEqual(
      (await allItems(ledger, jobId)).map((item) => item.status),
      ['success', 'pending', 'skipped', 'pending'],
    );
    await checkBooks(ledger, jobId);
    await runAll(ledger, jobId);
    const { counts, round } = await complete(ledger, jobId);
    assert.deepEqual([counts.success, round], [3, 2]);
  });

  add('the manifest of the round before comes too late after a retry', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedWith('timeout'), SCRAPED]);
    await change(ledger, jobId, { kind: 'finish' });
    const late = { kind: 'complete', round: 1, manifest: MANIFEST } as const;
    assert.equal(await reopenAll(ledger, jobId), 1);
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.status, job.round, job.manifest, job.finishedAt], ['in_progress', 2, null, null]);
    await refusal(ledger, jobId, late);
    await runAll(ledger, jobId);
    await refusal(ledger, jobId, late);
    await change(ledger, jobId, { kind: 'finish' });
    await refusal(ledger, jobId, late);
    await change(ledger, jobId, { ...late, round: 2 });
    await checkBooks(ledger, jobId);
  });

  add('a reopened item keeps its history, and its next attempt has the next number', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedWith('timeout')]);
    await reopenAll(ledger, jobId);
    const open = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual([open.status, open.deliveries, open.attempts.length], ['pending', 1, 1]);
    assert.deepEqual(await allItems(ledger, jobId, { errorType: 'timeout' }), [], 'it has not failed now');
    const lease = await takeOne(ledger, jobId);
    assert.equal(lease.items[0]?.attempt, 2);
    await ledger.settle([partOf(lease, scrapedWith('attempt-2/html.html'))], NOW);
    const done = await itemOf(ledger, jobId, 'p-0');
    assert.deepEqual(
      done.attempts.map((one) => [one.attempt, one.end]),
      [
        [1, 'failed'],
        [2, 'success'],
      ],
    );
    assert.deepEqual(
      done.artifacts.map((artifact) => artifact.key),
      ['attempt-2/html.html'],
    );
  });

  add('a write of the round before is a repetition, and does not end the item again', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const part = partOf(lease, failedWith('timeout'));
    await ledger.settle([part], NOW);
    await reopenAll(ledger, jobId);
    assert.deepEqual(await ledger.settle([part], NOW), ['recorded']);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'pending');
    await checkBooks(ledger, jobId);
  });

  add('a retry may name a failure or items; anything that is not a failed item is skipped', async ({ ledger }) => {
    const outcomes = ['timeout', 'not_found', 'timeout', 'blocked'] as const;
    const jobId = await finished(ledger, [...outcomes.map((type) => failedWith(type)), SCRAPED]);
    assert.equal(await reopenAll(ledger, jobId, { itemIds: ['p-3', 'nobody', 'p-4', 'p-3'] }), 1);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'pending' })), ['p-3']);
    assert.equal(await reopenAll(ledger, jobId, { errorType: 'timeout', itemIds: ['p-0', 'p-1'] }), 1);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'pending' })), ['p-0', 'p-3']);
    assert.equal(await reopenAll(ledger, jobId, { errorType: 'timeout' }), 1);
    assert.deepEqual(await idsOf(allItems(ledger, jobId, { status: 'failed' })), ['p-1']);
    await checkBooks(ledger, jobId);
  });

  add('a preview counts, and changes nothing', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedWith('timeout'), failedWith('blocked'), SCRAPED]);
    await complete(ledger, jobId);
    const before = await jobOf(ledger, jobId);
    assert.equal(await reopenAll(ledger, jobId, { preview: true }, { openUntil: NOW + 99 }), 2);
    assert.equal(await reopenAll(ledger, jobId, { preview: true, errorType: 'blocked' }, { limit: 1 }), 1);
    assert.equal(await reopenAll(ledger, jobId, { preview: true, itemIds: ['p-0', 'p-2'] }), 1);
    assert.deepEqual(await jobOf(ledger, jobId), before);
    assert.equal((await allItems(ledger, jobId, { status: 'failed' })).length, 2);
  });

  add('page by page every failed item is reopened once, and the round is one', async ({ ledger }) => {
    for (const limit of [1, 2, 3, 100]) {
      const outcomes = [SCRAPED, ...Array<Outcome>(5).fill(failedWith('timeout')), SCRAPED, failedWith('blocked')];
      const jobId = await finished(ledger, outcomes, `job-${limit}`);
      await complete(ledger, jobId);
      assert.equal(await reopenAll(ledger, jobId, {}, { limit }), 6);
      assert.equal(await reopenAll(ledger, jobId, {}, { limit }), 0);
      const job = await jobOf(ledger, jobId);
      assert.deepEqual([job.round, job.counts.failed], [2, 0]);
      await checkBooks(ledger, jobId);
    }
  });

  add('a retry that finds nothing begins no new round', async ({ ledger }) => {
    const jobId = await finished(ledger, [SCRAPED]);
    await complete(ledger, jobId);
    assert.equal(await reopenAll(ledger, jobId), 0);
    const job = await jobOf(ledger, jobId);
    assert.deepEqual([job.status, job.round, job.manifest], ['completed', 1, MANIFEST]);
  });

  add('a job is not completed between two pages of a retry', async ({ ledger }) => {
    const jobId = await finished(ledger, [failedWith('timeout'), failedWith('timeout')]);
    const answer = await ledger.reopen(jobId, EVERYTHING, { after: null, limit: 1 }, NOW + 1000, NOW);
    assert.ok('kind' in answer && answer.kind === 'reopened' && answer.items === 1 && answer.next !== null);
    assert.equal((await jobOf(ledger, jobId)).openUntil, NOW + 1000);
    await runAll(ledger, jobId);
    await refusal(ledger, jobId, { kind: 'finish' }, NOW + 999);
  });

  add('a retry of a tripped job closes its circuit; a paused one stays paused', async ({ ledger }) => {
    const tripped = await finished(ledger, [failedWith('timeout')], 'tripped');
    await trip(ledger, tripped);
    await reopenAll(ledger, tripped);
    const job = await jobOf(ledger, tripped);
    assert.deepEqual([job.status, job.circuit.state, job.tally.failed, job.round], ['in_progress', 'closed', 0, 1]);

    const paused = await finished(ledger, [failedWith('timeout')], 'paused');
    await change(ledger, paused, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
    assert.equal(await reopenAll(ledger, paused), 1);
    assert.equal((await jobOf(ledger, paused)).status, 'paused');
  });

  add('a retry of what is missing or not begun says so', async ({ ledger }) => {
    assert.deepEqual(await ledger.reopen('nobody', EVERYTHING, FIRST, 0, NOW), { kind: 'missing' });
    const jobId = await givenJob(ledger);
    assert.ok('refused' in (await ledger.reopen(jobId, EVERYTHING, FIRST, 0, NOW)));
  });

  add('failures are grouped by what they have in common, commonest first', async ({ ledger }) => {
    const outcomes = [
      failedWith('server_error', 'no page'),
      failedWith('not_found', 'no page'),
      failedWith('timeout', 'parcel 101-01 took 31 s'),
      failedWith('timeout', 'parcel 102-07 took 33 s'),
      failedWith('timeout', 'parcel 103-99 took 35 s'),
      failedWith('timeout', 'parcel 104-12 took 37 s'),
      failedWith('not_found', 'no page'),
    ];
    const jobId = await finished(ledger, outcomes);
    const groups = await ledger.failureGroups(jobId, 10);
    const pattern = failurePattern(failure('timeout', 'parcel 101-01 took 31 s'));
    assert.deepEqual(
      groups.map((group) => [group.type, group.pattern, group.count]),
      [
        ['timeout', pattern, 4],
        ['not_found', 'no page', 2],
        ['server_error', 'no page', 1],
      ],
    );
    assert.equal(groups[0]?.examples.length, MAX_EXAMPLES);
    assert.deepEqual(groups[0]?.examples[0], { itemId: 'p-2', message: 'parcel 101-01 took 31 s' });
    assert.equal((await ledger.failureGroups(jobId, 2)).length, 2);
    assert.deepEqual(await ledger.failureGroups('nobody', 10), []);
  });

  add('failures of one message on pages of different make are different groups', async ({ ledger }) => {
    const outcomes = ['a', 'b', 'a', null, 'b', 'a'].map((page) => failedWith('blocked', 'go away', page));
    const jobId = await finished(ledger, outcomes);
    const groups = async () =>
      (await ledger.failureGroups(jobId, 10)).map(({ page, count, examples }) => [
        page,
        count,
        examples.map(({ itemId }) => itemId),
      ]);
    assert.deepEqual(await groups(), [
      ['a', 3, ['p-0', 'p-2', 'p-5']],
      ['b', 2, ['p-1', 'p-4']],
      [null, 1, ['p-3']],
    ]);
    assert.equal((await itemOf(ledger, jobId, 'p-1')).attempts[0]?.failure?.page, 'b');
    assert.ok(!('page' in ((await itemOf(ledger, jobId, 'p-3')).attempts[0]?.failure ?? {})));
    await reopenAll(ledger, jobId, { itemIds: ['p-2', 'p-3', 'p-4'] });
    assert.deepEqual(await groups(), [
      ['a', 2, ['p-0', 'p-5']],
      ['b', 1, ['p-1']],
    ]);
    await checkBooks(ledger, jobId);
  });

  add('what comes after too many groups is counted together, whatever its page', async ({ ledger }) => {
    const words = Array.from({ length: MAX_GROUPS }, (_, index) => word(index));
    const jobId = await finished(ledger, [
      ...words.map((text) => failedWith('timeout', text, 'a')),
      failedWith('timeout', words[0], 'b'),
      failedWith('timeout', words[1]),
      failedWith('timeout', words[0], 'a'),
    ]);
    const [one, two] = await ledger.failureGroups(jobId, 2);
    assert.deepEqual([one?.pattern, one?.page, one?.count], [words[0], 'a', 2]);
    assert.deepEqual([two?.pattern, two?.page, two?.count], [OTHER_PATTERN, null, 2]);
    assert.equal(await reopenAll(ledger, jobId, { itemIds: [`p-${MAX_GROUPS}`, `p-${MAX_GROUPS + 1}`] }), 2);
    assert.ok((await ledger.failureGroups(jobId, 1000)).every((group) => group.pattern !== OTHER_PATTERN));
    await checkBooks(ledger, jobId);
  });

  add('a reopened item leaves its group, and is no longer an example of it', async ({ ledger }) => {
    const jobId = await finished(
      ledger,
      [1, 2, 3, 4, 5].map((n) => failedWith('timeout', `late by ${n} s`)),
    );
    await reopenAll(ledger, jobId, { itemIds: ['p-0', 'p-4'] });
    const [group] = await ledger.failureGroups(jobId, 10);
    assert.equal(group?.count, 3);
    assert.ok(!group?.examples.some((example) => example.itemId === 'p-0' || example.itemId === 'p-4'));
    await runAll(ledger, jobId, failedWith('blocked', 'go away'));
    assert.deepEqual(
      (await ledger.failureGroups(jobId, 10)).map((one) => [one.type, one.count]),
      [
        ['timeout', 3],
        ['blocked', 2],
      ],
    );
    await reopenAll(ledger, jobId);
    assert.deepEqual(await ledger.failureGroups(jobId, 10), []);
    await checkBooks(ledger, jobId);
  });

  add('messages without end of patterns share one group per type, and every failure is counted', async ({ ledger }) => {
    const words = Array.from({ length: MAX_GROUPS + 30 }, (_, index) => word(index));
    const jobId = await finished(ledger, [
      ...words.map((text) => failedWith('timeout', text)),
      ...words.slice(-5).map((text) => failedWith('blocked', text)),
      failedWith('timeout', words[0]),
    ]);
    const groups = await ledger.failureGroups(jobId, 10_000);
    assert.ok(groups.length <= MAX_GROUPS + 2, `${groups.length} groups`);
    assert.deepEqual(
      groups.filter((group) => group.pattern === OTHER_PATTERN).map((group) => group.type),
      ['timeout', 'blocked'],
    );
    assert.equal(groups.find((group) => group.pattern === words[0])?.count, 2);
    await checkBooks(ledger, jobId);
    await reopenAll(ledger, jobId, { errorType: 'blocked' });
    await checkBooks(ledger, jobId);
    await reopenAll(ledger, jobId);
    assert.deepEqual(await ledger.failureGroups(jobId, 10_000), []);
  });
}
