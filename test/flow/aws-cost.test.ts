import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCounted } from '../support/aws/cost-run.ts';

/** What an item may cost at the most (docs/aws.md). A job this small pays more for each than one of a hundred thousand. */
const BUDGET = { writeUnits: 0.5, sqsRequests: 0.05, s3Puts: 3 };
/** The manifest and what a controller looks at from time to time: of a job, not of its items. */
const OF_THE_JOB = { puts: 20, sqs: 60 };

test('items that keep nothing stay within the budgets, and the status of their job is one request', async () => {
  const items = 5000;
  const { job, whole, statusRead } = await runCounted({ items, keeps: 'nothing', workers: 2, concurrency: 16 });
  assert.equal(job.counts.success, items);
  assert.ok(whole.units.write <= BUDGET.writeUnits * items, `${whole.units.write} write units`);
  assert.ok(whole.requests.sqs <= BUDGET.sqsRequests * items, `${whole.requests.sqs} requests to SQS`);
  assert.ok(whole.requests.s3Puts <= OF_THE_JOB.puts, `${whole.requests.s3Puts} puts`);
  assert.equal(statusRead.requests.dynamo, 1);
});

test('an item that keeps three files costs three puts, and is within the budgets', async () => {
  const items = 800;
  const { job, whole } = await runCounted({ items, keeps: 'three files', workers: 1, concurrency: 4 });
  assert.equal(job.counts.success, items);
  assert.ok(whole.units.write <= BUDGET.writeUnits * items, `${whole.units.write} write units`);
  assert.ok(whole.requests.sqs <= BUDGET.sqsRequests * items + OF_THE_JOB.sqs, `${whole.requests.sqs} requests to SQS`);
  assert.ok(whole.requests.s3Puts <= BUDGET.s3Puts * items + OF_THE_JOB.puts, `${whole.requests.s3Puts} puts`);
});
