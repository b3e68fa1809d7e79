import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FakeClock } from '../support/fake-clock.ts';

function given() {
  const clock = new FakeClock();
  const taken = new AbortController();
  const ends: string[] = [];
  const watch = (ms: number) => new Deadlines(clock).watch(ms, taken.signal, (why) => ends.push(why));
  return { clock, taken, ends, watch };
}

test('work that goes on is told when its time is over, once', async () => {
  const { clock, taken, ends, watch } = given();
  watch(1000);
  await clock.advance(999);
  assert.deepEqual(ends, []);
  await clock.advance(1);
  taken.abort();
  await clock.advance(1);
  assert.deepEqual(ends, ['late']);
});

test('work that is taken away is told so, also if that happened before its timer was set', async () => {
  const early = given();
  early.watch(1000);
  early.taken.abort();
  await early.clock.advance(1);
  assert.deepEqual(early.ends, ['aborted']);

  const later = given();
  later.watch(1000);
  await later.clock.advance(10);
  later.taken.abort();
  assert.deepEqual(later.ends, ['aborted']);
});

test('work that has ended is told nothing, and leaves no timer behind', async () => {
  const { clock, taken, ends, watch } = given();
  watch(1000).end();
  const second = watch(1000);
  await clock.advance(10);
  second.end();
  taken.abort();
  await clock.advance(2000);
  assert.deepEqual(ends, []);
  assert.equal(clock.sleepers, 0);
});
