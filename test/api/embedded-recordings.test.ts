import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyJob } from '../../src/controller/results/verify.ts';
import { jobPrefix } from '../../src/domain/artifact.ts';
import { digest } from '../../src/main/digest.ts';
import { startService } from './service.ts';
import { Client } from './suite/client.ts';
import { recordedJobCases, storedRecordingCases } from './suite/recording-cases.ts';

const service = await startService({ workers: 1, allowAddresses: 'loopback' });
const client = await Client.of(service);

storedRecordingCases(client);
await recordedJobCases(client);

test('a finished job has its recording with its results, which verify checks, and both go with the job', async () => {
  const { store, ledger, recordings } = service.engine;
  const steps = [
    { type: 'stop', outcome: 'no_results' },
    { type: 'goto', url: 'https://county.test/' },
  ];
  const recording = { id: 'a', hosts: ['county.test'], engine: 'http', steps };
  await client.run({ job_id: 'verified', recording, items: [{ item_id: 'i', input: {} }] });
  const file = `${jobPrefix('verified', digest)}recording.json`;
  const kept = await store.get(file);
  assert.deepEqual(JSON.parse(Buffer.from(kept ?? []).toString()), recording);
  const report = await verifyJob({ store, digest }, 'verified');
  assert.deepEqual(report.kind === 'checked' && report.problems, []);
  const key = (await ledger.job('verified'))?.recording?.key ?? '';
  assert.notEqual(await recordings.get(key), null);
  await client.deleteJob('verified');
  assert.deepEqual([await recordings.get(key), await store.get(file)], [null, null]);
});
