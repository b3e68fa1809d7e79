import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { RateBook } from '../../src/controller/feed/rate-book.ts';
import type { SettledItem } from '../../src/ports/ledger.ts';
import { jobOf } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

function setUp({ maxJobs = 1000 } = {}) {
  const clock = new FakeClock();
  const events = new EventStream();
  const rates = new RateBook({ events, clock, maxJobs });
  const settle = (count: number, jobId = 'job-1') => {
    const item: SettledItem = {
      seq: 0,
      itemId: 'p-0',
      durationMs: 1,
      status: 'success',
      errorType: null,
      artifacts: 0,
    };
    events.publish({ kind: 'settled', jobId, items: Array.from({ length: count }, () => item) });
  };
  const run = async (seconds: number, perTenth: number) => {
    for (let n = 0; n < seconds * 10; n += 1) {
      await clock.advance(100);
      settle(perTenth);
    }
  };
  const rateOf = (jobId: string) => rates.pace(jobId)?.perSecond ?? null;
  return { clock, events, rates, settle, run, rateOf };
}

test('the rate covers the time since the first item, which only starts the clock', async () => {
  const { rateOf, settle, run } = setUp();
  assert.equal(rateOf('job-1'), null);
  settle(100_000);
  await run(0.9, 5);
  assert.equal(rateOf('job-1'), null);
  await run(4.1, 5);
  assert.equal(rateOf('job-1'), 50);
});

test('after half a minute only the last half minute counts', async () => {
  const { rateOf, settle, run } = setUp();
  settle(1);
  await run(60, 10);
  assert.equal(Math.round(rateOf('job-1') ?? 0), 100);
  await run(15, 0);
  const half = rateOf('job-1') ?? 0;
  assert.ok(half > 40 && half < 60, `${half}`);
  await run(20, 0);
  assert.equal(rateOf('job-1'), 0);
  await run(40, 2);
  assert.equal(Math.round(rateOf('job-1') ?? 0), 20);
});

test('an even pace has a narrower range than an uneven one', async () => {
  const widthOf = async (run: (run: (seconds: number, perTenth: number) => Promise<void>) => Promise<void>) => {
    const { rates, settle, run: go } = setUp();
    settle(1);
    await run(go);
    const { perSecond, low, high } = rates.pace('job-1') ?? { perSecond: 0, low: 0, high: 0 };
    assert.ok(low < perSecond && perSecond < high);
    return high / low;
  };
  const even = await widthOf((run) => run(32, 10));
  const uneven = await widthOf(async (run) => {
    for (let n = 0; n < 4; n += 1) {
      await run(4, 20);
      await run(4, 0);
    }
  });
  assert.ok(even < 1.3 && uneven > 1.5, `${even} ${uneven}`);
});

test('a job that went silent does not show what it did before its silence', async () => {
  const { rateOf, settle, run, clock } = setUp();
  settle(1);
  await run(30, 10);
  await clock.advance(3_600_000);
  assert.equal(rateOf('job-1'), 0);
});

test('a job that stops is forgotten, whatever stopped it', async () => {
  for (const status of ['paused', 'completed', 'failed', 'cancelled'] as const) {
    const { rates, rateOf, settle, run, events } = setUp();
    settle(1);
    await run(5, 1);
    events.publish({ kind: 'job', job: jobOf({}, { status: 'in_progress' }), because: 'policy' });
    assert.equal(rateOf('job-1'), 10);
    events.publish({ kind: 'job', job: jobOf({}, { status }), because: 'policy' });
    assert.deepEqual([rateOf('job-1'), rates.size], [null, 0]);
  }
});

test('only so many jobs are followed: those that went silent go first, then the oldest', async () => {
  const { rates, rateOf, settle, clock } = setUp({ maxJobs: 3 });
  settle(1, 'busy');
  settle(1, 'silent');
  settle(1, 'busy-2');
  await clock.advance(31_000);
  settle(1, 'busy');
  settle(1, 'busy-2');
  await clock.advance(2000);
  settle(1, 'new');
  assert.deepEqual([rates.size, rateOf('silent')], [3, null]);
  assert.notEqual(rateOf('busy'), null);
  settle(1, 'newer');
  assert.deepEqual([rates.size, rateOf('busy')], [3, null]);
});

test('a closed rate book no longer listens', async () => {
  const { rates, settle } = setUp();
  rates.close();
  settle(1);
  assert.equal(rates.size, 0);
});
