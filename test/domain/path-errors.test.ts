import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterPathNews,
  ERROR_EXPIRY_MS,
  isKnownBad,
  type PathErrors,
  skippedUntil,
} from '../../src/domain/path-errors.ts';
import { NOW } from '../support/builders.ts';

const page = { site: 'docs', path: '/a' };

function failures(...times: readonly number[]): PathErrors {
  let known: PathErrors | null = null;
  for (const at of times) known = afterPathNews(known, { kind: 'failed', page, error: 'e', at });
  return known ?? assert.fail('it has failed');
}

test('a page is left alone for a day after three failures', () => {
  assert.equal(isKnownBad(null, NOW), false);
  assert.equal(isKnownBad(failures(NOW, NOW + 1), NOW + 1), false);
  const bad = failures(NOW, NOW + 1, NOW + 2);
  assert.equal(isKnownBad(bad, NOW + 2), true);
  assert.equal(isKnownBad(bad, NOW + 1 + ERROR_EXPIRY_MS), true);
  assert.equal(skippedUntil(bad, NOW + 2), NOW + 2 + ERROR_EXPIRY_MS);
  assert.equal(isKnownBad(bad, NOW + 2 + ERROR_EXPIRY_MS), false);
  assert.equal(skippedUntil(bad, NOW + 2 + ERROR_EXPIRY_MS), null);
});

test('after that day, one more failure leaves it alone for another', () => {
  const later = NOW + 2 * ERROR_EXPIRY_MS;
  assert.equal(isKnownBad(failures(NOW, NOW, NOW, later), later + 1), true);
});

test('a failure a day never adds up to three', () => {
  const days = [0, 1, 2, 3, 4].map((day) => NOW + day * ERROR_EXPIRY_MS);
  assert.equal(failures(...days).count, 1);
});

test('a success forgets all failures', () => {
  assert.equal(afterPathNews(failures(NOW, NOW, NOW), { kind: 'cleared', page }), null);
});

test('of the message 200 characters are kept', () => {
  const known = afterPathNews(null, { kind: 'failed', page, error: 'x'.repeat(5000), at: NOW });
  assert.equal(known?.lastError.length, 200);
});
