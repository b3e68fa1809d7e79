import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  CreateBucketCommand,
  GetBucketLifecycleConfigurationCommand,
  PutBucketLifecycleConfigurationCommand,
} from '@aws-sdk/client-s3';
import { CreateQueueCommand, GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { inspectAws, provisionAws } from '../../../src/adapters/aws/provisioning.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { startEmulators, startSqsAndS3 } from '../../support/aws/emulators.ts';
import { awsNames } from '../../support/aws/names.ts';

const emulators = await startEmulators();
const clients = emulators.clients();
after(async () => {
  clients.close();
  await emulators.stop();
});

const parts = { clock: systemClock(), signal: new AbortController().signal };
const namesOf = (name: string) => awsNames(emulators, name);
type Names = ReturnType<typeof namesOf>;

async function results(names: Names): Promise<Record<string, string>> {
  const findings = await inspectAws(clients, names, parts);
  for (const { result, advice, message } of findings) assert.equal(advice === undefined, result === 'ok', message);
  return Object.fromEntries(findings.map(({ name, result }) => [name, result]));
}

const ALL_WELL = { AWS: 'ok', Table: 'ok', 'Queue (http)': 'ok', 'Queue (browser)': 'ok', Bucket: 'ok' };

test('what is missing is reported part by part, then created, and a second time there is nothing to create', async () => {
  const names = namesOf('fresh');
  const findings = await inspectAws(clients, names, parts);
  assert.deepEqual(
    findings.map(({ name, result }) => [name, result]),
    [
      ['AWS', 'ok'],
      ['Table', 'problem'],
      ['Queue (http)', 'problem'],
      ['Queue (browser)', 'problem'],
      ['Bucket', 'problem'],
    ],
  );
  for (const { advice } of findings.slice(1)) assert.match(advice ?? '', /trawl doctor --create/);

  const { made, problems } = await provisionAws(clients, names, parts);
  assert.deepEqual(problems, []);
  assert.deepEqual(made, [
    'the table fresh',
    'the time to live of fresh',
    'the queue fresh-dlq',
    'the queue fresh',
    'the dead letters of fresh',
    'the queue fresh-browser-dlq',
    'the queue fresh-browser',
    'the dead letters of fresh-browser',
    'the bucket fresh',
    'the rule of fresh that removes unfinished uploads',
  ]);
  assert.deepEqual(await results(names), ALL_WELL);
  assert.deepEqual(await provisionAws(clients, names, parts), { made: [], problems: [] });
});

test('a message is set aside after ten deliveries', async () => {
  const names = namesOf('redriven');
  await provisionAws(clients, names, parts);
  const { Attributes } = await clients.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: names.queueUrls.http, AttributeNames: ['RedrivePolicy'] }),
  );
  const { maxReceiveCount, deadLetterTargetArn } = JSON.parse(Attributes?.RedrivePolicy ?? '{}');
  assert.equal(Number(maxReceiveCount), 10);
  assert.match(deadLetterTargetArn, /:redriven-dlq$/);
});

test('a queue without dead letters is a problem, and is given some', async () => {
  const names = namesOf('careless');
  await provisionAws(clients, { ...names, queueUrls: namesOf('other').queueUrls }, parts);
  await clients.sqs.send(new CreateQueueCommand({ QueueName: 'careless' }));
  await clients.sqs.send(new CreateQueueCommand({ QueueName: 'careless-browser' }));
  const problem = 'problem';
  assert.deepEqual(await results(names), { ...ALL_WELL, 'Queue (http)': problem, 'Queue (browser)': problem });
  await provisionAws(clients, names, parts);
  assert.deepEqual(await results(names), ALL_WELL);
});

