import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packKeys, unpackKeys } from '../../src/adapters/embedded/ledger/fresh.ts';
import {
  allItems,
  change,
  checkBooks,
  complete,
  givenJob,
  itemOf,
  jobOf,
  MANIFEST,
  refusal,
  runAll,
  takeOne,
  takeOut,
} from '../contract/ledger/hands.ts';
import { failedOn, failedWith, NOW, partOf, SCRAPED, scrapedWith } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

const MINUTE = 60_000;

test('after the machine went down, items whose bytes are not there are pending again, uncharged', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 6 });
  const [a, b, c, d] = await takeOut(first.ledger, jobId);
  assert.ok(a && b && c && d);
  await first.ledger.settle(
    [partOf(a, scrapedWith('a/html', 'a/data')), partOf(b, scrapedWith('b/html', 'b/data'))],
    NOW,
  );
  await first.ledger.settle([partOf(c, SCRAPED), partOf(d, failedWith('blocked'))], NOW);
  first.crash();

  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  const checked: string[] = [];
  const undone = await second.recoverAfterMachineCrash(async ({ key }) => {
    checked.push(key);
    return key !== 'b/data';
  });
  assert.equal(undone, 1);
  assert.deepEqual(checked.sort(), ['a/data', 'a/html', 'b/data', 'b/html']);
  const { ledger } = second;
  assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'success');
  const torn = await itemOf(ledger, jobId, 'p-1');
  assert.deepEqual([torn.status, torn.strikes, torn.attempts, torn.artifacts], ['pending', 0, [], []]);
  assert.equal(torn.deliveries, 1, 'the next attempt writes under keys of its own');
  assert.deepEqual((await jobOf(ledger, jobId)).counts.success, 2);
  await checkBooks(ledger, jobId);
});

test('a failed item whose page is not there is pending again, and counts in no group of failures', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  const [a, b] = await takeOut(first.ledger, jobId);
  assert.ok(a && b);
  await first.ledger.settle([partOf(a, failedOn('a/html')), partOf(b, failedOn('b/html'))], NOW);
  await complete(first.ledger, jobId);
  first.crash();

  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  assert.equal(await second.recoverAfterMachineCrash(async ({ key }) => key !== 'b/html'), 1);
  const { ledger } = second;
  const torn = await itemOf(ledger, jobId, 'p-1');
  assert.deepEqual([torn.status, torn.deliveries, torn.attempts, torn.artifacts], ['pending', 1, [], []]);
  const { status, counts } = await jobOf(ledger, jobId);
  assert.deepEqual([status, counts.failed, counts.success], ['in_progress', 1, 0]);
  const [group] = await ledger.failureGroups(jobId, 10);
  assert.deepEqual([group?.count, group?.examples.map(({ itemId }) => itemId)], [1, ['p-0']]);
  await checkBooks(ledger, jobId);
});

test('a job whose results were being deleted when the machine went down is not reopened for lack of them', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  await runAll(first.ledger, jobId, scrapedWith('a'));
  await complete(first.ledger, jobId);
  const { incarnation } = await jobOf(first.ledger, jobId);
  await change(first.ledger, jobId, { kind: 'remove', incarnation });
  await change(first.ledger, jobId, { kind: 'remove-for-good', incarnation });
  first.crash();

  const { ledger, recoverAfterMachineCrash } = openIn(t, dataDir, { bootId: 'boot-2' });
  assert.equal(await recoverAfterMachineCrash(async () => false), 0);
  assert.equal((await jobOf(ledger, jobId)).status, 'completed');
  assert.equal(await ledger.removeJob(jobId, incarnation), true);
});

test('the check is made once per crash of the machine, and not after a crash of the process', async (t) => {
  const dataDir = dataDirOf(t);
  const check = async () => assert.fail('nothing is to be checked');
  const first = openIn(t, dataDir);
  assert.equal(await first.recoverAfterMachineCrash(check), 0);
  const jobId = await givenJob(first.ledger);
  await runAll(first.ledger, jobId, scrapedWith('a'));
  first.crash();

  const second = openIn(t, dataDir);
  assert.equal(await second.recoverAfterMachineCrash(check), 0);
  second.crash();

  const third = openIn(t, dataDir, { bootId: 'boot-2' });
  // It goes down again before the check came to its end: then it is made again.
  await assert.rejects(
    third.recoverAfterMachineCrash(() => Promise.reject(new Error('killed'))),
    /killed/,
  );
  third.crash();
  const fourth = openIn(t, dataDir, { bootId: 'boot-3' });
  assert.equal(await fourth.recoverAfterMachineCrash(async () => false), 1);
  await runAll(fourth.ledger, jobId, scrapedWith('b'));
  fourth.crash();
  const fifth = openIn(t, dataDir, { bootId: 'boot-3' });
  assert.equal(await fifth.recoverAfterMachineCrash(check), 0);
});

