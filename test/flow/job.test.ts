import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { inFlightOf } from '../../src/domain/counts.ts';
import { engineForFile, itemsOf, submit, untilFinished, untilJob } from './engine.ts';

const engine = await engineForFile({ workers: 2 });

test('a job runs in worker processes from submission to a manifest that names every item once', async () => {
  const jobId = await submit(engine, {
    job_id: 'whole',
    scraper_id: 'example-slow',
    items: itemsOf(1200, (index) => ({ ms: 1, bytes: 500 + index })),
    execution_policy: { throttling: { max_concurrent_workers: 16 } },
  });
  const job = await untilFinished(engine, jobId);
  assert.equal(job.status, 'completed');
  assert.deepEqual(job.counts, { ...job.counts, total: 1200, success: 1200, queued: 0, inProgress: 0 });
  assert.deepEqual(job.manifest?.parts, { full: 2, success: 2, errors: 1 });

  const read = async (name: string) => {
    const bytes = await engine.store.get(`whole/${name}`);
    assert.ok(bytes, `${name} is there`);
    return { bytes, json: JSON.parse(new TextDecoder().decode(bytes)) };
  };
  const metadata = await read('job_metadata.json');
  assert.equal(hash('sha256', metadata.bytes), job.manifest?.metadataSha256);
  const ids: string[] = [];
  for (const number of [0, 1]) {
    const part = await read(`manifests/full/part-${number}.json`);
    const noted = metadata.json.part_hashes.find(
      (each: { list: string; part: number }) => each.list === 'full' && each.part === number,
    );
    assert.equal(hash('sha256', part.bytes), noted.sha256);
    for (const item of part.json.items) {
      ids.push(item.item_id);
      const [{ key, sha256 }] = item.artifacts;
      assert.equal(hash('sha256', (await engine.store.get(key)) ?? ''), sha256);
    }
  }
  assert.deepEqual(
    ids,
    itemsOf(1200).map(({ item_id }) => item_id),
  );
});

test('with three workers allowed, no read ever shows more than three in flight, and the job still runs at speed', async () => {
  const reads: Promise<number>[] = [];
  const unsubscribe = engine.events.subscribe(() => {
    reads.push(engine.ledger.job('three').then((job) => (job === null ? 0 : inFlightOf(job.counts))));
  });
  await submit(engine, {
    job_id: 'three',
    scraper_id: 'example-slow',
    items: itemsOf(150, () => ({ ms: 10 })),
    execution_policy: { throttling: { max_concurrent_workers: 3 } },
  });
  await untilFinished(engine, 'three');
  unsubscribe();
  const inFlight = await Promise.all(reads);
  assert.ok(inFlight.length > 300, `there were ${inFlight.length} reads`);
  assert.equal(Math.max(...inFlight), 3);
});

test('ten failing items with min_requests 5 end after five, with the reason and the evidence, and resume goes on', async () => {
  await submit(engine, {
    job_id: 'failing',
    scraper_id: 'example-fail',
    items: itemsOf(10, () => ({ type: 'structure_changed' })),
    execution_policy: {
      throttling: { max_concurrent_workers: 3 },
      circuit_breaker: { min_requests: 5, failure_threshold_percentage: 0.8 },
    },
  });
  const failed = await untilJob(
    engine,
    'failing',
    ({ status, counts }) => status === 'failed' && inFlightOf(counts) === 0,
  );
  assert.equal(failed.counts.failed, 5);
  assert.equal(failed.reason?.code, 'breaker');
  assert.match(failed.reason?.message ?? '', /5 of 5 failed/);
  assert.equal(failed.reason?.evidence[0]?.type, 'structure_changed');
  assert.equal(failed.reason?.evidence[0]?.count, 5);

  await engine.ledger.changeJob('failing', { kind: 'resume' }, engine.clock.now());
  const job = await untilFinished(engine, 'failing');
  assert.equal(job.counts.failed, 10);
  assert.equal(job.manifest?.parts.errors, 1);
});

test('a cancelled job ends with a manifest of what was done, and the rest as cancelled', async () => {
  await submit(engine, {
    job_id: 'cancelled',
    scraper_id: 'example-slow',
    items: itemsOf(200, () => ({ ms: 20 })),
    execution_policy: { throttling: { max_concurrent_workers: 4 } },
  });
  await untilJob(engine, 'cancelled', ({ counts }) => counts.success >= 10);
  await engine.ledger.changeJob('cancelled', { kind: 'cancel' }, engine.clock.now());
  const job = await untilFinished(engine, 'cancelled');
  assert.equal(job.status, 'cancelled');
  assert.equal(job.counts.success + job.counts.cancelled, 200);
  assert.ok(job.counts.success >= 10 && job.counts.cancelled > 0);
});

test('failed items of a completed job are retried in a new round, with a new manifest', async () => {
  await submit(engine, {
    job_id: 'again',
    scraper_id: 'example-fail',
    items: itemsOf(5, () => ({ type: 'no_results' })),
  });
  const first = await untilFinished(engine, 'again');
  assert.equal(first.round, 1);
  const filter = { errorType: null, itemIds: null, groupKeys: null, preview: false };
  const now = engine.clock.now();
  const answer = await engine.ledger.reopen('again', filter, { after: null, limit: 100 }, now, now);
  assert.deepEqual(answer, { kind: 'reopened', items: 5, next: null });
  const second = await untilJob(engine, 'again', ({ round, manifest }) => round === 2 && manifest !== null);
  assert.equal(second.counts.failed, 5);
  const item = await engine.ledger.item('again', 'item-3');
  assert.deepEqual(
    item?.attempts.map(({ attempt }) => attempt),
    [1, 2],
  );
});
