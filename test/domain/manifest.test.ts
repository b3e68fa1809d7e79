import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { failure } from '../../src/domain/failure.ts';
import type { FinalStatus, ItemRecord } from '../../src/domain/item.ts';
import {
  addPage,
  EMPTY_MANIFEST,
  ITEMS_PER_PART,
  lastParts,
  MANIFEST_LISTS,
  type ManifestFold,
  type ManifestPart,
  partName,
  renderPart,
} from '../../src/domain/manifest.ts';
import { itemOf, NOW, storedArtifact } from './builders.ts';

const FINAL: readonly FinalStatus[] = ['success', 'failed', 'skipped', 'cancelled'];

function itemsWith(statuses: readonly FinalStatus[]): ItemRecord[] {
  return statuses.map((status, index) => itemOf({ seq: index + 1, itemId: `item-${index + 1}`, status }));
}

/** Folds all pages and the unfinished parts. */
function fold(pages: readonly (readonly ItemRecord[])[]): { fold: ManifestFold; parts: ManifestPart[] } {
  let state = EMPTY_MANIFEST;
  const parts: ManifestPart[] = [];
  for (const page of pages) {
    const step = addPage(state, page);
    state = step.fold;
    parts.push(...step.parts);
  }
  const last = lastParts(state);
  return { fold: last.fold, parts: [...parts, ...last.parts] };
}

const idsIn = (part: ManifestPart | undefined): string[] =>
  (part?.entries ?? []).map((entry) => JSON.parse(entry).item_id);
const partsOf = (parts: readonly ManifestPart[], list: string) => parts.filter((part) => part.list === list);

test('a part holds a thousand items', () => {
  assert.equal(ITEMS_PER_PART, 1000);
});

test('full lists every item, success those that succeeded, errors those that failed', () => {
  const { parts, fold: end } = fold([itemsWith(['success', 'failed', 'skipped', 'cancelled', 'success'])]);
  assert.deepEqual(idsIn(partsOf(parts, 'full')[0]), ['item-1', 'item-2', 'item-3', 'item-4', 'item-5']);
  assert.deepEqual(idsIn(partsOf(parts, 'success')[0]), ['item-1', 'item-5']);
  assert.deepEqual(idsIn(partsOf(parts, 'errors')[0]), ['item-2']);
  assert.deepEqual(end.seen, { success: 2, failed: 1, skipped: 1, cancelled: 1 });
});

test('a list without items has one empty part, so that a reader always finds part 0', () => {
  const { parts, fold: end } = fold([]);
  assert.deepEqual(
    parts.map(({ list, number, entries }) => [list, number, entries.length]),
    [
      ['full', 0, 0],
      ['success', 0, 0],
      ['errors', 0, 0],
    ],
  );
  assert.deepEqual(end.parts, { full: 1, success: 1, errors: 1 });
});

test('exactly a thousand items are one part, and one more begins the next', () => {
  const counts = (total: number) =>
    partsOf(fold([itemsWith(Array<FinalStatus>(total).fill('success'))]).parts, 'full').map(
      (part) => part.entries.length,
    );
  assert.deepEqual(counts(999), [999]);
  assert.deepEqual(counts(1000), [1000]);
  assert.deepEqual(counts(1001), [1000, 1]);
  assert.deepEqual(counts(2000), [1000, 1000]);
});

test('an item that is not final is a bug of the caller, and is named', () => {
  for (const status of ['pending', 'queued', 'in_progress'] as const) {
    const page = [...itemsWith(['success']), itemOf({ itemId: 'late', status })];
    assert.throws(
      () => addPage(EMPTY_MANIFEST, page),
      new Error(`manifest: item late of job job-1 is ${status}, not final`),
    );
  }
});

