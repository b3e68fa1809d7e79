import assert from 'node:assert/strict';
import { applyJobEvent, type JobEvent, newJobRecord } from '../../../src/domain/job.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { failedWith, NOW, newItems, newJob, partOf, policyOf, SCRAPED, SKIPPED } from '../../support/builders.ts';
import { deleteJob } from '../../support/delete-job.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  allItems,
  allPages,
  change,
  checkBooks,
  claim,
  complete,
  dispatch,
  givenJob,
  idsOf,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  MANIFEST,
  refusal,
  runAll,
  takeOne,
  trip,
} from './hands.ts';

const PAUSE: JobEvent = { kind: 'pause', reason: { code: 'user', message: 'because', evidence: [] } };
const TRIP: JobEvent = {
  kind: 'trip',
  evidence: [
    {
      ...{ type: 'timeout', pattern: 'late', page: null, place: 'county.test/parcel/#', step: null, count: 3 },
      ...{ firstAt: NOW, lastAt: NOW + 5, keys: ['timeout late'] },
      examples: [{ itemId: 'p-0', message: 'late', page: 'html' }],
    },
  ],
};

/** Jobs: made whole, changed by events, listed. */
export function jobCases(add: AddCase<LedgerParts>): void {
  add('a new job is pending, and so are all its items', async ({ ledger }) => {
    const job = newJob({ jobId: 'new', name: 'County', lane: 'browser', labels: { team: 'taxes' }, held: true });
    const answer = await ledger.createJob(job, newItems(3), NOW);
    assert.ok(answer.kind === 'created');
    const expected = newJobRecord(job, 3, NOW, answer.job.incarnation);
    assert.deepEqual(answer.job, expected);
    assert.deepEqual(await ledger.job('new'), expected);
    assert.deepEqual(await idsOf(allItems(ledger, 'new', { status: 'pending' })), ['p-0', 'p-1', 'p-2']);
  });

  add('a job that exists is left as it is', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, name: 'first' });
    const before = await jobOf(ledger, jobId);
    const answer = await ledger.createJob(newJob({ jobId, name: 'second' }), newItems(5, { prefix: 'q' }), NOW + 1);
    assert.deepEqual(answer, { kind: 'exists', job: before });
    assert.deepEqual(await jobOf(ledger, jobId), before);
    assert.equal(await ledger.item(jobId, 'q-0'), null);
  });

  add(
    'a list that holds an id twice makes nothing, and each repetition is named, and whether its input differs',
    async ({ ledger }) => {
      const [a, b] = newItems(2);
      assert.ok(a && b);
      const other = { itemId: b.itemId, input: { apn: 'other' } };
      const answer = await ledger.createJob(newJob(), [a, b, a, other, a], NOW);
      const repeated = [
        { index: 2, first: 0, differs: false },
        { index: 3, first: 1, differs: true },
        { index: 4, first: 0, differs: false },
      ];
      assert.deepEqual(answer, { kind: 'duplicates', repeated });
      assert.equal(await ledger.job('job-1'), null);
      assert.equal(await ledger.item('job-1', 'p-0'), null);
      assert.equal((await ledger.createJob(newJob(), [a, b], NOW)).kind, 'created');
    },
  );

  add('a job may begin without items, and is not complete for that reason', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 0 });
    assert.deepEqual(await allItems(ledger, jobId), []);
    assert.equal((await dispatch(ledger, jobId)).length, 0);
    await refusal(ledger, jobId, { kind: 'finish' });
  });

  add('whatever is in a job comes back as it was', async ({ ledger }) => {
    const jobId = `O'Brien "x" / ../ä 名 \u{1f3e0} %_;--`;
    const policy = policyOf({
      throttling: { max_requests_per_second: 0.5 },
      proxy: { geo_target: { country: 'us', state: 'az', city: 'phoenix' }, escalate: ['none', 'residential'] },
      circuit_breaker: { cooldown_seconds: 1.5 },
    });
    const job = { ...newJob({ jobId, name: '', labels: { 'a b': 'ü', empty: '' } }), policy };
    const input = { apn: '101-02', nested: { list: [1, 2.5, null, true, 'ß\u0000\n'], none: null }, big: 2 ** 53 - 1 };
    await ledger.createJob(job, [{ itemId: '/ ../ "\' ü', input }], NOW);
    const { incarnation } = await jobOf(ledger, jobId);
    assert.deepEqual(await ledger.job(jobId), newJobRecord(job, 1, NOW, incarnation));
    assert.deepEqual((await itemOf(ledger, jobId, '/ ../ "\' ü')).input, input);
    assert.deepEqual((await takeOne(ledger, jobId)).items[0]?.input, input);
  });

  add('the recording of a job is part of it, and workers learn where it is', async ({ ledger }) => {
    const recording = { key: 'k', digest: 'd', origin: 'inline', steps: 3 } as const;
    const jobId = await givenJob(ledger, { recording });
    assert.deepEqual((await jobOf(ledger, jobId)).recording, recording);
    assert.deepEqual((await ledger.workOrder(jobId))?.recording, { key: 'k', digest: 'd' });
    await runAll(ledger, jobId);
    await complete(ledger, jobId);
    assert.deepEqual((await jobOf(ledger, jobId)).recording, recording);
    const other = await givenJob(ledger, { jobId: 'without' });
    assert.deepEqual('recording' in ((await ledger.workOrder(other)) ?? {}), false);
  });

  add('what is not there is said to be missing', async ({ ledger }) => {
    assert.equal(await ledger.job('nobody'), null);
    assert.equal(await ledger.changeJob('nobody', { kind: 'cancel' }, NOW), 'missing');
    assert.equal(await ledger.removeJob('nobody', 'x'), false);
    assert.equal(await ledger.dispatch('nobody', 1, NOW), null);
  });

  add(
    'an event does to a job what the rules of the domain say, and nothing where they refuse it',
    async ({ ledger }) => {
      const strict = { consecutive_failures: 1 };
      const cooling = policyOf({
        circuit_breaker: { ...strict, cooldown_seconds: 60, on_trip: 'pause' },
        throttling: { max_concurrent_workers: 1 },
      });
      const steps: readonly (JobEvent | { readonly settle: Outcome })[] = [
        { kind: 'start' },
        { kind: 'resume' },
        PAUSE,
        { kind: 'start' },
        { kind: 'probe' },
        { kind: 'resume' },
        TRIP,
        { settle: failedWith('timeout') },
        TRIP,
        TRIP,
        { kind: 'resume' },
        { kind: 'close-circuit' },
        { kind: 'policy', policy: cooling },
        TRIP,
        { settle: failedWith('timeout') },
        TRIP,
        { kind: 'probe' },
        { kind: 'close-circuit' },
        { settle: SCRAPED },
        { kind: 'close-circuit' },
        { kind: 'finish' },
        { kind: 'complete', round: 1, manifest: MANIFEST },
        { kind: 'manifest', round: 1, manifest: MANIFEST },
        { kind: 'cancel' },
        { kind: 'cancel' },
        { kind: 'policy', policy: cooling },
        { kind: 'manifest', round: 2, manifest: MANIFEST },
        { kind: 'manifest', round: 1, manifest: MANIFEST },
      ];
      const jobId = await givenJob(ledger, {
        items: 4,
        held: true,
        policy: { circuit_breaker: strict, throttling: { max_concurrent_workers: 1 } },
      });
      for (const [index, step] of steps.entries()) {
        // A minute apart, so that a cooldown is over by the next step.
        const now = NOW + index * 60_000;
        if ('settle' in step) {
          const lease = await takeOne(ledger, jobId, { now });
          await ledger.settle([partOf(lease, step.settle)], now);
          continue;
        }
        const before = await jobOf(ledger, jobId);
        const expected = applyJobEvent(before, step, now);
        assert.deepEqual(await ledger.changeJob(jobId, step, now), expected, step.kind);
        assert.deepEqual(await jobOf(ledger, jobId), 'refused' in expected ? before : expected, step.kind);
      }
    },
  );

  add('a verdict of the breaker from before a resume does not trip the job again', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    assert.equal((await trip(ledger, jobId)).status, 'failed');
    const resumed = await change(ledger, jobId, { kind: 'resume' }, NOW + 1);
    // Another controller, which judged the job before the first trip, would report this.
    await refusal(ledger, jobId, TRIP, NOW + 2);
    assert.deepEqual(await jobOf(ledger, jobId), resumed);
    assert.equal((await dispatch(ledger, jobId, 1, NOW + 2)).length, 1);
  });

  add('a job is completed once, and only when every item is final', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
    const refused = () => refusal(ledger, jobId, { kind: 'finish' });
    await refused();
    for (const outcome of [SCRAPED, SKIPPED, failedWith('not_found')]) {
      const refs = await dispatch(ledger, jobId);
      await refused();
      const [lease] = await claim(ledger, refs);
      assert.ok(lease);
      await refused();
      await ledger.settle([partOf(lease, outcome)], NOW);
    }
    const done = await complete(ledger, jobId, NOW + 5);
    assert.deepEqual([done.status, done.finishedAt, done.round], ['completed', NOW + 5, 1]);
    await refused();
    await refusal(ledger, jobId, { kind: 'complete', round: 1, manifest: MANIFEST });
    assert.deepEqual(await jobOf(ledger, jobId), done);
  });

  add('a job reads as completed with its manifest, and not before', async ({ ledger }) => {
    const index = { kind: 'complete', round: 1, manifest: MANIFEST } as const;
    for (const isPaused of [false, true]) {
      const jobId = await givenJob(ledger, { jobId: `paused-${isPaused}`, items: 2 });
      await runAll(ledger, jobId);
      await refusal(ledger, jobId, index);
      if (isPaused) await change(ledger, jobId, PAUSE);
      const finishing = await change(ledger, jobId, { kind: 'finish' }, NOW + 5);
      const status = isPaused ? 'paused' : 'in_progress';
      assert.deepEqual([finishing.status, finishing.finishedAt, finishing.manifest], [status, NOW + 5, null]);
      assert.deepEqual(await change(ledger, jobId, { kind: 'finish' }, NOW + 9), finishing, 'once');
      assert.deepEqual((await ledger.dispatch(jobId, 1, NOW + 9))?.plan, { kind: 'wait', until: null });
      assert.deepEqual((await ledger.activeJobs({ after: null, limit: 10 })).entries, [finishing]);
      await refusal(ledger, jobId, { ...index, round: 2 });
      await refusal(ledger, jobId, { ...index, policyRevision: 2 });
      await refusal(ledger, jobId, { ...index, kind: 'manifest' });
      const done = await change(ledger, jobId, { ...index, policyRevision: 1 }, NOW + 9);
      assert.deepEqual([done.status, done.finishedAt, done.manifest], ['completed', NOW + 5, MANIFEST]);
      assert.equal(done.reason, null);
      assert.deepEqual(await jobOf(ledger, jobId), done);
      assert.deepEqual((await ledger.activeJobs({ after: null, limit: 10 })).entries, []);
    }
  });

  add('a job that is cancelled while its manifest is written gets another, of a cancelled job', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await runAll(ledger, jobId);
    await change(ledger, jobId, { kind: 'finish' });
    const cancelled = await change(ledger, jobId, { kind: 'cancel' }, NOW + 9);
    assert.deepEqual([cancelled.status, cancelled.round, cancelled.counts.success], ['cancelled', 2, 1]);
    await refusal(ledger, jobId, { kind: 'complete', round: 1, manifest: MANIFEST });
    await refusal(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    await change(ledger, jobId, { kind: 'manifest', round: 2, manifest: MANIFEST });
  });

  add('of many who complete a job at the same time one does it', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 1 });
    await runAll(ledger, jobId);
    const answers = await Promise.all(
      Array.from({ length: 5 }, async (_, index) => {
        await ledger.changeJob(jobId, { kind: 'finish' }, NOW + index);
        return ledger.changeJob(jobId, { kind: 'complete', round: 1, manifest: MANIFEST }, NOW + index);
      }),
    );
    assert.equal(answers.filter((answer) => typeof answer === 'object' && 'status' in answer).length, 1);
    assert.equal((await jobOf(ledger, jobId)).status, 'completed');
  });

  add('jobs are listed newest first, by status or all of them, in pages of any size', async ({ ledger }) => {
    const made = await sevenJobs(ledger);
    const newestFirst = [...made].reverse();
    for (const limit of [1, 2, 3, 7, 100]) {
      const all = await allPages((after) => ledger.jobs({ status: null, page: { after, limit } }));
      assert.deepEqual(all, await Promise.all(newestFirst.map((jobId) => jobOf(ledger, jobId))), `limit ${limit}`);
      const paused = await allPages((after) => ledger.jobs({ status: 'paused', page: { after, limit } }));
      assert.deepEqual(
        paused.map((job) => job.jobId),
        ['waits-for-probe', 'paused-by-user'],
      );
    }
    const first = await ledger.jobs({ status: null, page: { after: null, limit: 2 } });
    assert.equal(first.entries.length, 2);
  });

  add('a job created while a caller reads the pages neither repeats nor hides another', async ({ ledger }) => {
    for (const jobId of ['a', 'b', 'c', 'd']) await givenJob(ledger, { jobId });
    const first = await ledger.jobs({ status: null, page: { after: null, limit: 2 } });
    await givenJob(ledger, { jobId: 'e' });
    await deleteJob(ledger, 'c');
    const second = await ledger.jobs({ status: null, page: { after: first.next, limit: 10 } });
    assert.deepEqual(
      [...first.entries, ...second.entries].map((job) => job.jobId),
      ['d', 'c', 'b', 'a'],
    );
  });

  add('the engine is shown every job that needs it, oldest first, and no other', async ({ ledger }) => {
    await sevenJobs(ledger);
    for (const limit of [1, 2, 100]) {
      const active = await allPages((after) => ledger.activeJobs({ after, limit }));
      assert.deepEqual(
        active.map((job) => job.jobId),
        ['held', 'in-progress', 'waits-for-probe', 'cancelled-in-hands'],
      );
    }
    const replacement = { kind: 'replace-results', by: 'x' } as const;
    await change(ledger, 'completed', replacement);
    const isActive = async () => {
      const active = await allPages((after) => ledger.activeJobs({ after, limit: 100 }));
      return active.some((job) => job.jobId === 'completed');
    };
    assert.ok(await isActive(), 'a completed job whose results are indexed anew');
    await change(ledger, 'completed', { kind: 'manifest', round: 2, manifest: MANIFEST });
    assert.ok(!(await isActive()), 'a manifest ends it');
  });

  add('a cancelled job needs the engine until its workers are done and its manifest is written', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2, policy: { throttling: { max_concurrent_workers: 1 } } });
    const lease = await takeOne(ledger, jobId);
    await change(ledger, jobId, { kind: 'cancel' });
    const isActive = async () => (await ledger.activeJobs({ after: null, limit: 10 })).entries.length === 1;
    assert.equal(await isActive(), true);
    await refusal(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    await ledger.settle([partOf(lease)], NOW);
    assert.equal(await isActive(), true);
    await change(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    assert.equal(await isActive(), false);
  });

  add('the sample of a plan is kept as it was made, and needs the engine until it is removed', async ({ ledger }) => {
    const plan = { items: 90, received: 95, bad: 2, duplicates: 3, conflicts: 1, isKept: false };
    for (const isKept of [false, true]) {
      const jobId = `plan-${isKept}`;
      await ledger.createJob(newJob({ jobId, plan: { ...plan, isKept } }), newItems(1), NOW);
      assert.deepEqual((await jobOf(ledger, jobId)).plan, { ...plan, isKept });
      await change(ledger, jobId, { kind: 'cancel' });
      await change(ledger, jobId, { kind: 'manifest', round: 1, manifest: MANIFEST });
    }
    const active = await allPages((after) => ledger.activeJobs({ after, limit: 10 }));
    assert.deepEqual(
      active.map(({ jobId }) => jobId),
      ['plan-false'],
    );
    const { incarnation } = await jobOf(ledger, 'plan-false');
    await change(ledger, 'plan-false', { kind: 'remove', incarnation });
    await change(ledger, 'plan-false', { kind: 'remove-for-good', incarnation });
    assert.equal(await ledger.removeJob('plan-false', incarnation), true);
    assert.deepEqual((await ledger.activeJobs({ after: null, limit: 10 })).entries, []);
  });

  add('a paused job needs the engine again when the last of its items ends', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await change(ledger, jobId, PAUSE);
    const isActive = async () => (await ledger.activeJobs({ after: null, limit: 10 })).entries.length === 1;
    assert.equal(await isActive(), false);
    await ledger.settle([partOf(lease)], NOW);
    assert.equal(await isActive(), true);
    assert.deepEqual((await ledger.dispatch(jobId, 1, NOW))?.plan, { kind: 'finish' });
  });

  add('a removed job is gone with all that belongs to it', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 3 });
    await givenJob(ledger, { jobId: 'other' });
    const refs = await dispatch(ledger, jobId);
    const [lease] = await ledger.claim(refs.slice(0, 1), 'worker-1', NOW + LEASE_MS, NOW);
    assert.ok(typeof lease === 'object');
    assert.equal(await deleteJob(ledger, jobId), true);
    assert.equal(await deleteJob(ledger, jobId), false);
    assert.equal(await ledger.job(jobId), null);
    assert.equal(await ledger.item(jobId, 'p-0'), null);
    assert.deepEqual(await allItems(ledger, jobId), []);
    assert.deepEqual(await ledger.failureGroups(jobId, 10), []);
    assert.deepEqual(await ledger.claim(refs, 'worker-1', NOW + LEASE_MS, NOW), ['gone', 'gone', 'gone']);
    assert.deepEqual(await ledger.renew([lease.token], NOW + LEASE_MS), [lease.token]);
    assert.equal(await ledger.begin(lease.token, 0), false);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['fenced']);
    assert.equal(await ledger.release(lease.token, 'drained', NOW), false);
    assert.equal(await ledger.recall(refs, NOW), 0);
    assert.deepEqual(await ledger.expire(dueBy(NOW + 9 * LEASE_MS, NOW + 1), 100), { leases: 0, queued: 0 });
    const left = await allPages((after) => ledger.jobs({ status: null, page: { after, limit: 10 } }));
    assert.deepEqual(
      left.map((job) => job.jobId),
      ['other'],
    );
  });

  add('a job made again under the id of a removed one has nothing of it', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const refs = await dispatch(ledger, jobId);
    const [lease] = await ledger.claim(refs.slice(0, 1), 'worker-1', NOW + LEASE_MS, NOW);
    assert.ok(typeof lease === 'object');
    await deleteJob(ledger, jobId);
    await givenJob(ledger, { items: 2, prefix: 'q' });
    const again = await dispatch(ledger, jobId);
    assert.deepEqual(await ledger.claim(refs, 'worker-1', NOW + LEASE_MS, NOW), ['gone', 'gone']);
    assert.deepEqual(await ledger.settle([partOf(lease, failedWith('timeout'))], NOW), ['fenced']);
    assert.deepEqual(await idsOf(allItems(ledger, jobId)), ['q-0', 'q-1']);
    const { counts } = await jobOf(ledger, jobId);
    assert.deepEqual([counts.queued, counts.failed], [again.length, 0]);
    await checkBooks(ledger, jobId);
  });

  add('a record that was handed out does not change any more', async ({ ledger }) => {
    const jobId = await givenJob(ledger, { items: 2 });
    const job = await jobOf(ledger, jobId);
    const item = await itemOf(ledger, jobId, 'p-0');
    const [jobBefore, itemBefore] = [structuredClone(job), structuredClone(item)];
    await runAll(ledger, jobId);
    await complete(ledger, jobId);
    assert.deepEqual([job, item], [jobBefore, itemBefore]);
  });
}

