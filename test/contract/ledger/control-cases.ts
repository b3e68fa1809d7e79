import assert from 'node:assert/strict';
import type { ControlReport, ControlSeen } from '../../../src/domain/control-state.ts';
import { controlBatchId } from '../../../src/domain/job-controls.ts';
import { MAX_USAGE_ROWS, OTHER_HOSTS, totalUsage, type Usage, type UsageRow } from '../../../src/domain/usage.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, partOf, SCRAPED, settlement } from '../../support/builders.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  change,
  checkBooks,
  claim,
  complete,
  givenJob,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  refusal,
  reopenAll,
  takeOut,
} from './hands.ts';

const CONTROLS = { items: [{ input: { apn: 'known' } }], every: 4, ignore: [] };
const FOUND: ControlSeen = { kind: 'data', digests: { owner: 'abc' }, wrong: null };
const LOST: ControlSeen = { kind: 'failed', type: 'no_results', message: 'no records' };
const TIMED_OUT: ControlSeen = { kind: 'failed', type: 'timeout', message: 'too slow' };

function reportOf(number: number, seen: ControlSeen, startedAt = NOW, usage: Usage = []): ControlReport {
  return { number, key: 'known', input: '{"apn":"known"}', startedAt, seen, usage };
}

const USED: UsageRow = {
  ...{ host: 'county.test', proxy: 'residential', requests: 3, bytesUp: 900, bytesDown: 60_000 },
  ...{ refused: 1, blocked: 2 },
};

/** Sends the control that is due, claims it like a worker, and reports what was seen. */
async function tryControl(ledger: Ledger, jobId: string, seen: ControlSeen, now = NOW): Promise<void> {
  assert.equal((await ledger.dispatch(jobId, 1, now))?.plan.kind, 'control');
  const job = await change(ledger, jobId, { kind: 'send-control' }, now);
  const [lease] = await claim(ledger, [{ jobId, batchId: controlBatchId(job), lane: job.lane }], { now });
  assert.deepEqual([lease?.control, lease?.items], [job.controls?.tried, []]);
  await ledger.reportControl(jobId, reportOf(lease?.control ?? 0, seen, now), now);
}

