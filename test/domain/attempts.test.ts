import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attemptRecord,
  earlierAttempts,
  isRecorded,
  isRecoverable,
  isReopenable,
  listedAttempts,
} from '../../src/domain/attempts.ts';
import { failure } from '../../src/domain/failure.ts';
import { ITEM_STATUSES, MAX_HISTORY } from '../../src/domain/item.ts';
import { failedWith, NOW, SCRAPED } from './builders.ts';

const ENDED = { attempt: 4, outcome: SCRAPED, tries: 2, startedAt: NOW, durationMs: 12 };

test('an attempt is remembered with how it ended', () => {
  const { outcome: _, ...told } = ENDED;
  const job = { scraperVersion: '1' };
  assert.deepEqual(attemptRecord(ENDED, job), { ...told, end: 'success', failure: null });
  const failed = failedWith('timeout');
  const record = attemptRecord({ ...ENDED, outcome: failed, scraperVersion: '2' }, job);
  assert.deepEqual([record.end, record.failure?.type, record.scraperVersion], ['failed', 'timeout', '2']);
  const skipped = attemptRecord({ ...ENDED, outcome: { kind: 'skipped', reason: 'robots' } }, job);
  assert.deepEqual(skipped, { ...told, end: 'skipped', failure: null, skipReason: 'robots' });
});

test('the failed tries of an attempt are remembered with it, and nothing where there are none', () => {
  const failedTries = [{ number: 1, type: 'timeout', message: 'slow', at: NOW, waitMs: 5 }] as const;
  assert.deepEqual(attemptRecord({ ...ENDED, failedTries }, { scraperVersion: '1' }).failedTries, failedTries);
  assert.ok(!('failedTries' in attemptRecord(ENDED, { scraperVersion: '1' })));
});

test('a version that is the job’s own is not kept once more', () => {
  assert.ok(!('scraperVersion' in attemptRecord({ ...ENDED, scraperVersion: '1' }, { scraperVersion: '1' })));
});

test('only the last attempts are listed, and one more pushes out the oldest', () => {
  const attempts = Array.from({ length: MAX_HISTORY + 2 }, (_, index) => index);
  assert.deepEqual(listedAttempts(attempts), attempts.slice(2));
  assert.deepEqual([...earlierAttempts(listedAttempts(attempts)), 99], [...attempts.slice(3), 99]);
  assert.deepEqual(earlierAttempts([1, 2]), [1, 2]);
});

test('an end is recorded already if this very attempt has one, and the ledger did not make it poison', () => {
  const ended = [{ attempt: 1, failure: failure('timeout', '') }, { attempt: 3 }, { attempt: 5, failure: null }];
  assert.deepEqual(
    [1, 2, 3, 5].map((attempt) => isRecorded(ended, attempt)),
    [true, false, true, true],
  );
  assert.ok(!isRecorded([{ attempt: 1, failure: failure('poison', '') }], 1));
});

test('only a failed item is reopened, and only one not tried since is recovered', () => {
  assert.deepEqual(ITEM_STATUSES.filter(isReopenable), ['failed']);
  for (const status of ITEM_STATUSES) {
    assert.equal(isRecoverable({ status, lastAttempt: 2 }, { attempt: 2 }), status === 'failed', status);
  }
  assert.ok(!isRecoverable({ status: 'failed', lastAttempt: 3 }, { attempt: 2 }));
  assert.ok(!isRecoverable({ status: 'failed', lastAttempt: undefined }, { attempt: 2 }));
});
