import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { EventStream } from '../../src/controller/engine/events.ts';
import { logEvents, logProgress } from '../../src/controller/engine/log-events.ts';
import { describeError } from '../../src/domain/describe-error.ts';
import type { LedgerChange, SettledItem } from '../../src/ports/ledger.ts';
import { BY_BREAKER, jobOf } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

type Line = Record<string, unknown>;

const LEVELS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

function setUp() {
  const clock = new FakeClock();
  const events = new EventStream();
  const written: string[] = [];
  const log = pino({ level: 'debug', base: null, timestamp: false }, { write: (line) => written.push(line) });
  const lines = () => written.map((line) => JSON.parse(line) as Line);
  return { clock, events, log, written, lines };
}

function told(lines: readonly Line[]): string[] {
  return lines.map(({ level, msg }) => `${LEVELS[Number(level)]}: ${msg}`);
}

function jobChange(because: Extract<LedgerChange, { kind: 'job' }>['because'], changes = {}): LedgerChange {
  return { kind: 'job', job: jobOf({}, { status: 'in_progress', ...changes }), because };
}

function items(count: number, errorType: SettledItem['errorType'] = null): LedgerChange {
  const status = errorType === null ? 'success' : 'failed';
  const item: SettledItem = { seq: 0, itemId: 'p-0', durationMs: 1, status, errorType, artifacts: 0 };
  return { kind: 'settled', jobId: 'job-1', items: Array.from({ length: count }, () => item) };
}

test('work that came back after an error of our own is logged as an error, without anything that looks like a secret', () => {
  const { events, log, lines } = setUp();
  logEvents(events, log);
  const because = { error: 'TypeError: cannot reach http://me:hunter2@proxy/' };
  events.publish({ kind: 'returned', jobId: 'job-1', batchId: 'b1', because, items: 3 });
  assert.partialDeepStrictEqual(lines().at(-1), {
    ...{ level: 50, msg: 'returned after an error of our own', job_id: 'job-1', batch_id: 'b1', items: 3 },
    error: 'TypeError: cannot reach http://***@proxy/',
  });
});

test('each event has a line at the level that its reader needs, with the ids of what it is about', () => {
  const { events, log, lines } = setUp();
  logEvents(events, log);
  events.publish({ kind: 'leading', holder: 'me' });
  events.publish({ kind: 'following', holder: 'you' });
  events.publish({ kind: 'worker-joined', worker: 'w-1' });
  events.publish({ kind: 'worker-left', worker: 'w-1', reason: 'closed', abandoned: 0 });
  events.publish({ kind: 'worker-left', worker: 'w-2', reason: 'lost', abandoned: 3 });
  events.publish({ kind: 'connection-trouble', worker: null, reason: 'reset' });
  events.publish({ kind: 'storage-trouble', message: 'full' });
  events.publish({ kind: 'storage-recovered' });
  events.publish({ kind: 'fenced', jobId: 'job-1', batchId: 'b-1' });
  events.publish({ kind: 'reaped', leases: 1, queued: 0 });
  events.publish({ kind: 'dead-letters', batches: 2 });
  events.publish({ kind: 'manifest-written', jobId: 'job-1', parts: 3 });
  events.publish({ kind: 'sent', batches: 3, refused: 0 });
  events.publish({ kind: 'sent', batches: 3, refused: 1 });
  events.publish({ kind: 'dispatched', jobId: 'job-1', batches: 1, items: 1 });
  events.publish({ kind: 'claimed', jobId: 'job-1', batches: 1 });
  events.publish({ kind: 'returned', jobId: 'job-1', batchId: 'b-1', because: 'expired', items: 1 });
  events.publish({ kind: 'engine-error', where: 'reaper', error: new Error('no') });
  assert.deepEqual(told(lines()), [
    'info: leading',
    'info: following',
    'info: worker joined',
    'info: worker left',
    'warn: worker left',
    'warn: connection trouble',
    'warn: storage trouble',
    'info: storage recovered',
    'warn: late write refused',
    'warn: reaped',
    'warn: dead letters',
    'info: results ready',
    'debug: sent',
    'warn: queue refused batches',
    'debug: dispatched',
    'debug: claimed',
    'debug: returned',
    'error: engine error',
  ]);
  for (const line of lines()) assert.equal('jobId' in line || 'kind' in line, false);
  assert.deepEqual(lines()[8], { level: 40, job_id: 'job-1', batch_id: 'b-1', msg: 'late write refused' });
});

test('a job has a line for each thing that happens to it, but none for each chunk of an upload or a retry', () => {
  const { events, log, lines } = setUp();
  logEvents(events, log);
  for (const because of ['created', 'pause', 'complete', 'items', 'retry', 'manifest'] as const) {
    events.publish(jobChange(because));
  }
  events.publish(jobChange('trip', { status: 'failed', reason: BY_BREAKER }));
  assert.deepEqual(
    lines().map(({ level, because }) => `${LEVELS[Number(level)]} ${because}`),
    ['info created', 'info pause', 'info complete', 'debug items', 'debug retry', 'debug manifest', 'warn trip'],
  );
  const { job_id, status, reason } = lines().at(-1) ?? {};
  assert.deepEqual([job_id, status, reason], ['job-1', 'failed', BY_BREAKER.message]);
});

