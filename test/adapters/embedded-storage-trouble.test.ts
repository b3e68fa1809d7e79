import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { walSync } from '../../src/adapters/embedded/ledger/durability.ts';
import type { LedgerChange } from '../../src/ports/ledger.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import {
  allItems,
  checkBooks,
  claim,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  takeOne,
  takeOut,
} from '../contract/ledger/hands.ts';
import { failedWith, NOW, newItems, newJob, partOf, scrapedWith } from '../support/builders.ts';
import { dataDirOf, HeldDisk, openIn, stateOf } from './embedded-support.ts';

const isTrouble = (kind: 'full' | 'io') => (error: unknown) => error instanceof StorageTrouble && error.kind === kind;

test('the sync of a real disk says so when it cannot, and can again when the log is there', async (t) => {
  const walFile = join(dataDirOf(t), 'ledger.db-wal');
  const { sync, close } = walSync(walFile);
  await assert.rejects(sync(), { code: 'ENOENT' });
  writeFileSync(walFile, 'frames');
  await sync();
  await sync();
  await close();
  await assert.rejects(sync(), { code: 'EBADF' });
});

test('while the disk is slow work goes on, and nothing is acknowledged before it is on the disk', async (t) => {
  const disk = new HeldDisk();
  disk.letGo();
  const { ledger } = openIn(t, dataDirOf(t), { sync: disk.sync });
  const jobId = await givenJob(ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
  const lease = await takeOne(ledger, jobId);

  disk.hold();
  const heard: LedgerChange['kind'][] = [];
  ledger.subscribe((change) => heard.push(change.kind));
  const settled = ledger.settle([partOf(lease)], NOW);
  // The slot is free as soon as the settle is applied, and listeners know.
  const [next] = await claim(ledger, await dispatch(ledger, jobId), { worker: 'worker-2' });
  assert.ok(next);
  assert.deepEqual(heard, ['settled', 'dispatched', 'claimed']);
  assert.equal((await jobOf(ledger, jobId)).counts.success, 1);
  assert.equal(await stateOf(settled), 'pending');

  const settledNext = ledger.settle([partOf(next)], NOW);
  await ledger.renew([], NOW);
  await disk.reached();
  assert.equal(disk.syncsWaiting, 1, 'the second settle waits for the sync after the one that runs');
  disk.letGo();
  assert.deepEqual(await settled, ['recorded']);
  assert.deepEqual(await settledNext, ['recorded']);
});

test('one sync serves all that was committed before it began', async (t) => {
  const disk = new HeldDisk();
  disk.letGo();
  let syncs = 0;
  const sync = () => {
    syncs += 1;
    return disk.sync();
  };
  const { ledger } = openIn(t, dataDirOf(t), { sync });
  const jobId = await givenJob(ledger, { items: 10 });
  const leases = await takeOut(ledger, jobId);
  disk.hold();
  syncs = 0;
  const settles: Promise<unknown>[] = [];
  for (const lease of leases) {
    if (settles.length === 1) await disk.reached();
    settles.push(ledger.settle([partOf(lease)], NOW));
    // Each in a commit of its own.
    await ledger.renew([], NOW);
  }
  disk.letGo();
  await Promise.all(settles);
  assert.equal(syncs, 2);
});

test('what a failed sync should have made durable is not acknowledged, and may be repeated', async (t) => {
  const dataDir = dataDirOf(t);
  const disk = new HeldDisk();
  disk.letGo();
  const handle = openIn(t, dataDir, { sync: disk.sync });
  const { ledger } = handle;
  const jobId = await givenJob(ledger, { items: 2 });
  const [one, two] = await takeOut(ledger, jobId);
  assert.ok(one && two);

  disk.hold();
  const settled = ledger.settle([partOf(one, scrapedWith('a'))], NOW);
  const added = ledger.addItems(jobId, newItems(3, { prefix: 'more' }), 0, NOW);
  const probed = handle.probe();
  await disk.reached();
  disk.failWaiting();
  for (const promise of [settled, added, probed]) await assert.rejects(promise, isTrouble('io'));

  disk.letGo();
  const before = await jobOf(ledger, jobId);
  assert.deepEqual(await ledger.settle([partOf(one, scrapedWith('a'))], NOW), ['recorded']);
  const again = await ledger.addItems(jobId, newItems(3, { prefix: 'more' }), 0, NOW);
  assert.deepEqual(again, { kind: 'added', added: 0, duplicates: [0, 1, 2], replaced: [], differing: [] });
  assert.deepEqual(await jobOf(ledger, jobId), before);
  assert.equal(before.fenced, 0);
  await handle.probe();
  await checkBooks(ledger, jobId);
});

test('after a failed sync nothing is promised before the whole log has been copied', async (t) => {
  const dataDir = dataDirOf(t);
  const disk = new HeldDisk();
  disk.letGo();
  const { ledger } = openIn(t, dataDir, { sync: disk.sync });
  await ledger.createJob(newJob(), newItems(100), NOW);
  const logBytes = () => statSync(join(dataDir, 'ledger.db-wal')).size;
  const logBefore = logBytes();
  assert.ok(logBefore > 0);

  disk.hold();
  const failing = ledger.addItems('job-1', newItems(1, { prefix: 'a' }), 0, NOW);
  await disk.reached();
  disk.failWaiting();
  await assert.rejects(failing, isTrouble('io'));
  assert.ok(logBytes() >= logBefore, 'a failed sync alone copies nothing');

  const healing = ledger.addItems('job-1', newItems(1, { prefix: 'b' }), 0, NOW);
  await disk.reached();
  assert.equal(logBytes(), 0, 'the log was copied into the database and emptied');
  assert.equal(await stateOf(healing), 'pending', 'and then synced as ever');
  disk.letGo();
  assert.equal((await healing).kind, 'added');

  // Trust is restored: the log is only synced again.
  await ledger.addItems('job-1', newItems(1, { prefix: 'c' }), 0, NOW);
  assert.ok(logBytes() > 0);
});

test('while the log cannot be copied nothing is promised, and it is tried again with every call', async (t) => {
  const dataDir = dataDirOf(t);
  let isSick = true;
  const sync = async () => {
    if (isSick) throw new Error('EIO');
  };
  const { ledger } = openIn(t, dataDir, { sync });
  await assert.rejects(ledger.createJob(newJob(), newItems(1), NOW), isTrouble('io'));
  isSick = false;
  const reader = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  reader.exec('BEGIN; SELECT * FROM jobs');
  const add = (prefix: string) => ledger.addItems('job-1', newItems(1, { prefix }), 0, NOW);
  await assert.rejects(add('a'), /log in use/);
  await assert.rejects(add('b'), /log in use/);
  reader.close();
  assert.deepEqual(await add('c'), { kind: 'added', added: 1, duplicates: [], replaced: [], differing: [] });
});

test('a disk that stays sick fails every durable call, and none that is only applied', async (t) => {
  const dataDir = dataDirOf(t);
  let isSick = false;
  const sync = async () => {
    if (isSick) throw new Error('EIO');
  };
  const { ledger, leadership } = openIn(t, dataDir, { sync });
  const jobId = await givenJob(ledger, { items: 4 });
  isSick = true;
  const leases = await takeOut(ledger, jobId);
  for (let round = 0; round < 3; round += 1) {
    await assert.rejects(
      ledger.settle(
        leases.map((lease) => partOf(lease)),
        NOW,
      ),
      isTrouble('io'),
    );
    await assert.rejects(leadership.lead('me', NOW + 1, NOW), isTrouble('io'));
  }
  assert.deepEqual(await ledger.renew(['t0'], NOW), ['t0']);
  isSick = false;
  assert.deepEqual(
    await ledger.settle(
      leases.map((lease) => partOf(lease)),
      NOW,
    ),
    Array(4).fill('recorded'),
  );
  assert.equal((await jobOf(ledger, jobId)).counts.success, 4);
});

test('a full disk takes nothing in part, and goes on when there is room', async (t) => {
  const dataDir = dataDirOf(t);
  const handle = openIn(t, dataDir);
  const { ledger } = handle;
  const jobId = await givenJob(ledger, { items: 50 });
  const leases = await takeOut(ledger, jobId);
  await ledger.settle([partOf(leases[0] ?? assert.fail(), failedWith('blocked'))], NOW);
  handle.limitSize(1);
  const before = { job: await jobOf(ledger, jobId), items: await allItems(ledger, jobId) };
  const heard: LedgerChange[] = [];
  ledger.subscribe((change) => heard.push(change));

  const big = newItems(2000, { prefix: 'big' });
  await assert.rejects(handle.probe(), isTrouble('full'));
  await assert.rejects(ledger.addItems(jobId, big, 0, NOW), isTrouble('full'));
  await assert.rejects(ledger.createJob(newJob({ jobId: 'job-2' }), big, NOW), isTrouble('full'));
  // What goes along in the same group is not promised either: it fell with the group.
  const [innocent, together] = await Promise.allSettled([
    ledger.dispatch(jobId, 1, NOW),
    ledger.addItems(jobId, big, 0, NOW),
  ]);
  assert.ok(together.status === 'rejected' && isTrouble('full')(together.reason));
  assert.ok(innocent.status === 'rejected' && isTrouble('full')(innocent.reason));

  assert.deepEqual(heard, []);
  assert.deepEqual({ job: await jobOf(ledger, jobId), items: await allItems(ledger, jobId) }, before);
  assert.equal(await ledger.job('job-2'), null);
  assert.equal(await ledger.item(jobId, 'big-0'), null);
  assert.equal((await itemOf(ledger, jobId, 'p-7')).seq, 7);

  handle.limitSize(null);
  await handle.probe();
  assert.deepEqual(await ledger.addItems(jobId, big, 0, NOW), {
    kind: 'added',
    added: 2000,
    duplicates: [],
    replaced: [],
    differing: [],
  });
  assert.equal((await ledger.createJob(newJob({ jobId: 'job-2' }), big, NOW)).kind, 'created');
  assert.deepEqual(
    await ledger.settle(
      leases.slice(1).map((lease) => partOf(lease)),
      NOW,
    ),
    Array(9).fill('recorded'),
  );
  assert.equal((await itemOf(ledger, jobId, 'big-1999')).seq, 2049);
  await checkBooks(ledger, jobId);
});

test('what found room before the disk was full falls with its group, and can be done again', async (t) => {
  const handle = openIn(t, dataDirOf(t));
  const { ledger } = handle;
  const jobId = await givenJob(ledger, { items: 60 });
  // Leaves some free pages.
  await handle.probe();
  handle.limitSize(1);
  const small = newItems(60, { prefix: 'small' });
  const answers = await Promise.allSettled([
    ledger.addItems(jobId, small, 0, NOW),
    ledger.addItems(jobId, newItems(5000, { prefix: 'big' }), 0, NOW),
  ]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  for (let seq = 0; seq < 60; seq += 1) assert.equal((await itemOf(ledger, jobId, `p-${seq}`)).seq, seq);
  assert.deepEqual(await ledger.addItems(jobId, small, 0, NOW), {
    kind: 'added',
    added: 60,
    duplicates: [],
    replaced: [],
    differing: [],
  });
  assert.equal((await itemOf(ledger, jobId, 'small-59')).seq, 119);
  await checkBooks(ledger, jobId);
});

test('leases are what they were when a full disk made the ledger forget what was in flight', async (t) => {
  const handle = openIn(t, dataDirOf(t));
  const { ledger } = handle;
  const jobId = await givenJob(ledger, { items: 6, policy: { throttling: { max_concurrent_workers: 3 } } });
  const refs = await dispatch(ledger, jobId, 2);
  const [held, gone] = await claim(ledger, refs.slice(0, 2));
  assert.ok(held && gone);
  await ledger.settle([partOf(gone)], NOW);
  handle.limitSize(1);
  await assert.rejects(ledger.addItems(jobId, newItems(2000, { prefix: 'big' }), 0, NOW), isTrouble('full'));

  handle.limitSize(null);
  const [sameLease, over, queued] = await ledger.claim(refs, 'worker-1', NOW + 30_000, NOW);
  assert.deepEqual(sameLease, held);
  assert.equal(over, 'gone');
  assert.ok(typeof queued === 'object');
  assert.deepEqual(await ledger.settle([partOf(held), partOf(queued)], NOW), ['recorded', 'recorded']);
  await checkBooks(ledger, jobId);
});

test('after all trouble, what was acknowledged is there when the ledger is opened again', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 10 });
  const leases = await takeOut(first.ledger, jobId);
  await first.ledger.settle(
    leases.slice(0, 4).map((lease) => partOf(lease)),
    NOW,
  );
  first.limitSize(1);
  await assert.rejects(first.ledger.addItems(jobId, newItems(2000, { prefix: 'big' }), 0, NOW), isTrouble('full'));
  first.crash();

  const { ledger } = openIn(t, dataDir);
  const { counts } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.total, counts.success, counts.inProgress], [10, 4, 6]);
  await checkBooks(ledger, jobId);
});

test('a job that was never created leaves nothing behind for the next one', async (t) => {
  const handle = openIn(t, dataDirOf(t));
  const { ledger } = handle;
  await handle.probe();
  handle.limitSize(1);
  await Promise.allSettled([
    ledger.createJob(newJob({ jobId: 'never' }), [], NOW),
    ledger.addItems('never', newItems(5, { prefix: 'n' }), 0, NOW),
    ledger.createJob(newJob({ jobId: 'too-big' }), newItems(5000), NOW),
  ]);
  handle.limitSize(null);
  assert.equal(await ledger.job('never'), null);
  const jobId = await givenJob(ledger, { items: 10 });
  const answer = await ledger.addItems(jobId, newItems(12), 0, NOW);
  assert.ok(answer.kind === 'added');
  assert.deepEqual([answer.added, answer.duplicates.length], [2, 10]);
});
