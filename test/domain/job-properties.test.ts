import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Circuit, CLOSED, EMPTY_TALLY, type Tally } from '../../src/domain/breaker.ts';
import { finishedOf, inFlightOf, pendingOf } from '../../src/domain/counts.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import {
  applyJobEvent,
  isActive,
  isRefusal,
  type JobEvent,
  type JobRecord,
  needsManifest,
} from '../../src/domain/job.ts';
import { finalStatusOf, whenSettled } from '../../src/domain/job-progress.ts';
import { JOB_STATUSES, type JobStatus, type JobStep, NEXT_JOB_STATUS } from '../../src/domain/job-steps.ts';
import { NO_USAGE, type Usage } from '../../src/domain/usage.ts';
import { sized } from '../support/sized.ts';
import {
  anyOutcome,
  BY_BREAKER,
  BY_STORAGE,
  BY_USER,
  FALLEN,
  jobOf,
  MANIFEST,
  NOW,
  policyOf,
  TRIP,
} from './builders.ts';

/** What holds for every job, in whatever state, and every event. Examples are in job.test.ts. */

function nextOf(status: JobStatus, name: JobStep): JobStatus | undefined {
  const row: Partial<Record<JobStep, JobStatus>> = NEXT_JOB_STATUS[status];
  return row[name];
}

const USED: Usage = [{ host: 'a.test', proxy: 'none', requests: 3, bytesUp: 1, bytesDown: 1, refused: 0, blocked: 0 }];

/** Jobs in any state the tables allow, with counts that are consistent. */
const anyJob: fc.Arbitrary<JobRecord> = fc
  .record({
    status: fc.constantFrom(...JOB_STATUSES),
    held: fc.boolean(),
    reason: fc.constantFrom(null, BY_USER, BY_STORAGE, BY_BREAKER),
    usage: fc.constantFrom<Usage>(NO_USAGE, USED),
    maxRequests: fc.constantFrom(null, 3),
    circuit: fc.constantFrom<Circuit>(
      CLOSED,
      { state: 'open', since: NOW - 10, probeAt: null },
      { state: 'open', since: NOW - 10, probeAt: NOW },
      { state: 'probing', since: NOW - 10 },
    ),
    manifest: fc.constantFrom(null, MANIFEST),
    breaker: fc.record({
      on_trip: fc.constantFrom<'fail' | 'pause'>('fail', 'pause'),
      cooldown_seconds: fc.constantFrom(null, 30),
    }),
    openUntil: fc.constantFrom(0, NOW + 1),
    counts: fc.record({
      ...{ queued: fc.nat(3), inProgress: fc.nat(3), success: fc.nat(5), failed: fc.nat(5), skipped: fc.nat(5) },
      ...{ cancelled: fc.nat(5) },
    }),
    tally: fc.constantFrom<Tally>(EMPTY_TALLY, { ...EMPTY_TALLY, finished: 1 }, FALLEN, {
      ...FALLEN,
      stopper: 'proxy_config',
    }),
    behind: fc.nat(5),
    waiting: fc.oneof(fc.constant(0), fc.nat(10)),
  })
  .map(({ breaker, counts, behind, waiting, maxRequests, ...rest }) => {
    const inFlight = counts.queued + counts.inProgress;
    const itemsInFlight = inFlight === 0 ? 0 : inFlight + behind;
    const total = itemsInFlight + waiting + counts.success + counts.failed + counts.skipped + counts.cancelled;
    const budget = { max_requests: maxRequests };
    return jobOf({ circuit_breaker: breaker, budget }, { ...rest, counts: { ...counts, total }, itemsInFlight });
  });

const anyEvent: fc.Arbitrary<JobEvent> = fc.oneof(
  fc.constantFrom<JobEvent>(
    { kind: 'start' },
    { kind: 'pause', reason: BY_USER },
    { kind: 'pause', reason: BY_STORAGE },
    { kind: 'resume' },
    TRIP,
    { kind: 'probe' },
    { kind: 'close-circuit' },
    { kind: 'cancel' },
    { kind: 'exhaust' },
    { kind: 'finish' },
    { kind: 'complete', round: 1, manifest: MANIFEST },
    { kind: 'policy', policy: policyOf() },
    { kind: 'manifest', round: 1, manifest: MANIFEST },
    { kind: 'manifest', round: 2, manifest: MANIFEST },
    { kind: 'replace-results', by: 'x' },
    { kind: 'withdraw-results', by: { by: 'x', round: 1 }, insteadOf: null },
    { kind: 'remove', incarnation: 'incarnation-1' },
    { kind: 'remove-for-good', incarnation: 'incarnation-1' },
    { kind: 'keep', incarnation: 'incarnation-1' },
    { kind: 'recovered', by: 'x' },
  ),
);

function assertSound(job: JobRecord): void {
  for (const count of Object.values(job.counts)) assert.ok(count >= 0);
  assert.ok(pendingOf(job.counts) >= 0);
  assert.equal(pendingOf(job.counts) + inFlightOf(job.counts) + finishedOf(job.counts), job.counts.total);
  assert.ok(job.itemsInFlight >= inFlightOf(job.counts));
  assert.ok(job.itemsInFlight + finishedOf(job.counts) <= job.counts.total);
}

