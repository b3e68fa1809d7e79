import assert from 'node:assert/strict';
import { test } from 'node:test';
import { givenJob, jobOf, LEASE_MS, NEVER_QUEUED_TOO_LONG, takeOut } from '../../contract/ledger/hands.ts';
import { operationOf } from '../../support/aws/aws-operation.ts';
import { jsonAnswer, type Relaying } from '../../support/aws/relay.ts';
import { NOW } from '../../support/builders.ts';
import { openLedgerRoom } from './ledger-room.ts';

const room = openLedgerRoom();

/** An index that never catches up: whoever puts it right believes that it was done. */
const behind: Relaying = async (asked, forward) => {
  const isPutRight = asked.body.includes('"UpdateExpression":"SET #dueAt = :dueAt"');
  return isPutRight && operationOf('dynamo', asked) === 'UpdateItem' ? jsonAnswer(200, {}) : forward(asked);
};

for (const [what, relaying] of [
  ['', undefined],
  [', also while the index is behind', behind],
] as const) {
  test(`leases that were renewed do not hide those of dead workers behind them${what}`, async () => {
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

    assert.deepEqual(await ledger.expire(late, NEVER_QUEUED_TOO_LONG, 3), { leases: 3, queued: 0 });
    assert.deepEqual(await ledger.expire(late, NEVER_QUEUED_TOO_LONG, 3), { leases: 1, queued: 0 });
    assert.equal((await jobOf(ledger, jobId)).counts.inProgress, 6);
    assert.deepEqual(await ledger.renew(renewed, NOW + 6 * LEASE_MS), [], 'they are still held');
    assert.deepEqual(await ledger.expire(late, NEVER_QUEUED_TOO_LONG, 3), { leases: 0, queued: 0 });
    await ledger.removeJob(jobId);
  });
}
