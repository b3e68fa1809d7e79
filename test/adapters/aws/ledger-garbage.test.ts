import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { allItems, givenJob, takeOut } from '../../contract/ledger/hands.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { jsonAnswer, type Relaying } from '../../support/aws/relay.ts';
import { NOW, newItems, newJob } from '../../support/builders.ts';
import { deleteJob } from '../../support/delete-job.ts';
import { OwnClock, openLedgerRoom } from './ledger-room.ts';

const room = openLedgerRoom();
const HOUR = 3_600_000;

/** A process that is suspended when it asks for this operation for the first time. */
function suspendedAt(operation: string) {
  const reached = Promise.withResolvers<void>();
  const resume = Promise.withResolvers<void>();
  const relaying: Relaying = async (asked, forward) => {
    if (operationOf('dynamo', asked) === operation) {
      reached.resolve();
      await resume.promise;
    }
    return forward(asked);
  };
  return { relaying, reached: reached.promise, resume: () => resume.resolve() };
}

/** Takes no deletions until the trouble is over. */
function inTrouble() {
  let isOver = false;
  const relaying: Relaying = async (asked, forward) =>
    operationOf('dynamo', asked) === 'BatchWriteItem' && !isOver
      ? jsonAnswer(400, { __type: 'com.amazonaws.dynamodb.v20120810#SomeTroubleException', message: 'not now' })
      : forward(asked);
  return {
    relaying,
    over: () => {
      isOver = true;
    },
  };
}

/** Leaves the rows of a job that was removed, and whose rows could not be. */
async function leaveGarbage(jobId: string): Promise<void> {
  const { ledger } = await room.open();
  await givenJob(ledger, { jobId, items: 150 });
  await takeOut(ledger, jobId);
  const troubles: string[] = [];
  const onTrouble = (where: string) => troubles.push(where);
  const remover = await room.open({ onTrouble }, inTrouble().relaying);
  assert.equal(await deleteJob(remover.ledger, jobId), true);
  assert.deepEqual(troubles, ['removal of rows']);
  assert.ok((await room.rows()).length > 2);
}

for (const operation of ['BatchWriteItem', 'TransactWriteItems']) {
  test(`a job whose creator slept for hours before its ${operation} is not made of what was swept meanwhile`, async () => {
    const { relaying, reached, resume } = suspendedAt(operation);
    const clock = new OwnClock();
    const { ledger } = await room.open({ clock }, relaying);
    const making = ledger.createJob(newJob({ jobId: 'slept' }), newItems(150), NOW);
    const refused = assert.rejects(
      making,
      (error) => error instanceof StorageTrouble && /try again/.test(error.message),
    );
    await reached;
    const sweeper = await room.open({ clock: new OwnClock({ now: clock.now() + 2 * HOUR }) });
    await sweeper.sweep();
    resume();
    await refused;
    assert.equal(await ledger.job('slept'), null);
    assert.deepEqual(await room.rows(), []);

    assert.equal((await ledger.createJob(newJob({ jobId: 'slept' }), newItems(150), NOW)).kind, 'created');
    assert.equal((await allItems(ledger, 'slept')).length, 150);
    await deleteJob(ledger, 'slept');
    assert.deepEqual(await room.rows(), []);
  });
}

test('a job is not created either while a sweep that was begun has not come to its end', async () => {
  const { relaying, reached, resume } = suspendedAt('TransactWriteItems');
  const clock = new OwnClock();
  const { ledger } = await room.open({ clock }, relaying);
  const refused = assert.rejects(ledger.createJob(newJob({ jobId: 'half' }), newItems(150), NOW), StorageTrouble);
  await reached;
  const later = new OwnClock({ now: clock.now() + 2 * HOUR });
  const sweeper = await room.open({ clock: later }, inTrouble().relaying);
  await sweeper.sweep();
  resume();
  await refused;
  assert.deepEqual(await room.rows(), []);
});

