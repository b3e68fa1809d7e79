import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { batchSizes, calculateBatches, pieceOrder, type SitePages, windowsOf } from '../../src/domain/site-batches.ts';

const sitesOf = (pages: readonly number[]): SitePages[] => pages.map((count, at) => ({ site: `s${at}`, pages: count }));
const evenly = (sites: number, pages: number) => Array.from({ length: sites }, () => pages);
/** The sizes of the batches of each site. */
const cut = (pages: readonly number[], max = 100) => calculateBatches(sitesOf(pages), max).map(batchSizes);
const times = (count: number, size: number) => Array.from({ length: count }, () => size);

const CASES: readonly (readonly [string, readonly number[], number, readonly (readonly number[])[]])[] = [
  ['no site', [], 100, []],
  ['a site without pages is passed over', [0, 2], 100, [[1, 1]]],
  ['950 over 5', evenly(5, 190), 100, evenly(5, 0).map(() => [...times(10, 10), ...times(10, 9)])],
  ['1,000 over 5', evenly(5, 200), 100, evenly(5, 0).map(() => times(20, 10))],
  ['500 over 5', evenly(5, 100), 100, evenly(5, 0).map(() => times(20, 5))],
  ['2,000 over 10', evenly(10, 200), 100, evenly(10, 0).map(() => times(10, 20))],
  ['100 of one', [100], 100, [times(100, 1)]],
  ['100 of one, in ten', [100], 10, [times(10, 10)]],
  ['999 and 1', [999, 1], 100, [[...times(9, 11), ...times(90, 10)], [1]]],
  ['300 sites of one', evenly(300, 1), 100, evenly(300, 0).map(() => [1])],
  ['7 and 3', [7, 3], 4, [[3, 2, 2], [3]]],
  ['10 in three', [10], 3, [[4, 3, 3]]],
  ['80 and 20', [80, 20], 10, [times(8, 10), times(2, 10)]],
  ['95 and 1', [95, 1], 10, [[...times(5, 11), ...times(4, 10)], [1]]],
  ['three', [3], 100, [[1, 1, 1]]],
  ['one', [1], 100, [[1]]],
  ['as many sites as batches', [5, 1], 2, [[5], [1]]],
  ['ties go to the first', [5, 5, 5], 5, [[3, 2], [3, 2], [5]]],
];

for (const [name, pages, max, sizes] of CASES) {
  test(`batches of ${name}`, () => assert.deepEqual(cut(pages, max), sizes));
}

const lists = fc.tuple(fc.array(fc.nat(400), { maxLength: 40 }), fc.integer({ min: 1, max: 150 }));

test('batches keep every promise for any list', () => {
  fc.assert(
    fc.property(lists, ([pages, max]) => {
      const made = calculateBatches(sitesOf(pages), max);
      const filled = pages.filter((count) => count > 0);
      assert.deepEqual(
        made.map(({ pages: count }) => count),
        filled,
      );
      const total = made.reduce((sum, { batches }) => sum + batches, 0);
      const all = filled.reduce((sum, count) => sum + count, 0);
      if (filled.length >= max) assert.equal(total, filled.length);
      else assert.equal(total, Math.min(max, all));
      for (const site of made) {
        const sizes = batchSizes(site);
        assert.ok(site.batches >= 1 && site.batches <= site.pages);
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
        assert.equal(
          sizes.reduce((sum, size) => sum + size, 0),
          site.pages,
        );
      }
    }),
  );
});

test('a site with more pages never has fewer batches than one with less', () => {
  fc.assert(
    fc.property(lists, ([pages, max]) => {
      const made = calculateBatches(sitesOf(pages), max).toSorted((one, other) => one.pages - other.pages);
      for (const [at, { pages: count, batches }] of made.entries()) {
        const before = made[at - 1];
        if (before !== undefined && before.pages < count) assert.ok(before.batches <= batches);
      }
    }),
  );
});

test('batches go out in pieces, every batch its first piece before one has its second', () => {
  const sites = [
    { site: 'a', pages: 7, batches: 2 },
    { site: 'b', pages: 5, batches: 1 },
  ];
  const order = Array.from(pieceOrder(sites, 2), ({ site, batch, pages, isLast }) => [site.site, batch, pages, isLast]);
  assert.deepEqual(order, [
    ['a', 0, 2, false],
    ['a', 1, 2, false],
    ['b', 0, 2, false],
    ['a', 0, 2, true],
    ['a', 1, 1, true],
    ['b', 0, 2, false],
    ['b', 0, 1, true],
  ]);
});

test('the pieces of a batch make up the batch, for any list', () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 60 }), ([pages, max], most) => {
      const made = calculateBatches(sitesOf(pages), max);
      const pieces = windowsOf(made, 500).flatMap((window) => [...pieceOrder(window, most)]);
      for (const site of made) {
        const sizes = batchSizes(site).map((_, batch) => {
          const own = pieces.filter((piece) => piece.site === site && piece.batch === batch);
          assert.ok(own.every(({ pages: count, isLast }, at) => count <= most && isLast === (at === own.length - 1)));
          return own.reduce((sum, piece) => sum + piece.pages, 0);
        });
        assert.deepEqual(sizes, batchSizes(site));
      }
    }),
    { numRuns: 50 },
  );
});
