import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { policySchema } from '../../src/domain/policy.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { ScrapeContext, Scraper } from '../../src/scraping/scraper.ts';
import { runAttempt } from '../../src/worker/attempt.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

const HOST = 'county.gov';

/** An attempt at a host that refuses or fails each request as `answer` says. */
async function attempt(
  answer: (gate: PoliteHostGate) => ReturnType<typeof failure>,
  { hasWorked = true, policy = {} }: { readonly hasWorked?: boolean; readonly policy?: object } = {},
) {
  const clock = new FakeClock();
  const gate = new PoliteHostGate({ clock });
  if (hasWorked) gate.noteAnswer(HOST, 'good', '');
  const scrape = async ({ tools, signal }: ScrapeContext) => {
    (await tools.gate.enter(HOST, 30_000, signal))();
    const seen = answer(gate);
    tools.gate.noteTrouble(HOST);
    if (seen.type !== 'rate_limited') tools.gate.noteAnswer(HOST, 'away', seen.message);
    else if (seen.retryAfterMs !== null) tools.gate.hold(HOST, seen.retryAfterMs, seen.message);
    return { kind: 'failed', failure: seen } as const;
  };
  const scraper = { id: 's', name: '', version: '1', description: '', lane: 'http', scrape } as unknown as Scraper;
  const facts = { isHalted: false, excess: 0, jobCreatedAt: 1, scraperId: 's', policyRevision: 1 };
  const running = runAttempt(
    {
      ...{ clock, store: openMemoryResultStore(), faults: NO_FAULTS, digest: (text: string) => text },
      ...{
        tools: { ...NO_TOOLS, gate },
        ladders: new JobLadders(),
        evidence: new FailureEvidence(),
        deadlines: new Deadlines(clock),
        onWait() {},
        onSteps() {},
      },
    },
    { jobId: 'job', order: { ...facts, policy: policySchema.parse(policy) }, scraper },
    { seq: 0, itemId: 'i', input: {}, attempt: 1 },
    new AbortController().signal,
  );
  let isOver = false;
  void running.finally(() => {
    isOver = true;
  });
  for (let step = 0; step < 10_000 && !isOver; step += 1) await clock.advance(100);
  return { result: await running, clock };
}

const LIMITED = failure('rate_limited', 'ask later (429)', { retryAfterMs: 3_600_000 });

test('a Retry-After of an hour fails no item, whatever its retries: it goes back with the host and the time', async () => {
  for (const retries of [{}, { max_retries: 0 }]) {
    const { result, clock } = await attempt(() => LIMITED, { policy: { retries } });
    assert.ok(typeof result === 'object' && 'host' in result, JSON.stringify(result));
    assert.deepEqual([result.host, result.reason], [HOST, 'ask later (429)']);
    assert.ok(Math.abs(result.until - clock.now() - 3_600_000) < 1000);
  }
});

test('an item whose host goes away goes back before its retries are used up', async () => {
  const { result } = await attempt(() => failure('network_error', 'connection refused'));
  assert.ok(typeof result === 'object' && 'host' in result, JSON.stringify(result));
  assert.equal(result.reason, 'connection refused');
});

test('an item of a host that never worked uses its retries and fails', async () => {
  const wrong = await attempt(() => failure('network_error', 'no such host'), { hasWorked: false });
  assert.ok(typeof wrong.result === 'object' && 'outcome' in wrong.result);
  assert.equal(wrong.result.tries, 4);
});
