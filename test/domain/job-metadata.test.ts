import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import { jobMetadata } from '../../src/domain/job-metadata.ts';
import { addPage, EMPTY_MANIFEST, lastParts, versionCounts } from '../../src/domain/manifest.ts';
import { itemOf, jobOf, NOW } from './builders.ts';

const ITEMS = [itemOf({ itemId: 'a' }), itemOf({ itemId: 'b', status: 'failed' })];
const FOLD = lastParts(addPage(EMPTY_MANIFEST, ITEMS).fold).fold;
const COUNTS = { ...NO_COUNTS, total: 2, success: 1, failed: 1 };
const JOB = jobOf({}, { status: 'completed', counts: COUNTS, startedAt: NOW + 500, finishedAt: NOW + 2500 });

test('it contains counts, duration, policy, scraper and the hash of every part', () => {
  const hashes = [{ list: 'full', part: 0, items: 2, sha256: 'abc' }] as const;
  const metadata = jobMetadata(JOB, FOLD, hashes);
  assert.deepEqual(metadata.counts, { total: 2, success: 1, failed: 1, skipped: 0, cancelled: 0 });
  assert.equal(metadata.duration_seconds, 2);
  assert.deepEqual(metadata.execution_policy, JOB.policy);
  assert.deepEqual([metadata.scraper_id, metadata.scraper_version], ['demo', '1.0.0']);
  assert.deepEqual(metadata.parts, { full: 1, success: 1, errors: 1 });
  assert.deepEqual(metadata.part_hashes, hashes);
  assert.equal(metadata.finished_at, new Date(NOW + 2500).toISOString());
});

test('a job that was cancelled before it began has lasted no time', () => {
  const counts = { ...NO_COUNTS, total: 2, success: 1, failed: 1 };
  const metadata = jobMetadata({ ...JOB, status: 'cancelled', startedAt: null, counts }, FOLD, []);
  assert.deepEqual([metadata.started_at, metadata.duration_seconds], [null, 0]);
});

test('a clock that was set back while the job ran makes no negative duration', () => {
  assert.equal(jobMetadata({ ...JOB, finishedAt: NOW - 9000 }, FOLD, []).duration_seconds, 0);
});

test('it is not made of items that do not add up to the counters', () => {
  const wrong = [
    { ...COUNTS, success: 2, failed: 0 },
    { ...COUNTS, total: 3, skipped: 1 },
    { ...COUNTS, total: 3 },
    { ...COUNTS, success: 0, inProgress: 1 },
  ];
  for (const counts of wrong) {
    assert.throws(() => jobMetadata({ ...JOB, counts }, FOLD, []), /^Error: manifest of job job-1: items add up to/);
  }
});

test('the versions that were run are counted, whatever the controller knew when the job was made', () => {
  const ran = (version?: string, more: object = {}) =>
    itemOf({
      status: 'success',
      attempts: [
        {
          ...{ attempt: 1, tries: 1, startedAt: NOW, durationMs: 1, end: 'success', failure: null },
          ...(version === undefined ? {} : { scraperVersion: version }),
          ...more,
        },
      ],
    });
  const items = [ran(), ran('2.0.0'), ran('2.0.0'), ran('9', { scraperId: 'another' }), ran('3', { tries: 0 })];
  const { fold } = addPage(EMPTY_MANIFEST, items);
  assert.deepEqual(versionCounts(fold, '1.0.0'), [
    ['2.0.0', 2],
    ['1.0.0', 1],
  ]);
  const counts = { ...NO_COUNTS, total: 5, success: 5 };
  const job = jobOf({}, { status: 'completed', counts, scraperVersion: '1.0.0' });
  assert.deepEqual(jobMetadata(job, fold, []).scraper_versions, { '2.0.0': 2, '1.0.0': 1 });
});
