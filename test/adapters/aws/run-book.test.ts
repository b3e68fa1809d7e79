import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { provisionTable } from '../../../src/adapters/aws/provision/table.ts';
import { DynamoRunBook } from '../../../src/adapters/aws/run-book.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { countsOf, createRun, newRun, urlsFrom } from '../../contract/run-book-contract.ts';
import { startDynamo } from '../../support/aws/emulators.ts';
import { startFaultProxy } from '../../support/aws/fault-proxy.ts';
import { meter } from '../../support/aws/request-meter.ts';
import { NOW } from '../../support/builders.ts';

const TABLE = `run-book-${process.pid}`;
const clock = systemClock();
const closing: (() => void | Promise<void>)[] = [];
let url = '';

function connect(endpoint: string) {
  const clients = openAwsClients({
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    endpoints: { dynamo: endpoint },
  });
  closing.unshift(() => clients.close());
  return clients;
}

const openBook = (endpoint: string, at: Clock = clock) =>
  new DynamoRunBook({ dynamo: connect(endpoint).dynamo, tableName: TABLE, clock: at });

async function rowsOf(inc: string): Promise<number> {
  const { Items = [] } = await connect(url).dynamo.send(new ScanCommand({ TableName: TABLE }));
  return Items.filter(({ pk, sk }) => `${pk?.S} ${sk?.S}`.includes(inc)).length;
}

before(async () => {
  const server = await startDynamo();
  ({ url } = server);
  closing.push(() => server.stop());
  await provisionTable({ dynamo: connect(url).dynamo, tableName: TABLE, clock, signal: new AbortController().signal });
});
after(async () => {
  for (const close of closing) await close();
});

test('counters are exact when replies are lost, requests fail and two processes report the same items', async () => {
  const spare = ['GetItem', 'BatchGetItem', 'Query'];
  const faults = { drop: 0.04, refuse: 0.04, loseReply: 0.25, partial: 0.1 };
  const proxy = await startFaultProxy({ target: url, service: 'dynamo', seed: 7, faults, spare });
  closing.unshift(() => proxy.stop());
  const urls = urlsFrom(0, 200);
  const { id } = await createRun(openBook(proxy.url), urls.slice(0, 150));
  const reporter = async (book: DynamoRunBook, place: number) => {
    await book.add(id, urls.slice(120), NOW);
    for (let at = place * 20; at < urls.length; at += 40) {
      const some = urls.slice(at, at + 40);
      await book.update(
        id,
        some.map((each, index) => ({ url: each, changes: index % 5 === 0 ? { failed: true } : { done: true } })),
        NOW,
      );
    }
  };
  await Promise.all([reporter(openBook(proxy.url), 0), reporter(openBook(proxy.url), 1)]);
  assert.ok((proxy.counts()['loseReply TransactWriteItems'] ?? 0) > 0, JSON.stringify(proxy.counts()));
  const { total, pending } = await countsOf(openBook(url), id);
  assert.deepEqual({ total, pending }, { total: 200, pending: 0 });
});

test('an item costs little more than one write unit to create, and a batch of reports four for each ninety items', async () => {
  const clients = connect(url);
  const read = meter(clients);
  const book = new DynamoRunBook({ dynamo: clients.dynamo, tableName: TABLE, clock });
  const urls = urlsFrom(0, 900);
  const { id } = await createRun(book, urls);
  const created = read.read();
  assert.ok(created.units.write / urls.length < 1.2, `${created.units.write} write units`);
  read.reset();
  await book.update(
    id,
    urls.map((each) => ({ url: each, changes: { done: true } })),
    NOW,
  );
  const batch = read.read();
  assert.ok(batch.units.write <= 10 * 4 + 4, `${batch.units.write} write units`);
  read.reset();
  await book.update(id, [{ url: urls[77] ?? '', changes: { failed: true } }], NOW);
  assert.ok(read.read().units.write <= 4, `${read.read().units.write} write units`);
});

test('what a dead process left of a draft is removed by a sweep a day later, and not before', async () => {
  const book = openBook(url);
  const draft = await book.draft();
  await draft.add(urlsFrom(0, 200));
  const other = openBook(url);
  await other.sweep();
  const run = await draft.commit(newRun(), NOW);
  const abandoned = await book.draft();
  await abandoned.add(urlsFrom(0, 200));
  const later: Clock = Object.create(clock, { now: { value: () => clock.now() + 25 * 3_600_000 } });
  await openBook(url, later).sweep();
  await assert.rejects(abandoned.commit(newRun(), NOW), /was removed/);
  assert.equal((await countsOf(book, run.id)).total, 200);
  assert.equal(await rowsOf(run.id.slice(0, -1)), 1 + 200 + 3 * 2);
  await book.remove(run.id);
  assert.equal(await rowsOf(run.id.slice(0, -1)), 0);
});
