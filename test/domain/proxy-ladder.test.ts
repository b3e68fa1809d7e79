import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { afterItem, FIRST_STEP, type JobLadder } from '../../src/domain/proxy-ladder.ts';

const STEPS = 3;

/** `c` climbed from the step at which the job started it, `s` stayed there. */
function after(items: string, from: JobLadder = FIRST_STEP): JobLadder {
  return [...items].reduce((ladder, item) => {
    return afterItem(ladder, { startedAt: ladder.step, endedAt: ladder.step + (item === 'c' ? 1 : 0) }, STEPS);
  }, from);
}

test('when most items had to climb, the job starts the next ones a step higher', () => {
  assert.equal(after('c'.repeat(9)).step, 0, 'nine say too little');
  assert.equal(after('c'.repeat(10)).step, 1);
  assert.equal(after('sc'.repeat(10)).step, 0, 'half of them are not most of them');
  assert.equal(after(`${'sc'.repeat(10)}c`).step, 1);
});

test('a job climbs step by step and stays on the last one', () => {
  assert.equal(after('c'.repeat(20)).step, 2);
  assert.equal(after('c'.repeat(200)).step, 2);
});

test('an item that started before the job climbed says nothing about the new step', () => {
  const climbed = after('c'.repeat(10));
  assert.equal(afterItem(climbed, { startedAt: 0, endedAt: 1 }, STEPS), climbed);
});

test('a site that starts to block after ten thousand good items is noticed within sixty', () => {
  const calm = after('s'.repeat(10_000));
  assert.equal(calm.step, 0);
  assert.ok(after('c'.repeat(60), calm).step > 0);
});

test('a job never climbs down, and never beyond its ladder', () => {
  const item = fc.record({ startedAt: fc.nat(4), climbs: fc.boolean() });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 300 }), fc.integer({ min: 1, max: 5 }), (items, steps) => {
      let ladder = FIRST_STEP;
      for (const { startedAt, climbs } of items) {
        const next = afterItem(ladder, { startedAt, endedAt: startedAt + (climbs ? 1 : 0) }, steps);
        assert.ok(next.step >= ladder.step && next.step < steps);
        assert.ok(next.climbed <= next.ended);
        ladder = next;
      }
    }),
  );
});
