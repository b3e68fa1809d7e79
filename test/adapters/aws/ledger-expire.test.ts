import assert from 'node:assert/strict';
import { test } from 'node:test';
import { givenJob, jobOf, LEASE_MS, NEVER_QUEUED_TOO_LONG, takeOut } from '../../contract/ledger/hands.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { jsonAnswer, type Relaying } from '../../support/aws/relay.ts';
import { NOW } from '../../support/builders.ts';
import { deleteJob } from '../../support/delete-job.ts';
import { dueBy } from '../../support/due-by.ts';
import { openLedgerRoom } from './ledger-room.ts';

const room = openLedgerRoom();

/** An index that never catches up: a process that puts it right believes that this was done. */
const behind: Relaying = async (asked, forward) => {
  const isPutRight = asked.body.includes('"UpdateExpression":"SET #dueAt = :dueAt"');
  return isPutRight && operationOf('dynamo', asked) === 'UpdateItem' ? jsonAnswer(200, {}) : forward(asked);
};

test('a clock that is set back in the middle of a call ends no lease that was granted by the new time', async () => {
  let onIndexRead = async () => {};
  const { ledger } = await room.open({}, async (asked, forward) => {
    const answer = await forward(asked);
    if (operationOf('dynamo', asked) === 'Query' && asked.body.includes('IndexName')) await onIndexRead();
    return answer;
  });
  const jobId = await givenJob(ledger, { jobId: 'set-back', items: 1 });
  const [lease] = await takeOut(ledger, jobId);
  assert.ok(lease);
  const late = NOW + 10 * LEASE_MS;
  let clock = late;
  onIndexRead = async () => {
    onIndexRead = async () => {};
    // The lease is in the index as overdue. Now it is renewed, by the clock as it was set meanwhile.
    clock = NOW;
    assert.deepEqual(await ledger.renew([lease.token], clock + 2 * LEASE_MS), []);
  };
  const readTimes = () => ({ now: clock, queuedBefore: NEVER_QUEUED_TOO_LONG });
  assert.deepEqual(await ledger.expire(readTimes, 10), { leases: 0, queued: 0 });
  assert.deepEqual(await ledger.renew([lease.token], clock + 3 * LEASE_MS), [], 'it is still held');
  await deleteJob(ledger, jobId);
});

for (const [what, relaying] of [
  ['', undefined],
  [', also while the index is behind', behind],
] as const) {
  test(`leases that were renewed do not hide those of dead workers after them${what}`, async () => {
    const { ledger } = await room.open({}, relaying);
    const jobId = await givenJob(ledger, { jobId: `job${what}`, items: 10 });
    const late = NOW + 2 * LEASE_MS;
    const leases = await takeOut(ledger, jobId);
    const renewed = leases.slice(0, 6).map(({ token }) => token);
    assert.deepEqual(await ledger.renew(renewed, NOW + 5 * LEASE_MS), []);
    // Theirs ended a little later than those of the others would have.
    assert.deepEqual(
      await ledger.renew(
        leases.slice(6).map(({ token }) => token),
        NOW + LEASE_MS + 1,
      ),
      [],
    );

    assert.deepEqual(await ledger.expire(dueBy(late, NEVER_QUEUED_TOO_LONG), 3), { leases: 3, queued: 0 });
    assert.deepEqual(await ledger.expire(dueBy(late, NEVER_QUEUED_TOO_LONG), 3), { leases: 1, queued: 0 });
    assert.equal((await jobOf(ledger, jobId)).counts.inProgress, 6);
    assert.deepEqual(await ledger.renew(renewed, NOW + 6 * LEASE_MS), [], 'they are still held');
    assert.deepEqual(await ledger.expire(dueBy(late, NEVER_QUEUED_TOO_LONG), 3), { leases: 0, queued: 0 });
    await deleteJob(ledger, jobId);
  });
}
