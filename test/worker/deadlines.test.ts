import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { ItemTime } from '../../src/worker/item-time.ts';
import { FakeClock } from '../support/fake-clock.ts';

function given() {
  const clock = new FakeClock();
  const taken = new AbortController();
  const ends: string[] = [];
  const deadlines = new Deadlines(clock);
  const watchTime = (time: ItemTime) => deadlines.watch(time, taken.signal, (why) => ends.push(why));
  const watch = (ms: number) => watchTime(new ItemTime(clock, ms));
  return { clock, taken, ends, watch, watchTime };
}

test('work that goes on is notified when its time is over, once', async () => {
  const { clock, taken, ends, watch } = given();
  watch(1000);
  await clock.advance(999);
  assert.deepEqual(ends, []);
  await clock.advance(1);
  taken.abort();
  await clock.advance(1);
  assert.deepEqual(ends, ['late']);
});

test('work that is taken away is notified, even if that happened before its timer was set', async () => {
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

test('work that has ended is not notified, and leaves no timer running', async () => {
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

test('time that is stopped is not used up, and goes on with what was left of it', async () => {
  const { clock, ends, watchTime } = given();
  const time = new ItemTime(clock, 1000);
  watchTime(time);
  await clock.advance(400);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waits = [time.stopDuring(() => first.promise), time.stopDuring(() => second.promise)];
  await clock.advance(5000);
  first.resolve();
  await clock.advance(5000);
  assert.equal(time.remainingMs(), 600);
  second.resolve();
  await Promise.all(waits);
  await clock.advance(599);
  assert.deepEqual(ends, []);
  await clock.advance(1);
  assert.deepEqual(ends, ['late']);
  assert.equal(clock.sleepers, 0);
});

test('a hundred items have one timer, which ends with the last of them', async () => {
  const { clock, ends, watch } = given();
  const all = Array.from({ length: 100 }, (_, index) => watch(1000 + index));
  await clock.advance(1000);
  assert.deepEqual([ends, clock.sleepers], [['late'], 1]);
  for (const each of all) each.end();
  assert.equal(clock.sleepers, 0);
  await clock.advance(1000);
  assert.deepEqual(ends, ['late']);
});

test('items that end within a millisecond of each other are each notified in time', async () => {
  const { clock, ends, watch } = given();
  watch(1000);
  watch(1001);
  await clock.advance(1000);
  assert.deepEqual(ends, ['late']);
  await clock.advance(1);
  assert.deepEqual(ends, ['late', 'late']);
});
