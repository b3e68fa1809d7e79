import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import {
  type AttributeValue,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { CreateQueueCommand, ReceiveMessageCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { type AwsClients, openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { itemBytes } from './consumed-units.ts';
import { type Emulators, startEmulators } from './emulators.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { type MeterProxy, meter, startMeterProxy, Tally } from './request-meter.ts';

const TableName = 'meter';
const Bucket = 'meter';
const tally = new Tally();
let emulators: Emulators;
let proxies: readonly MeterProxy[];
/** Through the proxies, and watched in this process too: both must count the same. */
let clients: AwsClients;
let watched: Pick<MeterProxy, 'read' | 'reset'>;
let QueueUrl: string;

before(async () => {
  emulators = await startEmulators();
  const { endpoints, ...nobody } = emulators.overrides;
  const [dynamo, sqs, s3] = await Promise.all([
    startMeterProxy({ target: endpoints.dynamo, service: 'dynamo', tally }),
    startMeterProxy({ target: endpoints.sqs, service: 'sqs', tally }),
    startMeterProxy({ target: endpoints.s3, service: 's3', tally }),
  ]);
  proxies = [dynamo, sqs, s3];
  clients = openAwsClients({ ...nobody, endpoints: { dynamo: dynamo.url, sqs: sqs.url, s3: s3.url } });
  watched = meter(clients);
  const texts = ['pk', 'gpk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const }));
  await clients.dynamo.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: texts,
      GlobalSecondaryIndexes: [
        {
          IndexName: 'sparse',
          KeySchema: [{ AttributeName: 'gpk', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
    }),
  );
  await clients.s3.send(new CreateBucketCommand({ Bucket }));
  QueueUrl = (await clients.sqs.send(new CreateQueueCommand({ QueueName: 'meter' }))).QueueUrl ?? '';
});

after(async () => {
  clients.close();
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await emulators.stop();
});

/** What `act` consumed. */
async function metered(act: () => Promise<unknown>) {
  tally.reset();
  watched.reset();
  await act();
  assert.deepEqual(watched.read(), tally.read());
  return tally.read();
}

const text = (bytes: number) => ({ S: 'x'.repeat(bytes) });
const item = (pk: string, bytes: number, more: Record<string, AttributeValue> = {}) => ({
  pk: { S: pk },
  text: text(bytes),
  ...more,
});
const put = (Item: Record<string, AttributeValue>) => clients.dynamo.send(new PutItemCommand({ TableName, Item }));

test('a write costs a unit for each kilobyte begun, of the larger of before and after, and again in an index', async () => {
  const writeUnits = async (act: () => Promise<unknown>) => (await metered(act)).units.write;
  assert.equal(await writeUnits(() => put(item('a', 100))), 1);
  assert.equal(await writeUnits(() => put(item('a', 3500))), 4);
  assert.equal(await writeUnits(() => put(item('a', 100))), 4);
  assert.equal(await writeUnits(() => put(item('b', 3500, { gpk: { S: 'g' } }))), 8);
  const remove = new DeleteItemCommand({ TableName, Key: { pk: { S: 'b' } } });
  assert.equal(await writeUnits(() => clients.dynamo.send(remove)), 8);
});

test('a batch costs as much as its items, a transaction twice as much, and one that is repeated only reads', async () => {
  const batch = new BatchWriteItemCommand({
    RequestItems: {
      [TableName]: [{ PutRequest: { Item: item('c', 100) } }, { PutRequest: { Item: item('d', 1500) } }],
    },
  });
  const batched = await metered(() => clients.dynamo.send(batch));
  assert.deepEqual(batched.units, { write: 3, read: 0, sqs: 0 });
  assert.deepEqual(batched.byOperation, { BatchWriteItem: { requests: 1, units: 3 } });

  const both = {
    ClientRequestToken: 'once',
    TransactItems: [{ Put: { TableName, Item: item('e', 100) } }, { Put: { TableName, Item: item('f', 1500) } }],
  };
  const transact = () => clients.dynamo.send(new TransactWriteItemsCommand(both));
  assert.deepEqual((await metered(transact)).units, { write: 6, read: 0, sqs: 0 });
  const again = (await metered(transact)).units;
  assert.equal(again.write, 0);
  assert.ok(again.read > 0);
});

test('a read costs a unit for four kilobytes, and half of it when it need not be consistent', async () => {
  await put(item('g', 9000));
  const get = (ConsistentRead: boolean) =>
    metered(() => clients.dynamo.send(new GetItemCommand({ TableName, Key: { pk: { S: 'g' } }, ConsistentRead })));
  assert.deepEqual((await get(true)).units, { write: 0, read: 3, sqs: 0 });
  assert.deepEqual((await get(false)).units, { write: 0, read: 1.5, sqs: 0 });
  const query = new QueryCommand({
    TableName,
    KeyConditionExpression: 'pk = :pk',
    FilterExpression: 'attribute_not_exists(#text)',
    ExpressionAttributeNames: { '#text': 'text' },
    ExpressionAttributeValues: { ':pk': { S: 'g' } },
    ConsistentRead: true,
  });
  assert.equal((await metered(() => clients.dynamo.send(query))).units.read, 3, 'what is filtered out was read');
});

test('a write whose condition did not hold is charged all the same', async () => {
  await put(item('h', 2500));
  const condition = {
    TableName,
    ConditionExpression: 'attribute_not_exists(pk)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
  const alone = new PutItemCommand({ ...condition, Item: item('h', 10) });
  assert.equal((await metered(() => assert.rejects(clients.dynamo.send(alone)))).units.write, 3);
  const together = new TransactWriteItemsCommand({
    TransactItems: [{ Put: { TableName, Item: item('i', 10) } }, { Put: { ...condition, Item: item('h', 10) } }],
  });
  assert.equal((await metered(() => assert.rejects(clients.dynamo.send(together)))).units.write, 2 * (1 + 3));
});

test('the size of an item is that of its names and values', () => {
  assert.equal(itemBytes({ name: { S: 'é' }, n: { N: '-1234' }, b: { B: 'AAEC' } }), 4 + 2 + 1 + 3 + 1 + 3);
  assert.equal(itemBytes({ l: { L: [{ BOOL: true }, { S: 'ab' }] }, m: { M: { k: { NULL: true } } } }), 9 + 7);
  assert.equal(itemBytes({ s: { SS: ['a', 'bc'] }, none: { B: Uint8Array.of(1) } }), 1 + 3 + 4 + 1);
});

test('SQS bills a request for each 64 KB of it, and of what it hands out', async () => {
  const send = (MessageBody: string) =>
    metered(() => clients.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: 'a', MessageBody }] })));
  const small = await send('small');
  assert.deepEqual([small.requests.sqs, small.units.sqs], [1, 1]);
  const receive = () => clients.sqs.send(new ReceiveMessageCommand({ QueueUrl }));
  assert.equal((await metered(receive)).units.sqs, 1);
  const large = await send('x'.repeat(150_000));
  assert.deepEqual([large.requests.sqs, large.units.sqs], [1, 3]);
  const received = await metered(receive);
  assert.deepEqual(received.byOperation, { ReceiveMessage: { requests: 1, units: 3 } });
});

test('requests to S3 are distinguished by what they cost', async () => {
  const { requests, byOperation } = await metered(async () => {
    for (const Key of ['a', 'deep/b']) await clients.s3.send(new PutObjectCommand({ Bucket, Key, Body: 'text' }));
    await clients.s3.send(new GetObjectCommand({ Bucket, Key: 'deep/b', Range: 'bytes=0-1' }));
    await clients.s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'deep/' }));
    await clients.s3.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
    await clients.s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'deep/b' }] } }));
  });
  assert.deepEqual(requests, { dynamo: 0, sqs: 0, s3Puts: 3, s3Gets: 1, s3Deletes: 2 });
  const counted = Object.entries(byOperation).map(([operation, of]) => `${operation} ${of.requests}`);
  assert.deepEqual(counted, ['DeleteObject 1', 'DeleteObjects 1', 'GetObject 1', 'ListObjectsV2 1', 'PutObject 2']);
});

