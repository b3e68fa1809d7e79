import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { provisionAws } from '../../src/adapters/aws/provisioning.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { JobAnswer, JobStatusAnswer } from '../../src/contract/job-answers.ts';
import { operationOf } from '../support/aws/aws-operation.ts';
import { startEmulators } from '../support/aws/emulators.ts';
import { awsEnvironment, awsNames } from '../support/aws/names.ts';
import { startRelay } from '../support/aws/relay.ts';
import { untilTrue } from '../support/until.ts';
import { type Service, startService } from './service.ts';
import { Client, noopItems } from './suite/client.ts';

/** Results that take long to delete, as those of a large job do on S3. */

const emulators = await startEmulators();
/** Deletions of keys wait here until they are let go. */
let gate: Promise<void> = Promise.resolve();
let deletions = 0;
/** Every removal but the first waits here before it begins: the first thing it does is look for unfinished uploads. */
let slower: Promise<void> = Promise.resolve();
let removals = 0;
const relay = await startRelay(emulators.overrides.endpoints.s3, async (asked, forward) => {
  switch (operationOf('s3', asked)) {
    case 'DeleteObjects':
      deletions += 1;
      await gate;
      break;
    case 'ListMultipartUploads':
      removals += 1;
      if (removals > 1) await slower;
  }
  return await forward(asked);
});
Object.assign(process.env, awsEnvironment(emulators), { AWS_ENDPOINT_URL_S3: relay.url });
const names = awsNames(emulators, `removal-${process.pid}`);
const clients = emulators.clients();
await provisionAws(clients, names, { clock: systemClock(), signal: new AbortController().signal });
clients.close();
const services: Service[] = [];
after(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await relay.stop();
  await emulators.stop();
});

async function openClient(): Promise<Client> {
  const service = await startService({ backend: { kind: 'aws', ...names }, leaseMs: 4000 });
  services.push(service);
  return await Client.of(service);
}

/** For all tests; the last one ends it. */
const client = await openClient();

function shut(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  return resolve;
}

function newJob(job_id: string, count: number) {
  const items = noopItems(count).map(({ item_id }) => ({ item_id, input: { ms: 0, bytes: 200 } }));
  return { job_id, scraper_id: 'example-slow', items };
}

async function assertWhole(client: Client, jobId: string, count: number): Promise<void> {
  for (const { item_id } of noopItems(count)) {
    const answer = await client.ask('GET', `/jobs/${jobId}/items/${item_id}/download?artifact=html`);
    assert.equal(answer.status, 200, `${item_id}: ${answer.text}`);
  }
}

test('the id of a job is taken until its last key is gone, and the next job of that id loses nothing', async () => {
  await client.run(newJob('parcels', 6));
  const open = shut();
  const deleted = await client.ask('DELETE', '/jobs/parcels');
  assert.equal(deleted.status, 202, deleted.text);
  assert.equal((deleted.json as JobStatusAnswer).removing, true);
  assert.equal((await client.get<JobAnswer>('/jobs/parcels')).removing, true);
  assert.equal((await client.get<JobStatusAnswer>('/jobs/parcels/status')).removing, true);
  const { jobs } = await client.get<{ jobs: JobAnswer[] }>('/jobs');
  assert.deepEqual(
    jobs.map((job) => [job.job_id, job.removing]),
    [['parcels', true]],
  );
  const json = newJob('parcels', 6);
  const refused = await client.refused(409, 'job_being_removed', 'POST', '/jobs', { json });
  assert.match(refused.detail ?? '', /still being deleted/);
  await client.refused(409, 'job_being_removed', 'POST', '/jobs', { json, headers: { 'idempotency-key': 'k' } });
  await client.refused(409, 'state_conflict', 'POST', '/jobs/parcels/start');
  const before = deletions;
  const again = client.ask('DELETE', '/jobs/parcels');
  assert.equal((await again).status, 202, 'it joins the first');
  assert.equal(deletions, before, 'and nobody deletes the same twice');
  open();
  await client.deleteJob('parcels');
  assert.equal((await client.run(json)).summary.success, 6);
  await assertWhole(client, 'parcels', 6);
});

test('when two callers delete a job, the slower one does not delete the next job of that id', async () => {
  await client.run(newJob('twice', 6));
  const open = Promise.withResolvers<void>();
  slower = open.promise;
  removals = 0;
  const both = [client.ask('DELETE', '/jobs/twice'), client.ask('DELETE', '/jobs/twice')];
  await Promise.race(both);
  // A busy machine may take longer than the answer waits for; the id is free when the job is gone.
  await untilTrue(async () => (await client.ask('GET', '/jobs/twice')).status === 404);
  await client.create({ ...newJob('twice', 3), hold: true });
  open.resolve();
  for (const { status, text } of await Promise.all(both)) assert.ok(status === 204 || status === 202, text);
  const { summary, removing } = await client.get<JobAnswer>('/jobs/twice');
  assert.deepEqual([summary.total, removing], [3, undefined]);
});

test('a removal that the service could not finish is finished by the next service', async () => {
  await client.run(newJob('left', 5));
  const open = shut();
  assert.equal((await client.ask('DELETE', '/jobs/left')).status, 202);
  const stopping = client.service.stop();
  open();
  await stopping;
  const next = await openClient();
  await next.deleteJob('left');
  assert.equal((await next.run(newJob('left', 5))).summary.success, 5);
  await assertWhole(next, 'left', 5);
});
