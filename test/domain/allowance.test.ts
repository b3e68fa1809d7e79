import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Allowance, type DispatchState, dispatchAllowance } from '../../src/domain/allowance.ts';
import { type Circuit, CLOSED, EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { finishedOf, inFlightOf, NO_COUNTS } from '../../src/domain/counts.ts';
import { FRESH_THROTTLE } from '../../src/domain/throttle.ts';
import { NOW, policyOf } from './builders.ts';

const LEARNT = { ...EMPTY_TALLY, finished: 1_000_000 };

function stateOf(changes: Partial<DispatchState> & { total?: number } = {}): DispatchState {
  const { total = 1000, ...rest } = changes;
  return {
    policy: policyOf(),
    counts: { ...NO_COUNTS, total },
    itemsInFlight: 0,
    tally: LEARNT,
    circuit: CLOSED,
    throttle: FRESH_THROTTLE,
    readyAt: 0,
    ...rest,
  };
}

test('a job with room sends out as many batches as it may have workers', () => {
  const allowance = dispatchAllowance(stateOf(), 1, NOW);
  assert.equal(allowance.batches, 3);
  assert.equal(allowance.ceiling, 3);
  assert.equal(allowance.itemsPerBatch, 1);
  assert.equal(allowance.wakeAt, null);
});

test('a freed slot is refilled, and no more than that', () => {
  const counts = { ...NO_COUNTS, total: 1000, queued: 1, inProgress: 1, success: 500 };
  assert.equal(dispatchAllowance(stateOf({ counts, itemsInFlight: 2 }), 1, NOW).batches, 1);
});

test('nothing goes out while all slots are taken, even if the maximum was lowered meanwhile', () => {
  const policy = policyOf({ throttling: { max_concurrent_workers: 2 } });
  const counts = { ...NO_COUNTS, total: 1000, inProgress: 5 };
  assert.equal(dispatchAllowance(stateOf({ policy, counts, itemsInFlight: 5 }), 1, NOW).batches, 0);
});

test('what a throttle allows is the limit, and one is always allowed', () => {
  const at = (ceiling: number) =>
    dispatchAllowance(stateOf({ throttle: { ...FRESH_THROTTLE, ceiling } }), 1, NOW).ceiling;
  assert.equal(at(2.9), 2);
  assert.equal(at(1), 1);
  assert.equal(at(0.2), 1);
});

test('a job that says how large its batches are gets them so, whatever suits the backend', () => {
  const batching = { by: 'group', maxItems: 10 } as const;
  const sizesOf = (state: Partial<DispatchState> & { total?: number }) => {
    const { batches, itemsPerBatch, items } = dispatchAllowance(stateOf({ ...state, batching }), 1, NOW);
    return [batches, itemsPerBatch, items];
  };
  assert.deepEqual(sizesOf({ total: 1000 }), [3, 10, 30]);
  // Not spread over the slots: a group of ten goes to one worker.
  assert.deepEqual(sizesOf({ total: 12 }), [3, 10, 12]);
  // No more is risked than the breaker allows …
  const careful = policyOf({ circuit_breaker: { min_requests: 14 } });
  assert.deepEqual(sizesOf({ policy: careful, tally: EMPTY_TALLY }), [3, 10, 14]);
  assert.deepEqual(sizesOf({ circuit: { state: 'probing', since: NOW }, tally: EMPTY_TALLY }), [1, 10, 1]);
  // … and a pace between items is kept.
  const paced = policyOf({ throttling: { max_requests_per_second: 1 } });
  assert.deepEqual(sizesOf({ policy: paced }), [1, 1, 1]);
});

test('items are spread over the slots before batches are filled', () => {
  const allowance = dispatchAllowance(stateOf({ total: 30 }), 100, NOW);
  assert.equal(allowance.batches, 3);
  assert.equal(allowance.itemsPerBatch, 10);
  assert.equal(dispatchAllowance(stateOf({ total: 1000 }), 100, NOW).itemsPerBatch, 100);
  const oneSlot = stateOf({ total: 30, throttle: { ...FRESH_THROTTLE, ceiling: 1 } });
  assert.equal(dispatchAllowance(oneSlot, 100, NOW).itemsPerBatch, 30);
});

test('a slot that becomes free takes its share of what is left, and not much less than a full batch', () => {
  const policy = policyOf({ throttling: { max_concurrent_workers: 50 } });
  const withLeft = (left: number) => {
    const counts = { ...NO_COUNTS, total: 10_000, inProgress: 49, success: 10_000 - 49 - left };
    return dispatchAllowance(stateOf({ policy, counts, itemsInFlight: 49 }), 100, NOW).itemsPerBatch;
  };
  assert.equal(withLeft(9000), 100);
  assert.equal(withLeft(2000), 40);
  assert.equal(withLeft(300), 10);
  assert.equal(withLeft(4), 4);
});

test('items that wait behind another in a batch are counted as pending, but cannot go out a second time', () => {
  const counts = { ...NO_COUNTS, total: 100, inProgress: 1 };
  assert.equal(dispatchAllowance(stateOf({ counts, itemsInFlight: 100 }), 100, NOW).batches, 0);
  const allowance = dispatchAllowance(stateOf({ counts, itemsInFlight: 90 }), 100, NOW);
  assert.deepEqual([allowance.batches, allowance.itemsPerBatch], [2, 5]);
});

test('until the minimum has finished, no more than the minimum is risked', () => {
  const policy = policyOf({ circuit_breaker: { min_requests: 5 }, throttling: { max_concurrent_workers: 100 } });
  const learning = (finished: number, inFlight: number) =>
    dispatchAllowance(
      stateOf({
        policy,
        tally: { ...EMPTY_TALLY, finished },
        counts: { ...NO_COUNTS, total: 1000, success: finished, inProgress: inFlight },
        itemsInFlight: inFlight,
      }),
      1,
      NOW,
    ).batches;
  assert.equal(learning(0, 0), 5);
  assert.equal(learning(2, 1), 2);
  assert.equal(learning(2, 3), 0);
  assert.equal(learning(4, 1), 0);
  assert.equal(learning(5, 0), 100);
});

test('a batch of many does not smuggle more items past the minimum', () => {
  const policy = policyOf({ circuit_breaker: { min_requests: 50 } });
  const { batches, itemsPerBatch } = dispatchAllowance(stateOf({ policy, tally: EMPTY_TALLY }), 100, NOW);
  assert.deepEqual([batches, itemsPerBatch], [3, 16]);
});

test('an open circuit lets nothing out, a probing one a single item', () => {
  const open: Circuit = { state: 'open', since: NOW, probeAt: null };
  const probing: Circuit = { state: 'probing', since: NOW };
  assert.equal(dispatchAllowance(stateOf({ circuit: open }), 100, NOW).batches, 0);
  const probe = dispatchAllowance(stateOf({ circuit: probing, tally: EMPTY_TALLY }), 100, NOW);
  assert.deepEqual([probe.batches, probe.itemsPerBatch], [1, 1]);
  const counts = { ...NO_COUNTS, total: 1000, queued: 1 };
  const busy = stateOf({ circuit: probing, tally: EMPTY_TALLY, counts, itemsInFlight: 1 });
  assert.equal(dispatchAllowance(busy, 100, NOW).batches, 0);
});

test('a delay lets one item out, then none until it is over', () => {
  const policy = policyOf({ throttling: { min_delay_between_items_seconds: 2 } });
  const first = dispatchAllowance(stateOf({ policy }), 100, NOW);
  assert.deepEqual([first.batches, first.itemsPerBatch, first.wakeAt], [1, 1, NOW + 2000]);
  const readyAt = first.pace.from + first.pace.spacingMs;
  const early = dispatchAllowance(stateOf({ policy, readyAt }), 100, NOW + 1999);
  assert.deepEqual([early.batches, early.wakeAt], [0, NOW + 2000]);
  assert.equal(dispatchAllowance(stateOf({ policy, readyAt }), 100, NOW + 2000).batches, 1);
});

test('a high rate goes out in bursts of a twentieth of a second, a low one item by item', () => {
  const burst = (rate: number) => {
    const policy = policyOf({ throttling: { max_requests_per_second: rate, max_concurrent_workers: 1000 } });
    return dispatchAllowance(stateOf({ policy }), 1, NOW).batches;
  };
  assert.equal(burst(0.5), 1);
  assert.equal(burst(20), 1);
  assert.equal(burst(31.25), 2);
  assert.equal(burst(100), 5);
});

test('the slower of delay and rate counts', () => {
  const spacing = (delay: number, rate: number) =>
    dispatchAllowance(
      stateOf({
        policy: policyOf({ throttling: { min_delay_between_items_seconds: delay, max_requests_per_second: rate } }),
      }),
      1,
      NOW,
    ).pace.spacingMs;
  assert.equal(spacing(2, 10), 2000);
  assert.equal(spacing(0.01, 10), 100);
});

/** Jobs in any consistent state: batches in flight hold at least one item each. */
const anyState: fc.Arbitrary<DispatchState> = fc
  .record({
    max: fc.integer({ min: 1, max: 20 }),
    min: fc.integer({ min: 1, max: 30 }),
    delay: fc.constantFrom(0, 0, 0.5),
    rate: fc.constantFrom(null, null, 2, 200, 2000),
    queued: fc.nat({ max: 8 }),
    inProgress: fc.nat({ max: 8 }),
    behind: fc.nat({ max: 50 }),
    waiting: fc.nat({ max: 100 }),
    success: fc.nat({ max: 40 }),
    failed: fc.nat({ max: 40 }),
    tallied: fc.nat({ max: 80 }),
    ceiling: fc.double({ min: 1, max: 30, noNaN: true }),
    circuit: fc.constantFrom<Circuit>(
      CLOSED,
      CLOSED,
      { state: 'probing', since: NOW },
      { state: 'open', since: NOW, probeAt: null },
    ),
    ready: fc.integer({ min: -5000, max: 5000 }),
    maxItems: fc.constantFrom(null, null, 1, 6),
  })
  .map((from) => {
    const inFlight = from.queued + from.inProgress;
    const itemsInFlight = inFlight === 0 ? 0 : inFlight + from.behind;
    const { queued, inProgress, success, failed } = from;
    return {
      policy: policyOf({
        throttling: {
          max_concurrent_workers: from.max,
          min_delay_between_items_seconds: from.delay,
          max_requests_per_second: from.rate,
        },
        circuit_breaker: { min_requests: from.min },
      }),
      counts: {
        ...NO_COUNTS,
        total: itemsInFlight + from.waiting + success + failed,
        queued,
        inProgress,
        success,
        failed,
      },
      itemsInFlight,
      tally: { ...EMPTY_TALLY, finished: Math.min(from.tallied, success + failed) },
      circuit: from.circuit,
      throttle: { ...FRESH_THROTTLE, ceiling: from.ceiling },
      readyAt: NOW + from.ready,
      ...(from.maxItems === null ? {} : { batching: { by: 'group', maxItems: from.maxItems } as const }),
    };
  });

const anyBatchSize = fc.constantFrom(1, 1, 2, 7, 100);
const itemsOf = ({ batches, itemsPerBatch, items }: Allowance) => {
  assert.ok(items >= batches && items <= batches * itemsPerBatch);
  return items;
};
const waitingIn = (state: DispatchState) => state.counts.total - finishedOf(state.counts) - state.itemsInFlight;

test('in flight never exceeds the ceiling, and the ceiling never the maximum', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const { batches, ceiling } = dispatchAllowance(state, size, NOW);
      assert.ok(Number.isInteger(batches) && batches >= 0);
      assert.ok(ceiling >= 1 && ceiling <= state.policy.throttling.max_concurrent_workers);
      if (batches > 0) assert.ok(inFlightOf(state.counts) + batches <= ceiling);
    }),
    { numRuns: 500 },
  );
});

