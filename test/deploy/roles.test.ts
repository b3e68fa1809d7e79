import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LANES } from '../../src/domain/lane.ts';
import { resourcesOf, synthesized } from './synthesized.ts';

const template = synthesized();
const ADAPTER = new URL('../../src/adapters/aws/', import.meta.url).pathname;

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

/** What the role of a task may do; the role by which ECS starts it is another. */
function statementsOf(role: string): readonly Statement[] {
  return resourcesOf(template, 'AWS::IAM::Policy')
    .filter(({ id }) => id.startsWith(role))
    .flatMap(({ Properties }) => (Properties['PolicyDocument'] as { Statement: Statement[] }).Statement);
}

const listOf = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]);

/** `action resource`, for each pair of them. */
function grantsOf(role: string): readonly string[] {
  return statementsOf(role)
    .flatMap(({ Action, Resource }) =>
      listOf(Action).flatMap((action) => listOf(Resource).map((resource) => `${action} ${short(resource)}`)),
    )
    .sort();
}

/** The name of a resource without the hash that ends it. */
function short(resource: unknown): string {
  const text = JSON.stringify(resource).replaceAll(/"Fn::(?:GetAtt|Join)"|[[\]{}":,]|Arn/g, '');
  return text.replace(/(?<=[a-z])[0-9A-F]{8}/, '');
}

test('no role may take every action of a service, nor an action on all resources unless AWS has no resource for it', () => {
  const policies = resourcesOf(template, 'AWS::IAM::Policy');
  assert.equal(policies.length, 2 * (1 + LANES.length));
  for (const { id } of policies) {
    for (const { Effect, Action, Resource } of statementsOf(id)) {
      assert.equal(Effect, 'Allow');
      for (const action of listOf(Action)) {
        assert.doesNotMatch(action, /\*/, id);
        // A token is for the whole registry: AWS has no resource for it.
        if (action !== 'ecr:GetAuthorizationToken') assert.ok(!listOf(Resource).includes('*'), `${id} ${action}`);
      }
    }
  }
  for (const { Properties } of resourcesOf(template, 'AWS::IAM::Role')) {
    assert.equal(Properties['ManagedPolicyArns'], undefined);
    assert.match(JSON.stringify(Properties['AssumeRolePolicyDocument']), /"Service":"ecs-tasks\.amazonaws\.com"/);
  }
});

test('a worker takes from and sends to its own lane only, and deletes no results', () => {
  for (const lane of LANES) {
    const grants = grantsOf(`Workers${lane}TaskTaskRole`);
    assert.deepEqual(
      grants.filter((grant) => !grant.startsWith('dynamodb:')),
      [
        's3:AbortMultipartUpload StorageResults/*',
        's3:GetObject StorageResults/*',
        's3:ListBucket StorageResults',
        's3:PutObject StorageResults/*',
        `sqs:ChangeMessageVisibility Queues${lane}`,
        `sqs:DeleteMessage Queues${lane}`,
        `sqs:ReceiveMessage Queues${lane}`,
        `sqs:SendMessage Queues${lane}`,
      ],
    );
  }
});

test('a controller sends to every lane and takes from dead-letter queues only', () => {
  const grants = grantsOf('ControllerTaskTaskRole').filter((grant) => grant.startsWith('sqs:'));
  const expected = LANES.flatMap((lane) => [
    `sqs:DeleteMessage Queues${lane}deadletters`,
    `sqs:GetQueueAttributes Queues${lane}`,
    `sqs:GetQueueUrl Queues${lane}deadletters`,
    `sqs:ReceiveMessage Queues${lane}deadletters`,
    `sqs:SendMessage Queues${lane}`,
  ]);
  assert.deepEqual(grants, expected.sort());
});

test('the ledger is one table and its index', () => {
  for (const role of ['ControllerTaskTaskRole', ...LANES.map((lane) => `Workers${lane}TaskTaskRole`)]) {
    const grants = grantsOf(role).filter((grant) => grant.startsWith('dynamodb:'));
    assert.ok(grants.length > 0);
    for (const grant of grants) assert.match(grant, / StorageTable(?:\/index\/due)?$/);
    assert.ok(!grants.some((grant) => grant.startsWith('dynamodb:Scan')));
  }
});

/** The rights that each call of the SDK needs, according to the service authorization reference. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  GetItem: ['dynamodb:GetItem'],
  BatchGetItem: ['dynamodb:BatchGetItem'],
  Query: ['dynamodb:Query'],
  PutItem: ['dynamodb:PutItem'],
  UpdateItem: ['dynamodb:UpdateItem'],
  DeleteItem: ['dynamodb:DeleteItem'],
  BatchWriteItem: ['dynamodb:BatchWriteItem'],
  TransactGetItems: ['dynamodb:GetItem'],
  TransactWriteItems: [
    ...['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem'],
  ],
  SendMessageBatch: ['sqs:SendMessage'],
  ReceiveMessage: ['sqs:ReceiveMessage'],
  DeleteMessageBatch: ['sqs:DeleteMessage'],
  ChangeMessageVisibilityBatch: ['sqs:ChangeMessageVisibility'],
  GetQueueAttributes: ['sqs:GetQueueAttributes'],
  GetQueueUrl: ['sqs:GetQueueUrl'],
  GetObject: ['s3:GetObject'],
  HeadObject: ['s3:GetObject', 's3:ListBucket'],
  PutObject: ['s3:PutObject'],
  CreateMultipartUpload: ['s3:PutObject'],
  UploadPart: ['s3:PutObject'],
  CompleteMultipartUpload: ['s3:PutObject'],
  AbortMultipartUpload: ['s3:AbortMultipartUpload'],
  ListMultipartUploads: ['s3:ListBucketMultipartUploads'],
  ListObjectsV2: ['s3:ListBucket'],
  DeleteObjects: ['s3:DeleteObject'],
};

/** `trawl doctor` inspects and creates resources with the rights of its caller. */
const OF_THE_DOCTOR = /^provision/;

test('what the adapters call is what the roles may do: nothing is missing, and nothing is granted needlessly', () => {
  const files = globSync('**/*.ts', { cwd: ADAPTER }).filter((file) => !OF_THE_DOCTOR.test(file));
  const texts = files.map((file) => readFileSync(`${ADAPTER}${file}`, 'utf8'));
  const calls = new Set(
    texts.flatMap((text) => [...text.matchAll(/new (\w+)Command\(/g)].map(([, name]) => name ?? '')),
  );
  assert.ok(calls.size > 10, 'the calls were not found');
  const needed = [...calls].flatMap((call) => {
    const actions = NEEDED[call];
    assert.ok(actions, `${call} is new: say here what it needs, and grant it in deploy/aws/permissions.ts`);
    return actions;
  });
  const roles = ['ControllerTaskTaskRole', ...LANES.map((lane) => `Workers${lane}TaskTaskRole`)];
  const granted = roles.flatMap((role) => statementsOf(role).flatMap(({ Action }) => listOf(Action)));
  assert.deepEqual([...new Set(granted)].sort(), [...new Set(needed)].sort());
});
