import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailuresAnswer } from '../../../src/contract/failure-answers.ts';
import type { ItemDetailAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer, JobStatusAnswer, RetriedAnswer } from '../../../src/contract/job-answers.ts';
import type { JobStatus } from '../../../src/domain/job-steps.ts';
import { aboveBackend } from './above-backend.ts';
import { allPages, type Client, noopItems, uniqueId } from './client.ts';
import { completedWithFailures, tripped } from './made-jobs.ts';

type Wish = 'start' | 'pause' | 'resume' | 'cancel' | 'retry' | 'change' | 'add' | 'delete';

/** What each state lets a user do: the status in the answer, `ok` where workers may be faster, or a refusal. */
const TABLE: Record<JobStatus, Record<Wish, JobStatus | 'ok' | 'refused'>> = {
  pending: {
    ...{ start: 'pending', pause: 'paused', resume: 'refused', cancel: 'cancelled' },
    ...{ retry: 'refused', change: 'pending', add: 'ok', delete: 'ok' },
  },
  in_progress: {
    ...{ start: 'refused', pause: 'paused', resume: 'refused', cancel: 'cancelled' },
    ...{ retry: 'in_progress', change: 'in_progress', add: 'ok', delete: 'refused' },
  },
  paused: {
    ...{ start: 'refused', pause: 'paused', resume: 'in_progress', cancel: 'cancelled' },
    ...{ retry: 'paused', change: 'paused', add: 'ok', delete: 'ok' },
  },
  failed: {
    ...{ start: 'refused', pause: 'refused', resume: 'in_progress', cancel: 'cancelled' },
    ...{ retry: 'ok', change: 'failed', add: 'ok', delete: 'ok' },
  },
  completed: {
    ...{ start: 'refused', pause: 'refused', resume: 'refused', cancel: 'refused' },
    ...{ retry: 'ok', change: 'completed', add: 'ok', delete: 'ok' },
  },
  cancelled: {
    ...{ start: 'refused', pause: 'refused', resume: 'refused', cancel: 'refused' },
    ...{ retry: 'refused', change: 'refused', add: 'refused', delete: 'ok' },
  },
};

