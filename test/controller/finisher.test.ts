import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { type EngineEvent, EventStream } from '../../src/controller/engine/events.ts';
import { Finisher } from '../../src/controller/engine/finisher.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { change, givenJob, jobOf, runAll } from '../contract/ledger/hands.ts';
import { failedWith, NOW } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';
import { NO_ITEM_MANIFESTS } from '../support/no-item-manifests.ts';

const digest = (text: string) => hash('sha256', text);

/** A ledger that is read in the middle of a write, once for each of the named jobs. */
function tornLedger(
  jobIds: readonly string[],
  tear: (entries: readonly ItemRecord[]) => readonly ItemRecord[],
): Ledger {
  const ledger = openMemoryLedger();
  const torn = new Set(jobIds);
  return {
    ...ledger,
    async items(jobId, filter, request) {
      const page = await ledger.items(jobId, filter, request);
      return torn.delete(jobId) ? { ...page, entries: tear(page.entries) } : page;
    },
  };
}

/** Two jobs that are over, of ten items each; the first is read amiss once. */
async function given(tear: (entries: readonly ItemRecord[]) => readonly ItemRecord[]) {
  const ledger = tornLedger(['torn'], tear);
  for (const jobId of ['torn', 'other']) {
    await givenJob(ledger, { jobId, items: 10 });
    await runAll(ledger, jobId, jobId === 'torn' ? failedWith('blocked') : undefined);
    await change(ledger, jobId, { kind: 'finish' });
  }
  const store = new MemoryResultStore();
  const events = new EventStream();
  const heard: EngineEvent[] = [];
  events.subscribe((event) => heard.push(event));
  const clock = new FakeClock({ now: NOW });
  const finisher = new Finisher({
    ...openMemoryRecordings(),
    ledger,
    store,
    clock,
    faults: NO_FAULTS,
    events,
    digest,
    itemManifests: NO_ITEM_MANIFESTS,
    mayWork: () => true,
  });
  return { ledger, store, finisher, heard };
}

const AMISS = [
  {
    what: 'misses an item',
    tear: (entries: readonly ItemRecord[]) => entries.toSpliced(3, 1),
    said: /^Error: manifest of job torn: its items add up to \{.*"failed":9,.*\}, its counters say \{"total":10,.*\}$/,
  },
  {
    what: 'misses how an item ended',
    tear: (entries: readonly ItemRecord[]) =>
      entries.with(3, { ...(entries[3] as ItemRecord), status: 'in_progress' as const }),
    said: /^Error: manifest of job torn: p-3 is in_progress, its counters say \{"total":10,.*\}$/,
  },
  {
    what: 'has an item as it was before',
    tear: (entries: readonly ItemRecord[]) =>
      entries.with(3, { ...(entries[3] as ItemRecord), status: 'cancelled' as const }),
    said: /^Error: manifest of job torn: its items add up to \{.*"failed":9,.*"cancelled":1\}, its counters say .*$/,
  },
];

for (const { what, tear, said } of AMISS) {
  test(`a page that ${what} makes no index: it is reported, other jobs get theirs, and the next round reads again`, async () => {
    const { ledger, store, finisher, heard } = await given(tear);
    assert.equal(await finisher.runOnce(), 1);
    assert.equal((await jobOf(ledger, 'torn')).manifest, null);
    assert.ok((await jobOf(ledger, 'other')).manifest !== null);
    assert.equal(await store.get('torn/job_metadata.json'), null);
    const errors = heard.filter((event) => event.kind === 'engine-error');
    assert.deepEqual(
      errors.map(({ where }) => where),
      ['finisher'],
    );
    assert.match(String(errors[0]?.error), said);

    assert.equal(await finisher.runOnce(), 1);
    assert.ok((await jobOf(ledger, 'torn')).manifest !== null);
    const report = await verifyJob({ store, digest }, 'torn');
    assert.ok(report.kind === 'checked');
    assert.deepEqual([report.problems, report.counts.failed], [[], 10]);
    assert.equal(heard.filter(({ kind }) => kind === 'engine-error').length, 1);
  });
}

test('a job is shown as completed when its manifests can be read, and at no moment before', async () => {
  const { ledger, store, ...parts } = await given((entries) => entries);
  const seen: string[] = [];
  const faults = {
    async at(point: string) {
      seen.push(`${point}: ${(await jobOf(ledger, 'other')).status}`);
    },
  };
  const clock = new FakeClock({ now: NOW });
  const events = new EventStream();
  events.subscribe((event) => seen.push(event.kind));
  ledger.subscribe((change) => {
    if (change.kind === 'job') seen.push(`${change.because}: ${change.job.status}`);
  });
  const finisher = new Finisher({
    ...openMemoryRecordings(),
    ...parts,
    ledger,
    store,
    clock,
    faults,
    events,
    digest,
    itemManifests: NO_ITEM_MANIFESTS,
    mayWork: () => true,
  });
  assert.ok(await finisher.finish(await jobOf(ledger, 'other')));
  assert.deepEqual(seen, [
    'after-finish-before-manifest: in_progress',
    ...Array<string>(3).fill('between-manifest-parts: in_progress'),
    'after-manifest-before-record: in_progress',
    'complete: completed',
    'manifest-written',
  ]);
  const metadata = JSON.parse(Buffer.from((await store.get('other/job_metadata.json')) ?? []).toString());
  assert.equal(metadata.status, 'completed');
  assert.equal(metadata.finished_at, new Date(NOW).toISOString());
});

test('the work of a controller that died while writing the manifest is completed by the next one', async () => {
  const { ledger, store, finisher } = await given((entries) => entries);
  const died = new Finisher({
    ...openMemoryRecordings(),
    ...{
      ledger,
      store,
      clock: new FakeClock({ now: NOW }),
      events: new EventStream(),
      digest,
      itemManifests: NO_ITEM_MANIFESTS,
      mayWork: () => true,
    },
    faults: {
      async at(point) {
        if (point === 'after-manifest-before-record') throw new Error('killed');
      },
    },
  });
  await assert.rejects(died.runOnce(), /killed/);
  assert.deepEqual(
    [(await jobOf(ledger, 'torn')).status, (await jobOf(ledger, 'other')).status],
    [...['in_progress', 'in_progress']],
  );
  assert.equal(await finisher.runOnce(), 2);
  assert.deepEqual(
    [(await jobOf(ledger, 'torn')).status, (await jobOf(ledger, 'other')).status],
    [...['completed', 'completed']],
  );
});
