import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJob } from '../../support/builders.ts';
import { OwnClock, openLedgerRoom } from './ledger-room.ts';

const room = openLedgerRoom();

test('a writer whose clock is ahead does not make listeners deaf to the others, and is heard once', async () => {
  const clock = new OwnClock();
  const { ledger } = await room.open({ clock, listen: true });
  const heard: string[] = [];
  ledger.subscribe((change) => heard.push(change.kind === 'job' ? change.job.jobId : change.kind));
  const next = async () => {
    // When nothing has happened for a while, it listens every second.
    await clock.advance(1000);
    // One sleeper listens, and the other sweeps.
    await clock.rest(2);
  };
  /** Another process creates the job; its seed puts all jobs into one shard. */
  const make = async (jobId: string, aheadMs: number) => {
    const writer = await room.open({ clock: new OwnClock({ now: clock.now() + aheadMs }) });
    await writer.ledger.createJob(newJob({ jobId }), [], clock.now());
    await writer.close();
    await next();
  };
  await clock.rest(2);
  await make('before', 0);
  await make('ahead', 60_000);
  await make('after', 0);
  await make('a little behind', -1000);
  for (let seconds = 0; seconds < 61; seconds += 1) await next();
  await make('at last', 0);
  assert.deepEqual(heard, ['before', 'ahead', 'after', 'a little behind', 'at last']);
});
