import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Allowance, type DispatchState, dispatchAllowance } from '../../src/domain/allowance.ts';
import { type Circuit, CLOSED, EMPTY_TALLY } from '../../src/domain/breaker.ts';
import { finishedOf, inFlightOf, NO_COUNTS } from '../../src/domain/counts.ts';
import type { ThrottlingPolicy } from '../../src/domain/policy.ts';
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
    ...rest,
  };
}

test('a job with room sends out as many batches as it may have workers', () => {
  const allowance = dispatchAllowance(stateOf(), 1);
  assert.equal(allowance.batches, 3);
  assert.equal(allowance.ceiling, 3);
  assert.equal(allowance.itemsPerBatch, 1);
});

test('a freed slot is refilled, and no more than that', () => {
  const counts = { ...NO_COUNTS, total: 1000, queued: 1, inProgress: 1, success: 500 };
  assert.equal(dispatchAllowance(stateOf({ counts, itemsInFlight: 2 }), 1).batches, 1);
});

test('nothing goes out while all slots are taken, even if the maximum was lowered meanwhile', () => {
  const policy = policyOf({ throttling: { max_concurrent_workers: 2 } });
  const counts = { ...NO_COUNTS, total: 1000, inProgress: 5 };
  assert.equal(dispatchAllowance(stateOf({ policy, counts, itemsInFlight: 5 }), 1).batches, 0);
});

test('what a throttle allows is the limit, and one is always allowed', () => {
  const at = (ceiling: number) => dispatchAllowance(stateOf({ throttle: { ...FRESH_THROTTLE, ceiling } }), 1).ceiling;
  assert.equal(at(2.9), 2);
  assert.equal(at(1), 1);
  assert.equal(at(0.2), 1);
});

test('a job that says how large its batches are gets them so, whatever suits the backend', () => {
  const batching = { by: 'group', maxItems: 10 } as const;
  const sizesOf = (state: Partial<DispatchState> & { total?: number }) => {
    const { batches, itemsPerBatch, items } = dispatchAllowance(stateOf({ ...state, batching }), 1);
    return [batches, itemsPerBatch, items];
  };
  assert.deepEqual(sizesOf({ total: 1000 }), [3, 10, 30]);
  // Not spread over the slots: a group of ten goes to one worker.
  assert.deepEqual(sizesOf({ total: 12 }), [3, 10, 12]);
  // No more is risked than the breaker allows.
  const careful = policyOf({ circuit_breaker: { min_requests: 14 } });
  assert.deepEqual(sizesOf({ policy: careful, tally: EMPTY_TALLY }), [3, 10, 14]);
  assert.deepEqual(sizesOf({ circuit: { state: 'probing', since: NOW }, tally: EMPTY_TALLY }), [1, 10, 1]);
});

test('items are spread over the slots before batches are filled', () => {
  const allowance = dispatchAllowance(stateOf({ total: 30 }), 100);
  assert.equal(allowance.batches, 3);
  assert.equal(allowance.itemsPerBatch, 10);
  assert.equal(dispatchAllowance(stateOf({ total: 1000 }), 100).itemsPerBatch, 100);
  const oneSlot = stateOf({ total: 30, throttle: { ...FRESH_THROTTLE, ceiling: 1 } });
  assert.equal(dispatchAllowance(oneSlot, 100).itemsPerBatch, 30);
});

test('a slot that becomes free takes its share of what is left, and not much less than a full batch', () => {
  const policy = policyOf({ throttling: { max_concurrent_workers: 50 } });
  const withLeft = (left: number) => {
    const counts = { ...NO_COUNTS, total: 10_000, inProgress: 49, success: 10_000 - 49 - left };
    return dispatchAllowance(stateOf({ policy, counts, itemsInFlight: 49 }), 100).itemsPerBatch;
  };
  assert.equal(withLeft(9000), 100);
  assert.equal(withLeft(2000), 40);
  assert.equal(withLeft(300), 10);
  assert.equal(withLeft(4), 4);
});

