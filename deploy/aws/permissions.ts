import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';
import type { Lane } from '../../src/domain/lane.ts';
import type { LaneQueue, Queues } from './queues.ts';
import type { Storage } from './storage.ts';

/**
 * Who may do what, action by action. The `grant…` methods of the CDK give more than is used (Scan, DescribeStream,
 * PurgeQueue, GetObject*), so they are not used. A test compares these lists with the calls that `adapters/aws` makes.
 */

/**
 * A transaction needs the right to each of its parts, and no right of its own. Workers and controllers write the same rows:
 * what a worker settles moves the job's counters.
 */
const LEDGER = [
  ...['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query'],
  ...['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem'],
  'dynamodb:BatchWriteItem',
];

const WRITE_RESULTS = ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'];

export function allowController(role: IRole, { table, bucket }: Storage, { lanes }: Queues): void {
  const queues = Object.values(lanes);
  allow(role, LEDGER, tableAndIndexes(table));
  allow(role, ['sqs:SendMessage', 'sqs:GetQueueAttributes'], arnsOf(queues, 'work'));
  // What ended there is to end as poison in the ledger, and only then to go.
  allow(role, ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueUrl'], arnsOf(queues, 'deadLetters'));
  // Manifests, and the removal of jobs.
  allow(role, [...WRITE_RESULTS, 's3:DeleteObject'], [bucket.arnForObjects('*')]);
  allow(role, ['s3:ListBucket', 's3:ListBucketMultipartUploads'], [bucket.bucketArn]);
}

/**
 * A worker takes from its own lane and writes results. It cannot delete any: it runs code of scrapers. It sends to its own
 * lane only to re-send a message that it had to pass over too often; the content of a message is only a hint.
 */
export function allowWorker(role: IRole, lane: Lane, { table, bucket }: Storage, { lanes }: Queues): void {
  allow(role, LEDGER, tableAndIndexes(table));
  const queueRights = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'];
  allow(role, queueRights, [lanes[lane].work.queueArn]);
  allow(role, WRITE_RESULTS, [bucket.arnForObjects('*')]);
  // Without it, S3 says of an object that is not there that it is forbidden.
  allow(role, ['s3:ListBucket'], [bucket.bucketArn]);
}

function tableAndIndexes(table: TableV2): readonly string[] {
  return [table.tableArn, ...TABLE_SCHEMA.indexes.map(({ name }) => `${table.tableArn}/index/${name}`)];
}

function arnsOf(queues: readonly LaneQueue[], which: keyof LaneQueue): readonly string[] {
  return queues.map((queue) => queue[which].queueArn);
}

function allow(role: IRole, actions: readonly string[], resources: readonly string[]): void {
  role.addToPrincipalPolicy(new PolicyStatement({ actions: [...actions], resources: [...resources] }));
}