test('no more goes out than is waiting, in batches no larger than asked for', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const allowance = dispatchAllowance(state, size, NOW);
      assert.ok(Number.isInteger(allowance.itemsPerBatch));
      assert.ok(allowance.itemsPerBatch >= 1 && allowance.itemsPerBatch <= (state.batching?.maxItems ?? size));
      assert.ok(itemsOf(allowance) <= waitingIn(state));
      if (allowance.pace.spacingMs > 0) assert.equal(allowance.itemsPerBatch, 1);
    }),
    { numRuns: 500 },
  );
});

test('while the job is being tried out, what finished and what is in flight never exceed the minimum together', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const min = state.policy.circuit_breaker.min_requests;
      const allowance = dispatchAllowance(state, size, NOW);
      fc.pre(allowance.batches > 0);
      const risked = state.tally.finished + state.itemsInFlight + itemsOf(allowance);
      if (state.circuit.state === 'probing') assert.equal(risked, 1);
      else if (state.tally.finished < min) assert.ok(risked <= min);
      assert.notEqual(state.circuit.state, 'open');
    }),
    { numRuns: 500 },
  );
});

test('a job at rest that has something waiting always goes on: nothing but the pace can hold it', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const counts = { ...state.counts, queued: 0, inProgress: 0 };
      const resting = { ...state, circuit: CLOSED, counts, itemsInFlight: 0 };
      fc.pre(waitingIn(resting) > 0);
      const { batches, wakeAt } = dispatchAllowance(resting, size, NOW);
      assert.ok(batches > 0 || (wakeAt !== null && wakeAt > NOW));
      assert.ok(dispatchAllowance({ ...resting, readyAt: 0 }, size, NOW).batches > 0);
    }),
    { numRuns: 500 },
  );
});

