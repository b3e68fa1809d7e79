import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openEmbeddedLedger } from '../../src/adapters/embedded/ledger.ts';
import { RecordingSweep } from '../../src/controller/engine/recording-sweep.ts';
import { recordingTools } from '../../src/main/recording-tools.ts';
import { sentRecording } from '../contract/recordings-contract.ts';
import { newJob } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { dataDirOf } from './embedded-support.ts';

test('what a killed controller kept for a job that was never created is found again and removed', async (t) => {
  const dataDir = dataDirOf(t);
  const clock = new FakeClock();
  const open = () => {
    const opened = openEmbeddedLedger({ dataDir, clock });
    return { ...opened, ...recordingTools(opened) };
  };
  const killed = open();
  for (const key of ['unused', 'used']) {
    await killed.recordings.claim({ key, holder: { kind: 'job', jobId: key }, at: clock.now() });
    await killed.recordings.keep(key, sentRecording('one'));
  }
  const recording = { key: 'used', digest: 'd', origin: 'inline', steps: 1 } as const;
  await killed.ledger.createJob(newJob({ jobId: 'used', recording }), [], clock.now());
  killed.crash();

  const next = open();
  t.after(() => next.close());
  await clock.advance(3_600_000);
  const sweep = new RecordingSweep({ ...next, clock, mayWork: () => true });
  assert.deepEqual(await sweep.runOnce(), { confirmed: 1, removed: 1 });
  assert.deepEqual([await next.ledger.job('unused'), await next.recordings.get('unused')], [null, null]);
  assert.deepEqual(await next.recordings.get('used'), sentRecording('one'));
  assert.deepEqual(await next.recordings.claims(10), []);
});

test('a recording is kept when it is on the disk, as the job is that will name it', async (t) => {
  const synced = Promise.withResolvers<void>();
  const opened = openEmbeddedLedger({ dataDir: dataDirOf(t), clock: new FakeClock(), sync: () => synced.promise });
  t.after(() => opened.close());
  const { recordings } = recordingTools(opened);
  let isKept = false;
  const keeping = recordings.keep('k', sentRecording('one')).then(() => {
    isKept = true;
  });
  // What can be had again is not waited for.
  await opened.turnRows.change([{ row: { site: 'docs', name: 'a' }, apply: () => ({ at: 1 }) }]);
  await setImmediate();
  assert.deepEqual([isKept, await recordings.get('k')], [false, sentRecording('one')]);
  synced.resolve();
  await keeping;
});
