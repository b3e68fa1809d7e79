import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchCount, endedBatches, pagesToScrape } from '../../src/domain/bulk-list.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';

const sites = [
  { site: 'a', pages: 7, batches: 3 },
  { site: 'b', pages: 3, batches: 1 },
];
const state = (success: number, inProgress: number, itemsInFlight: number) => ({
  counts: { ...NO_COUNTS, total: 10, success, inProgress },
  itemsInFlight,
});

test('pages and batches of a list are those of its sites', () => {
  assert.deepEqual([pagesToScrape({ sites }), batchCount({ sites })], [10, 4]);
  assert.deepEqual([pagesToScrape({ sites: [] }), batchCount({ sites: [] })], [0, 0]);
});

test('a batch is over when none of its pages is left', () => {
  // The batches have 3, 2, 2 and 3 pages.
  assert.equal(endedBatches({ sites }, state(0, 0, 0)), 0);
  assert.equal(endedBatches({ sites }, state(0, 2, 5)), 0, 'two are out');
  assert.equal(endedBatches({ sites }, state(2, 2, 3)), 0, 'both go on');
  assert.equal(endedBatches({ sites }, state(3, 1, 2)), 1);
  assert.equal(endedBatches({ sites }, state(6, 1, 1)), 2);
  assert.equal(endedBatches({ sites }, state(7, 0, 0)), 3);
  assert.equal(endedBatches({ sites }, state(9, 1, 1)), 3);
  assert.equal(endedBatches({ sites }, state(10, 0, 0)), 4);
});

test('a batch that is too long for one worker is over when its last piece is', () => {
  const long = [{ site: 'a', pages: 600, batches: 2 }];
  assert.equal(endedBatches({ sites: long }, state(0, 2, 200)), 0);
  assert.equal(endedBatches({ sites: long }, state(400, 2, 200)), 0, 'the last pieces are out');
  assert.equal(endedBatches({ sites: long }, state(500, 1, 100)), 1);
  assert.equal(endedBatches({ sites: long }, state(600, 0, 0)), 2);
});
