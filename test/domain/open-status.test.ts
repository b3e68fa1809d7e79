import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ITEM_STATUSES, isFinal, nextStatus } from '../../src/domain/item.ts';
import { leftByCancel, openStatus, placeInBatch, statusWhenBack } from '../../src/domain/open-status.ts';

test('the first item of a batch represents it, and the others wait', () => {
  assert.equal(openStatus('waiting', false), 'pending');
  assert.equal(openStatus(placeInBatch(false, false), false), 'pending');
  assert.equal(openStatus(placeInBatch(false, true), false), 'pending');
  assert.equal(openStatus(placeInBatch(true, false), false), 'queued');
  assert.equal(openStatus(placeInBatch(true, true), false), 'in_progress');
});

test('in a cancelled job all but the item that a worker is at are cancelled', () => {
  for (const place of ['waiting', 'later-in-batch', 'first-of-queued'] as const) {
    assert.equal(openStatus(place, true), 'cancelled', place);
  }
  assert.equal(openStatus('first-of-held', true), 'in_progress');
});

test('a cancellation leaves a batch the item that its worker is at, and a queued one nothing', () => {
  assert.deepEqual([leftByCancel(false), leftByCancel(true)], [0, 1]);
});

test('what comes back is pending again, or cancelled with its job, from every status it can come back from', () => {
  const from = ITEM_STATUSES.filter((status) => status !== 'pending' && status !== 'cancelled');
  assert.equal(from.length, 5);
  for (const status of from as Parameters<typeof statusWhenBack>[0][]) {
    assert.equal(statusWhenBack(status, false), 'pending');
    assert.equal(statusWhenBack(status, true), 'cancelled');
  }
});

test('every open status is one that the table knows, and one that it lets end', () => {
  for (const place of ['waiting', 'later-in-batch', 'first-of-queued', 'first-of-held'] as const) {
    const status = openStatus(place, false);
    assert.ok(!isFinal(status));
    assert.ok(nextStatus(status, 'cancel') !== null || nextStatus(status, 'succeed') !== null, status);
  }
});