/** One of each kind, in the order in which they are made. */
async function sevenJobs(ledger: Ledger): Promise<readonly string[]> {
  const made: string[] = [];
  const make = async (jobId: string, job: Parameters<typeof givenJob>[1] = {}) => {
    made.push(jobId);
    return givenJob(ledger, { jobId, ...job });
  };
  const statusOf = async (jobId: string): Promise<JobStatus> => (await jobOf(ledger, jobId)).status;

  await make('held', { held: true });
  await make('in-progress');
  await dispatch(ledger, 'in-progress');
  await make('paused-by-user');
  await change(ledger, 'paused-by-user', PAUSE);
  const fail = async (jobId: string) => {
    const lease = await takeOne(ledger, jobId);
    await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
    await trip(ledger, jobId);
  };
  await make('waits-for-probe', {
    items: 2,
    policy: { throttling: { max_concurrent_workers: 1 }, circuit_breaker: { cooldown_seconds: 60 } },
  });
  await fail('waits-for-probe');
  await make('failed', { items: 2, policy: { throttling: { max_concurrent_workers: 1 } } });
  await fail('failed');
  await make('cancelled-in-hands');
  await takeOne(ledger, 'cancelled-in-hands');
  await change(ledger, 'cancelled-in-hands', { kind: 'cancel' });
  await make('completed');
  await runAll(ledger, 'completed');
  await complete(ledger, 'completed');
  assert.deepEqual(await Promise.all(made.map(statusOf)), [
    'pending',
    'in_progress',
    'paused',
    'paused',
    'failed',
    'cancelled',
    'completed',
  ]);
  return made;
}
