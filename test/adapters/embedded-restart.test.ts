import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { LedgerChange } from '../../src/ports/ledger.ts';
import { settingsFor } from '../contract/host-settings-contract.ts';
import {
  allItems,
  change,
  checkBooks,
  claim,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  NEVER_QUEUED_TOO_LONG,
  takeOut,
} from '../contract/ledger/hands.ts';
import {
  failedWith,
  NOW,
  newItems,
  newJob,
  partOf,
  SCRAPED,
  SKIPPED,
  scrapedWith,
  sourcePage,
} from '../support/builders.ts';
import { dueBy } from '../support/due-by.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf, HeldDisk, openIn, stateOf } from './embedded-support.ts';

const GRACE_MS = 4000;

test('after a restart the ledger reports exactly what it reported before', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 30, name: 'Parcels', labels: { county: 'maricopa' } });
  const [one, two, three, ...rest] = await takeOut(first.ledger, jobId);
  assert.ok(one && two && three);
  await first.ledger.settle(
    [partOf(one, scrapedWith('a/data.json')), partOf(two, failedWith('blocked')), partOf(three, SKIPPED)],
    NOW,
  );
  for (const lease of rest) await first.ledger.release(lease.token, 'drained', NOW);
  await first.ledger.addItems(jobId, newItems(5, { prefix: 'more' }), NOW + 9, NOW);
  await first.leadership.lead('first', NOW + 1000, NOW);
  const before = {
    job: await first.ledger.job(jobId),
    items: await allItems(first.ledger, jobId),
    groups: await first.ledger.failureGroups(jobId, 10),
  };
  await first.close();

  const second = openIn(t, dataDir);
  assert.deepEqual(
    {
      job: await second.ledger.job(jobId),
      items: await allItems(second.ledger, jobId),
      groups: await second.ledger.failureGroups(jobId, 10),
    },
    before,
  );
  assert.equal(await second.leadership.lead('second', NOW + 2000, NOW), false);
  assert.equal((await itemOf(second.ledger, jobId, 'more-4')).seq, 34);
  const again = await second.ledger.addItems(jobId, newItems(6, { prefix: 'more' }), 0, NOW);
  assert.deepEqual(again, { kind: 'added', added: 1, duplicates: [0, 1, 2, 3, 4], replaced: [], differing: [] });
});

test('what only re-extractions have outlives a restart', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const source = sourcePage('original');
  const job = newJob({ extracts: 'original', submission: 'digest' });
  await first.ledger.createJob(job, [{ itemId: 'a', input: {}, source }, ...newItems(1)], NOW);
  const { jobId } = job;
  const [, plain] = await takeOut(first.ledger, jobId);
  assert.ok(plain);
  await first.ledger.settle([partOf(plain, failedWith('blocked', 'go away', 'make-1'))], NOW);
  await change(first.ledger, jobId, { kind: 'replace-results', by: 'x' });
  const before = {
    job: await first.ledger.job(jobId),
    items: await allItems(first.ledger, jobId),
    groups: await first.ledger.failureGroups(jobId, 10),
  };
  await first.close();
  const { ledger } = openIn(t, dataDir);
  const after = {
    job: await ledger.job(jobId),
    items: await allItems(ledger, jobId),
    groups: await ledger.failureGroups(jobId, 10),
  };
  assert.deepEqual(after, before);
  assert.deepEqual([after.items[0]?.source, after.groups[0]?.page], [source, 'make-1']);
  assert.deepEqual([after.job?.extracts, after.job?.submission, after.job?.replacedBy], ['original', 'digest', 'x']);
});

test('an item whose batch was claimed before a restart is reported by its id when it ends', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  const leases = await takeOut(first.ledger, jobId);
  await first.close();
  const { ledger } = openIn(t, dataDir);
  const heard: LedgerChange[] = [];
  ledger.subscribe((one) => heard.push(one));
  await ledger.settle(
    leases.map((lease) => partOf(lease)),
    NOW,
  );
  const ended = heard.flatMap((one) => (one.kind === 'settled' ? one.items : []));
  assert.deepEqual(
    ended.map(({ itemId, durationMs }) => [itemId, durationMs]),
    [
      ['p-0', 10],
      ['p-1', 10],
    ],
  );
});

