import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemDetailAnswer } from '../../../src/contract/item-answers.ts';
import type { JobAnswer } from '../../../src/contract/job-answers.ts';
import type { Client } from './client.ts';

/** Retries as a user sees them. They are shown only where workers report what waits, which they do not on AWS. */
export function waitCases(client: Client): void {
  test('a watcher learns which items wait for another try, and the job shows them as well', async () => {
    const items = ['a', 'b'].map((item_id) => ({ item_id, input: { type: 'rate_limited' } }));
    const retries = { backoff_factor: 60, max_backoff_seconds: 60 };
    const { job_id: jobId } = await client.create({
      scraper_id: 'example-fail',
      items,
      execution_policy: { retries },
    });
    for await (const { event, data } of client.watch(jobId)) {
      const [wait] = event === 'progress' ? (data.waiting ?? []) : [];
      if (wait?.items !== 2) continue;
      assert.equal(wait.error_type, 'rate_limited');
      const seconds = (Date.parse(wait.until) - Date.now()) / 1000;
      assert.ok(seconds > 0 && seconds <= 61, `${seconds}`);
      break;
    }
    const { waiting, workers, policy } = await client.get<JobAnswer>(`/jobs/${jobId}`);
    assert.deepEqual(
      waiting.map(({ error_type, items: count }) => [error_type, count]),
      [['rate_limited', 2]],
    );
    assert.equal(workers.limit, policy.throttling.max_concurrent_workers);
    await client.post(`/jobs/${jobId}/cancel`);
  });

  test('each failed try is in the history of the item, with the wait after it', async () => {
    const retries = { max_retries: 2, backoff_factor: 0.01 };
    const items = [{ item_id: 'a', input: { type: 'timeout' } }];
    const { job_id: jobId } = await client.run({
      scraper_id: 'example-fail',
      items,
      execution_policy: { retries },
    });
    const { history, tries } = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/a`);
    const failed = history[0]?.failed_tries ?? [];
    assert.deepEqual(
      [tries, failed.map((each) => [each.try, each.error_type, each.message])],
      [3, [1, 2, 3].map((number) => [number, 'timeout', 'item a was asked to fail'])],
    );
    const waits = failed.map(({ wait_ms }) => wait_ms);
    assert.ok((waits[0] ?? 0) >= 5 && (waits[1] ?? 0) >= 10 && waits[2] === null, `${waits}`);
  });
}
