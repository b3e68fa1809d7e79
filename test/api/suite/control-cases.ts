import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { type Client, noopItems } from './client.ts';

/** Control items as a user sees them. */
export function controlCases(client: Client): void {
  const above = aboveBackend(client);
  const items = [{ input: { type: 'blocked' } }, { input: { type: 'no such failure' } }];

  above('a control that the scraper does not accept is refused with its path, and nothing is created', async () => {
    const json = { scraper_id: 'example-fail', execution_policy: { controls: { items } } };
    const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json });
    assert.deepEqual(
      errors.map(({ path }) => path),
      ['execution_policy.controls.items.1.input.type'],
    );
  });

  above('a change of the policy is refused for such a control as well', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-fail', hold: true });
    const json = { execution_policy: { controls: { items } } };
    const { errors = [] } = await client.refused(422, 'invalid_request', 'PATCH', `/jobs/${jobId}`, { json });
    assert.equal(errors[0]?.path, 'execution_policy.controls.items.1.input.type');
  });

  above('a control that is found lets the job run, and the job reports what was tried', async () => {
    const controls = { items: [{ input: {} }], every: 4 };
    const { job_id: jobId } = await client.run({
      ...{ scraper_id: 'example-noop', items: noopItems(20) },
      execution_policy: { controls, throttling: { max_concurrent_workers: 2 } },
    });
    const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.equal(job.summary.success, 20);
    const tried = job.controls?.tried ?? 0;
    assert.ok(tried >= 5 && job.controls?.last?.result === 'good', JSON.stringify(job.controls));
  });

  test('a control that is not found pauses the job before any item is tried', async () => {
    const controls = { items: [{ input: { type: 'no_results' } }] };
    const { job_id: jobId } = await client.create({
      ...{ scraper_id: 'example-fail', items: [{ item_id: 'a', input: { type: 'not_found' } }] },
      execution_policy: { controls },
    });
    await client.until(jobId, ({ data }) => data.status === 'paused');
    const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([job.reason?.code, job.summary.pending], ['control', 1]);
    assert.match(
      job.reason?.message ?? '',
      /^control \{"type":"no_results"\} must be found, but returned no_results: /,
    );
    const { tried, good, last, reopens } = job.controls ?? {};
    assert.deepEqual([tried, good, last?.result, reopens], [1, 0, 'bad', true]);
    await client.post(`/jobs/${jobId}/cancel`);
  });
}
