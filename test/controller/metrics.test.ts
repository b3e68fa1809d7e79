import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { register } from 'prom-client';
import { EventStream } from '../../src/controller/engine/events.ts';
import { type MetricsDeps, openMetrics } from '../../src/controller/metrics/open-metrics.ts';
import { MAX_COUNTED_HOSTS } from '../../src/controller/metrics/usage-metrics.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import type { SettledItem } from '../../src/ports/ledger.ts';
import { BY_USER, failedWith, TRIP } from '../domain/builders.ts';
import { NOW, newItems, newJob, partOf } from '../support/builders.ts';
import { debianProgram } from '../support/debian-program.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryQueue } from '../support/memory/work-queue.ts';

function setUp(parts: Partial<MetricsDeps> = {}) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const queue = new MemoryQueue(clock);
  const events = new EventStream();
  ledger.subscribe((change) => events.publish(change));
  const metrics = openMetrics({ events, ledger, queue, clock, version: '1.2.3', watchers: () => 7, ...parts });
  return { clock, ledger, queue, events, metrics };
}

function settled(item: Partial<SettledItem> = {}): SettledItem {
  return { seq: 0, itemId: 'p-0', durationMs: 40, status: 'success', errorType: null, artifacts: 0, ...item };
}

/** Its value, or null where there is no such line. */
function sampleOf(rendering: string, series: string): number | null {
  const line = rendering.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

test('promtool finds nothing wrong with the metrics, neither fresh nor with all kinds of values', async () => {
  const { metrics, events, ledger } = setUp();
  await check(await metrics.render());
  await ledger.createJob(newJob(), newItems(3), NOW);
  events.publish({ kind: 'settled', jobId: 'job-1', items: FAILURE_TYPES.map((type) => failed(type)) });
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled(), settled({ status: 'skipped' })] });
  events.publish({ kind: 'reaped', leases: 2, queued: 1 });
  events.publish({ kind: 'worker-joined', worker: 'a "quoted"\nname\\' });
  metrics.observeRequest('getJob', 'GET', 200, 0.003);
  metrics.observeRequest('a "quoted"\nname\\', 'BREW', 999, Number.NaN);
  await check(await metrics.render());
});

test('requests and bytes are counted by kind of proxy and by host', async () => {
  const { metrics, events } = setUp();
  const row = { host: 'a.test', requests: 2, bytesUp: 600, bytesDown: 4000, refused: 0, blocked: 0 };
  const usage = [
    { ...row, proxy: 'none' },
    { ...row, proxy: 'residential' },
    { ...row, host: 'b.test', proxy: 'residential' },
  ] as const;
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled()], usage });
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled()] });
  const rendering = await metrics.render();
  assert.equal(sampleOf(rendering, 'trawl_requests_total{proxy="residential"}'), 4);
  assert.equal(sampleOf(rendering, 'trawl_requests_total{proxy="none"}'), 2);
  assert.equal(sampleOf(rendering, 'trawl_requests_total{proxy="datacenter"}'), 0);
  assert.equal(sampleOf(rendering, 'trawl_traffic_bytes_total{proxy="residential",direction="down"}'), 8000);
  assert.equal(sampleOf(rendering, 'trawl_host_requests_total{host="a.test",proxy="residential"}'), 2);
  const up = 'trawl_host_traffic_bytes_total{host="b.test",proxy="residential",direction="up"}';
  assert.equal(sampleOf(rendering, up), 600);
  await check(rendering);
});

test('however many hosts are visited, their metrics stay few and add up', async () => {
  const { metrics, events } = setUp();
  const row = { proxy: 'none', requests: 1, bytesUp: 600, bytesDown: 4000, refused: 0, blocked: 0 } as const;
  for (let host = 0; host < MAX_COUNTED_HOSTS + 20; host += 1) {
    const usage = [{ ...row, host: `h${host}.test` }];
    for (let times = 0; times < 2; times += 1) events.publish({ kind: 'settled', jobId: 'job-1', items: [], usage });
  }
  const rendering = await metrics.render();
  assert.equal(sampleOf(rendering, 'trawl_host_requests_total{host="h0.test",proxy="none"}'), 2);
  assert.equal(sampleOf(rendering, 'trawl_host_requests_total{host="other",proxy="none"}'), 40);
  const series = rendering.split('\n').filter((line) => line.startsWith('trawl_host_requests_total{'));
  assert.equal(series.length, MAX_COUNTED_HOSTS + 1);
});

