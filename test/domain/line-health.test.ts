import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MIN_SHARED_PAUSE_MS } from '../../src/domain/host-pause.ts';
import { hearHealth, type LineHealth, type LineNews, withNews } from '../../src/domain/line-health.ts';
import { NOW } from './builders.ts';

const SETTLE_MS = 1500;

function news(more: Partial<LineNews>): LineNews {
  const nothing = { good: 0, goodMs: null, refusal: null, failures: 0, failingMs: 0, failedMs: 0 };
  return { ...nothing, pauses: 0, pausedMs: 0, ...more };
}

function refused(agoMs = 0, acceptedPerSecond = 5): Partial<LineNews> {
  return { refusal: { agoMs, acceptedPerSecond, latencyMs: 100 } };
}

function tell(before: LineHealth | null, more: Partial<LineNews>, now = NOW, crowd = 1): LineHealth | null {
  return withNews(before, news(more), { now, settleMs: SETTLE_MS, crowd });
}

function paceOf(health: LineHealth | null): number | null {
  return hearHealth(health, NOW)?.limits.requestsPerSecond ?? null;
}

test('a host about which nothing bad is known is well', () => {
  assert.equal(tell(null, {}), null);
  assert.equal(tell(null, { good: 100, goodMs: 5 }), null);
  assert.equal(withNews(null, null, { now: NOW, settleMs: SETTLE_MS, crowd: 1 }), null);
});

test('the first refusal paces all processes below what all of them together got', () => {
  const pace = paceOf(tell(null, refused(0, 2.5), NOW, 4)) ?? 0;
  assert.ok(pace <= 8 && pace > 7.8, `${pace} of the 10 that four processes got`);
});

test('a refusal that another process was given for the same pace does not cut it again', () => {
  const cut = tell(null, refused());
  // It came 1.5 s after the cut, from a slot that was reserved before, and is reported a second later.
  assert.deepEqual(tell(cut, refused(1000), NOW + 2500), cut);
  const pace = paceOf(tell(cut, refused(0), NOW + 2500)) ?? 0;
  assert.ok(pace < (paceOf(cut) ?? 0), `${pace} after a refusal that came later`);
});

test('good answers of all processes raise the pace, in steps', () => {
  let health = tell(null, refused());
  const paces = new Set<number>();
  for (let n = 0; n < 30; n += 1) {
    health = tell(health, { good: 10, goodMs: 0 }, NOW + n * 2000);
    paces.add(paceOf(health) ?? 0);
  }
  const sorted = [...paces].sort((a, b) => a - b);
  assert.deepEqual([...paces], sorted);
  assert.ok((sorted.at(-1) ?? 0) > 4.85 && (sorted.at(-1) ?? 0) <= 5, `${sorted.at(-1)} after 300 good answers`);
  assert.ok(sorted.length <= 13, `${sorted.length} different paces`);
});

test('failures of all processes add up until one of them gets a good answer', () => {
  const two = tell(null, { failures: 2, failingMs: 800, failedMs: 100 });
  const three = tell(two, { failures: 1, failingMs: 50, failedMs: 50 }, NOW + 1000);
  assert.deepEqual([three?.failures, three?.failingSince], [3, NOW - 800]);
  assert.equal(hearHealth(three, NOW + 1000)?.failingMs, 1800);
  // The page was on its way when the host went away.
  assert.equal(tell(three, { good: 1, goodMs: 100 }, NOW + 1000)?.failures, 3);
  assert.equal(tell(three, { good: 1, goodMs: 10 }, NOW + 1000), null);
});

test('a host that is away is probed with one request, and forgiven with one good answer', () => {
  const away = tell(null, { failures: 5, failingMs: 300, failedMs: 0, pauses: 1, pausedMs: 5000 });
  assert.deepEqual([hearHealth(away, NOW)?.limits.maxConcurrent, hearHealth(away, NOW)?.pausedMs], [1, 5000]);
  const probed = tell(away, { failures: 1, pauses: 2, pausedMs: 9000 }, NOW + 5000);
  assert.deepEqual([probed?.pauses, hearHealth(probed, NOW + 5000)?.pausedMs], [2, 9000]);
  // Its own first pause, of a process that did not know of the others.
  assert.equal(tell(probed, { failures: 5, pauses: 1 }, NOW + 6000)?.pauses, 2);
  assert.equal(tell(probed, { good: 1, goodMs: 0 }, NOW + 15_000), null);
});

test('a pause is no longer than those that operators do not see', () => {
  const paused = tell(null, { pausedMs: 3_600_000 });
  assert.equal(hearHealth(paused, NOW)?.pausedMs, MIN_SHARED_PAUSE_MS);
  assert.equal(tell(paused, {}, NOW + MIN_SHARED_PAUSE_MS), null);
});

test('a clock that was an hour ahead neither pauses the host nor hides later refusals', () => {
  const wrong = tell(null, { ...refused(), pausedMs: 2000 }, NOW + 3_600_000);
  const seen = withNews(wrong, news({}), { now: NOW, settleMs: SETTLE_MS, crowd: 1 });
  assert.ok((hearHealth(seen, NOW)?.pausedMs ?? 0) <= MIN_SHARED_PAUSE_MS);
  const later = tell(seen, refused(), NOW + 10_000);
  assert.ok((paceOf(later) ?? 0) < (paceOf(seen) ?? 0));
});

test('whatever is reported in whatever order, the pace is above zero and one good answer ends an outage', () => {
  const duration = fc.integer({ min: 0, max: 20_000 });
  const anyNews = fc.record({
    good: fc.nat(500),
    goodMs: fc.option(duration),
    refusal: fc.option(
      fc.record({
        agoMs: duration,
        acceptedPerSecond: fc.double({ min: 0, max: 500, noNaN: true }),
        latencyMs: duration,
      }),
    ),
    failures: fc.nat(20),
    failingMs: duration,
    failedMs: duration,
    pauses: fc.nat(10),
    pausedMs: duration,
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anyNews, fc.integer({ min: -5000, max: 60_000 }), fc.integer({ min: 1, max: 9 }))),
      (told) => {
        let health: LineHealth | null = null;
        let now = NOW;
        for (const [more, passed, crowd] of told) {
          now += passed;
          health = withNews(health, more, { now, settleMs: SETTLE_MS, crowd });
          const heard = hearHealth(health, now);
          assert.ok((heard?.limits.requestsPerSecond ?? 1) > 0);
          assert.ok((heard?.pausedMs ?? 0) <= MIN_SHARED_PAUSE_MS);
        }
        const end = now + 60_000;
        const after = withNews(health, news({ good: 1, goodMs: 0 }), { now: end, settleMs: SETTLE_MS, crowd: 1 });
        assert.deepEqual([after?.failures ?? 0, after?.pauses ?? 0], [0, 0]);
      },
    ),
  );
});
