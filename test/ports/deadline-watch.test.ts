import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadlineWatch, type Watched } from '../../src/ports/deadline-watch.ts';
import { FakeClock } from '../support/fake-clock.ts';

function setUp() {
  const clock = new FakeClock();
  const watch = new DeadlineWatch(clock);
  const expired: string[] = [];
  const start = (name: string, dueAt: number): Watched & { dueAt: number } => {
    const watched = { dueAt, expire: () => void expired.push(`${name} at ${clock.elapsed()}`) };
    watch.add(watched);
    return watched;
  };
  return { clock, watch, expired, start };
}

test('each deadline is met once, in order, whichever was added first', async () => {
  const { clock, expired, start } = setUp();
  start('late', 300);
  start('early', 100);
  start('between', 200);
  await clock.advance(1000);
  assert.deepEqual(expired, ['early at 100', 'between at 200', 'late at 300']);
});

test('a deadline that moved further away is met at its new time, without notifying the watch', async () => {
  const { clock, expired, start } = setUp();
  const moving = start('moving', 100);
  await clock.advance(50);
  moving.dueAt = 150;
  await clock.advance(75);
  moving.dueAt = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  assert.deepEqual(expired, []);
});

test('a deadline that moved nearer is met at its new time once the watch is notified', async () => {
  const { clock, watch, expired, start } = setUp();
  const moving = start('moving', 1000);
  moving.dueAt = 10;
  watch.hasMoved(moving);
  await clock.advance(2000);
  assert.deepEqual(expired, ['moving at 10']);
});

test('what was removed is forgotten, and many deadlines take one timer', async () => {
  const { clock, watch, expired, start } = setUp();
  const all = Array.from({ length: 100 }, (_, at) => start(`${at}`, 1000 + at));
  assert.equal(clock.sleepers, 1);
  for (const watched of all) watch.remove(watched);
  await clock.advance(5000);
  assert.deepEqual(expired, []);
  assert.equal(clock.sleepers, 0);
});

test('closing leaves no timer running', async () => {
  const { clock, watch, expired, start } = setUp();
  start('one', 100);
  watch.close();
  assert.equal(clock.sleepers, 0);
  await clock.advance(1000);
  assert.deepEqual(expired, []);
});

test('one that is due and finds some time left is asked again when that is over, and not at once', async () => {
  const { clock, watch, expired, start } = setUp();
  start('other', 999);
  const late = {
    dueAt: 1000,
    expire(): void {
      expired.push(`asked at ${clock.elapsed()}`);
      if (clock.elapsed() >= 1000) return;
      late.dueAt = 1000;
      watch.add(late);
    },
  };
  watch.add(late);
  await clock.advance(1500);
  assert.deepEqual(expired, ['other at 999', 'asked at 999', 'asked at 1000']);
  assert.equal(clock.sleepers, 0);
});
