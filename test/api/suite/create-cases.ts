import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreatedAnswer, JobAnswer } from '../../../src/contract/job-answers.ts';
import type { ProblemAnswer } from '../../../src/contract/problem-answer.ts';
import { aboveBackend } from './above-backend.ts';
import { allPages, type Client, noopItems, uniqueId } from './client.ts';

/** POST /jobs creates all of a job, or nothing of it. */
export function createCases(client: Client): void {
  const above = aboveBackend(client);
  test('a job is created with its items, and the answer says where it is', async () => {
    const job_id = uniqueId('created job/ü');
    const labels = { ...labelsOf(49), county: 'maricopa' };
    const json = { job_id, job_name: 'A job', scraper_id: 'example-noop', items: noopItems(3), labels, hold: true };
    const { status, headers, json: made } = await client.ask('POST', '/jobs', { json });
    assert.equal(status, 201);
    assert.equal(headers.get('location'), `/jobs/${encodeURIComponent(job_id)}`);
    const { created_at: at, ...rest } = made as CreatedAnswer;
    assert.ok(!Number.isNaN(Date.parse(at)));
    const scraper = { scraper_id: 'example-noop', scraper_version: '1.0.0', warnings: [] };
    assert.deepEqual(rest, { job_id, job_name: 'A job', status: 'pending', held: true, seeded_count: 3, ...scraper });
    const job = await client.get<JobAnswer>(headers.get('location') ?? '');
    assert.deepEqual([job.job_id, job.labels, job.summary.total], [job_id, labels, 3]);
  });

  above('a job without a scraper runs the default one, and the answer says so', async () => {
    const made = await client.create({ items: [{ input: { anything: 1 } }], hold: true });
    assert.equal(made.scraper_id, 'example-mock');
    assert.deepEqual(
      made.warnings.map(({ path }) => path),
      ['scraper_id'],
    );
  });

  above('settings that a proxy does not support are ignored with a warning, and the job keeps the others', async () => {
    const geo_target = { state: 'AZ', city: 'Phoenix' };
    const execution_policy = { proxy: { type: 'web-unlocker' as const, geo_target } };
    const made = await client.create({ scraper_id: 'example-noop', execution_policy, hold: true });
    const ignored = made.warnings.filter(({ code }) => code === 'setting_ignored');
    assert.deepEqual(ignored, [
      {
        path: 'execution_policy.proxy.geo_target.state',
        code: 'setting_ignored',
        message: 'is ignored: exits of the web unlocker can only be chosen by country',
      },
      {
        path: 'execution_policy.proxy.geo_target.city',
        code: 'setting_ignored',
        message: 'is ignored: exits of the web unlocker can only be chosen by country',
      },
    ]);
    const job = await client.get<JobAnswer>(`/jobs/${made.job_id}`);
    assert.deepEqual(job.policy.proxy, {
      type: 'web_unlocker',
      geo_target: { country: 'us', state: 'az', city: 'Phoenix' },
      session: 'sticky',
      escalate: [],
    });
    assert.deepEqual(
      job.warnings.filter(({ code }) => code === 'setting_ignored'),
      ignored,
    );
  });

  above('a job needs neither an id nor items', async () => {
    const { job_id: one, seeded_count: count } = await client.create({ scraper_id: 'example-noop', hold: true });
    const { job_id: other } = await client.create({ scraper_id: 'example-noop', hold: true });
    assert.equal(count, 0);
    assert.notEqual(one, other);
  });

  test('the id of a job that exists is refused, and the job is left as it is', async () => {
    const job = { job_id: uniqueId('taken'), scraper_id: 'example-noop', items: noopItems(2), hold: true };
    await client.create(job);
    await client.refused(409, 'job_exists', 'POST', '/jobs', { json: { ...job, items: noopItems(5) } });
    // Without an idempotency key, even the same request counts as a second one.
    await client.refused(409, 'job_exists', 'POST', '/jobs', { json: job });
    assert.equal((await client.get<JobAnswer>(`/jobs/${job.job_id}`)).summary.total, 2);
  });

  const bad: readonly { what: string; request: Record<string, unknown>; paths: readonly string[] }[] = [
    { what: 'an unknown scraper', request: { scraper_id: 'no-such-scraper' }, paths: ['scraper_id'] },
    { what: 'an unknown field', request: { priority: 3, queue: 'x' }, paths: ['priority', 'queue'] },
    {
      what: 'unknown fields of the policy',
      request: { execution_policy: { throttling: { max_workers: 3 }, retrys: {} } },
      paths: ['execution_policy.throttling.max_workers', 'execution_policy.retrys'],
    },
    {
      what: 'a place that cannot be found',
      request: { execution_policy: { proxy: { type: 'residential', geo_target: { city: 'Springfield' } } } },
      paths: ['execution_policy.proxy.geo_target.country'],
    },
    {
      what: 'a bad value of the policy',
      request: { execution_policy: { circuit_breaker: { failure_threshold_percentage: 25 } } },
      paths: ['execution_policy.circuit_breaker.failure_threshold_percentage'],
    },
    {
      what: 'an impossible batching',
      request: { batching: { by: 'site', max_items: 101, order: 'kept' }, items: [{ input: {}, group: '' }] },
      paths: ['items.0.group', 'batching.by', 'batching.max_items', 'batching.order'],
    },
    {
      what: 'inputs that break the schema of the scraper',
      request: {
        scraper_id: 'example-mock',
        items: [{ input: { apn: 'x' } }, { input: { apn: 7 } }, { item_id: 'c', input: { apn: '' } }],
      },
      paths: ['items.1.input.apn', 'items.2.input.apn'],
    },
    {
      what: 'an item id that occurs twice',
      request: { items: [...noopItems(3), { item_id: 'i-1', input: { again: true } }] },
      paths: ['items.3.item_id'],
    },
    { what: 'an input that is not an object', request: { items: [{ input: 'x' }] }, paths: ['items.0.input'] },
    { what: 'an unknown field of an item', request: { items: [{ input: {}, id: 'x' }] }, paths: ['items.0.id'] },
    { what: 'an id that is too long', request: { job_id: 'x'.repeat(201) }, paths: ['job_id'] },
    { what: 'labels that are not strings', request: { labels: { a: 1 } }, paths: ['labels.a'] },
    { what: 'more labels than a job may have', request: { labels: labelsOf(51) }, paths: ['labels'] },
  ];
  for (const { what, request, paths } of bad) {
    above(`${what}: the request is refused with the path of each bad field, and no job is created`, async () => {
      const job_id = uniqueId('bad');
      const json = { job_id, scraper_id: 'example-noop', ...request };
      const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json });
      assert.deepEqual(
        errors.map(({ path }) => path),
        paths,
      );
      await client.refused(404, 'job_not_found', 'GET', `/jobs/${job_id}`);
    });
  }

  above('what is refused is named', async () => {
    const said = async (more: object) => {
      const json = { scraper_id: 'example-noop', ...more };
      const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json });
      return errors.map(({ message }) => message).join();
    };
    assert.match(await said({ scraper_id: 'no-such-scraper' }), /no-such-scraper/);
    assert.match(await said({ execution_policy: { throttling: { max_workers: 3 } } }), /max_workers/);
    assert.match(await said({ priority: 3 }), /priority/);
    assert.equal(await said({ labels: labelsOf(51) }), 'at most 50 labels are allowed, not 51');
    assert.match(await said({ items: [...noopItems(1), ...noopItems(1)] }), /i-0/);
  });

  above('a hundred problems are listed, not a thousand', async () => {
    const items = Array.from({ length: 1000 }, (_, n) => ({ item_id: `${n}`, input: { apn: n } }));
    const json = { scraper_id: 'example-mock', items };
    const { errors = [] } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json });
    assert.ok(errors.length >= 100 && errors.length <= 101, `${errors.length}`);
    assert.equal(errors[0]?.path, 'items.0.input.apn');
  });

  test('a request that is sent again with its idempotency key does not create a second job', async () => {
    const json = { scraper_id: 'example-noop', job_name: uniqueId('idempotent'), items: noopItems(2) };
    const headers = { 'idempotency-key': uniqueId('key') };
    const first = await client.ask('POST', '/jobs', { json, headers });
    const second = await client.ask('POST', '/jobs', { json, headers });
    assert.deepEqual([first.status, second.status], [201, 200]);
    const { job_id: id } = first.json as CreatedAnswer;
    assert.deepEqual([(second.json as CreatedAnswer).job_id, await madeAs(client, json.job_name)], [id, [id]]);
  });

  test('an idempotency key is valid for one request only', async () => {
    const headers = { 'idempotency-key': uniqueId('key') };
    const json = { scraper_id: 'example-noop', job_name: uniqueId('reused'), items: noopItems(2) };
    assert.equal((await client.ask('POST', '/jobs', { json, headers })).status, 201);
    const other = { ...json, job_name: uniqueId('other'), items: noopItems(3) };
    await client.refused(422, 'idempotency_key_reused', 'POST', '/jobs', { json: other, headers });
    assert.deepEqual(await madeAs(client, other.job_name), []);
  });

  above('an idempotency key that is empty or too long is refused', async () => {
    const json = { scraper_id: 'example-noop' };
    for (const key of ['', 'k'.repeat(256)]) {
      const headers = { 'idempotency-key': key };
      const { errors } = await client.refused(422, 'invalid_request', 'POST', '/jobs', { json, headers });
      assert.equal(errors?.[0]?.path, 'Idempotency-Key');
    }
  });

  test('ten identical requests at once create one job', async () => {
    const json = { scraper_id: 'example-noop', job_name: uniqueId('race'), items: noopItems(50), hold: true };
    const headers = { 'idempotency-key': uniqueId('key') };
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.ask('POST', '/jobs', { json, headers })));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(9).fill(200), 201]);
    const ids = new Set(answers.map((answer) => (answer.json as CreatedAnswer).job_id));
    assert.deepEqual([ids.size, await madeAs(client, json.job_name)], [1, [...ids]]);
  });

  test('of ten simultaneous jobs with one id, one is created and nine are refused because it exists', async () => {
    const job_id = uniqueId('race');
    const requests = Array.from({ length: 10 }, (_, n) => ({
      json: { job_id, scraper_id: 'example-noop', items: noopItems(n + 1), hold: true },
    }));
    const answers = await Promise.all(requests.map((asked) => client.ask('POST', '/jobs', asked)));
    const made = answers.filter(({ status }) => status === 201).map(({ json }) => json as CreatedAnswer);
    const refused = answers.filter(({ status }) => status === 409).map(({ json }) => json as ProblemAnswer);
    assert.deepEqual([made.length, refused.length, refused[0]?.code], [1, 9, 'job_exists']);
    const { summary } = await client.get<JobAnswer>(`/jobs/${job_id}`);
    assert.equal(summary.total, made[0]?.seeded_count);
  });
}

async function madeAs(client: Client, name: string): Promise<string[]> {
  const jobs = await allPages<CreatedAnswer>(client, '/jobs?limit=100', 'jobs');
  return jobs.filter(({ job_name: each }) => each === name).map(({ job_id: id }) => id);
}

function labelsOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`label-${index}`, 'x']));
}