test('only what was recorded in the last minutes is checked', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const first = openIn(t, dataDir, { clock });
  const jobId = await givenJob(first.ledger, { items: 4 });
  const leases = await takeOut(first.ledger, jobId);
  for (const [index, lease] of leases.entries()) {
    await first.ledger.settle([partOf(lease, scrapedWith(`key-${index}`))], NOW);
    // A clock that is set back makes nothing young again, and one that is set forward nothing old.
    clock.jump(index % 2 === 0 ? 60 * MINUTE : -90 * MINUTE);
    await clock.advance(2 * MINUTE);
  }
  first.crash();
  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  const checked: string[] = [];
  await second.recoverAfterMachineCrash(async ({ key }) => {
    checked.push(key);
    return true;
  });
  assert.deepEqual(checked, ['key-1', 'key-2', 'key-3']);
});

test('nothing grows old before it was checked', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 3 });
  const [a, b, c] = await takeOut(first.ledger, jobId);
  assert.ok(a && b && c);
  await first.ledger.settle([partOf(a, scrapedWith('a'))], NOW);
  first.crash();

  const clock = new FakeClock();
  const second = openIn(t, dataDir, { bootId: 'boot-2', clock });
  await clock.advance(6 * MINUTE);
  await second.ledger.settle([partOf(b, scrapedWith('b'))], NOW);
  await clock.advance(6 * MINUTE);
  await second.ledger.settle([partOf(c, scrapedWith('c'))], NOW);
  assert.equal(await second.recoverAfterMachineCrash(async ({ key }) => key !== 'a'), 1);
  assert.equal((await itemOf(second.ledger, jobId, 'p-0')).status, 'pending');
});

test('a finished job whose results are torn begins a new round', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  await runAll(first.ledger, jobId, scrapedWith('a'));
  await complete(first.ledger, jobId);
  first.crash();

  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  assert.equal(await second.recoverAfterMachineCrash(async () => false), 2);
  const { ledger } = second;
  const job = await jobOf(ledger, jobId);
  assert.deepEqual([job.status, job.round, job.manifest, job.finishedAt], ['in_progress', 2, null, null]);
  await checkBooks(ledger, jobId);
  await runAll(ledger, jobId);
  assert.equal((await complete(ledger, jobId)).counts.success, 2);
});

test('a job whose manifest is being written, and whose results are torn, begins a new round', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  await runAll(first.ledger, jobId, scrapedWith('a'));
  await change(first.ledger, jobId, { kind: 'finish' });
  first.crash();

  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  assert.equal(await second.recoverAfterMachineCrash(async () => false), 2);
  const job = await jobOf(second.ledger, jobId);
  assert.deepEqual([job.status, job.round, job.finishedAt], ['in_progress', 2, null]);
  await refusal(second.ledger, jobId, { kind: 'complete', round: 1, manifest: MANIFEST });
  await runAll(second.ledger, jobId);
  assert.equal((await complete(second.ledger, jobId)).counts.success, 2);
});

test('what is torn in a cancelled job is cancelled', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 3, policy: { throttling: { max_concurrent_workers: 1 } } });
  const lease = await takeOne(first.ledger, jobId);
  await first.ledger.settle([partOf(lease, scrapedWith('a'))], NOW);
  await change(first.ledger, jobId, { kind: 'cancel' });
  first.crash();

  const second = openIn(t, dataDir, { bootId: 'boot-2' });
  assert.equal(await second.recoverAfterMachineCrash(async () => false), 1);
  const items = await allItems(second.ledger, jobId);
  assert.deepEqual(
    items.map((item) => item.status),
    ['cancelled', 'cancelled', 'cancelled'],
  );
  await checkBooks(second.ledger, jobId);
});

test('names of batches that may have been lost with the machine are not given out again', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2, policy: { throttling: { max_concurrent_workers: 1 } } });
  const before = await takeOne(first.ledger, jobId);
  await first.ledger.release(before.token, 'drained', NOW);
  first.crash();
  const { ledger } = openIn(t, dataDir, { bootId: 'boot-2' });
  const after = await takeOne(ledger, jobId);
  const numberOf = (batchId: string) => Number(batchId.slice(1));
  assert.ok(numberOf(after.ref.batchId) - numberOf(before.ref.batchId) > 100_000);
});

test('keys that are neighbours are kept as one', () => {
  assert.deepEqual(packKeys([5, 3, 4, 9, 11, 10, 20]), [3, 3, 9, 3, 20, 1]);
  assert.deepEqual(unpackKeys([3, 3, 9, 3, 20, 1]), [3, 4, 5, 9, 10, 11, 20]);
  assert.deepEqual(packKeys([]), []);
});
