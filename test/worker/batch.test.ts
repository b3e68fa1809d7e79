import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { failure } from '../../src/domain/failure.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { ScrapeContext, Scraper } from '../../src/scraping/scraper.ts';
import { runBatch } from '../../src/worker/batch.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { OwnErrors } from '../../src/worker/own-errors.ts';
import { Settler } from '../../src/worker/settle.ts';
import type { Place } from '../../src/worker/slots.ts';
import { claim, dispatch, givenJob, jobOf, LEASE_MS } from '../contract/ledger/hands.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

/** A batch that never waits at a gate. */
const PLACE: Place = { index: 0, park: () => () => {}, leave() {} };

type Ledger = ReturnType<typeof openMemoryLedger>;

/** One batch of a job of five items, on a real ledger, settled at its end unless something is urgent. */
async function run(
  scrape: (context: ScrapeContext, ledger: Ledger, jobId: string) => Promise<unknown>,
  { excess = 0 } = {},
) {
  const ledger = openMemoryLedger();
  const clock = systemClock();
  const jobId = await givenJob(ledger, { items: 5, policy: { throttling: { max_concurrent_workers: 1 } } });
  const [lease] = await claim(ledger, await dispatch(ledger, jobId, 5));
  assert.ok(lease);
  const settles: number[] = [];
  ledger.subscribe((change) => {
    if (change.kind === 'settled') settles.push(change.items.length);
  });
  const scraper = {
    ...{ id: 'demo', name: '', version: '1.0.0', description: '', lane: 'http' },
    scrape: (context: ScrapeContext) => scrape(context, ledger, jobId),
  } as unknown as Scraper;
  const end = await runBatch(
    {
      ...{ clock, store: openMemoryResultStore(), faults: NO_FAULTS, digest: (text: string) => text, tools: NO_TOOLS },
      onWait() {},
      onSteps() {},
      isStillHeld: async () => true,
      paceItem: () => null,
      gateOf: () => NO_TOOLS.gate,
      ladders: new JobLadders(),
      evidence: new FailureEvidence(),
      deadlines: new Deadlines(clock),
      leases: ledger,
      scrapers: { find: async () => scraper },
      recorded: { find: async () => scraper },
      settler: new Settler(ledger, clock),
      settings: { settleEveryMs: 60_000, leaseMs: LEASE_MS },
      async latestOrder() {
        const order = await ledger.workOrder(jobId);
        return order && { ...order, excess };
      },
      isLost: () => false,
      ownErrors: new OwnErrors(),
      onError: (_, error) => assert.ifError(error),
    },
    lease,
    PLACE,
    new AbortController().signal,
  );
  return { end, settles, counts: (await jobOf(ledger, jobId)).counts };
}

const NOTHING = { kind: 'scraped', artifacts: [] };

test('items of a batch are settled together', async () => {
  const { end, settles, counts } = await run(async () => NOTHING);
  assert.deepEqual([end, settles, counts.success], ['over', [5], 5]);
});

test('what speaks against the site is reported at once, so that the breaker learns of it', async () => {
  const { settles, counts } = await run(async ({ itemId }) =>
    itemId === 'p-1' ? { kind: 'failed', failure: failure('structure_changed', 'no table') } : NOTHING,
  );
  assert.deepEqual([settles, counts.success, counts.failed], [[2, 3], 4, 1]);
});

test('what says nothing about the site can wait', async () => {
  const { settles } = await run(async ({ itemId }) =>
    itemId === 'p-1' ? { kind: 'failed', failure: failure('no_results', 'no such parcel') } : NOTHING,
  );
  assert.deepEqual(settles, [5]);
});

for (const kind of ['pause', 'cancel'] as const) {
  test(`${kind} of a job ends its batch at the next item: what was done counts, and the rest is given back`, async () => {
    const { end, settles, counts } = await run(async ({ itemId }, ledger, jobId) => {
      const reason = { code: 'user', message: '', evidence: [] } as const;
      if (itemId === 'p-0') await ledger.changeJob(jobId, kind === 'pause' ? { kind, reason } : { kind }, 0);
      return NOTHING;
    });
    assert.equal(end, 'over');
    assert.deepEqual(settles, [1]);
    assert.deepEqual([counts.success, counts.inProgress, counts.cancelled], [1, 0, kind === 'cancel' ? 4 : 0]);
  });
}

test('a batch of a job whose limit was lowered is given back, as many as are too much', async () => {
  const { settles, counts } = await run(async () => NOTHING, { excess: 1 });
  assert.deepEqual([settles, counts.success, counts.inProgress], [[1], 1, 0]);
});
