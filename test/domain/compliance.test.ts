import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  JOB_UNSEEN,
  MARKS,
  MAX_JOBS,
  MAX_PAUSES,
  MAX_SECONDS,
  mergeSeen,
  NOTHING_SEEN,
  type Seen,
  WINDOW_SECONDS,
  worstOf,
} from '../../src/domain/compliance.ts';
import { HostWatch } from '../../src/domain/host-watch.ts';
import { seenFromText, seenToText } from '../../src/domain/seen-text.ts';
import { NOW } from '../support/builders.ts';

const HOST = 'county.gov';
const JOB = 'taxes';
/** The beginning of a second. */
const START = Math.floor(NOW / 1000) * 1000;

interface Request {
  readonly process: number;
  readonly at: number;
  readonly ms: number;
}

/** What each process reports of these requests, with a report every `everyMs`. */
function reportsOf(requests: readonly Request[], everyMs: number, job = JOB): Seen[] {
  const reports: Seen[] = [];
  for (const process of new Set(requests.map((request) => request.process))) {
    const watch = new HostWatch();
    const own = requests.filter((request) => request.process === process);
    const end = Math.max(...own.map(({ at, ms }) => at + ms)) + 2000;
    const steps = [
      ...own.map(({ at }) => ({ at, order: 1, act: () => watch.started(HOST, job, START + at) })),
      ...own.map(({ at, ms }) => ({ at: at + ms, order: 0, act: () => watch.ended(HOST, job, START + at + ms) })),
    ];
    for (let at = everyMs; at < end + everyMs; at += everyMs) {
      const act = () => {
        const seen = watch.take(HOST, START + at);
        if (seen !== null) reports.push(seen);
      };
      steps.push({ at, order: 2, act });
    }
    for (const { act } of steps.sort((a, b) => a.at - b.at || a.order - b.order)) act();
    assert.deepEqual(watch.hosts(), [], 'nothing is kept of a host that is no longer visited');
  }
  return reports;
}

function merged(reports: readonly Seen[]): Seen {
  return reports.reduce(mergeSeen, NOTHING_SEEN);
}

function jobIn(seen: Seen, job = JOB) {
  return seen.jobs.get(job) ?? JOB_UNSEEN;
}

function worstIn(seen: Seen) {
  return worstOf(jobIn(seen), seen.pauses);
}

/** Within the window, so that every report meets the seconds of the others. */
const requestList = fc.array(
  fc.record({
    process: fc.integer({ min: 0, max: 3 }),
    at: fc.integer({ min: 0, max: (WINDOW_SECONDS - 8) * 1000 }),
    ms: fc.integer({ min: 1, max: 4000 }),
  }),
  { minLength: 1, maxLength: 60 },
);

const everyMs = fc.integer({ min: 1000, max: 6000 });

/** What a host that sees all requests would say. */
function truthOf(requests: readonly Request[]) {
  const starts = requests.map(({ at }) => at).sort((a, b) => a - b);
  const perSecond = Math.max(...starts.map((start) => inSeconds(starts, Math.floor(start / 1000), 1)));
  const perTenSeconds = Math.max(...starts.map((start) => inSeconds(starts, Math.floor(start / 1000) - 9, 10)));
  const concurrent = Math.max(
    ...requests.map(({ at }) => requests.filter((other) => other.at <= at && at < other.at + other.ms).length),
  );
  const gaps = starts.slice(1).map((start, before) => start - (starts[before] ?? 0));
  return { perSecond, perTenSeconds, concurrent, gapMs: gaps.length === 0 ? null : Math.min(...gaps) };
}

function inSeconds(starts: readonly number[], first: number, count: number): number {
  return starts.filter((start) => start >= first * 1000 && start < (first + count) * 1000).length;
}