test('only the pace gives a time to look again, and at that time something goes out', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const { batches, wakeAt, pace } = dispatchAllowance(state, size, NOW);
      if (pace.spacingMs === 0) assert.equal(wakeAt, null);
      if (wakeAt === null || batches > 0) return;
      assert.ok(wakeAt > NOW);
      assert.ok(dispatchAllowance(state, size, wakeAt).batches > 0);
      assert.equal(dispatchAllowance({ ...state, readyAt: 0 }, size, NOW).batches > 0, true);
    }),
    { numRuns: 500 },
  );
});

type Throttling = { min_delay_between_items_seconds?: number; max_requests_per_second?: number };

const anyThrottling: fc.Arbitrary<Throttling> = fc.oneof(
  fc.record({ min_delay_between_items_seconds: fc.constantFrom(0.01, 0.3, 1, 7.7) }),
  fc.record({ max_requests_per_second: fc.constantFrom(0.3, 1, 3, 30, 99, 1000) }),
  fc.record({
    min_delay_between_items_seconds: fc.constantFrom(0.01, 0.5),
    max_requests_per_second: fc.constantFrom(1, 3, 500),
  }),
);

/** Looks at one job again and again, sends out what may go (or less of it), and notes when each item went. */
function timetable(throttling: Throttling, looks: readonly { afterMs: number; part: number }[]): number[] {
  const policy = policyOf({ throttling: { ...throttling, max_concurrent_workers: 10_000 } });
  const departures: number[] = [];
  let readyAt = 0;
  let now = NOW;
  for (const { afterMs, part } of looks) {
    now += afterMs;
    const { batches, pace } = dispatchAllowance(stateOf({ policy, readyAt, total: 1e6 }), 100, now);
    const sent = Math.ceil(batches * part);
    for (let i = 0; i < sent; i += 1) departures.push(now);
    if (sent > 0) readyAt = pace.from + sent * pace.spacingMs;
  }
  return departures;
}