test('a job that is just being created is not swept', async () => {
  const { relaying, reached, resume } = suspendedAt('TransactWriteItems');
  const clock = new OwnClock();
  const { ledger } = await room.open({ clock }, relaying);
  const making = ledger.createJob(newJob({ jobId: 'young' }), newItems(150), NOW);
  await reached;
  const sweeper = await room.open({ clock });
  await sweeper.sweep();
  resume();
  assert.equal((await making).kind, 'created');
  clock.jump(2 * HOUR);
  await sweeper.sweep();
  assert.equal((await allItems(ledger, 'young')).length, 150);
  await deleteJob(ledger, 'young');
});

test('what a removal had to leave is swept without waiting, by two sweepers at once, and again after trouble', async () => {
  await leaveGarbage('left');
  const trouble = inTrouble();
  const troubles: string[] = [];
  const onTrouble = (where: string) => troubles.push(where);
  const one = await room.open({ onTrouble }, trouble.relaying);
  const other = await room.open({ onTrouble }, trouble.relaying);
  await one.sweep();
  assert.deepEqual(troubles, ['removal of rows']);
  trouble.over();
  await Promise.all([one.sweep(), other.sweep()]);
  assert.deepEqual(await room.rows(), []);
  assert.deepEqual(troubles, ['removal of rows']);
});

test('a draft is swept an hour after the last items were added to it, and not before', async () => {
  const clock = new OwnClock();
  const { ledger } = await room.open({ clock });
  const sweeper = await room.open({ clock });
  const draft = await ledger.draftJob();
  await draft.add(0, newItems(150));
  for (const from of [150, 151, 152]) {
    clock.jump(0.7 * HOUR);
    await draft.add(from, newItems(1, { prefix: `later-${from}` }));
    await sweeper.sweep();
  }
  assert.equal((await draft.items(0, 1000)).length, 100);
  clock.jump(1.1 * HOUR);
  await sweeper.sweep();
  assert.deepEqual(await room.rows(), []);
  await assert.rejects(draft.add(153, newItems(1, { prefix: 'late' })), StorageTrouble);
  await assert.rejects(draft.commit(newJob({ jobId: 'late' }), NOW), StorageTrouble);
  await draft.drop();
  assert.equal(await ledger.job('late'), null);
  assert.deepEqual(await room.rows(), []);
});

for (const operation of ['BatchWriteItem', 'TransactWriteItems']) {
  test(`a draft whose creator slept for hours before its ${operation} leaves nothing behind`, async () => {
    const { relaying, reached, resume } = suspendedAt(operation);
    const clock = new OwnClock();
    const { ledger } = await room.open({ clock }, relaying);
    const making = (async () => {
      const draft = await ledger.draftJob();
      try {
        await draft.add(0, newItems(150));
        clock.jump(0.2 * HOUR);
        await draft.add(150, newItems(1, { prefix: 'q' }));
        await draft.commit(newJob({ jobId: 'slept' }), NOW);
      } finally {
        await draft.drop();
      }
    })();
    const refused = assert.rejects(making, StorageTrouble);
    await reached;
    const sweeper = await room.open({ clock: new OwnClock({ now: clock.now() + 2 * HOUR }) });
    await sweeper.sweep();
    resume();
    await refused;
    assert.equal(await ledger.job('slept'), null);
    assert.deepEqual(await room.rows(), []);
  });
}

test('a ledger that listens sweeps every hour, until it is closed', async () => {
  const clock = new OwnClock();
  const keeper = await room.open({ clock, listen: true });
  await leaveGarbage('found');
  for (const jobId of ['found next', null]) {
    await clock.advance(HOUR);
    await clock.rest(1);
    assert.deepEqual(await room.rows(), []);
    if (jobId !== null) await leaveGarbage(jobId);
  }
  await keeper.close();
  assert.equal(clock.sleepers, 0);
});
