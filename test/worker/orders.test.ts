import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobLimits } from '../../src/domain/job-limits.ts';
import { policySchema } from '../../src/domain/policy.ts';
import type { WorkOrder } from '../../src/domain/work-order.ts';
import type { Lease } from '../../src/ports/ledger.ts';
import { Orders } from '../../src/worker/orders.ts';
import { FakeClock } from '../support/fake-clock.ts';

const LEASE = { ref: { jobId: 'a' }, jobCreatedAt: 1, policyRevision: 1 } as unknown as Lease;

function setUp() {
  const clock = new FakeClock();
  const job = { rate: 1, asked: 0, isLost: false, isHalted: false };
  const limits: (number | null)[] = [];
  const errors: unknown[] = [];
  const orders = new Orders({
    clock,
    goodMs: 500,
    gate: { setJobLimits: (_: string, { requestsPerSecond }: JobLimits) => limits.push(requestsPerSecond) },
    onError: (_, error) => errors.push(error),
    leases: {
      async workOrder(): Promise<WorkOrder> {
        job.asked += 1;
        if (job.isLost) throw new Error('the call was lost');
        const policy = policySchema.parse({ throttling: { max_requests_per_second: job.rate } });
        return { isHalted: job.isHalted, excess: 0, jobCreatedAt: 1, scraperId: 's', policyRevision: 1, policy };
      },
    },
  });
  return { clock, job, limits, errors, orders };
}

test('while an item waits, a new policy reaches the gate within the time that an order is good for', async () => {
  const { clock, job, limits, orders } = setUp();
  await orders.orderFor(LEASE, clock.elapsed());
  const unwatch = orders.watch('a');
  const unwatchOther = orders.watch('a');
  await clock.advance(100);
  job.rate = 7;
  await clock.advance(500);
  assert.equal(limits.at(-1), 7);
  assert.equal(job.asked, 2, 'one question for all items that wait');
  unwatch();
  await clock.advance(500);
  assert.equal(job.asked, 3);
  unwatchOther();
  await clock.advance(5000);
  assert.deepEqual([job.asked, clock.sleepers], [3, 0]);
});

test('items that begin all the time ask often enough: those that wait ask nothing more', async () => {
  const { clock, job, orders } = setUp();
  const unwatch = orders.watch('a');
  for (let times = 0; times < 50; times += 1) {
    await orders.orderFor(LEASE, clock.elapsed());
    await clock.advance(100);
  }
  assert.ok(job.asked <= 11, `${job.asked} questions in five seconds`);
  unwatch();
});

test('a question that got lost is asked again', async () => {
  const { clock, job, limits, errors, orders } = setUp();
  const unwatch = orders.watch('a');
  job.isLost = true;
  await clock.advance(500);
  assert.equal(errors.length, 1);
  job.isLost = false;
  await clock.advance(500);
  assert.deepEqual(limits, [1]);
  unwatch();
});

test('a job of which a batch was claimed goes on, whatever was known of it before', async () => {
  const { clock, job, orders } = setUp();
  job.isHalted = true;
  const before = clock.elapsed();
  assert.equal((await orders.orderFor(LEASE, before))?.isHalted, true);
  job.isHalted = false;
  // Resumed and claimed at once: the last answer is still fresh.
  assert.equal((await orders.orderFor(LEASE, clock.elapsed()))?.isHalted, false);
  job.isHalted = true;
  await clock.advance(600);
  assert.equal((await orders.orderFor(LEASE, before))?.isHalted, true);
  await orders.orderFor(LEASE, before);
  assert.equal(job.asked, 3, 'what was heard since the batch began is heeded');
});
