import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  isPoison,
  isSuspect,
  type LostLease,
  MAX_STRIKES,
  mustRunAlone,
  shownStrikes,
  strikesAfterLoss,
} from '../../src/domain/strikes.ts';

const LOST: LostLease = { isJobCancelled: false, isBlameless: false, suspect: false, begunSeq: null };

test('every unsettled item of a lost lease gets a strike, because each may have killed the worker', () => {
  for (const seq of [0, 7]) assert.equal(strikesAfterLoss({ ...LOST, begunSeq: 7 }, { seq, strikes: 0 }), 1);
});

test('of a suspect batch only the item that was begun gets a strike', () => {
  const lost = { ...LOST, suspect: true, begunSeq: 7 };
  assert.deepEqual(
    [6, 7, 8].map((seq) => strikesAfterLoss(lost, { seq, strikes: 1 })),
    [1, 2, 1],
  );
  assert.equal(strikesAfterLoss({ ...lost, begunSeq: null }, { seq: 7, strikes: 1 }), 1);
});

test('no item is blamed in a cancelled job, or when its worker may have died with the owner of the ledger', () => {
  for (const why of [{ isJobCancelled: true }, { isBlameless: true }]) {
    for (const suspect of [false, true]) {
      assert.equal(strikesAfterLoss({ ...LOST, suspect, begunSeq: 7, ...why }, { seq: 7, strikes: 2 }), 2);
    }
  }
});

test('the third strike is the last', () => {
  assert.equal(MAX_STRIKES, 3);
  assert.deepEqual([0, 1, 2, 3].map(isPoison), [false, false, false, true]);
});

test('an item with a strike is a suspect, and with the last but one it runs alone', () => {
  assert.deepEqual([0, 1, 2].map(isSuspect), [false, true, true]);
  assert.deepEqual(
    [0, 1, 2].map((strikes) => mustRunAlone([{ strikes: 0 }, { strikes }])),
    [false, false, true],
  );
});

test('a lost lease gives an item one strike at most, and never takes one away', () => {
  const lost = fc.record({
    isJobCancelled: fc.boolean(),
    isBlameless: fc.boolean(),
    suspect: fc.boolean(),
    begunSeq: fc.option(fc.nat(3), { nil: null }),
  });
  fc.assert(
    fc.property(lost, fc.nat(3), fc.nat(2), (lease, seq, strikes) => {
      const added = strikesAfterLoss(lease, { seq, strikes }) - strikes;
      assert.ok(added === 0 || added === 1);
    }),
  );
});

test('one lost worker is not shown as a strike, and the second counts both', () => {
  assert.deepEqual([0, 1, 2, 3].map(shownStrikes), [0, 0, 2, 3]);
});
