import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { afterAccepted, afterRefusal, type HostRate, pacePerSecond } from '../../src/domain/host-rate.ts';

const SEEN = { acceptedPerSecond: 5, latencyMs: 300, settleMs: 0 };

/** A host that refuses what comes faster than `limit`; visited at the pace for so many seconds. */
function visit(limit: number, seconds: number) {
  let rate: HostRate = afterRefusal(null, { ...SEEN, now: 0, acceptedPerSecond: limit });
  let requests = 0;
  let refusals = 0;
  for (let now = 0; now < seconds * 1000; ) {
    const pace = pacePerSecond(rate) ?? 1000;
    now += 1000 / pace;
    requests += 1;
    if (pace <= limit) {
      rate = afterAccepted(rate);
      continue;
    }
    refusals += 1;
    rate = afterRefusal(rate, { ...SEEN, now, acceptedPerSecond: limit });
  }
  return { requests, refusals };
}

test('the first refusal sets the pace a fifth below what the host accepted', () => {
  const rate = afterRefusal(null, { ...SEEN, now: 1000 });
  assert.equal(pacePerSecond(rate), 4);
});

test('the pace comes back to the one that was refused with a minute of good answers, lingers, and then goes beyond it', () => {
  const rate = afterRefusal(null, { ...SEEN, now: 0 });
  const after = (good: number) => Math.round((pacePerSecond({ ...rate, good }) ?? 0) * 100) / 100;
  assert.deepEqual([after(0), after(150), after(300), after(450), after(600)], [4, 4.88, 5, 5.13, 6]);
  assert.equal(pacePerSecond({ ...rate, good: 3000 }), null);
});

test('refusals of requests that were on their way do not cut the pace a second time', () => {
  const rate = afterRefusal(null, { ...SEEN, now: 0 });
  assert.equal(afterRefusal(rate, { ...SEEN, now: 1999 }), rate);
  assert.equal(afterRefusal(rate, { ...SEEN, now: 5000, latencyMs: 3000 }), rate);
  assert.notEqual(afterRefusal(rate, { ...SEEN, now: 5000 }), rate);
  assert.equal(afterRefusal(rate, { ...SEEN, now: 4799, settleMs: 4500 }), rate);
  assert.notEqual(afterRefusal(rate, { ...SEEN, now: 4800, settleMs: 4500 }), rate);
});

test('a limit that stays where it is is touched more and more rarely, and a new one is found again', () => {
  const first = afterRefusal(null, { ...SEEN, now: 0 });
  const second = afterRefusal({ ...first, good: 300 }, { ...SEEN, now: 61_000 });
  const third = afterRefusal({ ...second, good: 600 }, { ...SEEN, now: 181_000 });
  assert.deepEqual([first.returnMs, second.returnMs, third.returnMs], [60_000, 120_000, 240_000]);
  const risen = afterRefusal({ ...third, good: 4000 }, { ...SEEN, now: 1_000_000 });
  assert.equal(risen.returnMs, 60_000);
});

test('a pace that is refused again at once is halved', () => {
  const first = afterRefusal(null, { ...SEEN, now: 0, acceptedPerSecond: 50 });
  const second = afterRefusal(first, { ...SEEN, now: 3000 });
  assert.deepEqual([pacePerSecond(first), Math.round(pacePerSecond(second) ?? 0)], [40, 19]);
});

test('whatever the limit, an hour at the pace uses nine tenths of it, and few requests are refused', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.5, max: 50, noNaN: true }), (limit) => {
      const { requests, refusals } = visit(limit, 3600);
      assert.ok(requests - refusals > 0.9 * limit * 3600, `${requests} requests at a limit of ${limit}`);
      assert.ok(refusals < 20, `${refusals} refusals`);
    }),
    { numRuns: 50 },
  );
});

test('a host that was not visited for a while is visited as fast as before, and not faster', () => {
  const rate = { ...afterRefusal(null, { ...SEEN, now: 0 }), good: 150 };
  assert.equal(pacePerSecond(rate), pacePerSecond({ ...rate, cutAt: -7_200_000 }));
});

test('the pace is never nothing, and a refusal never raises it', () => {
  const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 600_000 }), fc.nat(2000)), { maxLength: 50 });
  fc.assert(
    fc.property(gaps, fc.double({ min: 0, max: 100, noNaN: true }), (gapsMs, acceptedPerSecond) => {
      let rate = afterRefusal(null, { now: 0, acceptedPerSecond, latencyMs: 0, settleMs: 0 });
      let now = 0;
      for (const [gap, good] of gapsMs) {
        now += gap;
        rate = { ...rate, good: rate.good + good };
        const before = pacePerSecond(rate) ?? Number.POSITIVE_INFINITY;
        rate = afterRefusal(rate, {
          now,
          acceptedPerSecond: Math.min(before, acceptedPerSecond),
          latencyMs: 0,
          settleMs: 0,
        });
        const after = pacePerSecond(rate) ?? Number.POSITIVE_INFINITY;
        assert.ok(after > 0 && after <= before);
      }
    }),
  );
});