test('work that came back because of a host is not counted as an error of our own', async () => {
  const { metrics, events } = setUp();
  const held = { host: 'county.gov', until: NOW, reason: '429' };
  for (const because of [held, { error: 'a bug' }]) {
    events.publish({ kind: 'returned', jobId: 'job-1', batchId: 'b1', because, items: 1 });
  }
  assert.equal(sampleOf(await metrics.render(), 'trawl_engine_errors_total'), 1);
});

async function check(rendering: string): Promise<void> {
  const child = spawn(await debianProgram('promtool', 'prometheus'), ['check', 'metrics'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(rendering);
  const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.deepEqual([said, complaints, child.exitCode], ['', '', 0]);
}

function failed(errorType: SettledItem['errorType']): SettledItem {
  return settled({ status: 'failed', errorType });
}

test('items are counted by outcome and kind of failure, attempts by their duration', async () => {
  const { metrics, events } = setUp();
  const batch = [settled(), settled({ durationMs: 600 }), failed('blocked'), settled({ status: 'skipped' })];
  events.publish({ kind: 'settled', jobId: 'job-1', items: batch });
  await metrics.render();
  events.publish({ kind: 'settled', jobId: 'job-2', items: [settled(), failed('refused_address')] });
  const rendering = await metrics.render();
  assert.equal(sampleOf(rendering, 'trawl_items_total{status="success",error_type="none"}'), 3);
  assert.equal(sampleOf(rendering, 'trawl_items_total{status="skipped",error_type="none"}'), 1);
  assert.equal(sampleOf(rendering, 'trawl_items_total{status="failed",error_type="blocked"}'), 1);
  assert.equal(sampleOf(rendering, 'trawl_items_total{status="failed",error_type="refused_address"}'), 1);
  assert.equal(sampleOf(rendering, 'trawl_egress_refusals_total'), 1);
  assert.equal(sampleOf(rendering, 'trawl_attempt_duration_seconds_bucket{le="0.05",status="success"}'), 2);
  assert.equal(sampleOf(rendering, 'trawl_attempt_duration_seconds_count{status="success"}'), 3);
  assert.equal(sampleOf(rendering, 'trawl_attempt_duration_seconds_sum{status="success"}'), 0.68);
  assert.equal(rendering.includes('job-1'), false);
});

test('everything that can be counted is there from the beginning, at zero', async () => {
  const rendering = await setUp().metrics.render();
  for (const type of FAILURE_TYPES) {
    assert.equal(sampleOf(rendering, `trawl_items_total{status="failed",error_type="${type}"}`), 0);
  }
  for (const status of ['success', 'failed', 'skipped']) {
    assert.equal(sampleOf(rendering, `trawl_attempt_duration_seconds_count{status="${status}"}`), 0);
  }
  const counters = ['breaker_trips', 'fenced_writes', 'egress_refusals', 'leases_reaped', 'engine_errors'];
  for (const name of counters) assert.equal(sampleOf(rendering, `trawl_${name}_total`), 0, name);
  for (const name of ['workers_connected', 'storage_trouble', 'leading']) {
    assert.equal(sampleOf(rendering, `trawl_${name}`), 0, name);
  }
  for (const status of ['pending', 'in_progress', 'paused', 'failed', 'completed', 'cancelled']) {
    assert.equal(sampleOf(rendering, `trawl_active_jobs{status="${status}"}`), 0, status);
  }
  for (const lane of ['http', 'browser']) {
    assert.equal(sampleOf(rendering, `trawl_queue_batches{lane="${lane}",state="waiting"}`), 0);
  }
});

test('the engine’s events are counted, and its states shown', async () => {
  const { metrics, events } = setUp();
  events.publish({ kind: 'leading', holder: 'me' });
  for (const worker of ['a', 'b', 'b']) events.publish({ kind: 'worker-joined', worker });
  events.publish({ kind: 'worker-left', worker: 'a', reason: 'closed', abandoned: 0 });
  events.publish({ kind: 'fenced', jobId: 'job-1', batchId: 'b-1' });
  events.publish({ kind: 'reaped', leases: 3, queued: 2 });
  events.publish({ kind: 'engine-error', where: 'here', error: new Error('no') });
  events.publish({ kind: 'storage-trouble', message: 'full' });
  const during = await metrics.render();
  events.publish({ kind: 'storage-recovered' });
  events.publish({ kind: 'following', holder: 'you' });
  const after = await metrics.render();
  const shown = (name: string) => [sampleOf(during, `trawl_${name}`), sampleOf(after, `trawl_${name}`)];
  assert.deepEqual(shown('workers_connected'), [1, 1]);
  assert.deepEqual(shown('fenced_writes_total'), [1, 1]);
  assert.deepEqual(shown('leases_reaped_total'), [3, 3]);
  assert.deepEqual(shown('batches_lost_total'), [2, 2]);
  assert.deepEqual(shown('engine_errors_total'), [1, 1]);
  assert.deepEqual(shown('storage_trouble'), [1, 0]);
  assert.deepEqual(shown('leading'), [1, 0]);
  assert.deepEqual(shown('feed_watchers'), [7, 7]);
});

test('active jobs, their items in flight, open circuits and the queue are read when metrics are requested', async () => {
  const { metrics, ledger, queue } = setUp();
  await ledger.createJob(newJob({ jobId: 'held', held: true }), newItems(5), NOW);
  await ledger.createJob(
    newJob({ policy: { circuit_breaker: { cooldown_seconds: 60, consecutive_failures: 1 } } }),
    newItems(8),
    NOW,
  );
  const { refs } = (await ledger.dispatch('job-1', 2, NOW)) ?? { refs: [] };
  await queue.send(refs);
  const [lease] = await ledger.claim(refs.slice(0, 1), 'worker', NOW + 1000, NOW);
  assert.ok(typeof lease === 'object');
  const running = await metrics.render();
  assert.equal(sampleOf(running, 'trawl_active_jobs{status="pending"}'), 1);
  assert.equal(sampleOf(running, 'trawl_active_jobs{status="in_progress"}'), 1);
  assert.equal(sampleOf(running, 'trawl_active_items{status="in_progress"}'), 1);
  assert.equal(sampleOf(running, 'trawl_active_items{status="queued"}'), refs.length - 1);
  assert.equal(sampleOf(running, 'trawl_active_items{status="pending"}'), 13 - refs.length);
  assert.equal(sampleOf(running, 'trawl_queue_batches{lane="http",state="waiting"}'), refs.length);
  assert.equal(sampleOf(running, 'trawl_active_jobs_broken{circuit="open"}'), 0);
  assert.equal(sampleOf(running, 'trawl_active_jobs_all_counted'), 1);

  await ledger.settle([partOf(lease, failedWith('timeout'))], NOW);
  await ledger.changeJob('job-1', TRIP, NOW);
  await ledger.changeJob('held', { kind: 'pause', reason: BY_USER }, NOW);
  const tripped = await metrics.render();
  assert.equal(sampleOf(tripped, 'trawl_breaker_trips_total'), 1);
  assert.equal(sampleOf(tripped, 'trawl_active_jobs_broken{circuit="open"}'), 1);
  assert.equal(sampleOf(tripped, 'trawl_active_jobs{status="paused"}'), 1);
  assert.equal(sampleOf(tripped, 'trawl_active_jobs{status="in_progress"}'), 0);
  assert.equal(sampleOf(tripped, 'trawl_jobs_ended_total{status="failed"}'), 0);
  await ledger.changeJob('held', { kind: 'cancel' }, NOW);
  assert.equal(sampleOf(await metrics.render(), 'trawl_jobs_ended_total{status="cancelled"}'), 1);
});

test('more active jobs than can be read in one go are counted as far as possible, and the metrics say so', async () => {
  const asked: (string | null)[] = [];
  const endless: MetricsDeps['ledger'] = {
    async activeJobs({ after }) {
      asked.push(after);
      return { entries: [], next: 'more' };
    },
  };
  const rendering = await setUp({ ledger: endless }).metrics.render();
  assert.equal(asked.length, 50);
  assert.equal(sampleOf(rendering, 'trawl_active_jobs_all_counted'), 0);
});

test('a ledger that cannot be read, or hangs, takes away its own metrics only', async () => {
  const failing = setUp({ ledger: { activeJobs: () => Promise.reject(new Error('no')) } }).metrics;
  const rendering = await failing.render();
  assert.equal(sampleOf(rendering, 'trawl_metrics_read_errors_total'), 1);
  assert.equal(sampleOf(rendering, 'trawl_active_jobs{status="pending"}'), null);
  assert.equal(sampleOf(rendering, 'trawl_active_jobs_all_counted'), 0);
  assert.ok((sampleOf(rendering, 'process_resident_memory_bytes') ?? 0) > 0);

  const { metrics, clock } = setUp({ ledger: { activeJobs: () => new Promise(() => undefined) } });
  const late = metrics.render();
  await clock.advance(5000);
  assert.equal(sampleOf(await late, 'trawl_metrics_read_errors_total'), 1);
});

test('requests at the same time share one reading, and no timer is left running', async () => {
  let reads = 0;
  const ledger = {
    async activeJobs() {
      reads += 1;
      return { entries: [], next: null };
    },
  };
  const { metrics, clock } = setUp({ ledger });
  const [first, second] = await Promise.all([metrics.render(), metrics.render()]);
  assert.equal(first, second);
  assert.equal(reads, 1);
  await metrics.render();
  assert.equal(reads, 2);
  assert.equal(clock.sleepers, 0);
});

test('requests are measured by operation, method and status class, and their kinds are bounded', async () => {
  const { metrics } = setUp();
  metrics.observeRequest('getJob', 'GET', 200, 0.004);
  metrics.observeRequest('getJob', 'GET', 204, 0.004);
  metrics.observeRequest('getJob', 'GET', 404, 0.004);
  for (let n = 0; n < 3000; n += 1) metrics.observeRequest(`made-up-${n}`, 'GET', 200, 0.1);
  const rendering = await metrics.render();
  const of = (labels: string) => sampleOf(rendering, `trawl_http_request_duration_seconds_count{${labels}}`);
  assert.equal(of('operation="getJob",method="GET",status_class="2xx"'), 2);
  assert.equal(of('operation="getJob",method="GET",status_class="4xx"'), 1);
  assert.equal(of('operation="other",method="other",status_class="2xx"'), 3000 - 998);
  assert.equal(sampleOf(rendering, 'trawl_http_request_duration_seconds_count{operation="made-up-2999"'), null);
});

test('health of the process and the version are there, and no registry is shared', async () => {
  const { metrics } = setUp();
  const rendering = await metrics.render();
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
  assert.equal(sampleOf(rendering, 'trawl_build_info{version="1.2.3"}'), 1);
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'process_start_time_seconds']) {
    assert.ok((sampleOf(rendering, name) ?? 0) > 0, name);
  }
  assert.notEqual(sampleOf(rendering, 'nodejs_eventloop_lag_p99_seconds'), null);
  assert.equal(/^nodejs_active_\w+_total/m.test(rendering), false);
  assert.equal(await register.metrics(), '\n');
});

test('closed metrics no longer listen', async () => {
  const { metrics, events } = setUp();
  metrics.close();
  events.publish({ kind: 'fenced', jobId: 'job-1', batchId: 'b-1' });
  assert.equal(sampleOf(await metrics.render(), 'trawl_fenced_writes_total'), 0);
});