test('items that wait after another in a batch are counted as pending, but cannot go out a second time', () => {
  const counts = { ...NO_COUNTS, total: 100, inProgress: 1 };
  assert.equal(dispatchAllowance(stateOf({ counts, itemsInFlight: 100 }), 100).batches, 0);
  const allowance = dispatchAllowance(stateOf({ counts, itemsInFlight: 90 }), 100);
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
    ).batches;
  assert.equal(learning(0, 0), 5);
  assert.equal(learning(2, 1), 2);
  assert.equal(learning(2, 3), 0);
  assert.equal(learning(4, 1), 0);
  assert.equal(learning(5, 0), 100);
});

test('a batch of many does not smuggle more items past the minimum', () => {
  const policy = policyOf({ circuit_breaker: { min_requests: 50 } });
  const { batches, itemsPerBatch } = dispatchAllowance(stateOf({ policy, tally: EMPTY_TALLY }), 100);
  assert.deepEqual([batches, itemsPerBatch], [3, 16]);
});

test('an open circuit lets nothing out, a probing one a single item', () => {
  const open: Circuit = { state: 'open', since: NOW, probeAt: null };
  const probing: Circuit = { state: 'probing', since: NOW };
  assert.equal(dispatchAllowance(stateOf({ circuit: open }), 100).batches, 0);
  const probe = dispatchAllowance(stateOf({ circuit: probing, tally: EMPTY_TALLY }), 100);
  assert.deepEqual([probe.batches, probe.itemsPerBatch], [1, 1]);
  const counts = { ...NO_COUNTS, total: 1000, queued: 1 };
  const busy = stateOf({ circuit: probing, tally: EMPTY_TALLY, counts, itemsInFlight: 1 });
  assert.equal(dispatchAllowance(busy, 100).batches, 0);
});

test('the batch of a paced job takes about a minute at its pace, and one of a fast pace is as large as any', () => {
  const sizeAt = (throttling: Partial<ThrottlingPolicy>) =>
    dispatchAllowance(stateOf({ policy: policyOf({ throttling }), total: 100_000 }), 100).itemsPerBatch;
  assert.equal(sizeAt({ max_requests_per_second: 50 }), 100);
  assert.equal(sizeAt({ max_requests_per_second: 0.5 }), 30);
  assert.equal(sizeAt({ min_delay_between_items_seconds: 2 }), 30);
  assert.equal(sizeAt({ min_delay_between_items_seconds: 2, max_requests_per_second: 0.25 }), 15);
  assert.equal(sizeAt({ min_delay_between_items_seconds: 600 }), 1);
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
      const { batches, ceiling } = dispatchAllowance(state, size);
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
      const allowance = dispatchAllowance(state, size);
      assert.ok(Number.isInteger(allowance.itemsPerBatch));
      assert.ok(allowance.itemsPerBatch >= 1 && allowance.itemsPerBatch <= (state.batching?.maxItems ?? size));
      assert.ok(itemsOf(allowance) <= waitingIn(state));
    }),
    { numRuns: 500 },
  );
});

test('while the job is being tried out, what finished and what is in flight never exceed the minimum together', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const min = state.policy.circuit_breaker.min_requests;
      const allowance = dispatchAllowance(state, size);
      fc.pre(allowance.batches > 0);
      const risked = state.tally.finished + state.itemsInFlight + itemsOf(allowance);
      if (state.circuit.state === 'probing') assert.equal(risked, 1);
      else if (state.tally.finished < min) assert.ok(risked <= min);
      assert.notEqual(state.circuit.state, 'open');
    }),
    { numRuns: 500 },
  );
});

test('a job at rest that has something waiting always goes on', () => {
  fc.assert(
    fc.property(anyState, anyBatchSize, (state, size) => {
      const counts = { ...state.counts, queued: 0, inProgress: 0 };
      const resting = { ...state, circuit: CLOSED, counts, itemsInFlight: 0 };
      fc.pre(waitingIn(resting) > 0);
      assert.ok(dispatchAllowance(resting, size).batches > 0);
    }),
    { numRuns: 500 },
  );
});
