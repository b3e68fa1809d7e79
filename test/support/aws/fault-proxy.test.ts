import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { AwsClients } from '../../../src/adapters/aws/clients.ts';
import type { Service } from './aws-operation.ts';
import { type Emulators, startEmulators } from './emulators.ts';
import { type FaultProxy, type FaultRates, startFaultProxy } from './fault-proxy.ts';
import { startRelay } from './relay.ts';

const TableName = 'faults';
const Bucket = 'faults';
let emulators: Emulators;
/** Clients that bypass the proxy. */
let direct: AwsClients;

before(async () => {
  emulators = await startEmulators();
  direct = emulators.clients();
  await direct.dynamo.send(
    new CreateTableCommand({
      TableName,
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
  await direct.s3.send(new CreateBucketCommand({ Bucket }));
});

after(async () => {
  direct.close();
  await emulators.stop();
});

interface Faulty {
  readonly clients: Omit<AwsClients, 'close'>;
  readonly proxy: FaultProxy;
}

/** Clients that make a single try, so that a test sees what the wire brought. */
async function through(
  service: Service,
  faults: FaultRates,
  run: (faulty: Faulty) => Promise<void>,
  { seed = 1, attempts = 1, spare = [] as readonly string[], target = emulators.overrides.endpoints[service] } = {},
): Promise<void> {
  const { region, credentials } = emulators.overrides;
  const proxy = await startFaultProxy({ target, service, seed, faults, spare });
  const shared = {
    ...(region && { region }),
    ...(credentials && { credentials }),
    endpoint: proxy.url,
    maxAttempts: attempts,
  };
  const clients = {
    dynamo: new DynamoDBClient(shared),
    sqs: new SQSClient(shared),
    s3: new S3Client({ ...shared, forcePathStyle: true }),
  };
  try {
    await run({ clients, proxy });
  } finally {
    for (const client of Object.values(clients)) client.destroy();
    await proxy.stop();
  }
}

const key = (pk: string, sk: string | number) => ({ pk: { S: pk }, sk: { S: String(sk) } });

const add = (pk: string, sk: string) =>
  new UpdateItemCommand({
    TableName,
    Key: key(pk, sk),
    UpdateExpression: 'ADD n :one',
    ExpressionAttributeValues: { ':one': { N: '1' } },
  });

async function countedIn(pk: string, sk: string): Promise<string | undefined> {
  const { Item } = await direct.dynamo.send(new GetItemCommand({ TableName, Key: key(pk, sk) }));
  return Item?.['n']?.N;
}

async function queue(name: string): Promise<string> {
  const { QueueUrl } = await direct.sqs.send(new CreateQueueCommand({ QueueName: name }));
  assert.ok(QueueUrl);
  return QueueUrl;
}

/** What the SDK calls a connection that was broken off. */
const BROKEN = 'TimeoutError';

const nameOf = (error: unknown) => (error as Error).name;

async function bodiesIn(QueueUrl: string): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await direct.sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
    );
    if (Messages.length === 0) return bodies;
    bodies.push(...Messages.map(({ Body = '' }) => Body));
  }
}

test('without faults everything passes unchanged', async () => {
  await through('dynamo', {}, async ({ clients, proxy }) => {
    const data = Uint8Array.of(0, 128, 255);
    await clients.dynamo.send(new PutItemCommand({ TableName, Item: { ...key('plain', 1), data: { B: data } } }));
    const { Item } = await clients.dynamo.send(new GetItemCommand({ TableName, Key: key('plain', 1) }));
    assert.deepEqual(Item?.['data']?.B, data);
    assert.deepEqual(proxy.counts(), { requests: 2 });
  });
});

test('the same seed gives the same requests the same faults, and another seed gives others', async () => {
  const rates = { drop: 0.2, refuse: 0.3, loseReply: 0.2 };
  async function fates(seed: number): Promise<string> {
    const seen: string[] = [];
    await through(
      'dynamo',
      rates,
      async ({ clients }) => {
        for (let turn = 0; turn < 30; turn += 1)
          seen.push(await clients.dynamo.send(add('seed', 'a')).then(() => 'ok', nameOf));
      },
      { seed },
    );
    return seen.join();
  }
  const first = await fates(7);
  assert.equal(await fates(7), first);
  assert.notEqual(await fates(8), first);
});

test('a refused or dropped request never reaches the server', async () => {
  await through('dynamo', { drop: 0.5, refuse: 1 }, async ({ clients, proxy }) => {
    const names = new Set<string>();
    for (let turn = 0; turn < 60; turn += 1)
      names.add(await clients.dynamo.send(add('refused', 'a')).then(String, nameOf));
    assert.equal(await countedIn('refused', 'a'), undefined);
    assert.deepEqual([...names].sort(), [
      'InternalServerError',
      'ProvisionedThroughputExceededException',
      'ThrottlingException',
      BROKEN,
      'TransactionConflictException',
    ]);
    const counts = proxy.counts();
    assert.equal(counts['requests'], 60);
    assert.equal((counts['drop UpdateItem'] ?? 0) + (counts['refuse UpdateItem'] ?? 0), 60);
    assert.equal(counts['refuse'], counts['refuse UpdateItem']);
  });
});