test('what was applied outlives the process, although no caller waited for the disk', async (t) => {
  const dataDir = dataDirOf(t);
  const disk = new HeldDisk();
  disk.letGo();
  const first = openIn(t, dataDir, { sync: disk.sync });
  const jobId = await givenJob(first.ledger, { items: 2 });
  const [lease] = await takeOut(first.ledger, jobId);
  assert.ok(lease);
  disk.hold();
  const settled = first.ledger.settle([partOf(lease)], NOW);
  await first.ledger.renew([], NOW);
  assert.equal((await itemOf(first.ledger, jobId, 'p-0')).status, 'success');
  first.crash();
  disk.letGo();

  const { ledger } = openIn(t, dataDir);
  assert.equal((await itemOf(ledger, jobId, 'p-0')).status, 'success');
  assert.equal(await stateOf(settled), 'pending');
  // The worker, which has no answer, asks again.
  assert.deepEqual(await ledger.settle([partOf(lease)], NOW), ['recorded']);
  await checkBooks(ledger, jobId);
});

test('a process that dies takes along what it had not begun to write, and answers no caller', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 1 });
  const lost = first.ledger.addItems(jobId, newItems(1, { prefix: 'lost' }), 0, NOW);
  first.crash();
  const afterwards = first.ledger.job(jobId);

  const { ledger } = openIn(t, dataDir);
  assert.equal((await jobOf(ledger, jobId)).counts.total, 1);
  assert.equal(await ledger.item(jobId, 'lost-0'), null);
  assert.deepEqual([await stateOf(lost), await stateOf(afterwards)], ['pending', 'pending']);
});

test('what was queued is pending after a restart, because its messages are gone', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 8, policy: { throttling: { max_concurrent_workers: 2 } } });
  const refs = await dispatch(first.ledger, jobId, 3);
  assert.equal(refs.length, 2);
  first.crash();

  const { ledger } = openIn(t, dataDir);
  const { counts, itemsInFlight } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.queued, counts.inProgress, itemsInFlight], [0, 0, 0]);
  assert.deepEqual(await ledger.claim(refs, 'worker-1', NOW + 1000, NOW), ['gone', 'gone']);
  await checkBooks(ledger, jobId);
  const again = await takeOut(ledger, jobId, { perBatch: 3 });
  assert.deepEqual(
    again.flatMap((lease) => lease.items.map((item) => [item.itemId, item.attempt])),
    [
      ['p-0', 1],
      ['p-1', 1],
      ['p-2', 1],
      ['p-3', 1],
      ['p-4', 1],
      ['p-5', 1],
    ],
  );
  for (const ref of again)
    assert.ok(!refs.some((old) => old.batchId === ref.ref.batchId), 'a name was given out twice');
});

test('a worker that outlives the owner keeps its lease, if it is heard from within the grace period', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  const [heard, silent] = await takeOut(first.ledger, jobId);
  assert.ok(heard && silent);
  first.crash();

  const { ledger } = openIn(t, dataDir, { leaseGraceMs: GRACE_MS });
  assert.deepEqual(await ledger.renew([heard.token], NOW + 60_000), []);
  assert.equal((await ledger.expire(dueBy(NOW + GRACE_MS - 1, NEVER_QUEUED_TOO_LONG), 10)).leases, 0);
  assert.equal((await ledger.expire(dueBy(NOW + GRACE_MS, NEVER_QUEUED_TOO_LONG), 10)).leases, 1);
  assert.deepEqual(await ledger.settle([partOf(heard)], NOW), ['recorded']);
  assert.deepEqual(await ledger.settle([partOf(silent)], NOW), ['fenced']);
  // Its worker may have died with the owner: the item is not to blame.
  const item = await itemOf(ledger, jobId, silent.items[0]?.itemId ?? '');
  assert.deepEqual([item.status, item.strikes, item.deliveries], ['pending', 0, 1]);
  await checkBooks(ledger, jobId);
});

test('what a worker held that cannot have outlived the owner is pending at once, and no item is blamed', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  const [one, other] = await dispatch(first.ledger, jobId, 1);
  assert.ok(one && other);
  await first.ledger.claim([one], 'child-1', NOW + 60_000, NOW);
  await first.ledger.claim([other], 'worker-1', NOW + 60_000, NOW);
  first.crash();

  const { ledger } = openIn(t, dataDir, { diedWithOwner: (worker) => worker.startsWith('child-') });
  const { counts } = await jobOf(ledger, jobId);
  assert.deepEqual([counts.queued, counts.inProgress], [0, 1]);
  const item = await itemOf(ledger, jobId, 'p-0');
  assert.deepEqual([item.status, item.strikes, item.deliveries], ['pending', 0, 1]);
  await checkBooks(ledger, jobId);
});