test('no event breaks the sum of counts, loses an item or changes how one ended', () => {
  fc.assert(
    fc.property(anyJob, anyEvent, (job, event) => {
      assertSound(job);
      const after = applyJobEvent(job, event, NOW);
      if (isRefusal(after)) return;
      assertSound(after);
      assert.equal(after.counts.total, job.counts.total);
      assert.equal(after.counts.inProgress, job.counts.inProgress);
      for (const end of ['success', 'failed', 'skipped'] as const) assert.equal(after.counts[end], job.counts[end]);
      if (event.kind !== 'cancel') assert.deepEqual(after.counts, job.counts);
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});

test('every change of status is one the table has, and a final one is left only by resume or retry', () => {
  const stepsOf: Readonly<Record<JobEvent['kind'], readonly JobStep[]>> = {
    ...{ start: ['start'], pause: ['pause'], resume: ['resume'], trip: ['fail', 'pause'], probe: ['probe'] },
    ...{ 'close-circuit': ['close'], cancel: ['cancel'], complete: ['complete'], policy: [], manifest: [] },
    ...{ finish: ['finish'], 'replace-results': [], 'withdraw-results': [], recovered: [] },
    ...{ remove: [], 'remove-for-good': [], keep: [], 'stop-waiting': [], exhaust: ['pause'] },
    ...{ 'send-control': ['dispatch'], control: ['pause', 'dispatch'], 'negatives-reopened': [] },
  };
  fc.assert(
    fc.property(anyJob, anyEvent, (job, event) => {
      const after = applyJobEvent(job, event, NOW);
      if (isRefusal(after)) {
        assert.ok(after.refused.length > 0);
        return;
      }
      const steps = stepsOf[event.kind];
      if (steps.length === 0) assert.equal(after.status, job.status);
      else assert.ok(steps.some((name) => nextOf(job.status, name) === after.status));
      if (job.status === 'completed' || job.status === 'cancelled') assert.equal(after.status, job.status);
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});

test('a refused event changes nothing, and one that is repeated at once is refused or changes nothing more', () => {
  fc.assert(
    fc.property(anyJob, anyEvent, (job, event) => {
      const before = structuredClone(job);
      const once = applyJobEvent(job, event, NOW);
      assert.deepEqual(job, before);
      if (isRefusal(once) || event.kind === 'policy') return;
      const twice = applyJobEvent(once, event, NOW);
      if (!isRefusal(twice)) assert.deepEqual(twice, once);
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});

test('a job that is held back says why, and one that goes on does not', () => {
  fc.assert(
    fc.property(anyJob, anyEvent, (job, event) => {
      const after = applyJobEvent(job, event, NOW);
      if (isRefusal(after) || after.status === job.status) return;
      assert.equal(after.reason !== null, after.status === 'paused' || after.status === 'failed');
      assert.equal(after.finishedAt !== null, ['failed', 'completed', 'cancelled'].includes(after.status));
    }),
    { numRuns: sized({ quick: 200, slow: 500 }) },
  );
});

test('a process that looks at the active jobs misses none that it has something to do for', () => {
  fc.assert(
    fc.property(anyJob, (job) => {
      fc.pre(job.counts.total > 0);
      const plan = planDispatch(job, 1, NOW);
      const isIdle = plan.kind === 'wait' && plan.until === null;
      if (!isIdle || needsManifest(job)) assert.ok(isActive(job), JSON.stringify(plan));
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});

const isPausedByBreaker = ({ status, reason }: JobRecord) => status === 'paused' && reason?.code === 'breaker';

test('what is planned for a job is never refused: a scheduler that asks again at once would not come to an end', () => {
  const anyRemoval = fc.constantFrom({}, { removing: 'asked' } as const, { removing: true } as const);
  fc.assert(
    fc.property(anyJob, anyRemoval, (job, removal) => {
      // An open circuit is the breaker's pause, or its end of the job; and a job that has not begun has seen nothing.
      fc.pre(job.status !== 'pending');
      fc.pre(job.circuit.state !== 'open' || job.status === 'failed' || isPausedByBreaker(job));
      const planned: JobRecord = { ...job, ...removal };
      const plan = planDispatch(planned, 1, NOW);
      if (plan.kind !== 'verdict' && plan.kind !== 'finish') return;
      const events = { probe: { kind: 'probe' }, close: { kind: 'close-circuit' }, trip: TRIP } as const;
      const event: JobEvent = plan.kind === 'finish' ? { kind: 'finish' } : events[plan.verdict.kind];
      const after = applyJobEvent(planned, event, NOW);
      assert.ok(!isRefusal(after), `${event.kind}: ${JSON.stringify(after)}`);
    }),
    { numRuns: sized({ quick: 500, slow: 2000 }) },
  );
});

test('whatever an item ends as, one count goes up by one and nothing else moves but its batch', () => {
  fc.assert(
    fc.property(anyJob, anyOutcome, fc.boolean(), (job, outcome, endsBatch) => {
      fc.pre(job.counts.inProgress > 0 && job.itemsInFlight > inFlightOf(job.counts));
      const after = whenSettled(job, { outcome }, endsBatch);
      const end = finalStatusOf(outcome);
      const inProgress = job.counts.inProgress - (endsBatch ? 1 : 0);
      assert.deepEqual(after.counts, { ...job.counts, inProgress, [end]: job.counts[end] + 1 });
      assert.equal(after.itemsInFlight, job.itemsInFlight - 1);
      assertSound(after);
    }),
    { numRuns: sized({ quick: 200, slow: 500 }) },
  );
});
