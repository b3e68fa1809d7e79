import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HostTrouble, NO_TROUBLE, troubleRate, withRequest, withTrouble } from '../../src/domain/host-trouble.ts';

/** `isBad` of each request, by its number from 1. */
function after(requests: number, isBad: (number: number) => boolean): HostTrouble {
  let trouble = NO_TROUBLE;
  for (let number = 1; number <= requests; number += 1) {
    trouble = withRequest(trouble);
    if (isBad(number)) trouble = withTrouble(trouble);
  }
  return trouble;
}

test('one bad answer in a hundred is rare, however long it goes on', () => {
  for (let requests = 1; requests <= 2000; requests += 1) {
    assert.equal(troubleRate(after(requests, (number) => number % 100 === 0)), 'rare', `after ${requests}`);
  }
});

test('one bad answer in ten is frequent, as soon as there were three', () => {
  const isBad = (number: number) => number % 10 === 0;
  assert.equal(troubleRate(after(29, isBad)), 'rare');
  for (const requests of [30, 100, 1000]) assert.equal(troubleRate(after(requests, isBad)), 'frequent');
});

test('a host that was good for a long time and then refuses everything is noticed within a dozen requests', () => {
  assert.equal(troubleRate(after(1012, (number) => number > 1000)), 'frequent');
});

test('a host that has recovered is trusted again after a few hundred requests', () => {
  assert.equal(troubleRate(after(60, (number) => number > 40)), 'frequent');
  assert.equal(troubleRate(after(700, (number) => number > 40 && number <= 60)), 'rare');
});
