import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import { sized } from '../../support/sized.ts';
import { type Client, noopItems, uniqueId } from './client.ts';

/** The rounds of a race that may end either way. */
const ROUNDS = sized({ quick: 2, slow: 5 });

/** Jobs that are deleted, and other jobs that get their ids. */
export function removalCases(client: Client): void {
  test('two users delete a job at the same time, and the next job of that id stays', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const job_id = uniqueId('deleted-twice');
      await client.run({ job_id, scraper_id: 'example-noop', items: noopItems(30) });
      // Both answers are awaited: a DELETE that the server reads after the next job was created means that job. One
      // that is overtaken in the server is a case of `test/controller/remove-job.test.ts`.
      await Promise.all([client.deleteJob(job_id), client.deleteJob(job_id)]);
      const made = await client.ask('POST', '/jobs', { json: newJob(job_id) });
      assert.equal(made.status, 201, made.text);
      const { summary, removing } = await client.ended(job_id).then(() => client.get<JobAnswer>(`/jobs/${job_id}`));
      assert.deepEqual([summary.success, removing], [7, undefined]);
      const { results } = await client.get<JobAnswer>(`/jobs/${job_id}`);
      assert.equal(results.ready, true);
    }
  });

  test('a small job is gone when the answer comes', async () => {
    const { job_id } = await client.create({ scraper_id: 'example-noop', items: noopItems(2), hold: true });
    await client.deleteJob(job_id);
    await client.refused(404, 'job_not_found', 'GET', `/jobs/${job_id}`);
    await client.refused(404, 'job_not_found', 'DELETE', `/jobs/${job_id}`);
  });
}

function newJob(job_id: string) {
  return { job_id, scraper_id: 'example-noop', items: noopItems(7) };
}
