import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { type EmfDeps, emfLine, emfReporter } from '../../src/controller/metrics/cloudwatch-format.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import type { SettledItem } from '../../src/ports/ledger.ts';
import { failedWith, TRIP } from '../domain/builders.ts';
import { NOW, newItems, newJob, partOf } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { MemoryQueue } from '../support/memory/work-queue.ts';
import { roomFor } from '../support/room.ts';

const MINUTE = 60_000;

type Line = Readonly<Record<string, unknown>>;

function setUp(more: Partial<EmfDeps> = {}) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const queue = new MemoryQueue(clock);
  const events = new EventStream();
  ledger.subscribe((change) => events.publish(change));
  const controller = { isLeading: true, storageProblem: null as string | null };
  const standing = { ledger, queue, controller: () => controller };
  const written: string[] = [];
  const write = (line: string) => written.push(line);
  const reporter = emfReporter({ events, standing, write, clock, everyMs: MINUTE, ...more });
  /** What was written since the last time, checked. */
  const take = (): Line[] => written.splice(0).map(checked);
  return { clock, ledger, queue, events, controller, reporter, take, written };
}

function settled(item: Partial<SettledItem> = {}): SettledItem {
  return { seq: 0, itemId: 'p-0', durationMs: 40, status: 'success', errorType: null, artifacts: 0, ...item };
}

/** The values without the fields that CloudWatch requires. */
function values({ _aws, ...rest }: Line): Line {
  return rest;
}

/**
 * The rules of the embedded metric format's specification, as far as they can be broken: a line that breaks one is kept
 * as text, and no metric comes of it.
 */
function checked(text: string): Line {
  assert.ok(!text.includes('\n'), 'one event is one line');
  assert.ok(Buffer.byteLength(text) <= 256 * 1024, 'an event has at most 256 KB');
  const root: Record<string, unknown> = JSON.parse(text);
  const metadata = root['_aws'];
  assert.ok(isRecord(metadata), 'the root has a member _aws that is an object');
  assert.deepEqual(
    Object.keys(metadata).sort(),
    ['CloudWatchMetrics', 'Timestamp'],
    'with these members and no others',
  );
  const { Timestamp: at, CloudWatchMetrics: directives } = metadata;
  assert.ok(Number.isSafeInteger(at) && Number(at) > 1e12, 'the time is in whole milliseconds since 1970');
  assert.ok(Array.isArray(directives) && directives.length > 0);
  const targets = new Set<string>();
  for (const directive of directives) {
    assert.deepEqual(Object.keys(directive).sort(), ['Dimensions', 'Metrics', 'Namespace']);
    const { Namespace: namespace, Dimensions: sets, Metrics: metrics } = directive;
    assert.match(namespace, /^(?!AWS\/)[\w./#:-]{1,255}$/, 'a namespace, and none of those that are kept for AWS');
    assert.ok(Array.isArray(sets) && sets.length > 0, 'at least one set of dimensions, which may be empty');
    for (const set of sets) {
      assert.ok(Array.isArray(set) && set.length <= 30, 'at most 30 dimensions in a set');
      assert.equal(new Set(set).size, set.length);
      for (const name of set) {
        assert.match(name, /^[^:\s][\x20-\x7e]{0,249}$/);
        const value = root[name];
        assert.ok(
          typeof value === 'string' && value.length > 0 && value.length <= 1024,
          'its value is a text of the root',
        );
        targets.add(name);
      }
    }
    assert.ok(Array.isArray(metrics) && metrics.length > 0 && metrics.length <= 100, 'at most 100 metrics');
    for (const metric of metrics) {
      assert.ok(Object.keys(metric).every((key) => ['Name', 'Unit', 'StorageResolution'].includes(key)));
      assert.ok(typeof metric.Name === 'string' && metric.Name.length > 0 && metric.Name.length <= 1024);
      assert.ok(UNITS.includes(metric.Unit), 'a unit that CloudWatch knows');
      assert.ok([undefined, 1, 60].includes(metric.StorageResolution));
      assert.ok(Number.isFinite(root[metric.Name]), `${metric.Name} is a number of the root`);
      assert.ok(!targets.has(metric.Name), `${metric.Name} is told once, and is no dimension`);
      targets.add(metric.Name);
    }
  }
  assert.deepEqual(new Set(Object.keys(root)), new Set(['_aws', ...targets]), 'nothing stands there that nobody reads');
  return root;
}

const UNITS = ['Count', 'Seconds', 'Milliseconds', 'Bytes', 'Percent', 'None'];

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

test('the check finds lines that are not valid in the format', () => {
  const good = emfLine(NOW, { ItemsSettled: 1 }, ['Lane', 'http']);
  checked(good);
  for (const [from, to] of [
    ['"Lane":"http"', '"Lane":7'],
    ['"Lane":"http"', '"Other":"http"'],
    ['"Trawl"', '"AWS/Trawl"'],
    ['"Unit":"Count"', '"Unit":"Items"'],
    ['"ItemsSettled":1', '"ItemsSettled":"1"'],
    ['[["Lane"]]', '[]'],
    [`${NOW}`, `"${NOW}"`],
    [']}]},', ']}],"More":1},'],
  ] as const) {
    assert.ok(good.includes(from), from);
    assert.throws(() => checked(good.replace(from, to)), `${from} → ${to}`);
  }
});

const IDLE = { Leading: 1, StorageTrouble: 0, JobsInProgress: 0, ItemsPending: 0 };

test('a leader with nothing to do reports the current state and nothing else', async () => {
  const { clock, take } = setUp();
  await clock.turn();
  const idle = [
    { Lane: 'http', BatchesWaiting: 0, BatchesDelivered: 0 },
    { Lane: 'browser', BatchesWaiting: 0, BatchesDelivered: 0 },
    IDLE,
  ];
  assert.deepEqual(take().map(values), idle);
  await clock.advance(MINUTE - 1);
  assert.deepEqual(take(), []);
  await clock.advance(1);
  assert.deepEqual(take().map(values), idle);
});

test('a follower reports that it does not lead, and asks neither ledger nor queue', async () => {
  const { clock, controller, ledger, queue, take } = setUp();
  await clock.turn();
  take();
  controller.isLeading = false;
  controller.storageProblem = 'the table is throttled';
  ledger.activeJobs = () => assert.fail('the ledger was read');
  queue.depth = () => assert.fail('the queue was read');
  await clock.advance(MINUTE);
  assert.deepEqual(take().map(values), [{ Leading: 0, StorageTrouble: 1 }]);
});

test('items are reported by outcome and by kind of failure, once', async () => {
  const { clock, events, take } = setUp();
  await clock.turn();
  take();
  const failures = FAILURE_TYPES.map((errorType) => settled({ status: 'failed', errorType }));
  const untold = settled({ status: 'failed', errorType: null });
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled(), settled(), settled({ status: 'skipped' })] });
  events.publish({ kind: 'settled', jobId: 'job-2', items: [...failures, untold] });
  await clock.advance(MINUTE);
  const [, , sums, ...byType] = take().map(values);
  const failed = FAILURE_TYPES.length + 1;
  const counted = { ItemsSettled: failed + 3, ItemsSucceeded: 2, ItemsSkipped: 1, ItemsFailed: failed };
  assert.deepEqual(sums, { ...IDLE, ...counted });
  assert.deepEqual(
    byType,
    FAILURE_TYPES.map((type) => ({ FailureType: type, Failures: type === 'unexpected' ? 2 : 1 })),
  );
  await clock.advance(MINUTE);
  assert.deepEqual(take().map(values)[2], IDLE);
});

