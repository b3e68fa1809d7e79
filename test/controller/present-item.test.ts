import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemDetailSchema } from '../../src/contract/item-answers.ts';
import { presentItemDetail } from '../../src/controller/api/present-item.ts';
import { failure } from '../../src/domain/failure.ts';
import type { AttemptRecord } from '../../src/domain/item.ts';
import { manifestEntry } from '../../src/domain/manifest.ts';
import { itemOf, jobOf } from '../domain/builders.ts';

const JOB = jobOf({}, { scraperId: 'demo', scraperVersion: '1.0.0' });

function ended(attempt: Partial<AttemptRecord>): AttemptRecord {
  return { attempt: 1, tries: 1, startedAt: 0, durationMs: 1, end: 'success', failure: null, ...attempt };
}

function detail(...attempts: readonly Partial<AttemptRecord>[]) {
  const all = attempts.map((attempt, index) => ended({ attempt: index + 1, ...attempt }));
  return itemDetailSchema.strict().parse(presentItemDetail(itemOf({ status: 'success', attempts: all }), JOB));
}

test('an item shows the version that was run last, and that of the job if there is none', () => {
  assert.equal(detail().scraper_version, '1.0.0');
  assert.equal(detail({}).scraper_version, '1.0.0');
  assert.equal(detail({ scraperVersion: '1.1.0' }, { scraperVersion: '1.2.0' }).scraper_version, '1.2.0');
  assert.equal(detail({ scraperVersion: '1.1.0' }, {}).scraper_version, '1.0.0', 'the older one was put back');
});

test('each attempt shows the version that it ran', () => {
  const failed = { end: 'failed', failure: failure('timeout', 'slow') } as const;
  const { history } = detail({ ...failed }, { ...failed, scraperVersion: '1.1.0' }, { scraperVersion: '2.0.0' });
  assert.deepEqual(
    history.map((each) => [each.status, each.scraper_version]),
    [
      ['failed', '1.0.0'],
      ['failed', '1.1.0'],
      ['success', '2.0.0'],
    ],
  );
});

test('each attempt shows its failed tries, and one with a single try has none', () => {
  const failedTries = [
    { number: 1, type: 'rate_limited', message: 'HTTP 429', at: 1000, waitMs: 40_000 },
    { number: 2, type: 'navigation_failed', message: 'lost', at: 41_000, waitMs: null },
  ] as const;
  const { history } = detail({ tries: 2, failedTries }, {});
  const at = (ms: number) => new Date(ms).toISOString();
  assert.deepEqual(
    history.map((each) => each.failed_tries),
    [
      [
        { try: 1, error_type: 'rate_limited', message: 'HTTP 429', failed_at: at(1000), wait_ms: 40_000 },
        { try: 2, error_type: 'navigation_failed', message: 'lost', failed_at: at(41_000), wait_ms: null },
      ],
      [],
    ],
  );
});

test('data that another scraper read are attributed to that scraper', () => {
  const { scraper_id: id, scraper_version: version } = detail({ scraperId: 'demo-again', scraperVersion: '2.0.0' });
  assert.deepEqual([id, version], ['demo-again', '2.0.0']);
  assert.equal(detail({}).scraper_id, 'demo');
});

test('a skipped item says why in the API and in the manifest, as far as that was recorded', () => {
  const skipped = (attempt: Partial<AttemptRecord>) =>
    itemOf({ status: 'skipped', attempts: [ended({ end: 'skipped', ...attempt })] });
  const shown = presentItemDetail(skipped({ skipReason: 'robots' }), JOB);
  assert.deepEqual([shown.skip_reason, shown.history[0]?.skip_reason], ['robots', 'robots']);
  assert.equal(presentItemDetail(skipped({}), JOB).skip_reason, null, 'recorded by an older version');
  assert.equal(detail({ end: 'skipped', skipReason: 'cached' }, {}).skip_reason, null, 'it succeeded since');
  assert.equal(JSON.parse(manifestEntry(skipped({ skipReason: 'robots' }))).skip_reason, 'robots');
  assert.ok(!('skip_reason' in JSON.parse(manifestEntry(itemOf({ status: 'success', attempts: [ended({})] })))));
});

test('a delivery that was given back uncharged is not an attempt, although keys and deliveries count it', () => {
  const shown = detail({ attempt: 2 });
  assert.equal(shown.attempts, 1);
  assert.deepEqual(
    shown.history.map(({ attempt, delivery }) => [attempt, delivery]),
    [[1, 2]],
  );
  assert.equal(JSON.parse(manifestEntry(itemOf({ status: 'success', attempts: [ended({ attempt: 2 })] }))).attempts, 1);
});

test('attempts that are no longer listed still count', () => {
  const listed = Array.from({ length: 10 }, (_, index) => ({ attempt: index + 4 }));
  const shown = detail(...listed);
  assert.equal(shown.attempts, 13);
  assert.deepEqual([shown.history[0]?.attempt, shown.history.at(-1)?.attempt], [4, 13]);
});