test('a worker that was heard from after the restart and then falls silent counts against its item', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 1 });
  const [lease] = await takeOut(first.ledger, jobId);
  assert.ok(lease);
  first.crash();

  const { ledger } = openIn(t, dataDir);
  await ledger.renew([lease.token], NOW + 60_000);
  await ledger.expire(dueBy(NOW + 60_000, NEVER_QUEUED_TOO_LONG), 10);
  assert.equal((await itemOf(ledger, jobId, 'p-0')).strikes, 1);
});

test('a lease that would have run out sooner than the grace period still does', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 1 });
  await claim(first.ledger, await dispatch(first.ledger, jobId), { until: NOW + 10 });
  first.crash();

  const { ledger } = openIn(t, dataDir, { clock: new FakeClock({ now: NOW }) });
  assert.equal((await ledger.expire(dueBy(NOW + 10, NEVER_QUEUED_TOO_LONG), 10)).leases, 1);
});

test('marks, strikes and histories outlive a restart in the middle of a batch', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 4, policy: { throttling: { max_concurrent_workers: 1 } } });
  const [failing] = await takeOut(first.ledger, jobId, { perBatch: 4 });
  assert.ok(failing);
  await first.ledger.settle([partOf(failing, failedWith('blocked'))], NOW);
  await first.ledger.reopen(
    jobId,
    { errorType: null, itemIds: null, groupKeys: null, preview: false },
    { after: null, limit: 9 },
    0,
    NOW,
  );
  await takeOut(first.ledger, jobId, { perBatch: 4 });
  await first.ledger.expire(dueBy(NOW + 60_000, NEVER_QUEUED_TOO_LONG), 10);
  const [suspect] = await takeOut(first.ledger, jobId, { perBatch: 4 });
  assert.ok(suspect?.suspect);
  await first.ledger.settle([partOf(suspect, SCRAPED, suspect.items.slice(0, 1))], NOW);
  await first.ledger.begin(suspect.token, suspect.items[2]?.seq ?? -1);
  const before = await allItems(first.ledger, jobId);
  first.crash();

  const { ledger } = openIn(t, dataDir);
  assert.deepEqual(await allItems(ledger, jobId), before);
  await ledger.renew([suspect.token], NOW + 60_000);
  await ledger.expire(dueBy(NOW + 60_000, NEVER_QUEUED_TOO_LONG), 10);
  const items = await allItems(ledger, jobId);
  assert.deepEqual(
    items.map((item) => [item.status, item.strikes]),
    [
      ['success', 1],
      ['pending', 1],
      ['pending', 2],
      ['pending', 1],
    ],
  );
  assert.deepEqual(
    items.map((item) => item.attempts.length),
    [2, 1, 1, 1],
  );
});

test('a process that is killed loses nothing of what it acknowledged', async (t) => {
  const dataDir = dataDirOf(t);
  const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve('./embedded-victim.ts')), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let acknowledged = 0;
  for await (const line of createInterface(child.stdout)) {
    acknowledged = Number(line);
    if (acknowledged >= 300) child.kill('SIGKILL');
  }
  await exited;

  const { ledger } = openIn(t, dataDir);
  const job = await jobOf(ledger, 'job-1');
  assert.ok(job.counts.success >= acknowledged, `${job.counts.success} of ${acknowledged} acknowledged`);
  await checkBooks(ledger, 'job-1');
});

test('settings of hosts are there after a restart, and after the process was killed', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const county = settingsFor('county.gov', 'v1', { requestsPerSecond: 2, note: 'agreed', pausedUntil: NOW + 1000 });
  await first.hostSettings.set(county);
  await first.close();
  const second = openIn(t, dataDir);
  assert.deepEqual(await second.hostSettings.list(), [county]);
  const state = settingsFor('state.gov', 'v1', { maxConcurrent: 1 });
  await second.hostSettings.set(state);
  await second.hostSettings.clear('county.gov');
  second.crash();
  assert.deepEqual(await openIn(t, dataDir).hostSettings.list(), [state]);
});

test('leases of a worker that was just abandoned are overdue for a reaper that looks at once', async (t) => {
  const { ledger } = openIn(t, dataDirOf(t));
  const jobId = await givenJob(ledger, { items: 2 });
  const { length } = await takeOut(ledger, jobId, { worker: 'dead' });
  const abandoned = ledger.abandon('dead', NOW + 1);
  // Without waiting for the answer: what is asked later is carried out later.
  const expired = ledger.expire(dueBy(NOW + 1, NEVER_QUEUED_TOO_LONG), 10);
  assert.equal(await abandoned, length);
  assert.deepEqual(await expired, { leases: length, queued: 0 });
});
