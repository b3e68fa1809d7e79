import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';

test('a sleep ends at once when it is aborted, and leaves nothing behind on the signal', async () => {
  const clock = systemClock();
  const stop = new AbortController();
  const sleeps = [clock.sleep(60_000, stop.signal), clock.sleep(2 ** 40, stop.signal)];
  assert.equal(getEventListeners(stop.signal, 'abort').length, 2);
  stop.abort();
  await Promise.all(sleeps);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
  await clock.sleep(60_000, stop.signal);
});

test('a sleep that ends by itself leaves nothing behind on the signal either', async () => {
  const clock = systemClock();
  const stop = new AbortController();
  const before = clock.elapsed();
  await clock.sleep(5, stop.signal);
  assert.ok(clock.elapsed() - before >= 4);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
});

test('a sleep longer than any timer does not end early', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let elapsed = 0;
  t.mock.method(performance, 'now', () => elapsed);
  const advance = async (ms: number) => {
    elapsed += ms;
    t.mock.timers.tick(ms);
    await Promise.resolve();
  };
  let isOver = false;
  void systemClock()
    .sleep(2 ** 31 + 1000)
    .then(() => {
      isOver = true;
    });
  await advance(2 ** 31 - 1);
  await advance(500);
  assert.equal(isOver, false);
  await advance(501);
  await advance(0);
  assert.equal(isOver, true);
});

test('a turn lets everything that has happened be heard first', async () => {
  const heard: string[] = [];
  void Promise.resolve().then(() => heard.push('promise'));
  process.nextTick(() => heard.push('tick'));
  await systemClock().turn();
  assert.deepEqual(heard.sort(), ['promise', 'tick']);
});

test('ids are UUIDs of version 7, in the order of their creation, even within a millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_750_000_000_123 });
  const clock = systemClock();
  const ids = Array.from({ length: 10_000 }, () => clock.id());
  t.mock.timers.setTime(1_750_000_000_000);
  ids.push(clock.id());
  t.mock.timers.setTime(1_750_000_009_000);
  ids.push(clock.id());
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(Number.parseInt(ids[0]?.replace('-', '').slice(0, 12) ?? '', 16), 1_750_000_000_123);
  assert.notEqual(clock.id().slice(24), clock.id().slice(24));
});

test('random numbers are in [0, 1), and not always the same', () => {
  const clock = systemClock();
  const drawn = Array.from({ length: 100 }, () => clock.chance());
  assert.ok(drawn.every((number) => number >= 0 && number < 1));
  assert.ok(new Set(drawn).size > 90);
});