test('a cancelled transaction gives a reason for each of its actions', async () => {
  await through('dynamo', { refuse: 1 }, async ({ clients }) => {
    const names = new Set<string>();
    const codes = new Set<string | undefined>();
    for (let turn = 0; turn < 60; turn += 1) {
      const TransactItems = [1, 2, 3, 4, 5].map((sk) => ({ Put: { TableName, Item: key('cancelled', sk) } }));
      const error = await clients.dynamo.send(new TransactWriteItemsCommand({ TransactItems })).then(String, (e) => e);
      names.add(nameOf(error));
      if (nameOf(error) !== 'TransactionCanceledException') continue;
      assert.equal(error.CancellationReasons.length, 5);
      for (const { Code } of error.CancellationReasons) codes.add(Code);
    }
    assert.ok(names.has('TransactionInProgressException'));
    assert.deepEqual([...codes].sort(), ['None', 'ThrottlingError', 'TransactionConflict']);
  });
});

test('a lost reply belongs to a request that was applied', async () => {
  await through('dynamo', { loseReply: 1 }, async ({ clients, proxy }) => {
    const names = new Set<string>();
    for (let turn = 0; turn < 12; turn += 1)
      names.add(await clients.dynamo.send(add('lost', 'a')).then(String, nameOf));
    assert.equal(await countedIn('lost', 'a'), '12');
    assert.deepEqual([...names].sort(), ['InternalServerError', BROKEN]);
    assert.equal(proxy.counts()['loseReply UpdateItem'], 12);
  });
});

test('the retries of the SDK get through, and a token keeps a transaction from being applied twice', async () => {
  const retried = async ({ clients, proxy }: Faulty) => {
    const { UpdateExpression, ...rest } = add('retried', 'a').input;
    const Update = { ...rest, UpdateExpression: UpdateExpression ?? '' };
    for (let turn = 0; turn < 20; turn += 1) {
      await clients.dynamo.send(new TransactWriteItemsCommand({ TransactItems: [{ Update }] }));
    }
    assert.equal(await countedIn('retried', 'a'), '20');
    assert.ok((proxy.counts()['loseReply'] ?? 0) > 3);
    assert.ok((proxy.counts()['slow'] ?? 0) > 1);
  };
  await through('dynamo', { drop: 0.1, loseReply: 0.3, slow: 0.2 }, retried, { attempts: 8 });
});

test('a part of a batch of writes or reads comes back, and both parts together are the whole', async () => {
  await through('dynamo', { partial: 1 }, async ({ clients, proxy }) => {
    const all = Array.from({ length: 25 }, (_, sk) => key('batch', sk));
    let writes = all.map((Item) => ({ PutRequest: { Item } }));
    const sizes: number[] = [];
    while (writes.length > 0) {
      sizes.push(writes.length);
      const asked = new BatchWriteItemCommand({ RequestItems: { [TableName]: writes } });
      const { UnprocessedItems = {} } = await clients.dynamo.send(asked);
      writes = (UnprocessedItems[TableName] ?? []) as typeof writes;
      const { Count } = await direct.dynamo.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': { S: 'batch' } },
        }),
      );
      assert.equal((Count ?? 0) + writes.length, 25);
    }
    assert.ok(sizes.length > 1);
    assert.equal(proxy.counts()['partial BatchWriteItem'], sizes.length - 1);

    const request = { Keys: all, ConsistentRead: true, ProjectionExpression: 'sk' };
    const answer = await clients.dynamo.send(new BatchGetItemCommand({ RequestItems: { [TableName]: request } }));
    const { Keys = [], ...rest } = answer.UnprocessedKeys?.[TableName] ?? {};
    assert.deepEqual(rest, { ConsistentRead: true, ProjectionExpression: 'sk' });
    const got = answer.Responses?.[TableName] ?? [];
    assert.ok(got.length > 0 && Keys.length > 0);
    assert.equal(new Set([...got, ...Keys].map((item) => item['sk']?.S)).size, 25);
  });
});

test('entries of a batch for SQS fail one by one, and those that failed were not sent', async () => {
  const QueueUrl = await queue('partial');
  await through('sqs', { partial: 1 }, async ({ clients, proxy }) => {
    const Entries = Array.from({ length: 10 }, (_, place) => ({ Id: `e${place}`, MessageBody: `m${place}` }));
    let failures = 0;
    let left = Entries;
    for (let turn = 0; turn < 50 && left.length > 0; turn += 1) {
      const { Failed = [], Successful = [] } = await clients.sqs.send(
        new SendMessageBatchCommand({ QueueUrl, Entries: left }),
      );
      assert.equal(Failed.length + Successful.length, left.length);
      assert.ok(Failed.every(({ SenderFault, Code }) => SenderFault === false && Code === 'InternalError'));
      failures += Failed.length;
      const failed = new Set(Failed.map(({ Id }) => Id));
      left = left.filter(({ Id }) => failed.has(Id));
      if (left.length === 1) proxy.setFaults({});
    }
    assert.ok(failures > 0);
    assert.deepEqual(
      (await bodiesIn(QueueUrl)).toSorted(),
      Entries.map(({ MessageBody }) => MessageBody),
    );
    proxy.setFaults({ partial: 1 });
    const gone = new DeleteMessageBatchCommand({ QueueUrl, Entries: [{ Id: 'a', ReceiptHandle: 'none' }] });
    assert.deepEqual(
      (await clients.sqs.send(gone)).Failed?.map(({ Id }) => Id),
      ['a'],
    );
  });
});

