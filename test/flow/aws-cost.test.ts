import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGET, runCounted } from '../support/aws/cost-run.ts';
import { sized } from '../support/sized.ts';

/** What a job costs, however few its items: its own rows, first batches that are small, a manifest. */
const OF_THE_JOB = { writeUnits: 100, sqsRequests: 40, s3Puts: 20 };

/**
 * Requests per hundred items: a batch is dispatched, claimed and settled, and its message sent, received and deleted,
 * all of them together with others where that can be. What a controller looks at goes by the clock, and is not an
 * item's: `null`. An operation that is not named must not be there at all.
 */
const PER_HUNDRED: Readonly<Record<string, number | null>> = {
  ...{ TransactWriteItems: 4, BatchWriteItem: 1, PutItem: 2, BatchGetItem: 3 },
  ...{ SendMessageBatch: 2, ReceiveMessage: 2, DeleteMessageBatch: 2, ChangeMessageVisibilityBatch: 2 },
  ...{ PutObject: 1, UpdateItem: null, Query: null, GetItem: null, GetQueueAttributes: null, GetQueueUrl: null },
};

// Few at a time, so that batches are full whatever the order in which they end: how a job's last items are shared among
// many workers differs from run to run, and is dear in a job as small as these.

test('items that keep nothing stay within the budgets, and the status of their job is one request', async () => {
  const items = 2000;
  const { job, whole, statusRead } = await runCounted({ items, keeps: 'nothing', workers: 1, concurrency: 2 });
  assert.equal(job.counts.success, items);
  assert.ok(whole.units.write <= BUDGET.writeUnits * items, `${whole.units.write} write units`);
  assert.ok(whole.requests.sqs <= BUDGET.sqsRequests * items, `${whole.requests.sqs} requests to SQS`);
  for (const [operation, { requests }] of Object.entries(whole.byOperation)) {
    const most = PER_HUNDRED[operation];
    assert.notEqual(most, undefined, `${operation}: ${requests} requests that nobody expects`);
    if (most !== null && most !== undefined) {
      assert.ok(requests <= (most * items) / 100, `${operation}: ${requests} requests for ${items} items`);
    }
  }
  assert.deepEqual(statusRead.byOperation, { Query: { requests: 1, units: 1 } });
});

test('an item that keeps three files costs three puts, and is within the budgets', async () => {
  const items = 200;
  const { job, whole } = await runCounted({ items, keeps: 'three files', workers: 1, concurrency: 1 });
  assert.equal(job.counts.success, items);
  const { s3Puts, sqs } = whole.requests;
  assert.ok(s3Puts >= BUDGET.s3Puts * items, `${s3Puts} puts: are they counted?`);
  assert.ok(s3Puts <= BUDGET.s3Puts * items + OF_THE_JOB.s3Puts, `${s3Puts} puts`);
  const { write } = whole.units;
  assert.ok(write <= BUDGET.writeUnits * items + OF_THE_JOB.writeUnits, `${write} write units`);
  assert.ok(sqs <= BUDGET.sqsRequests * items + OF_THE_JOB.sqsRequests, `${sqs} requests to SQS`);
});

test('a job with a delay between its items costs hardly more than others, because its workers keep the delay', async () => {
  const items = sized({ quick: 1000, slow: 20_000 });
  const throttling = { min_delay_between_items_seconds: 0.002 };
  const { job, seconds, whole } = await runCounted({ items, keeps: 'nothing', workers: 2, concurrency: 2, throttling });
  assert.equal(job.counts.success, items);
  assert.ok(seconds >= (items * 2) / 1000 - 0.1, `${items} items in ${seconds} s`);
  const most = 0.6 * items + OF_THE_JOB.writeUnits;
  assert.ok(whole.units.write <= most, `${whole.units.write} write units for ${items} items`);
});