test('rates are those that the host sees, whatever processes the requests came from and in which order they report', () => {
  fc.assert(
    fc.property(requestList, everyMs, fc.infiniteStream(fc.nat()), (requests, every, order) => {
      const reports = reportsOf(requests, every)
        .map((report) => ({ report, place: order.next().value }))
        .sort((a, b) => a.place - b.place)
        .map(({ report }) => report);
      const seen = merged(reports);
      const { perSecond, perTenSeconds } = truthOf(requests);
      assert.equal(jobIn(seen).requests, requests.length);
      assert.equal(worstIn(seen).perSecond, perSecond);
      assert.equal(worstIn(seen).perTenSeconds, perTenSeconds);
    }),
  );
});

test('concurrency is between its two bounds, and is exact for one process', () => {
  fc.assert(
    fc.property(requestList, everyMs, (requests, every) => {
      const worst = worstIn(merged(reportsOf(requests, every)));
      const { concurrent } = truthOf(requests);
      assert.ok(worst.atLeastConcurrent <= concurrent && concurrent <= worst.atMostConcurrent);
      const alone = requests.map((request) => ({ ...request, process: 0 }));
      const own = worstIn(merged(reportsOf(alone, every)));
      assert.deepEqual([own.atLeastConcurrent, own.atMostConcurrent], [concurrent, concurrent]);
    }),
  );
});

test('the smallest gap is never reported smaller than it was, and is exact while few requests start per second', () => {
  fc.assert(
    fc.property(requestList, everyMs, (requests, every) => {
      const seen = worstIn(merged(reportsOf(requests, every)));
      const truth = truthOf(requests);
      if (truth.perSecond <= MARKS) assert.equal(seen.gapMs, truth.gapMs);
      else assert.ok(seen.gapMs !== null && truth.gapMs !== null && seen.gapMs >= truth.gapMs);
    }),
  );
});

test('merging is commutative and, within the window, associative', () => {
  const report = fc
    .tuple(requestList, everyMs, fc.constantFrom('taxes', 'deeds'))
    .map(([requests, every, job]) => merged(reportsOf(requests, every, job)));
  fc.assert(
    fc.property(report, report, report, (a, b, c) => {
      assert.deepEqual(sorted(mergeSeen(a, b)), sorted(mergeSeen(b, a)));
      assert.deepEqual(sorted(mergeSeen(mergeSeen(a, b), c)), sorted(mergeSeen(a, mergeSeen(b, c))));
    }),
  );
});

