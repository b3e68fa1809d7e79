import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeJob } from '../../src/controller/jobs/remove-job.ts';
import { itemsOf, submit, tempDataDir, untilFinished, untilJob, withEngine } from './engine.ts';

/** A job may be deleted, and another made of its id: nothing of the first may show in the second. */

test('a job of the id of one that was deleted is carried out by its own scraper and policy, with files of its own', async () => {
  await withEngine({ dataDir: tempDataDir(), workers: 1 }, async (engine) => {
    const items = itemsOf(20, () => ({ ms: 0, bytes: 100 }));
    const job_id = 'x';
    await submit(engine, { job_id, scraper_id: 'example-slow', items });
    await untilFinished(engine, job_id);
    assert.deepEqual(await removeJob(engine, job_id), { kind: 'removed' });

    const retries = { max_retries: 0 };
    await submit(engine, { job_id, scraper_id: 'example-fail', items, execution_policy: { retries } });
    const failed = await untilJob(engine, job_id, ({ counts }) => counts.failed >= 20);
    assert.equal(failed.counts.success, 0);
    assert.equal(failed.scraperId, 'example-fail');
  });
});
