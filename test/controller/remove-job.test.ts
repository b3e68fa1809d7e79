import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Remover } from '../../src/controller/engine/remover.ts';
import { removeJob } from '../../src/controller/jobs/remove-job.ts';
import { jobOf } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob } from '../support/builders.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';

async function openRoom(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-remove-'));
  const clock = systemClock();
  const { ledger, close } = openEmbeddedLedger({ dataDir, clock });
  const store = await openFileResultStore(join(dataDir, 'results'), { clock });
  t.after(async () => {
    await close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const events = new EventStream();
  events.subscribe((event) => {
    if (event.kind === 'engine-error') assert.fail(`${event.where}: ${String(event.error)}`);
  });
  const remover = new Remover({
    ...openMemoryRecordings(),
    ...{ ledger, store, clock, events },
    digest: (text) => hash('sha256', text),
    leadTerm: () => 1,
    whenWritten: async () => {},
    again() {},
  });
  const removeMarked = async () => {
    await remover.runOnce();
    await remover.whenIdle();
  };
  const unsubscribe = ledger.subscribe((change) => {
    if (change.kind === 'job' && change.because === 'remove') void removeMarked();
  });
  const parts = { ledger, clock };
  const keep = (key: string) =>
    store.put(key, Buffer.from('kept'), { contentType: 'text/plain', encoding: 'identity', ifTaken: 'keep' });
  return { parts, ledger, store, keep, removeMarked, unsubscribe };
}

test('a job is deleted with its results, and then its id is free', async (t) => {
  const { parts, ledger, store, keep } = await openRoom(t);
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  await keep('job-1/items/p-0/data.json');
  await keep('job-10/items/p-0/data.json');
  assert.deepEqual(await removeJob(parts, 'job-1'), { kind: 'removed' });
  assert.equal(await ledger.job('job-1'), null);
  assert.equal(await store.get('job-1/items/p-0/data.json'), null);
  assert.notEqual(await store.get('job-10/items/p-0/data.json'), null);
  assert.deepEqual(await removeJob(parts, 'job-1'), { kind: 'missing' });
});

test('a deletion that is overtaken by another, and by the next job with that id, leaves that job alone', async (t) => {
  const { parts, ledger } = await openRoom(t);
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  const overtaken = {
    job: (jobId: string) => ledger.job(jobId),
    jobs: ledger.jobs.bind(ledger),
    activeJobs: ledger.activeJobs.bind(ledger),
    // This happens between its look and its mark.
    async changeJob(...args: Parameters<typeof ledger.changeJob>) {
      assert.deepEqual(await removeJob(parts, 'job-1'), { kind: 'removed' });
      await ledger.createJob(newJob({ held: true }), newItems(3), NOW);
      return ledger.changeJob(...args);
    },
  };
  assert.deepEqual(await removeJob({ ...parts, ledger: overtaken }, 'job-1'), { kind: 'removed' });
  const { counts, removing } = await jobOf(ledger, 'job-1');
  assert.deepEqual([counts.total, removing], [3, undefined]);
});

test('a deletion that a process began and did not finish is finished by the next one', async (t) => {
  const { ledger, store, keep, removeMarked, unsubscribe } = await openRoom(t);
  unsubscribe();
  await ledger.createJob(newJob({ held: true }), newItems(2), NOW);
  await ledger.createJob(newJob({ jobId: 'other', held: true }), newItems(2), NOW);
  await keep('job-1/items/p-0/data.json');
  const { incarnation } = await jobOf(ledger, 'job-1');
  await ledger.changeJob('job-1', { kind: 'remove', incarnation }, NOW);
  await removeMarked();
  assert.equal(await ledger.job('job-1'), null);
  assert.equal(await store.get('job-1/items/p-0/data.json'), null);
  assert.notEqual(await ledger.job('other'), null);
});

test('a job whose pages are being read, or whose data replace those of another, is not deleted', async (t) => {
  const { parts, ledger } = await openRoom(t);
  await ledger.createJob(newJob({ jobId: 'old', held: true }), newItems(2), NOW);
  await ledger.createJob(newJob({ jobId: 'new', held: true, extracts: 'old' }), newItems(2), NOW);
  const refused = await removeJob(parts, 'old');
  assert.ok(refused.kind === 'refused' && /the job new reads its pages/.test(refused.because));
  await ledger.changeJob('old', { kind: 'replace-results', by: 'new' }, NOW);
  const guarded = await removeJob(parts, 'new');
  assert.ok(guarded.kind === 'refused' && /its data replace those of the job old/.test(guarded.because));
});