/** Control items: sent, claimed, reported, and what is reopened after a bad one. */
export function controlCases(add: AddCase<LedgerParts>): void {
  add('a control goes first, then at most `every` items, then the next control', async ({ ledger }) => {
    const jobId = await givenJob(ledger, {
      items: 10,
      policy: { throttling: { max_concurrent_workers: 8 }, controls: CONTROLS },
    });
    await tryControl(ledger, jobId, FOUND);
    const first = await takeOut(ledger, jobId);
    assert.equal(first.length, 4);
    await ledger.settle(
      first.map((lease) => partOf(lease, SCRAPED)),
      NOW,
    );
    await tryControl(ledger, jobId, FOUND);
    const { controls, counts } = await jobOf(ledger, jobId);
    assert.deepEqual([controls?.tried, controls?.good, controls?.out], [2, 2, null]);
    assert.equal(counts.success, 4, 'a control is not an item');
    assert.equal((await takeOut(ledger, jobId)).length, 4);
    await checkBooks(ledger, jobId);
  });

  add('a report counts once, and a claim of a control whose report came is gone', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 10, policy: { controls: CONTROLS } });
    const sent = await change(ledger, jobId, { kind: 'send-control' });
    const ref = { jobId, batchId: controlBatchId(sent), lane: sent.lane };
    const both = await ledger.claim([ref, ref], 'worker-1', NOW + LEASE_MS, NOW);
    assert.ok(both.every((answer) => typeof answer === 'object' && answer.control === 1));
    await ledger.reportControl(jobId, reportOf(1, FOUND), NOW);
    const once = await jobOf(ledger, jobId);
    await ledger.reportControl(jobId, reportOf(1, LOST), NOW + 1);
    assert.deepEqual(await jobOf(ledger, jobId), once, 'the second report');
    assert.deepEqual(await ledger.claim([ref], 'worker-2', NOW + LEASE_MS, NOW), ['gone']);
    await ledger.reportControl('no-such-job', reportOf(1, LOST), NOW);
  });

  add('what a control used is added to its job once, beside what items used', async ({ ledger }) => {
    const policy = { throttling: { max_concurrent_workers: 2 }, controls: { ...CONTROLS, every: 2 } };
    const jobId = await givenJob(ledger, { items: 10, policy });
    const { controls } = await change(ledger, jobId, { kind: 'send-control' });
    const report = reportOf(controls?.tried ?? 0, FOUND, NOW, [USED]);
    const direct = { ...USED, proxy: 'none', requests: 1 } as const;
    await ledger.reportControl(jobId, report, NOW);
    await ledger.reportControl(jobId, report, NOW);
    assert.deepEqual((await jobOf(ledger, jobId)).usage, [USED]);

    const [first, second] = await takeOut(ledger, jobId);
    assert.ok(first && second);
    const settle = ({ token, items }: typeof first) => {
      const settled = items.map((item) => ({ ...settlement(item), usage: [direct, USED] }));
      return ledger.settle([{ token, jobId, items: settled }], NOW);
    };
    await settle(first);
    const next = await change(ledger, jobId, { kind: 'send-control' });
    const number = next.controls?.tried ?? 0;
    await Promise.all([settle(second), ledger.reportControl(jobId, reportOf(number, LOST, NOW, [USED, direct]), NOW)]);
    await ledger.reportControl(jobId, reportOf(number, LOST, NOW, [USED, direct]), NOW);
    const { usage } = await jobOf(ledger, jobId);
    assert.deepEqual(
      [...usage].sort((one, other) => other.requests - one.requests),
      [times(USED, 4), times(direct, 3)],
    );
    await checkBooks(ledger, jobId);
  });

  add('a control that visits many hosts makes the list of its job no longer than items would', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 10, policy: { controls: CONTROLS } });
    for (const letter of ['a', 'b']) {
      const { controls } = await change(ledger, jobId, { kind: 'send-control' });
      const hosts = Array.from({ length: MAX_USAGE_ROWS - 2 }, (_, at) => ({ ...USED, host: `${letter}${at}.test` }));
      await ledger.reportControl(jobId, reportOf(controls?.tried ?? 0, TIMED_OUT, NOW, hosts), NOW);
      await change(ledger, jobId, { kind: 'pause', reason: { code: 'user', message: '', evidence: [] } });
      await change(ledger, jobId, { kind: 'resume' });
    }
    const { usage } = await jobOf(ledger, jobId);
    assert.equal(usage.filter(({ host }) => host !== OTHER_HOSTS).length, MAX_USAGE_ROWS);
    assert.equal(totalUsage(usage).requests, 2 * (MAX_USAGE_ROWS - 2) * USED.requests);
  });

  add(
    'a bad control pauses the job, which is neither finished nor dispatched before its negatives are reopened',
    async ({ ledger }) => {
      const jobId = await givenJob(ledger, { items: 3, policy: { controls: { ...CONTROLS, every: 100 } } });
      await tryControl(ledger, jobId, FOUND);
      for (const [index, lease] of (await takeOut(ledger, jobId)).entries()) {
        await ledger.settle([partOf(lease, index === 0 ? SCRAPED : failedWith('no_results'))], NOW + index);
      }
      assert.match(await refusal(ledger, jobId, { kind: 'finish' }, NOW + 9), /control/);
      await tryControl(ledger, jobId, LOST, NOW + 10);
      const paused = await jobOf(ledger, jobId);
      assert.deepEqual([paused.status, paused.reason?.code], ['paused', 'control']);
      assert.deepEqual(paused.controls?.suspect, { since: NOW });
      assert.equal((await ledger.dispatch(jobId, 1, NOW + 11))?.plan.kind, 'wait');

      await change(ledger, jobId, { kind: 'resume' }, NOW + 12);
      assert.deepEqual((await ledger.dispatch(jobId, 1, NOW + 12))?.plan, { kind: 'reopen', since: NOW });
      await refusal(ledger, jobId, { kind: 'finish' }, NOW + 12);
      assert.equal(await reopenAll(ledger, jobId, { errorType: 'no_results', endedSince: NOW }), 2);
      await change(ledger, jobId, { kind: 'negatives-reopened' }, NOW + 13);
      await refusal(ledger, jobId, { kind: 'negatives-reopened' }, NOW + 13);

      await tryControl(ledger, jobId, FOUND, NOW + 14);
      const again = await takeOut(ledger, jobId, { now: NOW + 15 });
      assert.equal(again.length, 2);
      await ledger.settle(
        again.map((lease) => partOf(lease, SCRAPED)),
        NOW + 16,
      );
      assert.deepEqual((await complete(ledger, jobId, NOW + 17)).counts.success, 3);
    },
  );

  add('only what ended at a time or later is reopened, page by page', async ({ ledger }) => {
    const types = ['no_results', 'not_found', 'no_results', 'timeout', 'no_results'] as const;
    const policy = { throttling: { max_concurrent_workers: types.length } };
    const jobId = await givenJob(ledger, { items: types.length, policy });
    for (const lease of await takeOut(ledger, jobId)) {
      // Each takes ten milliseconds, and begins a second after the one before.
      const items = lease.items.map((item) =>
        settlement(item, failedWith(types[item.seq] ?? 'timeout'), NOW + item.seq * 1000),
      );
      await ledger.settle([{ token: lease.token, jobId, items }], NOW + 5000);
    }
    const reopen = (endedSince: number) =>
      reopenAll(ledger, jobId, { errorType: 'no_results', endedSince }, { limit: 1 });
    assert.equal(await reopen(NOW + 4011), 0);
    assert.equal(await reopen(NOW + 2010), 2);
    assert.equal(await reopen(NOW + 2010), 0, 'they are not failed any more');
    const statuses = (await allItems(ledger, jobId)).map(({ status }) => status);
    assert.deepEqual(statuses, ['failed', 'failed', 'pending', 'failed', 'pending']);
    await checkBooks(ledger, jobId);
  });
}

function times(row: UsageRow, factor: number): UsageRow {
  const { requests, bytesUp, bytesDown, refused, blocked } = row;
  return {
    ...row,
    ...{ requests: factor * requests, bytesUp: factor * bytesUp, bytesDown: factor * bytesDown },
    ...{ refused: factor * refused, blocked: factor * blocked },
  };
}
