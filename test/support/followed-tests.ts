import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

/** Run by `follow-tests.test.ts`: the runner must know which test it is in, long after the test began. */
test('an unhandled rejection fails its test', async () => {
  await pause(1);
  void Promise.reject(new Error('lost'));
  await pause(20);
});

test('an error that is thrown by a timer fails its test', async () => {
  await pause(1);
  setTimeout(() => {
    throw new Error('thrown');
  }, 1);
  await pause(20);
});

test('an `after` hook of a test runs before the next test', async (t) => {
  const done: string[] = [];
  await t.test('inner', async () => {
    await pause(1);
    after(() => done.push('after'));
  });
  assert.deepEqual(done, ['after']);
});

test('a hook that fails fails its test', (t) => {
  t.after(async () => {
    await pause(1);
    throw new Error('hook');
  });
});