function sorted({ pauses, jobs }: Seen) {
  return { pauses, jobs: [...jobs].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

test('peaks are never lower after merging, however late a report comes', () => {
  fc.assert(
    fc.property(requestList, requestList, fc.integer({ min: 0, max: 200 }), (early, late, seconds) => {
      const a = merged(reportsOf(early, 2000));
      const b = merged(
        reportsOf(
          late.map((request) => ({ ...request, at: request.at + seconds * 1000 })),
          2000,
        ),
      );
      const both = worstIn(mergeSeen(a, b));
      for (const one of [worstIn(a), worstIn(b)]) {
        assert.ok(both.perSecond >= one.perSecond);
        assert.ok(both.perTenSeconds >= one.perTenSeconds);
        assert.ok(both.atMostConcurrent >= one.atMostConcurrent);
        assert.ok(both.gapMs !== null || one.gapMs === null);
        assert.ok((both.gapMs ?? 0) <= (one.gapMs ?? Number.POSITIVE_INFINITY));
      }
    }),
  );
});

test('a record has a bounded size, whatever the number of jobs, processes and requests', () => {
  let seen = NOTHING_SEEN;
  for (let at = 0; at < 200; at += 1) {
    const requests = Array.from({ length: 30 }, (_, second) => ({ process: at, at: (at + second) * 1000, ms: 500 }));
    for (let job = 0; job < 5; job += 1) {
      for (const report of reportsOf(requests, 5000, `job ${at % 40}-${job}`)) seen = mergeSeen(seen, report);
    }
    const watch = new HostWatch();
    watch.paused(HOST, START + at * 10_000, START + at * 10_000 + 1000);
    seen = mergeSeen(seen, watch.take(HOST, START) ?? NOTHING_SEEN);
  }
  const jobs = [...seen.jobs.values()];
  assert.equal(jobs.length, MAX_JOBS);
  assert.equal(seen.pauses.length, MAX_PAUSES);
  assert.ok(jobs.reduce((sum, { seconds }) => sum + seconds.length, 0) <= MAX_SECONDS);
  assert.ok(seenToText(seen).length < 8192, `${seenToText(seen).length} characters`);
});

test('what one job does at five requests per second fits in a kilobyte', () => {
  const requests = Array.from({ length: 500 }, (_, at) => ({ process: at % 4, at: at * 200, ms: 300 }));
  const text = seenToText(merged(reportsOf(requests, 10_000)));
  assert.ok(text.length < 1024, `${text.length} characters`);
});

test('the text of a record is read as it was written, and anything else is refused', () => {
  fc.assert(
    fc.property(requestList, everyMs, (requests, every) => {
      const seen = merged(reportsOf(requests, every));
      const paused = { ...seen, pauses: [[START, START + 5000] as const] };
      assert.deepEqual(seenFromText(seenToText(paused)), paused);
    }),
  );
  for (const text of ['', '{}', '[[],[["a",1]]]', '[[[1,-1]],[]]', 'null'])
    assert.equal(seenFromText(text), null, text);
});

test('requests of other processes during a pause are counted, and so is the time to the first after it', () => {
  const [one, two] = [new HostWatch(), new HostWatch()];
  one.started(HOST, JOB, START);
  one.paused(HOST, START + 300, START + 10_300);
  one.ended(HOST, JOB, START + 300);
  // It has not heard of the pause yet, but began its first request before.
  for (const at of [200, 700, 1500]) two.started(HOST, JOB, START + at);
  for (const at of [1600, 1600, 1600]) two.ended(HOST, JOB, START + at);
  two.started(HOST, JOB, START + 10_350);
  two.ended(HOST, JOB, START + 10_400);
  const at = START + 20_000;
  const seen = mergeSeen(two.take(HOST, at) ?? NOTHING_SEEN, one.take(HOST, at) ?? NOTHING_SEEN);
  const { duringPause, afterPauseMs } = worstIn(seen);
  assert.deepEqual({ duringPause, afterPauseMs }, { duringPause: 2, afterPauseMs: 50 });
});

test('a process that cannot report for long keeps little, and loses no peak', () => {
  const watch = new HostWatch();
  for (let second = 0; second < 600; second += 1) {
    const at = START + second * 1000;
    for (let n = 0; n < (second === 100 ? 50 : 2); n += 1) watch.started(HOST, JOB, at + n);
    for (let n = 0; n < (second === 100 ? 50 : 2); n += 1) watch.ended(HOST, JOB, at + 500);
  }
  const seen = watch.take(HOST, START + 600_000) ?? NOTHING_SEEN;
  assert.equal(jobIn(seen).requests, 600 * 2 + 48);
  assert.ok(jobIn(seen).seconds.length <= WINDOW_SECONDS);
  assert.equal(worstIn(seen).perSecond, 50);
  assert.equal(worstIn(seen).atMostConcurrent, 50);
});

test('a request that hangs for minutes is under way in all of them', () => {
  const watch = new HostWatch();
  watch.started(HOST, JOB, START);
  assert.equal(watch.take(HOST, START + 999), null);
  const first = watch.take(HOST, START + 5000) ?? NOTHING_SEEN;
  assert.deepEqual(
    jobIn(first).seconds.map(({ starts, carried, peak }) => [starts, carried, peak]),
    [
      [1, 0, 1],
      [0, 1, 1],
      [0, 1, 1],
      [0, 1, 1],
      [0, 1, 1],
    ],
  );
  watch.ended(HOST, JOB, START + 300_000);
  const rest = watch.take(HOST, START + 301_000) ?? NOTHING_SEEN;
  assert.equal(jobIn(rest).requests, 0);
  assert.equal(worstIn(mergeSeen(first, rest)).atLeastConcurrent, 1);
  assert.deepEqual(watch.hosts(), []);
});