test('a message is sent twice, and one that was deleted is received once more', async () => {
  const QueueUrl = await queue('duplicate');
  await through('sqs', { duplicate: 1 }, async ({ clients, proxy }) => {
    await clients.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'twice' }));
    assert.deepEqual(await bodiesIn(QueueUrl), ['twice', 'twice']);

    proxy.setFaults({ duplicate: 0.000_001 });
    await clients.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'undead' }));
    const receive = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 });
    const [message] = (await clients.sqs.send(receive)).Messages ?? [];
    assert.equal(message?.Body, 'undead');
    await clients.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    assert.deepEqual((await clients.sqs.send(receive)).Messages ?? [], []);
    proxy.setFaults({ duplicate: 1 });
    assert.deepEqual((await clients.sqs.send(receive)).Messages, [message]);
    assert.deepEqual([proxy.counts()['duplicate SendMessage'], proxy.counts()['duplicate ReceiveMessage']], [1, 1]);
  });
});

test('messages are sent late and in another order, and handed out in yet another one', async (t) => {
  const QueueUrl = await queue('late');
  const sent: { readonly DelaySeconds?: number; readonly Entries?: readonly { readonly Id: string }[] }[] = [];
  const recorder = await startRelay(emulators.overrides.endpoints.sqs, (asked, forward) => {
    sent.push(JSON.parse(asked.body.toString()));
    return forward(asked);
  });
  const late = async ({ clients, proxy }: Faulty) => {
    await clients.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'late' }));
    await clients.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'later', DelaySeconds: 60 }));
    const [first, second] = sent.map(({ DelaySeconds = 0 }) => DelaySeconds);
    assert.ok(first === 1 || first === 2);
    assert.ok(second === 61 || second === 62);

    proxy.setFaults({ reorder: 1 });
    const Entries = Array.from({ length: 10 }, (_, place) => ({ Id: `m${place}`, MessageBody: `m${place}` }));
    await clients.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    const order = sent.at(-1)?.Entries?.map(({ Id }) => Id) ?? [];
    const { Messages = [] } = await clients.sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    const received = Messages.map(({ Body }) => Body);
    const whole = Entries.map(({ Id }) => Id).join();
    assert.deepEqual([order.toSorted().join(), received.toSorted().join()], [whole, whole]);
    assert.equal(new Set([whole, order.join(), received.join()]).size, 3);
    const { 'delay SendMessage': delays, 'reorder SendMessageBatch': batches } = proxy.counts();
    assert.deepEqual([delays, batches, proxy.counts()['reorder ReceiveMessage']], [2, 1, 1]);
  };
  t.after(() => recorder.stop());
  await through('sqs', { delay: 1 }, late, { target: recorder.url });
});

test('S3 slows down, breaks off and conflicts, and an object whose reply was lost is stored', async () => {
  await through('s3', { refuse: 1 }, async ({ clients, proxy }) => {
    const put = (Key: string) => new PutObjectCommand({ Bucket, Key, Body: 'text', IfNoneMatch: '*' });
    const names = new Set<string>();
    for (let turn = 0; turn < 20; turn += 1) names.add(await clients.s3.send(put('refused')).then(String, nameOf));
    assert.deepEqual([...names].sort(), ['ConditionalRequestConflict', 'InternalError', 'SlowDown']);
    await assert.rejects(direct.s3.send(new HeadObjectCommand({ Bucket, Key: 'refused' })));

    proxy.setFaults({ loseReply: 1 });
    await assert.rejects(clients.s3.send(put('lost')));
    proxy.setFaults({});
    const { Body, ContentLength } = await clients.s3.send(new GetObjectCommand({ Bucket, Key: 'lost' }));
    assert.deepEqual([await Body?.transformToString(), ContentLength], ['text', 4]);
    const head = await clients.s3.send(new HeadObjectCommand({ Bucket, Key: 'lost' }));
    assert.equal(head.ContentLength, 4);
    assert.deepEqual([proxy.counts()['refuse PutObject'], proxy.counts()['loseReply PutObject']], [20, 1]);
  });
});

test('an operation that is spared meets no fault', async () => {
  const spared = async ({ clients, proxy }: Faulty) => {
    await clients.dynamo.send(add('spared', 'a'));
    await assert.rejects(clients.dynamo.send(new GetItemCommand({ TableName, Key: key('spared', 'a') })));
    assert.equal(proxy.counts()['refuse'], 1);
  };
  await through('dynamo', { refuse: 1 }, spared, { spare: ['UpdateItem'] });
});
