import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { forecastJob, type PaceLimits, type SampledItem } from '../../src/domain/forecast.ts';
import { seededChance } from '../../src/domain/seeded-chance.ts';

const UNPACED: PaceLimits = { concurrency: 1, delayMs: 0, requestsPerSecond: null };
const USAGE = { requests: 3, bytes: 50_000 };

const options = () => ({ costPerByte: 4e-8, chance: seededChance(1) });

/**
 * Runs items as the engine does: so many at a time, each in the slot that is free first, no two begun within the pace.
 * Answers the items and how long all of them took.
 */
function run(
  durations: readonly number[],
  { concurrency, delayMs }: PaceLimits,
  { gapMs = 0, usage = USAGE as SampledItem['usage'] } = {},
): { readonly items: SampledItem[]; readonly tookMs: number } {
  const free = Array<number>(concurrency).fill(0);
  let readyAt = 0;
  const items = durations.map((durationMs, at) => {
    const slot = free.indexOf(Math.min(...free));
    const startedAt = Math.max((free[slot] ?? 0) + (at < concurrency ? 0 : gapMs), readyAt);
    readyAt = startedAt + delayMs;
    free[slot] = startedAt + durationMs;
    return { startedAt, durationMs, isFailed: false, usage };
  });
  return { items, tookMs: Math.max(...free) };
}

function forecast(sample: readonly SampledItem[], total: number, limits: Partial<PaceLimits> = {}) {
  const made = forecastJob(sample, total, { ...UNPACED, ...limits }, options());
  assert.ok(made !== null);
  return made;
}

test('twenty items of a second each, one at a time: a thousand take a thousand seconds, more or less', () => {
  const { durationMs, itemsPerSecond, requests, bytes, cost } = forecast(
    run(Array(20).fill(1000), UNPACED).items,
    1000,
  );
  assert.ok(Math.abs(durationMs.expected - 1_000_000) < 10_000, String(durationMs.expected));
  assert.ok(durationMs.low > 600_000 && durationMs.low < 900_000, String(durationMs.low));
  assert.ok(durationMs.high > 1_100_000 && durationMs.high < 1_600_000, String(durationMs.high));
  assert.ok(Math.abs(itemsPerSecond.expected - 1) < 0.01);
  assert.equal(requests?.expected, 3000);
  assert.ok(requests.low >= 2600 && requests.low < 3000 && requests.high > 3000 && requests.high <= 3400);
  assert.equal(bytes?.expected, 50_000_000);
  assert.ok(Math.abs((cost?.expected ?? 0) - 2) < 1e-9);
});

test('short items may become faster than the sample, because code is compiled meanwhile; long ones hardly', () => {
  const lowOf = (ms: number) => forecast(run(Array(20).fill(ms), UNPACED).items, 1000).durationMs.low / ms;
  assert.ok(lowOf(60) < 0.7 * lowOf(60_000), `${lowOf(60)} ${lowOf(60_000)}`);
});

test('five at a time take a fifth', () => {
  const limits = { ...UNPACED, concurrency: 5 };
  const { durationMs } = forecast(run(Array(20).fill(1000), limits).items, 1000, limits);
  assert.ok(Math.abs(durationMs.expected - 200_000) < 5000, String(durationMs.expected));
});

test('the pace bounds the job, however many may run at a time', () => {
  const limits = { ...UNPACED, concurrency: 50, delayMs: 2000 };
  const { durationMs } = forecast(run(Array(20).fill(100), limits).items, 1000, limits);
  assert.ok(Math.abs(durationMs.expected / 1_998_000 - 1) < 0.02, String(durationMs.expected));
});

test('a limit of requests per second is one of requests, not of items', () => {
  const limits = { concurrency: 50, requestsPerSecond: 6 };
  const { durationMs, itemsPerSecond } = forecast(
    run(Array(20).fill(100), { ...UNPACED, ...limits }).items,
    1000,
    limits,
  );
  assert.ok(Math.abs(durationMs.expected / 500_000 - 1) < 0.02, String(durationMs.expected));
  assert.ok(Math.abs(itemsPerSecond.expected - 2) < 0.1);
});

