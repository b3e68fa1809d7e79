import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobEvent, JobRecord, Refusal } from '../../src/domain/job.ts';
import { MANIFEST } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob, partOf } from '../support/builders.ts';
import { dueBy } from '../support/due-by.ts';
import { MemoryCore } from '../support/memory/core.ts';
import type { Batch } from '../support/memory/entries.ts';
import { MemoryJobBook } from '../support/memory/job-book.ts';
import { MemoryLeaseBook } from '../support/memory/lease-book.ts';
import { type MemoryLedger, openMemoryLedger } from '../support/memory/ledger.ts';

/** The simulation plants bugs by replacing one step of the memory ledger. These are the steps that it relies on. */

/** A worker has the only item of a job, renewed its lease, and was then silent for too long. */
async function withLateWorker(ledger: MemoryLedger) {
  await ledger.createJob(newJob(), newItems(1), NOW);
  const dispatched = await ledger.dispatch('job-1', 1, NOW);
  const [lease] = await ledger.claim(dispatched?.refs ?? [], 'late', NOW + 1000, NOW);
  assert.ok(typeof lease === 'object');
  await ledger.renew([lease.token], NOW + 1000);
  await ledger.expire(dueBy(NOW + 1000, 0), 10);
  return lease;
}

test('the fence is one step: a ledger that finds a batch by any token it ever had lets a late worker write', async () => {
  class Fenceless extends MemoryCore {
    readonly #ever = new Map<string, Batch>();
    override held(token: string): Batch | undefined {
      const batch = super.held(token) ?? this.#ever.get(token);
      if (batch !== undefined) this.#ever.set(token, batch);
      return batch;
    }
  }
  for (const [ledger, answer] of [
    [openMemoryLedger(), 'fenced'],
    [openMemoryLedger({ core: Fenceless }), 'recorded'],
  ] as const) {
    const lease = await withLateWorker(ledger);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW + 2000), [answer]);
  }
});

test('the guard of a job’s changes is one step: without it a job is completed before its time', async () => {
  class Guardless extends MemoryJobBook {
    protected override decide(job: JobRecord, event: JobEvent, now: number): JobRecord | Refusal {
      return event.kind === 'complete' ? { ...job, status: 'completed' } : super.decide(job, event, now);
    }
  }
  const ledger = openMemoryLedger({ jobs: Guardless });
  await withLateWorker(ledger);
  assert.partialDeepStrictEqual(
    await ledger.changeJob('job-1', { kind: 'complete', round: 1, manifest: MANIFEST }, NOW),
    {
      status: 'completed',
    },
  );
});

test('the count of deliveries is one step: without it a second attempt has the number of the first', async () => {
  class Forgetful extends MemoryLeaseBook {
    protected override countDelivery(batch: Batch): void {
      for (const item of batch.unsettled) item.deliveries = 1;
    }
  }
  const ledger = openMemoryLedger({ leases: Forgetful });
  await withLateWorker(ledger);
  const again = await ledger.dispatch('job-1', 1, NOW);
  const [lease] = await ledger.claim(again?.refs ?? [], 'next', NOW + 1000, NOW);
  assert.partialDeepStrictEqual(lease, { items: [{ attempt: 1 }] });
});

test('the write of the counters is one step: without it items change and the job does not', async () => {
  class Countless extends MemoryCore {
    override write(): void {}
  }
  const ledger = openMemoryLedger({ core: Countless });
  await withLateWorker(ledger);
  assert.equal((await ledger.job('job-1'))?.counts.queued, 0);
  assert.equal((await ledger.item('job-1', 'p-0'))?.deliveries, 1);
});
