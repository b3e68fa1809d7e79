import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterOwnError, describeOwnError, MAX_OWN_ERROR_LENGTH, MAX_OWN_ERRORS } from '../../src/domain/own-error.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { LedgerChange, WorkerLeases } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { RecordingUnreachable } from '../../src/scraping/recording-scrapers.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';
import { type BatchDeps, runBatch } from '../../src/worker/batch.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { OwnErrors } from '../../src/worker/own-errors.ts';
import { Settler } from '../../src/worker/settle.ts';
import type { Place } from '../../src/worker/slots.ts';
import { allItems, claim, dispatch, givenJob, itemOf, jobOf, LEASE_MS } from '../contract/ledger/hands.ts';
import { dueBy } from '../support/due-by.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

/** A batch that never waits at a gate. */
const PLACE: Place = { index: 0, park: () => () => {}, leave() {} };

const JOB = 'job-1';

/** A worker's life with batches of one job of five items, on a real ledger under a clock that does not tick by itself. */
async function setUp(
  more: {
    store?: Partial<ResultStore>;
    leases?: Partial<WorkerLeases>;
    isLost?: BatchDeps['isLost'];
    /** For a job with a recording of its own. */
    findRecorded?: BatchDeps['recorded']['find'];
  } = {},
) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const recording = { key: 'k', digest: 'd', origin: 'inline', steps: 1 } as const;
  const own = more.findRecorded === undefined ? {} : { recording };
  await givenJob(ledger, { jobId: JOB, items: 5, policy: { throttling: { max_concurrent_workers: 1 } }, ...own });
  const changes: LedgerChange[] = [];
  ledger.subscribe((change) => changes.push(change));
  const leases: WorkerLeases = {
    claim: (...args) => ledger.claim(...args),
    workOrder: (...args) => ledger.workOrder(...args),
    begin: (...args) => ledger.begin(...args),
    renew: (...args) => ledger.renew(...args),
    settle: (...args) => ledger.settle(...args),
    release: (...args) => ledger.release(...args),
    reportControl: (...args) => ledger.reportControl(...args),
    ...more.leases,
  };
  const scraper = {
    ...{ id: 'demo', name: '', version: '1.0.0', description: '', lane: 'http' },
    scrape: async () => ({
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes: new Uint8Array(3), contentType: 'application/json', extension: 'json' }],
    }),
  } as unknown as Scraper;
  const errors: string[] = [];
  const cut = new AbortController();
  const parts: BatchDeps = {
    ...{ clock, faults: NO_FAULTS, digest: (text: string) => text, tools: NO_TOOLS, leases },
    onWait() {},
    onSteps() {},
    isStillHeld: async () => true,
    paceItem: () => null,
    gateOf: () => NO_TOOLS.gate,
    ladders: new JobLadders(),
    evidence: new FailureEvidence(),
    deadlines: new Deadlines(clock),
    store: { ...openMemoryResultStore(), putAll: async () => [], ...more.store } as ResultStore,
    scrapers: { find: async () => scraper },
    recorded: { find: more.findRecorded ?? (async () => scraper) },
    settler: new Settler(leases, clock),
    settings: { settleEveryMs: 60_000, leaseMs: LEASE_MS },
    latestOrder: () => ledger.workOrder(JOB),
    isLost: more.isLost ?? ((signal) => signal.aborted),
    ownErrors: new OwnErrors(),
    onError: (where) => errors.push(where),
  };
  /** The next batch of the job; `lateMs`: how long its claim was on its way. */
  const begin = async (lateMs = 0) => {
    const until = clock.now() + LEASE_MS;
    const [lease] = await claim(ledger, await dispatch(ledger, JOB, 5, clock.now()), { now: clock.now(), until });
    assert.ok(lease);
    clock.jump(lateMs);
    const state = { end: null as string | null, begunAt: clock.elapsed() };
    void runBatch(parts, lease, PLACE, cut.signal).then((end) => {
      state.end = end;
    });
    await clock.advance(0);
    return state;
  };
  const run = async () => {
    const state = await begin();
    while (state.end === null) await clock.advance(500);
    return { end: state.end, ms: clock.elapsed() - state.begunAt };
  };
  const returned = () => changes.flatMap((change) => (change.kind === 'returned' ? [change] : []));
  return { clock, ledger, begin, run, returned, errors, cut };
}

/** Fails for one item, every time. */
function cannotStore(itemId: string): Partial<ResultStore> {
  return {
    async putAll(puts) {
      if (puts.some(({ key }) => key.includes(itemId))) throw new TypeError(`no way to store\n${itemId}`);
      return [];
    },
  };
}

