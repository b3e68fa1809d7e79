import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../src/ports/within.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('work that is done in time is answered, and its errors too', async () => {
  const clock = new FakeClock();
  assert.equal(await within(clock, 100, Promise.resolve('done'), () => 'late'), 'done');
  await assert.rejects(
    within(clock, 100, Promise.reject(new Error('as arranged')), () => 'late'),
    /as arranged/,
  );
});

test('work that takes longer is not waited for, and its error is not an unhandled one', async () => {
  const clock = new FakeClock();
  const slow = Promise.withResolvers<string>();
  const answer = within(clock, 100, slow.promise, () => 'late');
  await clock.advance(99);
  await clock.advance(1);
  assert.equal(await answer, 'late');
  slow.reject(new Error('after all'));
});
