import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ITEM_STATUSES,
  type ItemEvent,
  type ItemStatus,
  isFinal,
  MAX_HISTORY,
  MAX_STRIKES,
  NEXT_ITEM_STATUS,
} from '../../src/domain/item.ts';

const EVENTS: readonly ItemEvent[] = [
  ...(['dispatch', 'claim', 'lose', 'succeed', 'skip', 'giveUp', 'release', 'expire', 'cancel', 'retry'] as const),
];

/** Every step that exists, written out a second time: all others must be refused. */
const STEPS: readonly [ItemStatus, ItemEvent, ItemStatus][] = [
  ['pending', 'dispatch', 'queued'],
  ['pending', 'cancel', 'cancelled'],
  ['queued', 'claim', 'in_progress'],
  ['queued', 'lose', 'pending'],
  ['queued', 'cancel', 'cancelled'],
  ['in_progress', 'succeed', 'success'],
  ['in_progress', 'skip', 'skipped'],
  ['in_progress', 'giveUp', 'failed'],
  ['in_progress', 'release', 'pending'],
  ['in_progress', 'expire', 'pending'],
  ['failed', 'retry', 'pending'],
];

function next(status: ItemStatus, event: ItemEvent): ItemStatus | undefined {
  const row: Partial<Record<ItemEvent, ItemStatus>> = NEXT_ITEM_STATUS[status];
  return row[event];
}

test('an item has the seven statuses of the specification', () => {
  assert.deepEqual([...ITEM_STATUSES].sort(), [
    ...['cancelled', 'failed', 'in_progress', 'pending', 'queued', 'skipped', 'success'],
  ]);
});

for (const status of ITEM_STATUSES) {
  for (const event of EVENTS) {
    const step = STEPS.find(([from, name]) => from === status && name === event);
    test(`an item that is ${status} ${step ? `becomes ${step[2]} by` : 'ignores'} ${event}`, () => {
      assert.equal(next(status, event), step?.[2]);
    });
  }
}

test('success, skipped, failed and cancelled are final, and nothing else is', () => {
  assert.deepEqual(ITEM_STATUSES.filter(isFinal), ['success', 'skipped', 'failed', 'cancelled']);
});

test('a final item is left only by an explicit retry, and only if it failed', () => {
  for (const status of ITEM_STATUSES.filter(isFinal)) {
    const leaving = EVENTS.filter((event) => next(status, event) !== undefined);
    assert.deepEqual(leaving, status === 'failed' ? ['retry'] : [], status);
  }
});

test('whatever happens to an item, it goes through the queue before it is worked on, and ends only from there', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40, size: 'max' }), (events) => {
      let status: ItemStatus = 'pending';
      for (const event of events) {
        const reached: ItemStatus | undefined = next(status, event);
        if (reached === undefined) continue;
        if (reached === 'in_progress') assert.equal(status, 'queued');
        if (reached === 'success' || reached === 'skipped' || reached === 'failed') assert.equal(status, 'in_progress');
        status = reached;
      }
    }),
  );
});

test('from every status that is not final every end can still be reached', () => {
  for (const start of ITEM_STATUSES.filter((status) => !isFinal(status))) {
    const reached = new Set<ItemStatus>([start]);
    for (const status of reached) {
      for (const event of EVENTS) {
        const to = next(status, event);
        if (to !== undefined) reached.add(to);
      }
    }
    assert.equal(reached.size, ITEM_STATUSES.length, start);
  }
});

test('the third strike is the last, and ten attempts are remembered', () => {
  assert.equal(MAX_STRIKES, 3);
  assert.equal(MAX_HISTORY, 10);
});