test('an error of our own gives the rest back uncharged and by name, after what was done is settled', async () => {
  const { clock, ledger, begin, returned, errors } = await setUp({ store: cannotStore('p-2') });
  const state = await begin();
  await clock.advance(1);
  assert.equal((await jobOf(ledger, JOB)).counts.success, 2);
  assert.deepEqual([state.end, returned().length], [null, 0], 'given back at once, it would come again at once');
  await clock.advance(1000);
  assert.equal(state.end, 'over');
  assert.partialDeepStrictEqual(returned(), [{ because: { error: 'TypeError: no way to store p-2' }, items: 3 }]);
  assert.deepEqual(errors, [`item p-2 of job ${JOB}`]);
  for (const { strikes } of await allItems(ledger, JOB)) assert.equal(strikes, 0);
});

test('an item on which our own code fails every time is failed with the error named, and its neighbours go on', async () => {
  const { ledger, run, returned } = await setUp({ store: cannotStore('p-2') });
  const waits: number[] = [];
  while ((await jobOf(ledger, JOB)).counts.failed === 0) waits.push((await run()).ms);
  assert.equal(returned().length, MAX_OWN_ERRORS - 1);
  assert.deepEqual(waits.slice(0, -1), [1000, 2000, 4000, 8000]);
  const { counts } = await jobOf(ledger, JOB);
  assert.deepEqual([counts.success, counts.failed], [4, 1]);
  const { strikes, attempts } = await itemOf(ledger, JOB, 'p-2');
  assert.deepEqual([strikes, attempts.at(-1)?.failure?.type], [0, 'unexpected']);
  assert.equal(attempts.at(-1)?.failure?.message, 'error in Trawl, not in the scraper: TypeError: no way to store p-2');
});

test('items whose recording cannot be reached go back uncharged, however often, and are never failed for it', async () => {
  let asked = 0;
  const findRecorded = async () => {
    asked += 1;
    throw new RecordingUnreachable('the recording of the job cannot be read');
  };
  const { ledger, run, returned } = await setUp({ findRecorded });
  for (let batch = 0; batch <= MAX_OWN_ERRORS; batch += 1) assert.deepEqual(await run(), { end: 'over', ms: 5000 });
  assert.deepEqual([asked, returned().length], [MAX_OWN_ERRORS + 1, MAX_OWN_ERRORS + 1]);
  for (const { status, strikes, attempts } of await allItems(ledger, JOB)) {
    assert.deepEqual([status, strikes, attempts.length], ['pending', 0, 0]);
  }
});

test('items whose recording is gone for good fail in the end, with the reason', async () => {
  const findRecorded = async () => Promise.reject(new Error('the recording of the job is gone'));
  const { ledger, run } = await setUp({ findRecorded });
  while ((await jobOf(ledger, JOB)).counts.failed === 0) await run();
  const failed = (await allItems(ledger, JOB)).find(({ status }) => status === 'failed');
  assert.match(failed?.attempts.at(-1)?.failure?.message ?? '', /the recording of the job is gone/);
});

test('an error that passes costs nothing but time', async () => {
  let isBroken = true;
  const { ledger, run } = await setUp({
    store: {
      async putAll() {
        if (isBroken) throw new Error('hiccup');
        return [];
      },
    },
  });
  await run();
  isBroken = false;
  await run();
  const items = await allItems(ledger, JOB);
  assert.deepEqual([...new Set(items.map(({ status }) => status))], ['success']);
  assert.equal(items[0]?.attempts.length, 1);
});

test('a settle that fails now and then is asked again, and the work is not done twice', async () => {
  let calls = 0;
  const { ledger, run, returned } = await setUp({
    leases: {
      async settle(parts, now) {
        calls += 1;
        if (calls < 3) throw new Error('no answer');
        return ledger.settle(parts, now);
      },
    },
  });
  assert.equal((await run()).end, 'over');
  assert.deepEqual([(await jobOf(ledger, JOB)).counts.success, returned().length], [5, 0]);
});

test('an item whose end cannot be recorded does not cost the others theirs, and is failed in the end', async () => {
  const { ledger, run } = await setUp({
    leases: {
      async settle(parts, now) {
        const isBad = parts.some(({ items }) =>
          items.some(({ seq, outcome }) => seq === 1 && outcome.kind === 'scraped'),
        );
        if (isBad) throw new Error('too large');
        return ledger.settle(parts, now);
      },
    },
  });
  await run();
  assert.equal((await jobOf(ledger, JOB)).counts.success, 4);
  for (let round = 1; round < MAX_OWN_ERRORS; round += 1) await run();
  const { status, strikes, attempts } = await itemOf(ledger, JOB, 'p-1');
  assert.deepEqual([status, strikes, attempts.at(-1)?.failure?.type], ['failed', 0, 'unexpected']);
});

