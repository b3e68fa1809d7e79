import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTerminal } from '../../src/cli/client/terminal.ts';
import { exitCodeOfJob } from '../../src/cli/jobs/job-text.ts';
import { watchJob } from '../../src/cli/jobs/watch-job.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerJson, clientOf, startApi } from './api-stub.ts';

const SUMMARY = { pending: 2, queued: 0, in_progress: 1, success: 4, failed: 3, skipped: 0, cancelled: 0, total: 10 };

interface Script {
  /** What `GET /jobs/j` answers, one after the other; the last one again and again. */
  readonly jobs: readonly Partial<JobAnswer>[];
  readonly events: readonly (readonly [kind: string, data: object])[];
  /** Ctrl-C is pressed when this is shown. */
  readonly interruptAt?: RegExp;
}

/** Watches a job that follows the script; returns its end, what was shown, and how often the job was requested. */
async function watch({ jobs, events, interruptAt }: Script) {
  const stop = new AbortController();
  let asked = 0;
  const { url } = await startApi(({ url: path }, response) => {
    if (path === '/jobs/j') {
      const job = jobs[Math.min(asked, jobs.length - 1)];
      asked += 1;
      return answerJson(response, { job_id: 'j', summary: SUMMARY, reason: null, breaker: { probe_at: null }, ...job });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // It stays open: only the script ends the watching.
    for (const [kind, data] of events) response.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  });
  const written: string[] = [];
  const write = (text: string) => {
    written.push(text);
    if (interruptAt?.test(text)) stop.abort();
  };
  const clock = new FakeClock();
  const { api } = clientOf(url, { clock, signal: stop.signal });
  const client = { api, now: () => clock.now(), ...openTerminal(clock, { isTTY: false, write }) };
  const job = await watchJob(client, 'j').finally(() => written.push('END'));
  return { job, asked: () => asked, written };
}

const RUNNING = { status: 'in_progress' } as const;
const tripped: JobAnswer['reason'] = { code: 'breaker', message: '5 of 5 failed', evidence: [] };

test('a job that is over is not watched', async () => {
  const { job, asked } = await watch({ jobs: [{ status: 'completed' }], events: [] });
  assert.deepEqual([job.status, asked()], ['completed', 1]);
});

test('a pause of the user, or of a breaker that will probe, is waited for; nothing is requested in between', async () => {
  const { job, asked, written } = await watch({
    jobs: [
      RUNNING,
      { status: 'paused', reason: tripped, breaker: { probe_at: '2026-11-16T00:00:00Z' } as JobAnswer['breaker'] },
      { status: 'completed', summary: { ...SUMMARY, pending: 0, in_progress: 0, success: 7 } },
    ],
    events: [
      ['status', { status: 'paused', reason: { code: 'user', message: 'paused by a user' }, summary: SUMMARY }],
      ['progress', { status: 'in_progress', items_per_second: 5, summary: SUMMARY }],
      ['status', { status: 'paused', reason: tripped, summary: SUMMARY }],
      ['items', { outcomes: [{ item_id: 'a', status: 'failed', error_type: 'blocked' }], omitted: 0 }],
      ['end', {}],
    ],
  });
  assert.deepEqual([job.status, asked()], ['completed', 3]);
  assert.deepEqual(written.slice(-2), ['10/10 100 % · 3 failed (blocked) · 7 ok\n', 'END']);
});

for (const code of ['control', 'budget', 'host'] as const) {
  test(`a job that is paused for ${code} waits for its user: that is the end of watching it`, async () => {
    const reason = { code, message: 'stopped', evidence: [] };
    const { job } = await watch({
      jobs: [RUNNING, { status: 'paused', reason }],
      events: [['status', { status: 'paused', reason, summary: SUMMARY }]],
    });
    assert.equal(job.status, 'paused');
  });
}

test('a breaker that paused a job for good is the end of watching it, and not a success', async () => {
  const { job } = await watch({
    jobs: [RUNNING, { status: 'paused', reason: tripped }],
    events: [['status', { status: 'paused', reason: tripped, summary: SUMMARY }]],
  });
  assert.deepEqual([job.status, exitCodeOfJob(job)], ['paused', 3]);
});

test('a job that is deleted while it is watched is reported, and the display is closed', async () => {
  await assert.rejects(watch({ jobs: [RUNNING], events: [['gone', {}]] }), { message: 'job j was deleted' });
});

test('a waiting job is reported at once, with what makes it continue, and Ctrl-C leaves it as it is', async () => {
  const held = { status: 'pending', held: true } as const;
  const startIt = /^Job j is held; waiting for it to be started\. To start it:\n {2}trawl jobs start j\n$/;
  await assert.rejects(watch({ jobs: [held], events: [], interruptAt: startIt }), {
    message: 'interrupted; the job stays held. To watch it again:\n  trawl jobs watch j',
  });
  const paused: Partial<JobAnswer> = {
    status: 'paused',
    reason: { code: 'user', message: 'by a user', evidence: [] },
  };
  const resumeIt =
    /^Job j is paused \(by a user\); waiting for it to be resumed\. To resume it:\n {2}trawl jobs resume j\n$/;
  await assert.rejects(watch({ jobs: [paused], events: [], interruptAt: resumeIt }), /the job stays paused\. To/);
});

test('a job that was held and is started meanwhile continues when the watching is interrupted', async () => {
  const jobs = [{ status: 'pending', held: true } as const];
  const events = [['status', { status: 'in_progress', reason: null, summary: SUMMARY }]] as const;
  await assert.rejects(watch({ jobs, events, interruptAt: /^7\/10/ }), /the job continues\. To watch it again/);
});

test('a selector that has stopped matching is reported at once', async () => {
  const warnings = [
    { path: 'steps.4', code: 'selector_drift', message: 'step 4, click "Search": the first selector …' },
  ];
  const events = [['warnings', { job_id: 'j', warnings }]] as const;
  const line = /^Warning: step 4, click "Search": the first selector …\n$/;
  await assert.rejects(watch({ jobs: [RUNNING], events, interruptAt: line }), /the job continues\. To watch it again/);
});

test('items that wait for another try and a lowered limit are shown in the line, until their time is over', async () => {
  const at = (seconds: number) => new Date(new FakeClock().now() + seconds * 1000).toISOString();
  const waiting = [
    { error_type: 'rate_limited', items: 3, until: at(40) },
    { error_type: 'timeout', items: 9, until: at(-1) },
  ];
  const events = [
    ['progress', { status: 'in_progress', items_per_second: 5, summary: SUMMARY, waiting, limit: 2, max_limit: 5 }],
  ] as const;
  const line = /^7\/10 70 % · 5\/s · 3 waiting: rate_limited, 40 s · 5 → 2 at a time · /;
  await assert.rejects(watch({ jobs: [RUNNING], events, interruptAt: line }), /the job continues\. To watch it again/);
});