test('over any schedule of looks no stretch of time sees more items than delay and rate allow', () => {
  const anyLook = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 5000 })),
    part: fc.constantFrom(1, 1, 0.5, 0),
  });
  fc.assert(
    fc.property(anyThrottling, fc.array(anyLook, { maxLength: 60, size: 'max' }), (throttling, looks) => {
      const { min_delay_between_items_seconds: delay = 0, max_requests_per_second: rate = null } = throttling;
      const spacing = Math.max(delay * 1000, rate === null ? 0 : 1000 / rate);
      const burst = delay > 0 || rate === null ? 1 : Math.max(1, Math.ceil(rate / 20));
      const departures = timetable(throttling, looks);
      for (let first = 0; first < departures.length; first += 1) {
        for (let last = first; last < departures.length; last += 1) {
          const stretch = (departures[last] ?? 0) - (departures[first] ?? 0);
          assert.ok(last - first + 1 <= burst + stretch / spacing + 1e-6);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('a job that is looked at when it asks to be keeps up its pace', () => {
  fc.assert(
    fc.property(anyThrottling, (throttling) => {
      const policy = policyOf({ throttling: { ...throttling, max_concurrent_workers: 10_000 } });
      let state = stateOf({ policy, total: 1e6 });
      let now = NOW;
      let sent = 0;
      for (let look = 0; look < 50; look += 1) {
        const { batches, pace, wakeAt } = dispatchAllowance(state, 1, now);
        sent += batches;
        if (batches > 0) state = { ...state, readyAt: pace.from + batches * pace.spacingMs };
        now = Math.max(now, wakeAt ?? now);
      }
      const { spacingMs } = dispatchAllowance(state, 1, now).pace;
      assert.ok(sent >= Math.floor((now - NOW) / spacingMs) && now > NOW);
    }),
  );
});

/** One item went out at NOW, then the clock was set back: the time at which the next one goes, looking when told to. */
function nextAfterSetBack(throttling: Throttling, setBackMs: number) {
  const policy = policyOf({ throttling });
  const { pace } = dispatchAllowance(stateOf({ policy }), 1, NOW);
  const state = stateOf({ policy, readyAt: pace.from + pace.spacingMs });
  let now = NOW - setBackMs;
  for (let look = 0; look < 3; look += 1) {
    const { batches, wakeAt } = dispatchAllowance(state, 1, now);
    if (batches > 0) return { now, pace };
    assert.ok(wakeAt !== null);
    now = wakeAt;
  }
  return assert.fail('it still waits after three looks');
}

/** A little, a few spacings, or a day. */
const anySetBack = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.integer({ min: 1, max: 20_000 }),
  fc.constant(86_400_000),
);

test('a clock that was set back holds a job up by one spacing at the most', () => {
  fc.assert(
    fc.property(anyThrottling, anySetBack, (throttling, setBackMs) => {
      const { now, pace } = nextAfterSetBack(throttling, setBackMs);
      assert.ok(now - (NOW - setBackMs) <= 2 * pace.spacingMs);
    }),
    { numRuns: 200 },
  );
});

test('a clock that was set back by less than a spacing does not make a job hurry', () => {
  fc.assert(
    fc.property(anyThrottling, fc.double({ min: 0, max: 0.99, noNaN: true }), (throttling, share) => {
      const policy = policyOf({ throttling });
      const { spacingMs } = dispatchAllowance(stateOf({ policy }), 1, NOW).pace;
      fc.pre(policy.throttling.min_delay_between_items_seconds > 0);
      assert.ok(nextAfterSetBack(throttling, share * spacingMs).now >= NOW + spacingMs);
    }),
  );
});

test('a shorter delay counts at once, although the next item was put off by the longer one', () => {
  const policy = policyOf({ throttling: { min_delay_between_items_seconds: 1 } });
  assert.equal(dispatchAllowance(stateOf({ policy, readyAt: NOW + 3_600_000 }), 1, NOW).batches, 1);
});