test('a part is JSON that says whose it is, and parts are where the specification says', () => {
  const { parts } = fold([itemsWith(['success', 'failed'])]);
  const first = parts[0];
  assert.ok(first);
  const read = JSON.parse(renderPart('job "1"', first));
  assert.deepEqual([read.job_id, read.list, read.part, read.count, read.items.length], ['job "1"', 'full', 0, 2, 2]);
  assert.deepEqual(JSON.parse(renderPart('j', { list: 'errors', number: 0, entries: [] })).items, []);
  assert.equal(partName('errors', 12), 'manifests/errors/part-12.json');
});

test('an entry says how the item ended, when, after how many tries, and where its bytes are', () => {
  const attempt = { attempt: 1, tries: 4, startedAt: NOW, durationMs: 1500, end: 'failed', failure: null } as const;
  const last = { ...attempt, attempt: 2, tries: 2, startedAt: NOW + 60_000, durationMs: 700 };
  const item = itemOf({
    status: 'failed',
    attempts: [attempt, { ...last, failure: failure('blocked', 'captcha', { cause: 'HTTP 403' }) }],
    artifacts: [storedArtifact('job-1/items/item-1/html.html')],
  });
  const entry = JSON.parse(addPage(EMPTY_MANIFEST, [item]).fold.open.errors[0] ?? '');
  assert.deepEqual(entry, {
    item_id: 'item-1',
    status: 'failed',
    attempts: 2,
    tries: 2,
    first_attempt_at: new Date(NOW).toISOString(),
    last_attempt_at: new Date(NOW + 60_000).toISOString(),
    duration_ms: 700,
    error: { type: 'blocked', message: 'captcha', retryable: true, cause: 'HTTP 403' },
    artifacts: [
      {
        kind: 'html',
        key: 'job-1/items/item-1/html.html',
        size: 12,
        sha256: storedArtifact('job-1/items/item-1/html.html').sha256,
        encoding: 'identity',
      },
    ],
  });
});

test('an entry lists what was kept of a skipped item, and of a slice where it begins and ends', () => {
  const slice = { ...storedArtifact('job-1/items/a/html.html'), offset: 5, length: 9 };
  const items = [
    itemOf({ status: 'skipped', artifacts: [slice] }),
    itemOf({ artifacts: [storedArtifact('job-1/items/a/html.html')] }),
  ];
  const [full] = partsOf(fold([items]).parts, 'full');
  const [skipped, whole] = (full?.entries ?? []).map((entry) => JSON.parse(entry).artifacts[0]);
  const { kind, key, size, sha256, encoding } = slice;
  assert.deepEqual(skipped, { kind, key, offset: 5, length: 9, size, sha256, encoding });
  assert.deepEqual(Object.keys(whole), ['kind', 'key', 'size', 'sha256', 'encoding']);
});

test('an item that succeeded after failures, and one that was never tried, have no error', () => {
  const failed = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 1, end: 'failed' } as const;
  const good = { ...failed, attempt: 2, end: 'success', failure: null } as const;
  const page = [
    itemOf({ attempts: [{ ...failed, failure: failure('timeout', 'x') }, good] }),
    itemOf({ status: 'cancelled' }),
  ];
  const [first, second] = addPage(EMPTY_MANIFEST, page).fold.open.full.map((entry) => JSON.parse(entry));
  assert.equal(first.error, null);
  assert.deepEqual([second.error, second.first_attempt_at, second.duration_ms, second.tries], [null, null, null, 0]);
});

test('an entry names scraper and version where they are not those of the job, and does not repeat them elsewhere', () => {
  const attempt = { attempt: 1, tries: 1, startedAt: NOW, durationMs: 1, end: 'success', failure: null } as const;
  const page = [
    itemOf({
      attempts: [
        { ...attempt, scraperVersion: '2.0.0' },
        { ...attempt, scraperVersion: '2.1.0' },
      ],
    }),
    itemOf({ attempts: [{ ...attempt, scraperId: 'demo-again' }] }),
    itemOf({ attempts: [{ ...attempt, scraperVersion: '2.0.0' }, attempt] }),
  ];
  const [newer, read, plain] = addPage(EMPTY_MANIFEST, page).fold.open.full.map((entry) => JSON.parse(entry));
  assert.deepEqual([newer.scraper_version, 'scraper_id' in newer], ['2.1.0', false]);
  assert.deepEqual([read.scraper_id, 'scraper_version' in read], ['demo-again', false]);
  assert.deepEqual(['scraper_id' in plain, 'scraper_version' in plain], [false, false]);
});