test('what a follower hears is left to the leader, except for its own errors', async () => {
  const { clock, events, controller, take } = setUp();
  await clock.turn();
  take();
  controller.isLeading = false;
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled({ status: 'failed', errorType: 'blocked' })] });
  events.publish({ kind: 'engine-error', where: 'here', error: new Error('no') });
  await clock.advance(MINUTE);
  assert.deepEqual(take().map(values), [{ Leading: 0, StorageTrouble: 0, EngineErrors: 1 }]);
  controller.isLeading = true;
  await clock.advance(MINUTE);
  assert.deepEqual(take().map(values)[2], IDLE);
});

test('what the engine did and suffered is counted', async () => {
  const { clock, events, ledger, take } = setUp();
  await clock.turn();
  take();
  await ledger.createJob(newJob(), newItems(3), NOW);
  const job = await ledger.job('job-1');
  assert.ok(job);
  events.publish({ kind: 'job', job, because: 'trip' });
  events.publish({ kind: 'job', job, because: 'pause' });
  events.publish({ kind: 'dispatched', jobId: 'job-1', batches: 4, items: 40 });
  events.publish({ kind: 'reaped', leases: 2, queued: 1 });
  events.publish({ kind: 'reaped', leases: 0, queued: 2 });
  events.publish({ kind: 'dead-letters', batches: 3 });
  events.publish({ kind: 'fenced', jobId: 'job-1', batchId: 'b' });
  events.publish({ kind: 'engine-error', where: 'here', error: new Error('no') });
  await clock.advance(MINUTE);
  assert.deepEqual(take().map(values)[2], {
    ...IDLE,
    BreakerTrips: 1,
    BatchesDispatched: 4,
    LeasesExpired: 2,
    BatchesLost: 3,
    DeadLetters: 3,
    FencedWrites: 1,
    EngineErrors: 1,
  });
});

test('a breaker that trips in the ledger is reported', async () => {
  const { clock, ledger, take } = setUp();
  await ledger.createJob(newJob(), newItems(3), NOW);
  const { refs } = (await ledger.dispatch('job-1', 1, NOW)) ?? { refs: [] };
  const [lease] = await ledger.claim(refs, 'worker', NOW + 1000, NOW);
  assert.ok(typeof lease === 'object');
  await ledger.settle([partOf(lease, failedWith('proxy_config'))], NOW);
  await ledger.changeJob('job-1', TRIP, NOW);
  await clock.advance(MINUTE);
  assert.equal(take().find((line) => line['BreakerTrips'])?.['BreakerTrips'], 1);
});

