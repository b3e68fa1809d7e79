import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { resultPartSchema } from '../../src/contract/result-answers.ts';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Finisher } from '../../src/controller/engine/finisher.ts';
import { listResults, readPart as partText } from '../../src/controller/results/results.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { failedWith, NOW, newItems, newJob, partOf, SCRAPED, SKIPPED } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { MemoryResultStore } from '../support/memory/result-store.ts';
import { NO_ITEM_MANIFESTS } from '../support/no-item-manifests.ts';

const digest = (text: string) => hash('sha256', text);

/** A job whose items end one at a time: every fifth fails, every seventh is skipped. */
async function jobOf(items: number) {
  const ledger = openMemoryLedger();
  const store = new MemoryResultStore();
  const clock = new FakeClock({ now: NOW });
  const parts = { ledger, store, clock: systemClock(), digest };
  await ledger.createJob(newJob({ policy: { throttling: { max_concurrent_workers: 5000 } } }), newItems(items), NOW);
  const dispatched = await ledger.dispatch('job-1', 1, NOW);
  const leases = await ledger.claim(dispatched?.refs ?? [], 'worker', NOW + 60_000, NOW);
  const job = async (): Promise<JobRecord> => {
    const record = await ledger.job('job-1');
    assert.ok(record !== null);
    return record;
  };
  return {
    parts,
    job,
    async end(places: (place: number) => boolean) {
      for (const lease of leases) {
        const place = typeof lease === 'object' ? lease.items[0]?.seq : undefined;
        if (typeof lease !== 'object' || place === undefined || !places(place)) continue;
        const outcome = place % 5 === 0 ? failedWith('blocked') : place % 7 === 0 ? SKIPPED : SCRAPED;
        await ledger.settle([partOf(lease, outcome)], NOW);
      }
    },
    async finish() {
      await ledger.changeJob('job-1', { kind: 'finish' }, NOW);
      const finisher = new Finisher({
        ...openMemoryRecordings(),
        ...{
          ...parts,
          clock,
          faults: NO_FAULTS,
          events: new EventStream(),
          itemManifests: NO_ITEM_MANIFESTS,
          mayWork: () => true,
        },
      });
      assert.equal(await finisher.finish(await job()), true);
    },
    async entries(filter: 'all' | 'success' | 'errors', number: number) {
      const text = await partText(parts, await job(), filter, number);
      return text === null ? null : resultPartSchema.parse(JSON.parse(text));
    },
  };
}

test('while a job runs, a part contains those of its thousand items that are final so far', async () => {
  const { parts, job, end, entries } = await jobOf(2500);
  assert.deepEqual(await listResults(parts, await job(), 'all'), {
    final: false,
    parts: [0, 1, 2].map((part) => ({ part, items: null, sha256: null })),
  });
  await end((place) => place >= 990 && place < 1010);
  const idsOf = async (filter: 'all' | 'success' | 'errors', number: number) =>
    (await entries(filter, number))?.items.map((item) => item.item_id);
  const places = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
  assert.deepEqual(
    await idsOf('all', 1),
    places(1000, 1010).map((place) => `p-${place}`),
  );
  assert.deepEqual(await idsOf('errors', 0), ['p-990', 'p-995']);
  assert.deepEqual(await idsOf('errors', 1), ['p-1000', 'p-1005']);
  assert.deepEqual(
    await idsOf('success', 1),
    places(1000, 1010)
      .filter((place) => place % 5 !== 0 && place % 7 !== 0)
      .map((place) => `p-${place}`),
  );
  const empty = { job_id: 'job-1', list: 'full', part: 2, count: 0, items: [] };
  assert.deepEqual(await entries('all', 2), empty);
});

test('a part of the full list is identical, byte for byte, before and after the manifest is written', async () => {
  const { parts, job, end, finish } = await jobOf(1200);
  await end(() => true);
  const before = await Promise.all([0, 1, 2].map(async (number) => partText(parts, await job(), 'all', number)));
  await finish();
  const after = await Promise.all([0, 1, 2].map(async (number) => partText(parts, await job(), 'all', number)));
  assert.deepEqual(after, before);
  assert.equal(after[2], null);
});

test('a manifest says how many items its parts have, and their hashes', async () => {
  const { parts, job, end, finish, entries } = await jobOf(1200);
  await end(() => true);
  await finish();
  for (const [filter, counts] of [
    ['all', [1000, 200]],
    ['success', [823]],
    ['errors', [240]],
  ] as const) {
    const results = await listResults(parts, await job(), filter);
    assert.equal(results.final, true);
    assert.deepEqual(
      results.parts.map(({ part, items }) => [part, items]),
      [...counts.entries()],
    );
    for (const { part, sha256 } of results.parts) {
      assert.equal(digest((await partText(parts, await job(), filter, part)) ?? ''), sha256);
    }
    assert.equal(await entries(filter, counts.length), null);
  }
});

test('what another round wrote about its parts is not reported for this one', async () => {
  const { parts, job, end, finish } = await jobOf(10);
  await end(() => true);
  await finish();
  const how = { contentType: 'application/json', encoding: 'identity', ifTaken: 'replace' } as const;
  const other = { list: 'full', part: 0, items: 10, sha256: digest('other') };
  await parts.store.put('job-1/job_metadata.json', Buffer.from(JSON.stringify({ part_hashes: [other] })), how);
  const unknown = { final: true, parts: [{ part: 0, items: null, sha256: null }] };
  assert.deepEqual(await listResults(parts, await job(), 'all'), unknown);
  await parts.store.removeAll('job-1/');
  assert.deepEqual(await listResults(parts, await job(), 'all'), unknown);
  assert.equal(await partText(parts, await job(), 'all', 0), null);
});

test('a job without items has one part, without items, before and after the end', async () => {
  const { parts, job, finish, entries } = await jobOf(0);
  const empty = { job_id: 'job-1', list: 'errors', part: 0, count: 0, items: [] };
  assert.equal((await listResults(parts, await job(), 'errors')).parts.length, 1);
  assert.deepEqual(await entries('errors', 0), empty);
  assert.equal(await entries('errors', 1), null);
  await parts.ledger.changeJob('job-1', { kind: 'cancel' }, NOW);
  await finish();
  assert.deepEqual(await entries('errors', 0), empty);
  assert.equal(await entries('errors', 1), null);
});

test('a part that no job can have does not exist', async () => {
  const { parts, job } = await jobOf(10);
  for (const number of [-1, 0.5, Number.NaN, 1, 1e9, Number.MAX_VALUE]) {
    assert.equal(await partText(parts, await job(), 'all', number), null);
  }
});