test('items are not listed: a batch of them is a debug line with their number', () => {
  const { events, log, lines, written } = setUp();
  logEvents(events, log);
  events.publish(items(500, 'blocked'));
  assert.deepEqual(lines(), [{ level: 20, job_id: 'job-1', items: 500, msg: 'settled' }]);
  assert.ok((written[0]?.length ?? 0) < 100);
});

test('the progress of a running job is logged every ten seconds, and the remainder when it stops', async () => {
  const { events, log, lines, clock } = setUp();
  logProgress(events, log, clock);
  for (let n = 0; n < 250; n += 1) {
    events.publish(items(9));
    events.publish(items(1, n % 2 === 0 ? 'blocked' : 'timeout'));
    await clock.advance(100);
  }
  assert.deepEqual(told(lines()), ['info: progress', 'info: progress']);
  const [first] = lines();
  assert.deepEqual(first, {
    level: 30,
    job_id: 'job-1',
    settled: 1009,
    failed: 100,
    seconds: 10,
    per_second: 100.9,
    failures: { blocked: 50, timeout: 50 },
    msg: 'progress',
  });
  events.publish(jobChange('policy'));
  assert.equal(lines().length, 2);
  events.publish(jobChange('complete', { status: 'completed' }));
  events.publish(jobChange('manifest', { status: 'completed' }));
  assert.equal(lines().length, 3);
  const sum = lines().reduce((total, { settled }) => total + Number(settled), 0);
  assert.equal(sum, 2500);
});

test('a job without failures that is over in less than a second has a line without a rate', () => {
  const { events, log, lines, clock } = setUp();
  logProgress(events, log, clock);
  events.publish(items(3));
  events.publish(jobChange('complete', { status: 'completed' }));
  assert.deepEqual(lines(), [{ level: 30, job_id: 'job-1', settled: 3, failed: 0, seconds: 0, msg: 'progress' }]);
});

test('the progress of at most a thousand jobs is followed, and none of it is lost', () => {
  const { events, log, lines, clock } = setUp();
  const close = logProgress(events, log, clock);
  for (let n = 0; n < 1100; n += 1) events.publish({ ...items(1), jobId: `job-${n}` } as LedgerChange);
  assert.equal(lines().length, 100);
  assert.equal(lines()[0]?.['job_id'], 'job-0');
  close();
  assert.equal(lines().length, 1100);
  events.publish(items(1));
  assert.equal(lines().length, 1100);
});

test('secrets that an error carries, in its message or its fields, do not reach the log', () => {
  const { events, log, written } = setUp();
  logEvents(events, log);
  const cause = Object.assign(new Error('407 from http://customer:hunter2@proxy.example:22225/'), {
    headers: { authorization: 'Bearer hunter2-token', 'x-api-key': 'hunter2' },
    code: 'ECONNRESET',
  });
  const texts = [
    'Authorization: Basic aHVudGVyMg==',
    'request was {"X-API-Key":"hunter2","a":1}',
    'proxy-authorization: hunter2',
    'api_key=hunter2&x=1',
    "password = 'hunter2'",
    'Cookie: hunter2=1',
    'sent Bearer hunter2.hunter2.hunter2',
  ];
  for (const text of texts) events.publish({ kind: 'engine-error', where: 'here', error: new Error(text, { cause }) });
  events.publish({ kind: 'connection-trouble', worker: null, reason: 'http://a:hunter2@b/' });
  events.publish({ kind: 'storage-trouble', message: 'password=hunter2' });
  events.publish(jobChange('trip', { reason: { ...BY_BREAKER, message: 'http://a:hunter2@b/ said no' } }));
  const all = written.join('');
  assert.equal(/hunter2|aHVudGVyMg/.test(all), false, all);
  assert.match(all, /ECONNRESET/);
  assert.match(all, /proxy\.example:22225/);
});

test('an error is described with its kind, its code and its causes, at a bounded length', () => {
  const error = new TypeError('outer', { cause: new Error('inner', { cause: 'a text' }) });
  const { type, message, stack, cause } = describeError(error);
  assert.deepEqual([type, message, cause?.message, cause?.cause?.message], ['TypeError', 'outer', 'inner', 'a text']);
  assert.match(stack ?? '', /log-events\.test/);
  assert.deepEqual(describeError(null), { type: 'object', message: 'null' });
  const loop = new Error('x'.repeat(1_000_000));
  loop.cause = loop;
  assert.ok(JSON.stringify(describeError(loop)).length < 40_000);
});
