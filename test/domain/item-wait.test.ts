import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ItemWait, MAX_WAITS, WaitBook } from '../../src/domain/item-wait.ts';
import { NOW } from './builders.ts';

function wait(changes: Partial<ItemWait> = {}): ItemWait {
  return { jobId: 'a', type: 'rate_limited', items: 1, until: NOW + 5000, ...changes };
}

test('the waits of a job are added up by failure over all workers, until each is over', () => {
  const book = new WaitBook();
  book.add([wait({ items: 2 }), wait({ type: 'timeout', items: 9 }), wait({ jobId: 'b' })], 'w1', NOW);
  book.add([wait({ until: NOW + 3000 })], 'w2', NOW);
  assert.deepEqual(book.ofJob('a', NOW), [
    { type: 'timeout', items: 9, until: NOW + 5000 },
    { type: 'rate_limited', items: 3, until: NOW + 3000 },
  ]);
  assert.deepEqual(
    book.ofJob('a', NOW + 3000).map(({ items }) => items),
    [9, 2],
  );
  assert.deepEqual(book.ofJob('a', NOW + 5000), []);
  assert.deepEqual(book.ofJob('nobody', NOW), []);
});

test('a worker adds to what it said before, and what it had is forgotten with it', () => {
  const book = new WaitBook();
  book.add([wait()], 'w1', NOW);
  book.add([wait({ until: NOW + 6000 })], 'w1', NOW + 1000);
  book.add([wait()], 'w2', NOW);
  assert.equal(book.ofJob('a', NOW)[0]?.items, 3);
  book.forget('w1');
  assert.equal(book.ofJob('a', NOW)[0]?.items, 1);
});

test('a worker cannot fill the memory, nor make items wait for ever', () => {
  const book = new WaitBook();
  for (let round = 0; round < 3; round += 1) book.add(Array(MAX_WAITS).fill(wait()), 'w1', NOW);
  assert.equal(book.ofJob('a', NOW)[0]?.items, MAX_WAITS);
  book.add([wait({ jobId: 'b', until: NOW + 10 * 86_400_000 })], 'w2', NOW);
  assert.deepEqual(book.ofJob('b', NOW), []);
});