/** Sizes near the borders of parts, with runs of one status, so that each list meets its own borders. */
const anyStatuses = fc
  .array(fc.tuple(fc.constantFrom(...FINAL), fc.constantFrom(0, 1, 2, 7, 300, 999, 1000, 1001)), {
    maxLength: 5,
    size: 'max',
  })
  .map((runs) => runs.flatMap(([status, length]) => Array<FinalStatus>(length).fill(status)));

const anyPageSizes = fc.array(fc.constantFrom(0, 1, 10, 333, 999, 1000, 1001, 2500), {
  minLength: 1,
  maxLength: 6,
  size: 'max',
});

function split<T>(all: readonly T[], sizes: readonly number[]): T[][] {
  const pages: T[][] = [];
  let from = 0;
  for (const size of sizes) {
    pages.push(all.slice(from, from + size));
    from += size;
  }
  return [...pages, all.slice(from)];
}

test('any split of the items into pages gives the same parts', () => {
  fc.assert(
    fc.property(anyStatuses, anyPageSizes, (statuses, sizes) => {
      const items = itemsWith(statuses);
      const whole = fold([items]);
      const paged = fold(split(items, sizes));
      const render = (parts: readonly ManifestPart[]) =>
        new Map(parts.map((part) => [partName(part.list, part.number), renderPart('j', part)]));
      assert.deepEqual(render(paged.parts), render(whole.parts));
      assert.deepEqual(paged.fold, whole.fold);
    }),
    { numRuns: 25 },
  );
});

test('parts are numbered from 0 without a gap, all but the last are full, and none is larger', () => {
  fc.assert(
    fc.property(anyStatuses, anyPageSizes, (statuses, sizes) => {
      const { parts, fold: end } = fold(split(itemsWith(statuses), sizes));
      for (const list of MANIFEST_LISTS) {
        const own = partsOf(parts, list);
        assert.equal(own.length, end.parts[list]);
        for (const [index, part] of own.entries()) {
          assert.equal(part.number, index);
          if (index < own.length - 1) assert.equal(part.entries.length, ITEMS_PER_PART);
          else assert.ok(part.entries.length <= ITEMS_PER_PART && (index === 0 || part.entries.length > 0));
        }
      }
    }),
    { numRuns: 25 },
  );
});

test('every item is in full once and in order, in success or errors where it belongs, and the sums are right', () => {
  fc.assert(
    fc.property(anyStatuses, anyPageSizes, (statuses, sizes) => {
      const items = itemsWith(statuses);
      const { parts, fold: end } = fold(split(items, sizes));
      const idsOf = (kept: readonly ItemRecord[]) => kept.map(({ itemId }) => itemId);
      assert.deepEqual(partsOf(parts, 'full').flatMap(idsIn), idsOf(items));
      for (const [list, status] of [
        ['success', 'success'],
        ['errors', 'failed'],
      ] as const) {
        assert.deepEqual(partsOf(parts, list).flatMap(idsIn), idsOf(items.filter((item) => item.status === status)));
      }
      for (const status of FINAL) assert.equal(end.seen[status], statuses.filter((each) => each === status).length);
    }),
    { numRuns: 15 },
  );
});

test('what is kept between pages is less than a part of each list, whatever the size of the job', () => {
  fc.assert(
    fc.property(anyStatuses, anyPageSizes, (statuses, sizes) => {
      let state = EMPTY_MANIFEST;
      for (const page of split(itemsWith(statuses), sizes)) {
        state = addPage(state, page).fold;
        for (const list of MANIFEST_LISTS) assert.ok(state.open[list].length < ITEMS_PER_PART);
      }
    }),
    { numRuns: 15 },
  );
});
