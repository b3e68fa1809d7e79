import assert from 'node:assert/strict';
import { NOW, partOf } from '../../support/builders.ts';
import { dueBy } from '../../support/due-by.ts';
import type { AddCase } from '../suite.ts';
import {
  checkBooks,
  dispatch,
  givenJob,
  itemOf,
  jobOf,
  LEASE_MS,
  type LedgerParts,
  NEVER_QUEUED_TOO_LONG,
  takeOne,
} from './hands.ts';

const HOUR = 3_600_000;
const NEVER_TOO_FAR = Number.MAX_SAFE_INTEGER;

/** Times that were set by a clock which has been set back since. */
export function clampCases(add: AddCase<LedgerParts>): void {
  add('a lease from before the clock was set back ends at its corrected time, and not before', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await takeOne(ledger, jobId, { now: NOW + HOUR });
    assert.equal(
      await ledger.clampTimes(() => ({ until: NOW + HOUR + LEASE_MS, queuedAt: NEVER_TOO_FAR })),
      0,
      'not too far ahead',
    );
    assert.equal(await ledger.clampTimes(() => ({ until: NOW + LEASE_MS, queuedAt: NEVER_TOO_FAR })), 1);
    assert.equal(await ledger.clampTimes(() => ({ until: NOW + LEASE_MS, queuedAt: NEVER_TOO_FAR })), 0, 'once');
    assert.equal((await ledger.expire(dueBy(NOW + LEASE_MS - 1, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
    assert.equal((await ledger.expire(dueBy(NOW + LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 1);
    await checkBooks(ledger, jobId);
  });

  add('a live worker keeps a lease whose time was corrected', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId, { now: NOW + HOUR });
    assert.equal(await ledger.clampTimes(() => ({ until: NOW + LEASE_MS, queuedAt: NEVER_TOO_FAR })), 1);
    assert.deepEqual(await ledger.renew([lease.token], NOW + 2 * LEASE_MS), []);
    assert.equal((await ledger.expire(dueBy(NOW + LEASE_MS + 1, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
    assert.deepEqual(await ledger.settle([partOf(lease)], NOW + LEASE_MS), ['recorded']);
    assert.equal((await itemOf(ledger, jobId, 'p-0')).deliveries, 1);
  });

  add('a lease that was only renewed too far ahead is corrected once it has been due', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    const lease = await takeOne(ledger, jobId);
    await ledger.renew([lease.token], NOW + HOUR);
    assert.equal((await ledger.expire(dueBy(NOW + LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
    await ledger.clampTimes(() => ({ until: NOW + 2 * LEASE_MS, queuedAt: NEVER_TOO_FAR }));
    assert.equal((await ledger.expire(dueBy(NOW + 2 * LEASE_MS, NEVER_QUEUED_TOO_LONG), 100)).leases, 1);
  });

  add('a batch queued before the clock was set back is found when its message was lost', async ({ ledger }) => {
    const jobId = await givenJob(ledger);
    await dispatch(ledger, jobId, 1, NOW + HOUR);
    assert.equal(await ledger.clampTimes(() => ({ until: NEVER_TOO_FAR, queuedAt: NOW + HOUR })), 0);
    assert.equal(await ledger.clampTimes(() => ({ until: NEVER_TOO_FAR, queuedAt: NOW + 1000 })), 1);
    assert.deepEqual(await ledger.expire(dueBy(NOW + 1000, NOW + 1000), 100), { leases: 0, queued: 0 });
    assert.deepEqual(await ledger.expire(dueBy(NOW + 1001, NOW + 1001), 100), { leases: 0, queued: 1 });
    assert.equal((await jobOf(ledger, jobId)).counts.queued, 0);
    await checkBooks(ledger, jobId);
  });

  add('what is not too far ahead is left alone, and so is a ledger with nothing in flight', async ({ ledger }) => {
    assert.equal(await ledger.clampTimes(() => ({ until: NOW, queuedAt: NOW })), 0);
    const jobId = await givenJob(ledger);
    await takeOne(ledger, jobId);
    assert.equal(await ledger.clampTimes(() => ({ until: NOW + LEASE_MS, queuedAt: NOW })), 0);
    assert.equal((await ledger.expire(dueBy(NOW + LEASE_MS - 1, NEVER_QUEUED_TOO_LONG), 100)).leases, 0);
  });
}