test('time in which a slot is empty between two items counts, too', () => {
  const limits = { ...UNPACED, concurrency: 2 };
  const { items } = run(Array(40).fill(10), limits, { gapMs: 40 });
  const { durationMs } = forecast(items, 1000, limits);
  assert.ok(Math.abs(durationMs.expected / 25_000 - 1) < 0.05, String(durationMs.expected));
});

test('items that began first and found nothing warm do not count for the rate', () => {
  const limits = { ...UNPACED, concurrency: 4 };
  const durations = [2000, 2000, 2000, 2000, ...Array<number>(30).fill(100)];
  const { durationMs } = forecast(run(durations, limits).items, 4000, limits);
  assert.ok(Math.abs(durationMs.expected / 102_000 - 1) < 0.1, String(durationMs.expected));
});

test('a sample that became faster on its way leaves room for a job as fast as its end, and the other way round', () => {
  const limits = { ...UNPACED, concurrency: 2 };
  const falling = [400, 400, ...Array<number>(10).fill(200), ...Array<number>(10).fill(50)];
  const faster = forecast(run(falling, limits).items, 1000, limits).durationMs;
  assert.ok(faster.low < (1000 * 50) / 2 && faster.high > (1000 * 125) / 2, JSON.stringify(faster));
  const slower = forecast(run(falling.toReversed(), limits).items, 1000, limits).durationMs;
  assert.ok(slower.high > (1000 * 200) / 2, JSON.stringify(slower));
});

test('an empty sample says nothing, and one without records of its requests nothing about those', () => {
  assert.equal(forecastJob([], 10, UNPACED, options()), null);
  const { requests, bytes, cost, durationMs } = forecast(run([100, 100], UNPACED, { usage: null }).items, 10);
  assert.deepEqual([requests, bytes, cost], [null, null, null]);
  assert.ok(durationMs.expected > 0);
});

test('failures of the sample are a share with a range', () => {
  const { items } = run(Array(20).fill(10), UNPACED);
  const { failureRate } = forecast(
    items.map((item, at) => ({ ...item, isFailed: at < 2 })),
    100,
  );
  assert.equal(failureRate.expected, 0.1);
  assert.ok(failureRate.low > 0.02 && failureRate.high < 0.3);
});

test('each range contains what is expected, for any sample, total and limits', () => {
  const sampled = fc.record({
    startedAt: fc.integer({ min: 1.7e12, max: 1.7e12 + 600_000 }),
    durationMs: fc.integer({ min: 0, max: 300_000 }),
    isFailed: fc.boolean(),
    usage: fc.record({ requests: fc.nat(50), bytes: fc.nat(1e8) }),
  });
  const limits = fc.record({
    concurrency: fc.integer({ min: 1, max: 10_000 }),
    delayMs: fc.nat(60_000),
    requestsPerSecond: fc.option(fc.double({ min: 0.01, max: 1000, noNaN: true })),
  });
  const total = fc.integer({ min: 1, max: 10_000_000 });
  fc.assert(
    fc.property(fc.array(sampled, { minLength: 1, maxLength: 40 }), total, limits, (sample, items, pace) => {
      const { durationMs, requests, bytes, cost, failureRate, itemsPerSecond } = forecast(sample, items, pace);
      for (const estimate of [durationMs, requests, bytes, cost, failureRate, itemsPerSecond]) {
        assert.ok(estimate !== null && Number.isFinite(estimate.high));
        assert.ok(0 <= estimate.low && estimate.low <= estimate.expected && estimate.expected <= estimate.high);
      }
      const least = pace.delayMs * (items - 1);
      assert.ok(durationMs.expected >= least, 'no faster than the pace');
    }),
  );
});

test('nine of ten jobs take what was predicted from 20 of their items, with times that have a long tail', () => {
  const chance = seededChance(99);
  const draw = () => 20 + 400 * chance() ** 4 + (chance() < 0.1 ? 300 * chance() : 0);
  const limits = { ...UNPACED, concurrency: 3 };
  const rounds = 200;
  let held = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { durationMs } = forecast(run(Array.from({ length: 20 }, draw), limits, { gapMs: 5 }).items, 600, limits);
    const { tookMs } = run(Array.from({ length: 600 }, draw), limits, { gapMs: 5 });
    if (durationMs.low <= tookMs && tookMs <= durationMs.high) held += 1;
  }
  assert.ok(held / rounds >= 0.85, `${held} of ${rounds}`);
});
