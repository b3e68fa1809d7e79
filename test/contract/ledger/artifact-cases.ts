import assert from 'node:assert/strict';
import type { StoredArtifact } from '../../../src/domain/artifact.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { failedOn, NOW, partOf, SKIPPED } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import { allItems, checkBooks, complete, givenJob, itemOf, type LedgerParts, takeOne, takeOut } from './hands.ts';

const SLICE: StoredArtifact = {
  kind: 'html',
  key: 'job-1/segments/1.seg',
  offset: 4096,
  length: 77,
  size: 2000,
  sha256: 'ab'.repeat(32),
  encoding: 'gzip',
  contentType: 'text/html; charset=utf-8',
};
const { offset: _, length: __, ...WHOLE } = { ...SLICE, kind: 'data' as const, key: 'job-1/items/p-0/data.json' };

/** What ledgers record of the bytes that were kept. */
export function artifactCases(add: AddCase<LedgerParts>): void {
  add(
    'a skipped item lists why, and what was kept of it, however it is read, and counts as skipped',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 3 } } });
      const leases = await takeOut(ledger, jobId);
      const kept: Outcome = { kind: 'skipped', reason: 'cached', artifacts: [WHOLE] };
      const outcomes: readonly Outcome[] = [
        kept,
        { kind: 'skipped', reason: 'robots' },
        { kind: 'skipped', reason: 'known-bad', artifacts: [SLICE] },
      ];
      const parts = leases.map((lease, index) => partOf(lease, outcomes[index] ?? SKIPPED));
      assert.deepEqual(await ledger.settle(parts, NOW), ['recorded', 'recorded', 'recorded']);
      const expected = [[WHOLE], [], [SLICE]];
      const shown = async (items: ReturnType<typeof allItems>) => (await items).map(({ artifacts }) => artifacts);
      assert.deepEqual(await shown(allItems(ledger, jobId)), expected);
      assert.deepEqual(await shown(allItems(ledger, jobId, { status: 'skipped' })), expected);
      assert.deepEqual(
        (await ledger.itemsAt(jobId, 0, 3)).map(({ artifacts }) => artifacts),
        expected,
      );
      const record = await itemOf(ledger, jobId, 'p-0');
      assert.deepEqual([record.status, record.artifacts], ['skipped', [WHOLE]]);
      assert.deepEqual(
        record.attempts.map(({ end, failure, skipReason }) => [end, failure, skipReason]),
        [['skipped', null, 'cached']],
      );
      const reasons = (await allItems(ledger, jobId)).map(({ attempts }) => attempts[0]?.skipReason);
      assert.deepEqual(reasons, ['cached', 'robots', 'known-bad']);
      // Said twice, as after a reply that was lost, it is recorded once.
      assert.deepEqual(await ledger.settle(parts.slice(0, 1), NOW + 1), ['recorded']);
      await checkBooks(ledger, jobId);
      assert.equal((await complete(ledger, jobId)).counts.skipped, 3);
      assert.deepEqual(await shown(allItems(ledger, jobId)), expected);
    },
  );

  add('the address of an artifact is recorded as it is, a slice with its offset and length', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    const artifacts = [SLICE, { ...WHOLE, kind: 'document' as const }, { ...SLICE, kind: 'data' as const, offset: 0 }];
    await ledger.settle([partOf(lease, { kind: 'scraped', artifacts })], NOW);
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).artifacts, artifacts);
  });

  add('a failed item keeps the addresses of its slices', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, { ...failedOn('x'), artifacts: [SLICE] } as Outcome)], NOW);
    assert.deepEqual((await itemOf(ledger, jobId, 'p-0')).artifacts, [SLICE]);
  });
}
