import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../src/controller/engine/events.ts';
import { startAwsService } from '../support/aws/service.ts';
import { Client } from './suite/client.ts';

test('a worker process that is killed is known to be dead at once, long before its lease runs out', async () => {
  const service = await startAwsService();
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
  const [pid] = service.engine.startWorkers().pids();
  assert.ok(pid !== undefined);
  process.kill(pid, 'SIGKILL');
  // Whether another worker gets it soon is up to the queue: the emulator may hand it to the connection of the dead one.
  await sentAgain.promise;
  const left = heard.find((event) => event.kind === 'worker-left');
  assert.deepEqual([left?.reason, left?.abandoned], ['SIGKILL', 1]);
});