test('a table that is not ours is a problem, and is left as it is', async () => {
  const names = namesOf('foreign');
  const KeySchema = [{ AttributeName: 'id', KeyType: 'HASH' as const }];
  await clients.dynamo.send(
    new CreateTableCommand({
      TableName: 'foreign',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema,
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    }),
  );
  const { problems } = await provisionAws(clients, names, parts);
  assert.match(problems[0]?.message ?? '', /foreign has the keys id instead of pk, sk/);
  const { Table } = await clients.dynamo.send(new DescribeTableCommand({ TableName: 'foreign' }));
  assert.deepEqual([Table?.KeySchema, Table?.GlobalSecondaryIndexes ?? []], [KeySchema, []]);
  assert.deepEqual(await results(names), { ...ALL_WELL, Table: 'problem' });
});

test('a table without its index is a problem, and is given it', async () => {
  const names = namesOf('unindexed');
  await clients.dynamo.send(
    new CreateTableCommand({
      TableName: 'unindexed',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
    }),
  );
  assert.match((await inspectAws(clients, names, parts))[1]?.message ?? '', /unindexed has no index due/);
  const { made } = await provisionAws(clients, names, parts);
  assert.deepEqual(made.slice(0, 2), ['the index due of unindexed', 'the time to live of unindexed']);
  assert.deepEqual(await results(names), ALL_WELL);
});

test('a bucket keeps the rules that it has', async () => {
  const names = namesOf('ruled');
  const own = { ID: 'own', Status: 'Enabled', Filter: { Prefix: 'a/' }, Expiration: { Days: 30 } } as const;
  await clients.s3.send(new CreateBucketCommand({ Bucket: 'ruled' }));
  const LifecycleConfiguration = { Rules: [own] };
  await clients.s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket: 'ruled', LifecycleConfiguration }));
  assert.equal((await results(names))['Bucket'], 'warning');
  await provisionAws(clients, names, parts);
  const { Rules } = await clients.s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket: 'ruled' }));
  assert.deepEqual(
    Rules?.map(({ ID }) => ID),
    ['own', 'abort-unfinished-uploads'],
  );
});

test('a server that ignores conditions on writes is warned of, besides everything else', async () => {
  const names = namesOf('overwritten');
  const faux = await startSqsAndS3({ hasS3Rules: false });
  const { s3, close } = openAwsClients({ ...emulators.overrides, endpoints: { s3: faux.url } });
  const inspect = async () => {
    const findings = await inspectAws({ ...clients, s3 }, names, parts);
    return findings.filter(({ name }) => name === 'Bucket').map(({ result, message }) => `${result}: ${message}`);
  };
  const warning =
    'warning: overwritten is on a server that ignores If-None-Match: a second writer could overwrite an artifact silently';
  try {
    await s3.send(new CreateBucketCommand({ Bucket: 'overwritten' }));
    assert.deepEqual(await inspect(), [
      warning,
      'warning: overwritten can be written, but keeps unfinished uploads forever',
    ]);
    await provisionAws({ ...clients, s3 }, names, parts);
    assert.deepEqual(await inspect(), [warning]);
  } finally {
    close();
    await faux.stop();
  }
});

test('without credentials there is one problem, and it says what to set', async () => {
  const credentials = () => Promise.reject(new Error('Could not load credentials from any providers'));
  const dynamo = new DynamoDBClient({ region: 'us-east-1', credentials });
  const findings = await inspectAws({ ...clients, dynamo }, namesOf('nobody'), parts);
  assert.deepEqual([findings.length, findings[0]?.result], [1, 'problem']);
  assert.match(`${findings[0]?.message} ${findings[0]?.advice}`, /Could not load credentials.*AWS_ACCESS_KEY_ID/);
});

test('an inspection that does not wait for an answer reports that there was none', async () => {
  const findings = await inspectAws(clients, namesOf('late'), { ...parts, signal: AbortSignal.abort() });
  const table = findings.find(({ name }) => name === 'Table');
  assert.deepEqual([table?.result, /in time/.test(table?.advice ?? '')], ['problem', true]);
});
