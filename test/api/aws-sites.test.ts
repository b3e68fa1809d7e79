import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../src/controller/engine/events.ts';
import { startAwsService } from '../support/aws/service.ts';
import { sized } from '../support/sized.ts';
import { whileLoading } from '../support/while-loading.ts';
import { Client } from './suite/client.ts';
import { hostCases } from './suite/host-cases.ts';
import { recordedJobCases } from './suite/recording-cases.ts';
import { siteCases } from './suite/site-cases.ts';
import { sitePageCases } from './suite/site-page-cases.ts';
import '../support/warm-workers.ts';

/**
 * One service for all of them: starting one on AWS, with its worker, costs more than most of these cases. Showing that
 * every process learns of a pause takes two workers; the quick run has that case in flow/shared-limits.test.ts.
 */
const service = await startAwsService({ workers: sized({ quick: 1, slow: 2 }), allowAddresses: 'loopback' });
const theSame = () => Promise.resolve(service);

await whileLoading(async () => {
  // This case lists all sites that there are.
  await siteCases(startAwsService);
  await sitePageCases(theSame, { knowsLanes: false });
  const client = await Client.of(service);
  await recordedJobCases(client);
  await hostCases(theSame);
});

test('a worker process that is killed is known to be dead at once, long before its lease runs out', async () => {
  const client = await Client.of(service);
  const heard: EngineEvent[] = [];
  const sentAgain = Promise.withResolvers<void>();
  service.engine.events.subscribe((event) => {
    heard.push(event);
    if (heard.filter(({ kind }) => kind === 'sent').length === 2) sentAgain.resolve();
  });
  const items = [{ item_id: 'slow', input: { ms: 5000 } }];
  const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items });
  await client.until(jobId, ({ data }) => data.summary?.in_progress === 1);
  for (const pid of service.engine.startWorkers().pids()) process.kill(pid, 'SIGKILL');
  // Whether another worker gets it soon is up to the queue: the emulator may hand it to the connection of the dead one.
  await sentAgain.promise;
  const left = heard.filter((event) => event.kind === 'worker-left');
  assert.ok(left.every(({ reason }) => reason === 'SIGKILL'));
  assert.equal(
    left.reduce((sum, { abandoned }) => sum + abandoned, 0),
    1,
  );
});
