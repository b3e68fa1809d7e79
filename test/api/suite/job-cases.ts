import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobAnswer, JobPageAnswer, JobSummaryAnswer } from '../../../src/contract/job-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { allPages, type Client, noopItems, uniqueId } from './client.ts';
import { completedWithFailures, tripped } from './made-jobs.ts';

/** The queries that these operations need, so that only the job is missing. */
const QUERIES: Readonly<Record<string, string>> = { download: '?artifact=html', compare: '?with=another' };

/** Reading, changing and deleting jobs. */
export function jobCases(client: Client): void {
  const above = aboveBackend(client);
  test('jobs are listed newest first, page by page, each once', async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      made.unshift((await client.create({ scraper_id: 'example-noop', hold: true })).job_id);
    }
    const first = await client.get<JobPageAnswer>('/jobs?limit=2');
    assert.equal(first.jobs.length, 2);
    const all = (await allPages<JobSummaryAnswer>(client, '/jobs?limit=2', 'jobs')).map(({ job_id: id }) => id);
    assert.deepEqual(all.slice(0, 5), made);
    assert.equal(new Set(all).size, all.length);
  });

  test('jobs are listed by status', async () => {
    const { job_id: held } = await client.create({ scraper_id: 'example-noop', hold: true });
    const { job_id: gone } = await client.create({ scraper_id: 'example-noop', hold: true });
    await client.post(`/jobs/${gone}/cancel`);
    const listed = async (status: string) => {
      const jobs = await allPages<JobSummaryAnswer>(client, `/jobs?limit=3&status=${status}`, 'jobs');
      assert.ok(jobs.every((job) => job.status === status));
      return jobs.map(({ job_id: id }) => id);
    };
    const [pending, cancelled] = [await listed('pending'), await listed('cancelled')];
    assert.deepEqual([pending.includes(held), pending.includes(gone)], [true, false]);
    assert.deepEqual([cancelled.includes(held), cancelled.includes(gone)], [false, true]);
    await client.refused(422, 'invalid_request', 'GET', '/jobs?status=done');
  });

  above('a cursor is valid for the list that it came from, and for no other', async () => {
    const made = await client.create({ scraper_id: 'example-noop', items: noopItems(3), hold: true });
    await client.create({ scraper_id: 'example-noop', hold: true });
    const { next_cursor: cursor } = await client.get<JobPageAnswer>('/jobs?limit=1&status=pending');
    assert.ok(cursor);
    const others = [
      `/jobs?cursor=${cursor}`,
      `/jobs?status=completed&cursor=${cursor}`,
      `/jobs/${made.job_id}/items?cursor=${cursor}`,
      `/jobs?status=pending&cursor=${cursor.slice(0, -2)}`,
      '/jobs?cursor=made-up',
      '/jobs?cursor=',
    ];
    for (const path of others) {
      const { errors } = await client.refused(422, 'invalid_request', 'GET', path);
      assert.equal(errors?.[0]?.path, 'cursor');
    }
  });

  above('a limit or a filter that makes no sense is refused by name', async () => {
    for (const [query, path] of [
      ['limit=0', 'limit'],
      ['limit=501', 'limit'],
      ['limit=ten', 'limit'],
      ['state=failed', 'state'],
    ]) {
      const { errors } = await client.refused(422, 'invalid_request', 'GET', `/jobs?${query}`);
      assert.equal(errors?.[0]?.path, path);
    }
  });

  test('a completed job reports everything about itself, and its figures agree', async () => {
    const jobId = await completedWithFailures(client, { good: 4, server_error: 2, no_results: 1 });
    const job = await client.get<JobAnswer>(`/jobs/${jobId}`);
    const { started_at: started, finished_at: finished, elapsed_seconds: elapsed } = job;
    assert.deepEqual([job.status, job.progress_pct, job.eta_seconds], ['completed', 100, null]);
    assert.deepEqual([job.forecast.eta_seconds, job.forecast.failure_rate], [null, 0.4286]);
    assert.deepEqual(job.progress, { completed: 7, success: 4, skipped: 0, failed: 3, cancelled: 0 });
    assert.deepEqual(job.input, {
      scraper_id: 'test-mixed',
      scraper_version: job.scraper_version,
      items: 7,
      extracts: null,
      recording: null,
    });
    assert.deepEqual([job.workers.total, job.workers.completed, job.workers.in_flight], [7, 7, 0]);
    assert.ok(started && finished && Math.abs((Date.parse(finished) - Date.parse(started)) / 1000 - elapsed) < 0.01);
    assert.deepEqual(
      job.errors.map(({ type, count }) => [type, count]),
      [
        ['server_error', 2],
        ['no_results', 1],
      ],
    );
    assert.equal(job.policy.retries.max_retries, 0);
    assert.deepEqual([job.breaker.state, job.breaker.failed], ['closed', 2]);
    const { summary } = await client.get<JobSummaryAnswer>(`/jobs/${jobId}/status`);
    assert.deepEqual(summary, job.summary);
    const { total, ...parts } = summary;
    assert.equal(
      Object.values(parts).reduce((sum, each) => sum + each, 0),
      total,
    );
  });

  above('a tripped job says why, with evidence, and continues when it is resumed', async () => {
    const jobId = await tripped(client);
    const { status, reason, breaker } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual([status, reason?.code, breaker.state], ['failed', 'breaker', 'open']);
    assert.match(reason?.message ?? '', /\d of \d/);
    assert.equal(reason?.evidence[0]?.type, 'server_error');
    assert.ok((reason?.evidence[0]?.examples.length ?? 0) > 0);
    assert.equal((await client.post(`/jobs/${jobId}/resume`)).status, 'in_progress');
    await client.ended(jobId);
  });

  above('a job that was never created is reported as missing by every operation', async () => {
    for (const methods of Object.entries(client.document.paths)) {
      const [template, operations] = methods;
      if (!template.includes('{job_id}')) continue;
      const query = QUERIES[template.split('/').at(-1) ?? ''] ?? '';
      const path = template.replace('{job_id}', 'nobody-made-it').replace('{item_id}', 'i-1') + query;
      for (const method of Object.keys(operations)) {
        const isUpload = method === 'post' && template.endsWith('/items');
        const asked = isUpload
          ? { body: '{}\n', headers: { 'content-type': 'application/x-ndjson' } }
          : method === 'patch'
            ? { json: { execution_policy: {} } }
            : {};
        await client.refused(404, 'job_not_found', method.toUpperCase(), path, asked);
      }
    }
  });

  above('a policy is changed while the job runs: more items go out at once', async () => {
    // There are enough that many are left when the first of them have ended, even where they go out in batches.
    const items = Array.from({ length: 250 }, (_, n) => ({ item_id: `${n}`, input: { ms: 80 } }));
    const execution_policy = { throttling: { max_concurrent_workers: 1, adaptive: false } };
    const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items, execution_policy });
    const inFlight = ({ summary }: Partial<JobSummaryAnswer>) => (summary ? summary.queued + summary.in_progress : 0);
    const before = await client.until(jobId, ({ data }) => (data.summary?.success ?? 0) > 0);
    assert.ok(inFlight(before) <= 1);
    const changed = await client.patch<JobAnswer>(`/jobs/${jobId}`, {
      execution_policy: { throttling: { max_concurrent_workers: 8 } },
    });
    assert.equal(changed.policy.throttling.max_concurrent_workers, 8);
    assert.equal(changed.policy.throttling.adaptive, false);
    const after = await client.until(jobId, ({ data }) => inFlight(data) > 1);
    assert.ok(inFlight(after) <= 8);
    await client.post(`/jobs/${jobId}/cancel`);
    await client.ended(jobId);
  });

  above('a policy with an unknown or invalid field is refused with its path, and nothing is changed', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', hold: true });
    const { policy } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    const paths = async (json: object) => {
      const { errors } = await client.refused(422, 'invalid_request', 'PATCH', `/jobs/${jobId}`, { json });
      return errors?.map(({ path }) => path);
    };
    const throttling = { max_concurrent_workers: 9, max_workers: 9 };
    assert.deepEqual(await paths({ execution_policy: { throttling } }), ['execution_policy.throttling.max_workers']);
    assert.deepEqual(await paths({ execution_policy: { speed: 1 } }), ['execution_policy.speed']);
    assert.deepEqual(await paths({ execution_policy: { throttling: null } }), ['execution_policy.throttling']);
    assert.deepEqual(await paths({ policy: {} }), ['execution_policy', 'policy']);
    const retries = { max_retries: -1 };
    assert.deepEqual(await paths({ execution_policy: { retries } }), ['execution_policy.retries.max_retries']);
    assert.deepEqual((await client.get<JobAnswer>(`/jobs/${jobId}`)).policy, policy);
  });

  test('a running job is not deleted; one that is over is deleted with all it had, and its id is free again', async () => {
    const job_id = uniqueId('deleted');
    const slow = { scraper_id: 'example-slow', items: [{ item_id: 'a', input: { ms: 400, bytes: 10 } }] };
    await client.create({ job_id, ...slow });
    await client.until(job_id, ({ data }) => data.status === 'in_progress');
    await client.refused(409, 'state_conflict', 'DELETE', `/jobs/${job_id}`);
    await client.ended(job_id);
    const artifact = `/jobs/${job_id}/items/a/download?artifact=html`;
    assert.equal((await client.ask('GET', artifact)).status, 200);
    await client.deleteJob(job_id);
    for (const path of ['', '/items', '/items/a', '/results', '/results?part=0', '/export', '/failures', '/events']) {
      await client.refused(404, 'job_not_found', 'GET', `/jobs/${job_id}${path}`);
    }
    await client.refused(404, 'job_not_found', 'GET', artifact);
    await client.refused(404, 'job_not_found', 'DELETE', `/jobs/${job_id}`);
    await client.create({ job_id, scraper_id: 'example-noop', items: [{ item_id: 'a', input: {} }] });
    assert.equal((await client.ended(job_id)).summary.success, 1);
    await client.refused(404, 'artifact_not_found', 'GET', artifact);
  });
}