/** What a user may do with a job, state by state. `still` has no workers: what is in progress there remains so. */
export function stateCases(client: Client, still: Client): void {
  const above = aboveBackend(client);
  const make: Record<JobStatus, () => Promise<[Client, string]>> = {
    pending: async () => [still, await held(still)],
    in_progress: async () => [still, await dispatched(still)],
    async paused() {
      const jobId = await held(still);
      await still.post(`/jobs/${jobId}/pause`);
      return [still, jobId];
    },
    async cancelled() {
      const jobId = await dispatched(still);
      await still.post(`/jobs/${jobId}/cancel`);
      return [still, jobId];
    },
    failed: async () => [client, await tripped(client)],
    completed: async () => [client, await completedWithFailures(client, { good: 1, server_error: 1 })],
  };

  for (const [status, wishes] of Object.entries(TABLE)) {
    above(`a job that is ${status} lets a user do what its state allows, and nothing else`, async () => {
      // What is refused changes nothing, so that the next request can be about the same job.
      const refusedFirst = Object.entries(wishes).sort(
        ([, a], [, b]) => Number(b === 'refused') - Number(a === 'refused'),
      );
      let job: [Client, string] | null = null;
      for (const [wish, expected] of refusedFirst) {
        const made: [Client, string] = job ?? (await make[status as JobStatus]());
        job = expected === 'refused' ? made : null;
        const [where, jobId] = made;
        const before = await where.get<JobStatusAnswer>(`/jobs/${jobId}/status`);
        assert.equal(before.status, status);
        const answer = await ask(where, jobId, wish as Wish);
        if (expected === 'refused') {
          assert.equal(answer.status, 409, `${wish}: ${answer.text}`);
          assert.equal((answer.json as { code: string }).code, 'state_conflict');
          assert.deepEqual(await where.get<JobStatusAnswer>(`/jobs/${jobId}/status`), before, wish);
        } else {
          // A busy machine may take longer to delete a job than the answer waits: 202.
          assert.ok([200, 204, ...(wish === 'delete' ? [202] : [])].includes(answer.status), `${wish}: ${answer.text}`);
          if (expected !== 'ok') assert.equal((answer.json as JobStatusAnswer).status, expected, wish);
        }
      }
    });
  }

  test('a held job waits for start, and then runs', async () => {
    const items = noopItems(5);
    const { job_id: jobId, held: isHeld } = await client.create({ scraper_id: 'example-noop', items, hold: true });
    assert.equal(isHeld, true);
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).summary.pending, 5);
    await client.post(`/jobs/${jobId}/start`);
    const { status, summary } = await client.ended(jobId);
    assert.deepEqual([status, summary.success], ['completed', 5]);
  });

  test('a job that was paused continues from where it was', async () => {
    const items = Array.from({ length: 30 }, (_, n) => ({ item_id: `${n}`, input: { ms: 20 } }));
    const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items });
    await client.until(jobId, ({ data }) => data.status === 'in_progress');
    assert.equal((await client.post(`/jobs/${jobId}/pause`)).status, 'paused');
    const { reason } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.equal(reason?.code, 'user');
    assert.equal((await client.post(`/jobs/${jobId}/resume`)).status, 'in_progress');
    assert.equal((await client.ended(jobId)).summary.success, 30);
  });

  test('a cancelled job cancels what no worker is processing, including what had gone out', async () => {
    const { job_id: jobId } = await still.create({ scraper_id: 'example-noop', items: noopItems(20) });
    await still.until(jobId, ({ data }) => (data.summary?.queued ?? 0) > 0);
    const { status, summary } = await still.post(`/jobs/${jobId}/cancel`);
    assert.deepEqual([status, summary.cancelled, summary.pending, summary.queued], ['cancelled', 20, 0, 0]);
    assert.equal((await allPages(still, `/jobs/${jobId}/items?status=cancelled`, 'items')).length, 20);
  });

  above('a preview of a retry counts and changes nothing', async () => {
    const jobId = await completedWithFailures(client, { good: 1, server_error: 3, no_results: 2 });
    const before = await client.get<JobAnswer>(`/jobs/${jobId}`);
    const counted = async (more: object) => {
      const { preview, items, status } = await client.post<RetriedAnswer>(`/jobs/${jobId}/retry`, {
        ...more,
        preview: true,
      });
      assert.deepEqual([preview, status], [true, 'completed']);
      return items;
    };
    assert.equal(await counted({}), 5);
    assert.equal(await counted({ status: 'failed' }), 5);
    assert.equal(await counted({ error_type: 'no_results' }), 2);
    assert.equal(await counted({ error_type: 'blocked' }), 0);
    assert.equal(await counted({ item_ids: ['server_error-0', 'no_results-1', 'i-0', 'unknown'] }), 2);
    assert.equal(await counted({ item_ids: ['server_error-0', 'no_results-1'], error_type: 'no_results' }), 1);
    assert.deepEqual(await client.get<JobAnswer>(`/jobs/${jobId}`), before);
  });

  test('a retry reopens the failed items that are selected, and no others', async () => {
    const jobId = await completedWithFailures(client, { good: 1, server_error: 2, no_results: 2 });
    const attempts = async () => {
      const items = await allPages<{ item_id: string; attempts: number }>(client, `/jobs/${jobId}/items`, 'items');
      return Object.fromEntries(items.map((item) => [item.item_id, item.attempts]));
    };
    const byType = await client.post<RetriedAnswer>(`/jobs/${jobId}/retry`, { error_type: 'server_error' });
    assert.deepEqual([byType.items, byType.preview], [2, false]);
    assert.equal((await client.ended(jobId)).summary.failed, 4);
    const once = { 'i-0': 1, 'no_results-0': 1, 'no_results-1': 1 };
    assert.deepEqual(await attempts(), { ...once, 'server_error-0': 2, 'server_error-1': 2 });
    const byId = await client.post<RetriedAnswer>(`/jobs/${jobId}/retry`, { item_ids: ['no_results-1', 'i-0'] });
    assert.equal(byId.items, 1);
    await client.ended(jobId);
    assert.deepEqual(await attempts(), { ...once, 'no_results-1': 2, 'server_error-0': 2, 'server_error-1': 2 });
    assert.equal((await client.get<JobAnswer>(`/jobs/${jobId}`)).round, 3);
  });

  above(
    'a retry of a group reopens its items and no others, and its id is valid until they have all been reopened',
    async () => {
      const jobId = await completedWithFailures(client, { good: 1, server_error: 2, no_results: 3 });
      const { groups } = await client.get<FailuresAnswer>(`/jobs/${jobId}/failures`);
      assert.deepEqual(
        groups.map(({ type, count }) => [type, count]),
        [
          ['no_results', 3],
          ['server_error', 2],
        ],
      );
      const group = groups[1]?.id;
      const retried = async (more: object) => {
        const { items } = await client.post<RetriedAnswer>(`/jobs/${jobId}/retry`, { group, ...more });
        await client.ended(jobId);
        return items;
      };
      assert.equal(await retried({ preview: true }), 2);
      assert.equal(await retried({ item_ids: ['server_error-1', 'no_results-0'] }), 1);
      // It failed again in the same way, so it is in the same group.
      assert.equal(await retried({}), 2);
      assert.equal(await retried({ group: '0123456789ab' }), 0);
      const again = await client.get<FailuresAnswer>(`/jobs/${jobId}/failures`);
      assert.deepEqual(
        again.groups.map(({ id, count }) => [id, count]),
        groups.map(({ id, count }) => [id, count]),
      );
      const detail = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/no_results-0`);
      assert.equal(detail.attempts, 1);
    },
  );

  above('a retry of anything other than failed items is refused by name', async () => {
    const jobId = await held(client);
    for (const [json, path] of [
      [{ status: 'success' }, 'status'],
      [{ error_type: 'oops' }, 'error_type'],
      [{ item_ids: [] }, 'item_ids'],
      [{ group: 'server_error' }, 'group'],
      [{ items: ['a'] }, 'items'],
    ] as const) {
      const { errors } = await client.refused(422, 'invalid_request', 'POST', `/jobs/${jobId}/retry`, { json });
      assert.equal(errors?.[0]?.path, path);
    }
  });
}

function ask(client: Client, jobId: string, wish: Wish) {
  const path = `/jobs/${jobId}`;
  switch (wish) {
    case 'delete':
      return client.ask('DELETE', path);
    case 'change':
      return client.ask('PATCH', path, { json: { execution_policy: { retries: { max_retries: 1 } } } });
    case 'add': {
      const body = '{"item_id":"one-more","input":{}}\n';
      return client.ask('POST', `${path}/items`, { body, headers: { 'content-type': 'application/x-ndjson' } });
    }
    default:
      return client.ask('POST', `${path}/${wish}`);
  }
}

async function held(client: Client): Promise<string> {
  const job = { job_id: uniqueId('held'), scraper_id: 'example-noop', items: noopItems(4), hold: true };
  return (await client.create(job)).job_id;
}

async function dispatched(client: Client): Promise<string> {
  const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', items: noopItems(4) });
  await client.until(jobId, ({ data }) => data.status === 'in_progress');
  return jobId;
}
