import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import type { PlanAnswer, PlannedAnswer } from '../../../src/contract/plan-answers.ts';
import { untilTrue } from '../../support/until.ts';
import { aboveBackend } from './above-backend.ts';
import type { Client } from './client.ts';
import { PATIENT } from './made-jobs.ts';

/** Plans: the inputs of a job, and a sample of them. */
export function planCases(client: Client): void {
  const above = aboveBackend(client);
  const plan = async (path: string, asked: Parameters<Client['ask']>[2]): Promise<PlannedAnswer> => {
    const answer = await client.ask('POST', path, asked);
    const planned = answer.json as PlannedAnswer;
    assert.equal(answer.status, planned.plan === null ? 200 : 202, answer.text);
    if (planned.plan !== null) assert.equal(answer.headers.get('location'), `/plans/${planned.plan.plan_id}`);
    return planned;
  };
  const ready = async (planId: string | undefined): Promise<PlanAnswer> => {
    const read = () => client.get<PlanAnswer>(`/plans/${planId}`);
    await untilTrue(async () => (await read()).status === 'ready');
    return await read();
  };
  const isGone = async (path: string) => (await client.ask('GET', path)).status === 404;

  test('a plan of a new job runs a sample of it, and estimates what the whole job will take', async () => {
    const items = Array.from({ length: 200 }, (_, at) => ({
      item_id: `i-${at}`,
      input: at % 4 === 0 ? { type: 'no_results' } : { data: { name: `n-${at}` } },
    }));
    const job = { scraper_id: 'test-mixed', items, execution_policy: PATIENT, labels: { team: 'taxes' } };
    const planned = await plan('/jobs/plan?sample=12', { json: job });
    assert.deepEqual([planned.inputs.items, planned.inputs.bad, planned.warnings], [200, 0, []]);
    const done = await ready(planned.plan?.plan_id);
    const { sample, forecast, inputs, expires_at } = done;
    assert.deepEqual([sample.items, sample.finished, sample.stopped, inputs.items], [12, 12, null, 200]);
    assert.ok(sample.failed > 0 && sample.success > 0, JSON.stringify(sample));
    assert.ok(forecast !== null && expires_at !== null);
    const { expected, low, high } = forecast.duration_seconds;
    assert.ok(low <= expected && expected <= high && high > 0);
    assert.equal(forecast.failure_rate.expected, Number((sample.failed / 12).toPrecision(4)));
    assert.equal(done.failures[0]?.type, 'no_results');
    const { labels, status } = await client.get<JobAnswer>(`/jobs/${done.plan_id}`);
    assert.deepEqual([labels, status], [{ team: 'taxes', plan: 'sample' }, 'completed']);

    assert.equal((await client.ask('DELETE', `/plans/${done.plan_id}`)).status, 204);
    assert.ok(await isGone(`/plans/${done.plan_id}`));
    await untilTrue(() => isGone(`/jobs/${done.plan_id}`));
    await client.refused(404, 'plan_not_found', 'DELETE', `/plans/${done.plan_id}`);
  });

  above(
    'a list is checked to its end: bad lines, duplicates, different inputs under one id, and nothing is created',
    async () => {
      const lines = [
        '{"item_id":"a","input":{"data":{"n":1}}}',
        '{"item_id":"a","input":{"data":{"n":1}}}',
        '{"item_id":"a","input":{"data":{"n":2}}}',
        'not json',
        '{"item_id":"b","input":{"type":"gone_fishing"}}',
      ];
      const headers = { 'content-type': 'application/x-ndjson' };
      const policy = encodeURIComponent(JSON.stringify(PATIENT));
      const path = `/jobs/plan?scraper_id=test-mixed&sample=0&execution_policy=${policy}`;
      const { plan: begun, inputs } = await plan(path, { headers, body: lines.join('\n') });
      assert.equal(begun, null);
      assert.deepEqual(
        [inputs.received, inputs.items, inputs.bad, inputs.duplicates, inputs.conflicts],
        [5, 1, 2, 2, 1],
      );
      assert.deepEqual(
        inputs.bad_lines.map(({ line, code }) => [line, code]),
        [
          [4, 'unreadable'],
          [5, 'invalid_input'],
        ],
      );
      assert.deepEqual(inputs.conflicting, [{ item_id: 'a', line: 3, first_line: 1 }]);
    },
  );

  above('a sample that the breaker stops says so', async () => {
    const items = Array.from({ length: 30 }, (_, at) => ({ item_id: `i-${at}`, input: {} }));
    const circuit_breaker = { min_requests: 2, failure_threshold_percentage: 1 };
    const execution_policy = { retries: { max_retries: 0 }, circuit_breaker };
    const planned = await plan('/jobs/plan', { json: { scraper_id: 'example-fail', items, execution_policy } });
    const { sample, forecast, plan_id } = await ready(planned.plan?.plan_id);
    assert.ok(sample.finished < sample.items && sample.failed > 0, JSON.stringify(sample));
    assert.ok(sample.stopped !== null);
    assert.equal(forecast?.failure_rate.expected, 1);
    await client.ask('DELETE', `/plans/${plan_id}`);
  });

  above('a plan that is deleted while its sample runs disappears when its items have ended', async () => {
    const items = Array.from({ length: 40 }, (_, at) => ({ item_id: `i-${at}`, input: { ms: 200 } }));
    const execution_policy = { throttling: { max_concurrent_workers: 2 } };
    const planned = await plan('/jobs/plan', { json: { scraper_id: 'example-slow', items, execution_policy } });
    const jobId = planned.plan?.plan_id;
    await untilTrue(async () => (await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.in_progress > 0);
    assert.equal((await client.ask('DELETE', `/plans/${jobId}`)).status, 204);
    await untilTrue(() => isGone(`/jobs/${jobId}`));
    assert.ok(await isGone(`/plans/${jobId}`));
  });

  above('a plan of what cannot become a job is refused', async () => {
    const body = 'apn\n1\n';
    const csv = { headers: { 'content-type': 'text/csv' }, body };
    await client.refused(415, 'unsupported_media_type', 'POST', '/jobs/plan', csv);
    await client.refused(422, 'invalid_request', 'POST', '/jobs/plan?scraper_id=none', csv);
    await client.refused(422, 'invalid_request', 'POST', '/jobs/plan?sample=201', { json: {} });
    await client.refused(422, 'invalid_request', 'POST', '/jobs/plan?columns=a%3Db', { json: {} });
    const policy = '/jobs/plan?scraper_id=example-noop&execution_policy=%7B';
    await client.refused(422, 'invalid_request', 'POST', policy, csv);
    await client.refused(400, 'malformed_request', 'POST', '/jobs/plan', {
      headers: { 'content-type': 'application/json' },
      body: '{"scraper_id": ',
    });
    await client.refused(404, 'plan_not_found', 'GET', '/plans/plan-unknown');
  });

  above('a job that is not a plan is not found as one', async () => {
    const { job_id: jobId } = await client.create({
      scraper_id: 'example-noop',
      labels: { plan: 'sample' },
      hold: true,
    });
    await client.refused(404, 'plan_not_found', 'GET', `/plans/${jobId}`);
    await client.refused(404, 'plan_not_found', 'DELETE', `/plans/${jobId}`);
  });
}
