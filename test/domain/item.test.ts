import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ITEM_EVENTS,
  ITEM_STATUSES,
  type ItemEvent,
  type ItemStatus,
  isFinal,
  MAX_HISTORY,
  nextStatus,
} from '../../src/domain/item.ts';

const EVENTS = Object.keys(ITEM_EVENTS) as ItemEvent[];

/** Every step that exists, written out a second time: all others must be refused. */
const STEPS: readonly [ItemStatus, ItemEvent, ItemStatus][] = [
  ['pending', 'dispatch', 'queued'],
  ['pending', 'advance', 'in_progress'],
  ['pending', 'cancel', 'cancelled'],
  ['queued', 'claim', 'in_progress'],
  ['queued', 'lose', 'pending'],
  ['queued', 'cancel', 'cancelled'],
  ['in_progress', 'succeed', 'success'],
  ['in_progress', 'skip', 'skipped'],
  ['in_progress', 'giveUp', 'failed'],
  ['in_progress', 'release', 'pending'],
  ['in_progress', 'poison', 'failed'],
  ['in_progress', 'expire', 'pending'],
  ['in_progress', 'withdraw', 'cancelled'],
  ['failed', 'retry', 'pending'],
  ['failed', 'correct', 'pending'],
  ['failed', 'recover', 'success'],
  ['success', 'undo', 'pending'],
  ['skipped', 'undo', 'pending'],
  ['failed', 'undo', 'pending'],
  ['success', 'withdraw', 'cancelled'],
  ['skipped', 'withdraw', 'cancelled'],
  ['failed', 'withdraw', 'cancelled'],
];

/** What only a crash of the machine does to an item that has ended. */
const CRASHED: readonly ItemEvent[] = ['undo', 'withdraw'];

test('an item has the seven statuses of the specification', () => {
  assert.deepEqual([...ITEM_STATUSES].sort(), [
    ...['cancelled', 'failed', 'in_progress', 'pending', 'queued', 'skipped', 'success'],
  ]);
});

for (const status of ITEM_STATUSES) {
  for (const event of EVENTS) {
    const step = STEPS.find(([from, name]) => from === status && name === event);
    test(`an item that is ${status} ${step ? `becomes ${step[2]} by` : 'ignores'} ${event}`, () => {
      assert.equal(nextStatus(status, event), step?.[2] ?? null);
    });
  }
}

test('success, skipped, failed and cancelled are final, and nothing else is', () => {
  assert.deepEqual(ITEM_STATUSES.filter(isFinal), ['success', 'skipped', 'failed', 'cancelled']);
});

test('a final item is left only by a retry, a corrected input or a recovery, and only if it failed, unless its bytes are lost', () => {
  for (const status of ITEM_STATUSES.filter(isFinal)) {
    const leaving = EVENTS.filter((event) => nextStatus(status, event) !== null && !CRASHED.includes(event));
    assert.deepEqual(leaving, status === 'failed' ? ['retry', 'correct', 'recover'] : [], status);
  }
});

test('whatever happens to an item, it is in a batch before it is worked on, and ends only from there', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40, size: 'max' }), (events) => {
      let status = 'pending' as ItemStatus;
      for (const event of events) {
        const reached: ItemStatus | null = nextStatus(status, event);
        if (reached === null) continue;
        if (reached === 'in_progress') assert.ok(status === 'queued' || event === 'advance');
        if (reached === 'skipped' || reached === 'failed') assert.equal(status, 'in_progress');
        if (reached === 'success') assert.ok(status === 'in_progress' || event === 'recover');
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
        const to = nextStatus(status, event);
        if (to !== null) reached.add(to);
      }
    }
    assert.equal(reached.size, ITEM_STATUSES.length, start);
  }
});

test('ten attempts are remembered', () => {
  assert.equal(MAX_HISTORY, 10);
});
