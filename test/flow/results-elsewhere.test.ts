import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { provisionAws } from '../../src/adapters/aws/provisioning.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { LOCAL_RESULTS, loadConfig } from '../../src/config.ts';
import { verifyResults } from '../../src/main/verify-results.ts';
import { command } from '../cli/trawl.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../support/aws/names.ts';
import { itemsOf, submit, tempDataDir, untilJob, withEngine } from './engine.ts';

/** Results are kept where they are wanted, whatever the ledger and the queues are on. */

const emulators = await startEmulators();
after(() => emulators.stop());
Object.assign(process.env, awsEnvironment(emulators));
const parts = { clock: systemClock(), signal: new AbortController().signal };

async function keysIn(bucket: string): Promise<readonly string[]> {
  const clients = emulators.clients();
  const listed = await clients.s3.send(new ListObjectsV2Command({ Bucket: bucket })).finally(() => clients.close());
  return (listed.Contents ?? []).flatMap(({ Key }) => Key ?? []).filter((key) => !key.startsWith('.trawl/'));
}

async function runJob(config: Parameters<typeof withEngine>[0]): Promise<void> {
  await withEngine({ workers: 1, leaseMs: 4000, ...config }, async (engine) => {
    const items = itemsOf(20, () => ({ ms: 0, bytes: 100 }));
    await submit(engine, { job_id: 'elsewhere', scraper_id: 'example-slow', items });
    const job = await untilJob(engine, 'elsewhere', ({ status }) => status === 'completed');
    assert.equal(job.counts.success, 20);
  });
}

/** Each item keeps its bytes and its metadata. */
async function verified(config: Parameters<typeof loadConfig>[0]): Promise<void> {
  const report = await verifyResults(loadConfig(config), 'elsewhere');
  assert.ok(report.kind === 'checked', JSON.stringify(report));
  assert.deepEqual([report.problems, report.checked.artifacts], [[], 40]);
}

test('with ledger and queues on AWS, results may be files of this machine, and no bucket is needed', async () => {
  const names = awsNames(emulators, `local-results-${process.pid}`);
  const clients = emulators.clients();
  const { problems } = await provisionAws(clients, { ...names, bucket: null }, parts).finally(() => clients.close());
  assert.deepEqual(problems, []);
  const dataDir = tempDataDir();
  const config = { backend: { kind: 'aws', ...names }, results: LOCAL_RESULTS, dataDir } as const;
  await runJob(config);
  assert.equal(readdirSync(join(dataDir, 'results', 'elsewhere', 'items')).length, 20);
  await assert.rejects(keysIn(names.bucket), /NoSuchBucket|does not exist/i);
  await verified(config);

  const environment = {
    ...awsEnvironment(emulators),
    TRAWL_BACKEND: 'aws',
    USE_LOCAL_STORAGE: 'true',
    TABLE_NAME: names.tableName,
    WEB_SCRAPER_QUEUE_URL: names.queueUrls.http,
    TRAWL_DATA_DIR: dataDir,
  };
  const doctor = await command(['doctor', '--json'], environment);
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
  const { settings, checks } = JSON.parse(doctor.stdout);
  assert.deepEqual(
    settings.find(({ name }: { name: string }) => name === 'TRAWL_RESULTS'),
    { name: 'TRAWL_RESULTS', value: 'local', from: 'environment' },
  );
  const about = (name: string) => checks.filter((check: { name: string }) => check.name === name);
  assert.equal(about('Results')[0].message, join(dataDir, 'results'));
  assert.deepEqual(about('Bucket'), []);
});

test('with the ledger in the data directory, results may be in a bucket', async () => {
  const names = awsNames(emulators, `embedded-s3-${process.pid}`);
  const clients = emulators.clients();
  await provisionAws(clients, names, parts).finally(() => clients.close());
  const dataDir = tempDataDir();
  const config = { results: { kind: 's3', bucket: names.bucket }, dataDir } as const;
  await runJob(config);
  const keys = await keysIn(names.bucket);
  assert.equal(keys.filter((key) => key.startsWith('elsewhere/items/')).length, 40);
  assert.ok(keys.includes('elsewhere/job_metadata.json'));
  assert.ok(!readdirSync(dataDir).includes('results'));
  await verified(config);

  const environment = { ...awsEnvironment(emulators), TRAWL_RESULTS: 's3', TRAWL_DATA_DIR: dataDir };
  const look = (bucket: string) =>
    command(['doctor', '--json'], { ...environment, WEB_SCRAPER_RESULTS_BUCKET: bucket });
  const found = await look(names.bucket);
  assert.equal(found.code, 0, found.stdout + found.stderr);
  const { checks } = JSON.parse(found.stdout);
  const storage = ['Data directory', 'Ledger', 'AWS', 'Bucket', 'Results', 'Table'];
  assert.deepEqual(
    checks.map(({ name }: { name: string }) => name).filter((name: string) => storage.includes(name)),
    ['Data directory', 'Ledger', 'AWS', 'Bucket'],
  );
  const missing = await look('not-made');
  assert.deepEqual([missing.code, /there is no bucket not-made/.test(missing.stdout)], [3, true], missing.stdout);
});