test('every try counts: after the fault proxy those that arrived, before it all of them', async (t) => {
  const { endpoints, ...nobody } = emulators.overrides;
  const behind = await startMeterProxy({ target: endpoints.dynamo, service: 'dynamo' });
  const faults = { drop: 0.1, refuse: 0.1, loseReply: 0.2 };
  const faulty = await startFaultProxy({ target: behind.url, service: 'dynamo', seed: 3, faults });
  const ahead = await startMeterProxy({ target: faulty.url, service: 'dynamo' });
  const own = openAwsClients({ ...nobody, endpoints: { dynamo: ahead.url } });
  t.after(async () => {
    own.close();
    await Promise.all([ahead.stop(), faulty.stop(), behind.stop()]);
  });
  const inside = meter(own);
  for (let turn = 0; turn < 20; turn += 1) {
    const change = { UpdateExpression: 'SET a = :a', ExpressionAttributeValues: { ':a': { S: 'a' } } };
    await own.dynamo
      .send(new UpdateItemCommand({ TableName, Key: { pk: { S: 'tries' } }, ...change }))
      // The SDK does not repeat a write that met a transaction.
      .catch((error: Error) => assert.equal(error.name, 'TransactionConflictException'));
  }
  const { requests = 0, drop = 0, refuse = 0, loseReply = 0 } = faulty.counts();
  assert.ok(requests > 20 && drop > 0 && refuse > 0 && loseReply > 0);
  assert.equal(ahead.read().requests.dynamo, requests);
  assert.equal(inside.read().requests.dynamo, requests);
  assert.equal(behind.read().requests.dynamo, requests - drop - refuse);
  assert.equal(behind.read().units.write, requests - drop - refuse);
  assert.equal(ahead.read().units.write, requests - drop - refuse - loseReply, 'a lost reply tells no units');
});

test('requests of a separate process are counted by the proxy', async () => {
  const target = `${proxies[0]?.url}/`;
  const code = `const headers = { 'x-amz-target': 'DynamoDB_20120810.GetItem', 'content-type': 'application/x-amz-json-1.0',
      authorization: 'AWS4-HMAC-SHA256 Credential=t/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
      'x-amz-date': '20260101T000000Z' };
    const body = JSON.stringify({ TableName: '${TableName}', Key: { pk: { S: 'g' } }, ConsistentRead: true });
    const answer = await fetch('${target}', { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(await answer.text());`;
  tally.reset();
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  assert.deepEqual(tally.read().byOperation, { GetItem: { requests: 1, units: 3 } });
});