test('jobs in progress and the work waiting in each lane are reported with their current values', async () => {
  const { clock, ledger, queue, take } = setUp();
  await ledger.createJob(newJob(), newItems(30), NOW);
  await ledger.createJob(newJob({ jobId: 'job-2' }), newItems(5), NOW);
  const sent = await ledger.dispatch('job-1', 1, NOW);
  assert.ok(sent && sent.refs.length > 0);
  await queue.send(sent.refs);
  await queue.receive('http', roomFor(1), MINUTE * 10, AbortSignal.abort());
  await clock.turn();
  take();
  await clock.advance(MINUTE);
  const [http, browser, sums] = take().map(values);
  assert.equal(Number(http?.['BatchesWaiting']) + Number(http?.['BatchesDelivered']), sent.refs.length);
  assert.deepEqual(browser, { Lane: 'browser', BatchesWaiting: 0, BatchesDelivered: 0 });
  assert.equal(sums?.['JobsInProgress'], 1);
  assert.equal(sums?.['ItemsPending'], 30 - sent.refs.length);
});

test('a ledger that fails or does not answer costs its own metrics only', async () => {
  const { clock, ledger, take } = setUp();
  await clock.turn();
  take();
  ledger.activeJobs = () => Promise.reject(new Error('no'));
  await clock.advance(MINUTE);
  const own = { Leading: 1, StorageTrouble: 0, StandingUnread: 1 };
  assert.deepEqual(take().map(values), [own]);
  ledger.activeJobs = () => new Promise(() => {});
  await clock.advance(MINUTE);
  assert.deepEqual(take(), []);
  await clock.advance(5000);
  assert.deepEqual(take().map(values), [own]);
});

test('closing the reporter writes what is left, and nothing after that', async () => {
  const { clock, events, ledger, reporter, take } = setUp();
  await clock.turn();
  take();
  ledger.activeJobs = () => assert.fail('the ledger is closed');
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled({ status: 'failed', errorType: 'blocked' })] });
  await reporter.close();
  assert.deepEqual(take().map(values), [
    { ItemsSettled: 1, ItemsFailed: 1 },
    { FailureType: 'blocked', Failures: 1 },
  ]);
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled()] });
  await clock.advance(MINUTE);
  assert.deepEqual([take(), clock.sleepers], [[], 0]);
});

test('a ledger that hangs does not delay closing', async () => {
  const { clock, ledger, reporter, take } = setUp();
  await clock.turn();
  ledger.activeJobs = () => new Promise(() => {});
  await clock.advance(MINUTE);
  take();
  await reporter.close();
  assert.deepEqual(take().map(values), [{ Leading: 1, StorageTrouble: 0, StandingUnread: 1 }]);
});

test('a line that could not be written is reported, and the next one is written', async () => {
  let isBroken = true;
  const lines: string[] = [];
  const write = (line: string) => {
    if (isBroken) throw new Error('the pipe is closed');
    lines.push(line);
  };
  const { clock, events } = setUp({ write });
  const heard: string[] = [];
  events.subscribe((event) => heard.push(event.kind));
  await clock.turn();
  assert.deepEqual(heard, ['engine-error']);
  isBroken = false;
  await clock.advance(MINUTE);
  assert.equal(lines.length, 3);
  assert.equal(values(checked(lines[2] ?? ''))['EngineErrors'], 1);
});

test('requests and bytes are counted per kind of proxy', async () => {
  const { clock, events, take } = setUp();
  await clock.turn();
  take();
  const row = { host: 'a.test', requests: 2, bytesUp: 600, bytesDown: 4000, refused: 0, blocked: 0 };
  const usage = [
    { ...row, proxy: 'none' },
    { ...row, proxy: 'residential' },
    { ...row, host: 'b.test', proxy: 'residential' },
  ] as const;
  events.publish({ kind: 'settled', jobId: 'job-1', items: [settled()], usage });
  await clock.advance(MINUTE);
  const traffic = take().filter((line) => line['Proxy'] !== undefined);
  assert.deepEqual(traffic.map(values), [
    { Proxy: 'none', Requests: 2, BytesUp: 600, BytesDown: 4000 },
    { Proxy: 'residential', Requests: 4, BytesUp: 1200, BytesDown: 8000 },
  ]);
  await clock.advance(MINUTE);
  assert.equal(take().filter((line) => line['Proxy'] !== undefined).length, 0);
});

test('work that came back because of a host is not counted as an error of our own', async () => {
  const { clock, events, take } = setUp();
  await clock.turn();
  take();
  const because = { host: 'county.gov', until: NOW, reason: '429' };
  events.publish({ kind: 'returned', jobId: 'job-1', batchId: 'b1', because, items: 1 });
  await clock.advance(MINUTE);
  assert.ok(take().every((line) => line['EngineErrors'] === undefined));
});
