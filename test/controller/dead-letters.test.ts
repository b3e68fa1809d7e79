import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { openSqsQueue } from '../../src/adapters/aws/work-queue.ts';
import { Controller } from '../../src/controller/engine/controller.ts';
import { DeadLetterDrain } from '../../src/controller/engine/dead-letters.ts';
import { type EngineEvent, EventStream } from '../../src/controller/engine/events.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Lease, LeaseBook } from '../../src/ports/ledger.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import { startSqsInTime } from '../support/aws/sqs-in-time.ts';
import { newItems, newJob, partOf } from '../support/builders.ts';
import { dueBy } from '../support/due-by.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLeadership } from '../support/memory/leadership.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { roomFor } from '../support/room.ts';

const MAX_RECEIVES = 2;
const LEASE_MS = 30_000;
const JOB = 'job-1';

const emulator = await startSqsInTime();
after(() => emulator.stop());

/** A job of three items that go out as one batch, and an SQS queue that gives a message up after two deliveries. */
async function setUp({ mayWork = true, claim }: { mayWork?: boolean; claim?: LeaseBook['claim'] } = {}) {
  const clock = new FakeClock();
  const clients = emulator.clients();
  after(() => clients.close());
  const queueUrls = await emulator.createQueues({ maxReceives: MAX_RECEIVES });
  const queue = openSqsQueue({ sqs: clients.sqs, queueUrls, clock });
  const ledger = openMemoryLedger();
  await ledger.createJob(newJob({ policy: { throttling: { max_concurrent_workers: 1 } } }), newItems(3), clock.now());
  const events = new EventStream();
  const heard: EngineEvent[] = [];
  events.subscribe((event) => heard.push(event));
  const errors: unknown[] = [];
  const drain = new DeadLetterDrain({
    ...{ deadLetters: queue, clock, events, mayWork: () => mayWork },
    ledger: { claim: claim ?? ((...args) => ledger.claim(...args)), begin: (...args) => ledger.begin(...args) },
    onError: (_, error) => errors.push(error),
  });

  async function dispatch(): Promise<BatchRef> {
    const [ref, ...more] = (await ledger.dispatch(JOB, 3, clock.now()))?.refs ?? [];
    assert.ok(ref !== undefined && more.length === 0, 'one batch');
    assert.deepEqual(await queue.send([ref]), { refused: [] });
    return ref;
  }

  /** Workers that die while holding a message, before they report anything about it. */
  async function killReceivers(): Promise<void> {
    const command = new ReceiveMessageCommand({ QueueUrl: queueUrls.http, VisibilityTimeout: LEASE_MS / 1000 });
    for (let delivery = 1; delivery <= MAX_RECEIVES; delivery += 1) {
      assert.equal((await clients.sqs.send(command)).Messages?.length, 1);
      emulator.advance(LEASE_MS);
    }
    assert.equal((await clients.sqs.send(command)).Messages, undefined, 'it is given up');
  }

  const reap = () => ledger.expire(dueBy(clock.now(), 0), 100);

  async function claimNow(ref: BatchRef): Promise<Lease> {
    const [lease] = await ledger.claim([ref], 'worker-1', clock.now() + LEASE_MS, clock.now());
    assert.ok(typeof lease === 'object');
    return lease;
  }

  async function statuses(): Promise<string[]> {
    const { entries } = await ledger.items(JOB, { status: null, errorType: null }, { after: null, limit: 10 });
    return entries.map(({ status }) => status);
  }

  return { clock, queue, ledger, events, heard, errors, drain, dispatch, killReceivers, reap, claimNow, statuses };
}

test('an item found among the dead letters three times ends as poison, and its neighbours go on', async () => {
  const { clock, queue, ledger, heard, drain, dispatch, killReceivers, reap, claimNow, statuses } = await setUp();
  for (const round of [1, 2, 3]) {
    await dispatch();
    await killReceivers();
    assert.deepEqual(await drain.runOnce(), { batches: 1 }, `round ${round}`);
    emulator.advance(60_000);
    assert.deepEqual(await queue.takeDead('http', 10), [], 'the letter is gone');
    assert.deepEqual(await reap(), { leases: 1, queued: 0 });
    assert.deepEqual(await statuses(), [round < 3 ? 'pending' : 'failed', 'pending', 'pending']);
  }
  assert.equal((await ledger.item(JOB, 'p-0'))?.attempts.at(-1)?.failure?.type, 'poison');
  assert.deepEqual(
    heard.filter(({ kind }) => kind === 'dead-letters'),
    [1, 2, 3].map(() => ({ kind: 'dead-letters', batches: 1 })),
  );

  const ref = await dispatch();
  const [delivery] = await queue.receive('http', roomFor(10), LEASE_MS, new AbortController().signal);
  assert.deepEqual(delivery?.ref, ref);
  const lease = await claimNow(ref);
  assert.deepEqual(await ledger.settle([partOf(lease)], clock.now()), ['recorded']);
  assert.deepEqual(await statuses(), ['failed', 'success', 'success']);
});