test('a release that fails is tried again for as long as the lease is ours, and no longer', async () => {
  let calls = 0;
  let isBroken = true;
  const leases: Partial<WorkerLeases> = {
    async release(...args) {
      calls += 1;
      if (isBroken) throw new Error('no answer');
      return ledger.release(...args);
    },
  };
  const { clock, ledger, begin, returned, cut } = await setUp({ store: cannotStore('p-0'), leases });
  const first = await begin();
  await clock.advance(10_000);
  assert.ok(calls > 3);
  assert.equal(first.end, null);
  isBroken = false;
  await clock.advance(2000);
  assert.deepEqual([first.end, returned().length], ['over', 1]);

  isBroken = true;
  const second = await begin();
  await clock.advance(4000);
  cut.abort();
  await clock.advance(2000);
  assert.equal(second.end, 'lost');
});

for (const [kind, end] of [
  ['full', null],
  ['broken', 'lost'],
] as const) {
  const what = end === null ? 'waits for a full disk' : 'does not wait for a ledger that is broken until its restart';
  test(`a worker that stops ${what}`, async () => {
    const refuse = async () => {
      throw new StorageTrouble(kind, 'no more writes');
    };
    const { clock, begin, cut } = await setUp({
      store: { putAll: refuse },
      leases: { settle: refuse, release: refuse },
      // Cut off because it stops: the lease is still its own.
      isLost: () => false,
    });
    const state = await begin();
    await clock.advance(10_000);
    assert.equal(state.end, null);
    cut.abort();
    await clock.advance(10_000);
    assert.equal(state.end, end);
  });
}

test('a lease of which much is over when it arrives is renewed before work begins', async () => {
  const renewed: unknown[] = [];
  const { clock, ledger, begin } = await setUp({
    leases: {
      async renew(tokens, until) {
        renewed.push([tokens.length, until - clock.now(), (await jobOf(ledger, JOB)).counts.success]);
        return ledger.renew(tokens, until);
      },
    },
  });
  const late = await begin(LEASE_MS / 2);
  await clock.advance(1);
  assert.deepEqual([late.end, renewed], ['over', [[1, LEASE_MS, 0]]]);
  assert.equal((await jobOf(ledger, JOB)).counts.success, 5);
});

test('a fresh lease is not renewed, and one that is lost when it arrives is not worked on', async () => {
  const asked: unknown[] = [];
  const { clock, ledger, begin } = await setUp({
    leases: {
      async renew(tokens) {
        asked.push(tokens);
        return tokens;
      },
    },
  });
  const late = await begin(2 * LEASE_MS);
  assert.equal(late.end, 'lost');
  assert.deepEqual([asked.length, (await jobOf(ledger, JOB)).counts.success], [1, 0]);
  await ledger.expire(dueBy(clock.now(), 0), 10);
  const fresh = await begin();
  await clock.advance(1);
  assert.deepEqual([fresh.end, asked.length], ['over', 1]);
});

test('parts that are settled together do not fail together', async () => {
  const settler = new Settler(
    {
      ...({} as WorkerLeases),
      async settle(parts) {
        if (parts.some(({ token }) => token === 'bad')) throw new Error('refused');
        return parts.map(() => 'recorded' as const);
      },
    },
    new FakeClock(),
  );
  const { signal } = new AbortController();
  const answers = ['good', 'bad', 'other'].map((token) => settler.settle({ token, jobId: JOB, items: [] }, signal));
  const seen = await Promise.allSettled(answers);
  assert.deepEqual(
    seen.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('the pauses grow, and the last error fails the item', () => {
  const steps = Array.from({ length: MAX_OWN_ERRORS }, (_, index) => afterOwnError(index + 1));
  assert.deepEqual(steps.at(-1), { kind: 'fail' });
  assert.deepEqual(
    steps.slice(0, -1),
    [1000, 2000, 4000, 8000].map((delayMs) => ({ kind: 'give-back', delayMs })),
  );
});

test('an error is reported in one line of bounded length', () => {
  assert.equal(describeOwnError(new RangeError('a\n  b')), 'RangeError: a b');
  assert.equal(describeOwnError('x'.repeat(9000)).length, MAX_OWN_ERROR_LENGTH);
});
