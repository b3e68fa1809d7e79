import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DynamoDBClient, WriteRequest } from '@aws-sdk/client-dynamodb';
import { writeAll } from '../../../src/adapters/aws/dynamo/batch-write.ts';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { HastyClock, openIdRoom } from './id-room.ts';

const room = openIdRoom();

function putsOf(pk: string, count: number, bytes = 10): WriteRequest[] {
  return Array.from({ length: count }, (_, index) => ({
    PutRequest: { Item: { pk: { S: pk }, sk: { S: String(index) }, body: { S: 'x'.repeat(bytes) } } },
  }));
}

function keysOf(requests: readonly WriteRequest[]): WriteRequest[] {
  return requests.map(({ PutRequest }) => {
    const { pk = { S: '' }, sk = { S: '' } } = PutRequest?.Item ?? {};
    return { DeleteRequest: { Key: { pk, sk } } };
  });
}

/** Between SDK and emulator, like an overloaded table: it takes `taken` of a batch and hands back the rest. */
function takeOnly(dynamo: DynamoDBClient, taken: (call: number) => number): { readonly sizes: number[] } {
  const sizes: number[] = [];
  dynamo.middlewareStack.add(
    (next, context) => async (args) => {
      if (context['commandName'] !== 'BatchWriteItemCommand') return await next(args);
      const { RequestItems } = args.input as { RequestItems: Record<string, WriteRequest[]> };
      const requests = RequestItems[room.tableName] ?? [];
      const count = taken(sizes.push(requests.length));
      if (count === 0) {
        return { output: { $metadata: {}, UnprocessedItems: { [room.tableName]: requests } }, response: undefined };
      }
      const answer = await next({ ...args, input: { RequestItems: { [room.tableName]: requests.slice(0, count) } } });
      const rest = requests.slice(count);
      return {
        ...answer,
        output: { ...answer.output, UnprocessedItems: rest.length === 0 ? {} : { [room.tableName]: rest } },
      };
    },
    { step: 'initialize' },
  );
  return { sizes };
}

test('any number of rows is written, and deleted again, in batches that DynamoDB takes', async () => {
  const { dynamo, table, meter } = room.open();
  const puts = putsOf('many', 130);
  await writeAll(dynamo, room.tableName, puts, room.clock);
  assert.equal(meter.requests.length, 6);
  assert.equal((await table.all({ pk: 'many' })).length, 130);
  await writeAll(dynamo, room.tableName, keysOf(puts), room.clock);
  assert.deepEqual(await table.all({ pk: 'many' }), []);
  meter.reset();
  await writeAll(dynamo, room.tableName, [], room.clock);
  assert.deepEqual(meter.requests, []);
});

test('rows near the limit of a row go in smaller batches', async () => {
  const { dynamo, table, meter } = room.open();
  await writeAll(dynamo, room.tableName, putsOf('large', 25, 390_000), room.clock);
  assert.equal(meter.requests.length, 2);
  assert.equal((await table.all({ pk: 'large' })).length, 25);
});

test('what is handed back is sent again after pauses that grow while nothing goes through', async () => {
  const { dynamo, table } = room.open();
  const { sizes } = takeOnly(dynamo, (call) => [10, 0, 0, 0, 10, 1, 25][call - 1] ?? 25);
  const clock = new HastyClock();
  await writeAll(dynamo, room.tableName, putsOf('rest', 25), clock);
  assert.deepEqual(sizes, [25, 15, 15, 15, 15, 5, 4]);
  assert.equal((await table.all({ pk: 'rest' })).length, 25);
  for (const [index, longest] of [50, 100, 200, 400, 50, 50].entries()) {
    const pause = clock.pauses[index] ?? 0;
    assert.ok(pause >= longest / 2 && pause <= longest, `pause ${index} is ${pause}`);
  }
});

test('a table that takes nothing for half a minute is storage trouble', async () => {
  const { dynamo } = room.open();
  takeOnly(dynamo, () => 0);
  const clock = new HastyClock();
  await assert.rejects(
    writeAll(dynamo, room.tableName, putsOf('never', 3), clock),
    (error) => error instanceof StorageTrouble && error.kind === 'io' && /took none of 3 rows/.test(error.message),
  );
  assert.ok(clock.elapsed() >= 30_000 && clock.elapsed() < 36_000);
});

test('a table that takes a little at a time is waited for as long as it goes on', async () => {
  const { dynamo, table } = room.open();
  takeOnly(dynamo, (call) => (call % 10 === 0 ? 1 : 0));
  const clock = new HastyClock();
  await writeAll(dynamo, room.tableName, putsOf('slowly', 6), clock);
  assert.ok(clock.elapsed() > 60_000);
  assert.equal((await table.all({ pk: 'slowly' })).length, 6);
});

test('a request that is wrong is an error that says so, and is not tried again', async () => {
  const { dynamo, meter } = room.open();
  const [put] = putsOf('twice', 1);
  const twice = put === undefined ? [] : [put, put];
  await assert.rejects(
    writeAll(dynamo, room.tableName, twice, room.clock),
    /BatchWriteItem on the table ids-[\d-]+: ValidationException/,
  );
  assert.equal(meter.requests.length, 1);
});