test('a dead letter of a batch that is gone, or is held by a worker, is discarded and charges no item', async () => {
  const { clock, queue, ledger, heard, drain, dispatch, killReceivers, claimNow, reap } = await setUp();
  const held = await claimNow(await dispatch());
  await killReceivers();
  assert.deepEqual(await drain.runOnce(), { batches: 0 });
  assert.deepEqual(await reap(), { leases: 0, queued: 0 }, 'the lease is as good as before');
  assert.deepEqual(await queue.takeDead('http', 10), []);

  await ledger.release(held.token, 'drained', clock.now());
  const gone = await dispatch();
  await ledger.recall([gone], clock.now());
  await killReceivers();
  assert.deepEqual(await drain.runOnce(), { batches: 0 });
  emulator.advance(600_000);
  assert.deepEqual(await queue.takeDead('http', 10), []);
  assert.deepEqual(heard, []);
});

test('a dead letter is kept until the ledger has answered', async () => {
  let isWell = false;
  const memory = { claim: (async () => []) as LeaseBook['claim'] };
  const { drain, errors, dispatch, killReceivers, ledger } = await setUp({
    async claim(...args) {
      if (!isWell) throw new StorageTrouble('io', 'no answer');
      return memory.claim(...args);
    },
  });
  memory.claim = (...args) => ledger.claim(...args);
  await dispatch();
  await killReceivers();
  assert.deepEqual(await drain.runOnce(), { batches: 0 });
  assert.ok(errors[0] instanceof StorageTrouble);
  isWell = true;
  emulator.advance(60_000);
  assert.deepEqual(await drain.runOnce(), { batches: 1 });
});

test('a lane whose dead letters cannot be read does not keep those of the other one', async () => {
  const { clock, ledger, events } = await setUp();
  const { sqs, close } = emulator.clients();
  const { http, browser } = await emulator.createQueues({ maxReceives: 1 });
  const queue = openSqsQueue({ sqs, queueUrls: { http: `${http}-of-nobody`, browser }, clock });
  await queue.send([{ jobId: JOB, batchId: 'gone', lane: 'browser' }]);
  const command = new ReceiveMessageCommand({ QueueUrl: browser, VisibilityTimeout: 1 });
  await sqs.send(command);
  emulator.advance(1000);
  await sqs.send(command);

  const errors: string[] = [];
  const onError = (where: string, error: unknown) => errors.push(`${where}: ${(error as Error).name}`);
  const drain = new DeadLetterDrain({ deadLetters: queue, ledger, clock, events, mayWork: () => true, onError });
  await drain.runOnce();
  assert.deepEqual(errors, ['dead letters: QueueDoesNotExist']);
  emulator.advance(60_000);
  assert.deepEqual(await queue.takeDead('browser', 10), [], 'it was read and forgotten');
  close();
});

test('a controller that does not lead leaves dead letters alone', async () => {
  const { queue, drain, dispatch, killReceivers } = await setUp({ mayWork: false });
  const ref = await dispatch();
  await killReceivers();
  assert.deepEqual(await drain.runOnce(), { batches: 0 });
  assert.deepEqual(
    (await queue.takeDead('http', 10)).map((delivery) => delivery.ref),
    [ref],
  );
});

test('a controller that leads looks for dead letters, and its reaper does the rest', async () => {
  const { clock, queue, ledger, events, dispatch, killReceivers } = await setUp();
  await dispatch();
  await killReceivers();
  const drained = Promise.withResolvers<EngineEvent>();
  const reaped = Promise.withResolvers<EngineEvent>();
  events.subscribe((event) => {
    if (event.kind === 'dead-letters') drained.resolve(event);
    if (event.kind === 'reaped') reaped.resolve(event);
  });
  const controller = new Controller({
    ...openMemoryRecordings(),
    ...{ ledger, queue, clock, events, deadLetters: queue, holder: 'me', faults: NO_FAULTS },
    leadership: openMemoryLeadership(),
    store: openMemoryResultStore(),
    digest: (text) => hash('sha256', text),
    probe: async () => {},
    makeRoom: async () => {},
    settings: {
      ...{ leaseMs: LEASE_MS, lostAfterMs: 600_000, leadMs: 20_000, reapMs: 1000, pollMs: 1000, probeMs: 1000 },
      itemsPerBatch: 3,
      handoverMs: 0,
      itemManifests: false,
    },
  });
  controller.start();
  assert.deepEqual(await drained.promise, { kind: 'dead-letters', batches: 1 });
  await clock.advance(1000);
  assert.deepEqual(await reaped.promise, { kind: 'reaped', leases: 1, queued: 0 });
  await controller.stop();
});
