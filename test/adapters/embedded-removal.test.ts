import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { change, givenJob, itemOf, jobOf, runAll, takeOut } from '../contract/ledger/hands.ts';
import { failedWith, NOW, newItems, newJob, partOf, scrapedWith } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

const LARGE = [
  'items',
  'outcomes',
  'returned',
  'item_ids',
  'item_id_runs',
  'item_groups',
  'batches',
  'failure_groups',
  'removals',
];

/** Rows of every table, as another process would see them. */
function rowsIn(dataDir: string): Record<string, number> {
  const db = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
  const count = (table: string) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  const counts = Object.fromEntries(LARGE.map((table) => [table, count(table)]));
  db.close();
  return counts;
}

const NO_ROWS = Object.fromEntries(LARGE.map((table) => [table, 0]));

/** Answers come with the commit, so that the deleting has not begun when a test looks. */
const sync = async () => {};

async function until(condition: () => boolean, clock: FakeClock): Promise<void> {
  for (let turns = 0; !condition(); turns += 1) {
    assert.ok(turns < 10_000, 'it never came to that');
    await clock.turn();
  }
}

test('a removed job is gone at once, and its rows a few at a time after that', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock, sync });
  const items = newItems(9000).map((item, place) => ({ ...item, group: `site ${place % 7}` }));
  await ledger.createJob(newJob(), items, NOW);
  const [one, two, three] = await takeOut(ledger, 'job-1');
  assert.ok(one && two && three);
  await ledger.settle([partOf(one, failedWith('blocked')), partOf(two, scrapedWith('a'))], NOW);
  await ledger.release(three.token, 'drained', NOW);

  assert.equal(await deleteJob(ledger, 'job-1'), true);
  assert.equal(await ledger.job('job-1'), null);
  assert.equal(await ledger.item('job-1', 'p-1'), null);
  assert.deepEqual(await ledger.items('job-1', { status: null, errorType: null }, { after: null, limit: 9 }), {
    entries: [],
    next: null,
  });
  assert.deepEqual((await ledger.jobs({ status: null, page: { after: null, limit: 9 } })).entries, []);
  assert.equal(await deleteJob(ledger, 'job-1'), false);
  assert.ok((rowsIn(dataDir)['items'] ?? 0) > 2000, 'not all at once');

  const steps: number[] = [];
  let last = rowsIn(dataDir)['items'] ?? 0;
  await until(() => {
    const left = rowsIn(dataDir);
    if (left['items'] !== last) steps.push(last - (left['items'] ?? 0));
    last = left['items'] ?? 0;
    return left['removals'] === 0;
  }, clock);
  assert.deepEqual(rowsIn(dataDir), NO_ROWS);
  assert.ok(steps.length >= 2 && steps.every((step) => step <= 4000), steps.join());
});

test('a job of the same name can be made while the old one is being deleted, and is another', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock, sync });
  await ledger.createJob(newJob(), newItems(9000), NOW);
  const [old] = await takeOut(ledger, 'job-1');
  assert.ok(old);
  await deleteJob(ledger, 'job-1');
  await givenJob(ledger, { items: 3, prefix: 'new' });
  assert.deepEqual(await ledger.settle([partOf(old)], NOW), ['fenced']);
  assert.equal(await ledger.item('job-1', 'p-0'), null);
  assert.equal((await itemOf(ledger, 'job-1', 'new-2')).seq, 2);
  await until(() => rowsIn(dataDir)['removals'] === 0, clock);
  assert.equal(rowsIn(dataDir)['items'], 3);
  await runAll(ledger, 'job-1');
  assert.equal((await jobOf(ledger, 'job-1')).counts.success, 3);
});

test('a restart goes on with what was left to delete', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir, { sync });
  await first.ledger.createJob(newJob(), newItems(9000), NOW);
  await deleteJob(first.ledger, 'job-1');
  first.crash();
  assert.ok((rowsIn(dataDir)['items'] ?? 0) > 0);

  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock, sync });
  assert.equal(await ledger.job('job-1'), null);
  await until(() => rowsIn(dataDir)['removals'] === 0, clock);
  assert.deepEqual(rowsIn(dataDir), NO_ROWS);
});

test('a mark that was taken back stays so after a restart, and the incarnation is the same', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir, { sync });
  await first.ledger.createJob(newJob({ held: true }), newItems(1), NOW);
  const before = await jobOf(first.ledger, 'job-1');
  const { incarnation } = before;
  await change(first.ledger, 'job-1', { kind: 'remove', incarnation });
  await change(first.ledger, 'job-1', { kind: 'keep', incarnation });
  first.crash();
  const second = openIn(t, dataDir, { sync });
  assert.deepEqual(await jobOf(second.ledger, 'job-1'), before);
  await change(second.ledger, 'job-1', { kind: 'remove', incarnation });
  await change(second.ledger, 'job-1', { kind: 'remove-for-good', incarnation });
  second.crash();
  const third = openIn(t, dataDir, { sync });
  assert.equal((await jobOf(third.ledger, 'job-1')).removing, true);
  assert.equal(await third.ledger.removeJob('job-1', incarnation), true);
  await third.ledger.createJob(newJob(), [], NOW);
  assert.notEqual((await jobOf(third.ledger, 'job-1')).incarnation, incarnation);
});

test('what is left of drafts is deleted when the ledger is opened again, and their numbers are not given twice', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir, { sync });
  const dead = await first.ledger.draftJob();
  await dead.add(0, newItems(2500));
  const empty = await first.ledger.draftJob();
  const made = await first.ledger.draftJob();
  await made.add(0, newItems(3, { prefix: 'q' }));
  await made.commit(newJob({ jobId: 'made' }), NOW);
  await empty.add(0, []);
  first.crash();
  assert.ok((rowsIn(dataDir)['items'] ?? 0) > 2500);

  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock, sync });
  await givenJob(ledger, { items: 2 });
  await until(() => rowsIn(dataDir)['removals'] === 0, clock);
  assert.equal(rowsIn(dataDir)['items'], 5);
  assert.deepEqual(
    (await ledger.jobs({ status: null, page: { after: null, limit: 9 } })).entries.map(({ jobId }) => jobId),
    ['job-1', 'made'],
  );
  assert.equal((await itemOf(ledger, 'made', 'q-2')).seq, 2);
  assert.equal((await itemOf(ledger, 'job-1', 'p-1')).seq, 1);
});

test('a draft that is dropped loses its rows while the ledger is open', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const { ledger } = openIn(t, dataDir, { clock, sync });
  const draft = await ledger.draftJob();
  await draft.add(0, newItems(5000));
  const other = await ledger.draftJob();
  await other.add(0, newItems(1));
  await draft.drop();
  await until(() => rowsIn(dataDir)['removals'] === 1, clock);
  assert.equal(rowsIn(dataDir)['items'], 1);
  assert.equal((await other.commit(newJob(), NOW)).kind, 'created');
  assert.deepEqual(rowsIn(dataDir)['removals'], 0);
});
