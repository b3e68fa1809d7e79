import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Check } from '../../src/main/check.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../support/aws/names.ts';
import { command, startTrawl, trawl } from './trawl.ts';

const emulators = await startEmulators();
after(() => emulators.stop());

function environmentOf(name: string): Readonly<Record<string, string>> {
  const { tableName, bucket, queueUrls } = awsNames(emulators, name);
  return {
    ...awsEnvironment(emulators),
    TRAWL_BACKEND: 'aws',
    TRAWL_LOG_TO: 'stderr',
    TABLE_NAME: tableName,
    WEB_SCRAPER_QUEUE_URL: queueUrls.http,
    WEB_SCRAPER_RESULTS_BUCKET: bucket,
  };
}

async function doctor(environment: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { code, stdout, stderr } = await command(['doctor', '--json', ...args], environment);
  assert.ok(stdout.startsWith('{'), stderr);
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] };
  const problems = checks.filter(({ result }) => result === 'problem').map(({ name }) => name);
  const created = checks.filter(({ name }) => name === 'Created').map(({ message }) => message);
  return { code, problems, created };
}

test('from nothing to the results of a job: doctor makes what is missing, a worker waits for work, verify reads the bucket', async () => {
  const environment = environmentOf('from-nothing');
  const parts = ['Table', 'Queue (http)', 'Queue (browser)', 'Bucket'];
  assert.deepEqual(await doctor(environment), { code: 3, problems: parts, created: [] });
  const { code, problems, created } = await doctor(environment, '--create');
  assert.deepEqual([code, problems, created.includes('the table from-nothing')], [0, [], true]);
  assert.deepEqual((await doctor(environment, '--create')).created, []);

  // No controller is there yet that could give it work.
  const worker = startTrawl(['worker'], environment);
  const controller = startTrawl(['controller', '--port', '0'], { ...environment, TRAWL_METRICS: 'emf' });
  const [, url = ''] = await controller.shows(/"url":"([^"]+)"/);
  const items = [{ input: { a: 1 } }, { input: { a: 2 } }];
  const made = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ job_id: 'two', scraper_id: 'example-noop', items }),
  });
  assert.equal(made.status, 201, await made.text());
  assert.match(await (await fetch(`${url}/jobs/two/events`)).text(), /event: end/);
  const { status, summary } = (await (await fetch(`${url}/jobs/two/status`)).json()) as {
    readonly status: string;
    readonly summary: { readonly success: number };
  };
  assert.deepEqual([status, summary.success], ['completed', 2]);
  await controller.shows(/"CloudWatchMetrics"/);

  const verified = await command(['verify', 'two'], environment);
  assert.deepEqual([verified.code, /All is well/.test(verified.stdout)], [0, true], verified.stdout + verified.stderr);
  for (const { signalGroup, ended } of [worker, controller]) {
    signalGroup('SIGTERM');
    assert.equal((await ended).code, 0);
  }
});

test('a service whose table does not exist ends, and says how to create it', async () => {
  const { code, stderr } = await trawl(['serve', '--port', '0'], environmentOf('not-made'));
  assert.equal(code, 3);
  assert.match(stderr, /not-made[\s\S]*trawl doctor --create/);
});

test('only what is stored on AWS can be created', async () => {
  const { code, stderr } = await trawl(['doctor', '--create']);
  assert.deepEqual([code, /--create is for TRAWL_BACKEND=aws/.test(stderr)], [2, true]);
});
