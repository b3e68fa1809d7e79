import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginPlan, endPlan, readPlan } from '../../src/controller/jobs/plan-job.ts';
import { presentPlan } from '../../src/controller/jobs/present-plan.ts';
import {
  type PlanRequest,
  type ReadPlanAnswer,
  readPlanBody,
  readPlanList,
} from '../../src/controller/jobs/read-plan-request.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { Lease } from '../../src/ports/ledger.ts';
import { failedWith, SCRAPED } from '../support/builders.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { deskWith } from './intake-desk.ts';

const signal = new AbortController().signal;
const LIST = { columns: new Map<string, string>(), isStrict: false, limit: Number.POSITIVE_INFINITY };

function desk() {
  const ledger = openMemoryLedger();
  return { ...deskWith(ledger), ledger, hostSettings: { list: async () => [] } };
}

async function* pieces(text: string, size = 64): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function requestOf(answer: ReadPlanAnswer): PlanRequest {
  assert.equal(answer.kind, 'read', JSON.stringify(answer));
  return (answer as Extract<ReadPlanAnswer, { kind: 'read' }>).request;
}

async function readCsv(text: string, sample: number | null = null): Promise<PlanRequest> {
  const fields = { scraper_id: 'county' };
  return requestOf(await readPlanList(desk(), fields, pieces(text), { ...LIST, format: 'csv' }, { sample, signal }));
}

const apns = (count: number) => Array.from({ length: count }, (_, at) => String(100 + at));

test('a list is read as an upload is: bad inputs, repeated ids and unknown columns are named by line', async () => {
  const rows = ['item_id,apn,note', 'a,101,x', 'b,xyz,x', 'a,101,y', 'a,102,z', 'c,103,x'];
  const { check } = await readCsv(`${rows.join('\n')}\n`);
  const report = check.report();
  assert.deepEqual([report.received, report.items, report.bad, report.duplicates], [5, 2, 1, 2]);
  assert.equal(report.badLines[0]?.line, 3);
  assert.match(report.badLines[0]?.problem ?? '', /^apn: /);
  assert.deepEqual(report.conflicting, [{ itemId: 'a', line: 5, firstLine: 2 }]);
  assert.deepEqual(report.ignoredColumns, ['note']);
});

test('the body of a new job gives the same report whether it is read at once or in pieces', async () => {
  const items = [{ input: { apn: '101' } }, { input: { apn: 'x' } }, { input: { apn: '101' } }, { inputs: {} }];
  const body = JSON.stringify({ scraper_id: 'county', items });
  const reports = [];
  for (const inlineBytes of [1_000_000, 0]) {
    const { check } = requestOf(await readPlanBody(desk(), pieces(body), { sample: null, signal, inlineBytes }));
    reports.push(check.report());
  }
  assert.deepEqual(reports[0], reports[1]);
  const { received, items: usable, bad, duplicates, badLines } = reports[0] as (typeof reports)[number];
  assert.deepEqual([received, usable, bad, duplicates], [4, 1, 2, 1]);
  assert.deepEqual(
    badLines.map(({ line, code }) => [line, code]),
    [
      [2, 'invalid_input'],
      [4, 'unreadable'],
    ],
  );
});

test('a request that could not become a job is refused, and says why', async () => {
  const read = (body: unknown, inlineBytes = 1_000_000) =>
    readPlanBody(desk(), pieces(typeof body === 'string' ? body : JSON.stringify(body)), {
      ...{ sample: null, signal, inlineBytes },
    });
  const kinds = [
    await read({ scraper_id: 'unknown', items: [] }),
    await read({ scraper_id: 'county', execution_policy: { throttling: { max: 3 } } }),
    await read({ scraper_id: 'county', items: 'none' }),
    await read(''),
    await read('[1]'),
    await read('{"scraper_id":'),
    await read({ items: [{ input: { apn: '101' } }], scraper_id: 'county' }, 0),
  ].map(({ kind }) => kind);
  assert.deepEqual(kinds, ['bad', 'bad', 'bad', 'malformed', 'malformed', 'malformed', 'malformed']);
});

test('a plan refuses a limit on cost as the job itself would, where the price of a proxy is not known', async () => {
  const priced = { ...desk(), prices: { datacenter: { perGb: 0.6 } } };
  const execution_policy = { proxy: { type: 'datacenter' }, budget: { max_cost: 5 } };
  const body = JSON.stringify({ scraper_id: 'county', execution_policy, items: [{ input: { apn: '101' } }] });
  const { items: _, ...fields } = JSON.parse(body);
  for (const inlineBytes of [1_000_000, 0]) {
    const how = { sample: null, signal, inlineBytes };
    assertUnpriced(await readPlanBody(desk(), pieces(body), how));
    requestOf(await readPlanBody(priced, pieces(body), how));
  }
  const list = { ...LIST, format: 'csv' } as const;
  assertUnpriced(await readPlanList(desk(), fields, pieces('apn\n101\n'), list, { sample: null, signal }));
});

function assertUnpriced(answer: ReadPlanAnswer): void {
  const [problem] = answer.kind === 'bad' ? answer.problems : [];
  assert.equal(problem?.path, 'execution_policy.budget.max_cost', JSON.stringify(answer));
  assert.match(problem?.message ?? '', /set PRICE_PER_GB_DATACENTER/);
}

test('a sample is spread over the list and runs as a job of its own, under the policy of the request', async () => {
  const deps = desk();
  const fields = { scraper_id: 'any', execution_policy: { throttling: { max_concurrent_workers: 2 } } };
  const text = `apn\n${apns(300).join('\n')}\n`;
  const how = { sample: 10, signal };
  const request = requestOf(await readPlanList(deps, fields, pieces(text), { ...LIST, format: 'csv' }, how));
  const job = await beginPlan(deps, request, false);
  assert.ok(job !== null);
  assert.match(job.jobId, /^plan-/);
  assert.deepEqual(job.labels, { plan: 'sample' });
  assert.equal(job.policy.throttling.max_concurrent_workers, 2);
  assert.deepEqual([job.counts.total, job.plan?.items], [10, 300]);
  const { entries } = await deps.ledger.items(job.jobId, { status: null, errorType: null }, { after: null, limit: 50 });
  const places = entries.map(({ input }) => Number(input['apn']) - 100);
  assert.ok(Math.min(...places) < 60 && Math.max(...places) >= 240, places.join(' '));
});

test('a sample of zero items, or a list without a usable item, runs nothing', async () => {
  const deps = desk();
  assert.equal(await beginPlan(deps, await readCsv('apn\n101\n102\n', 0), false), null);
  assert.equal(await beginPlan(deps, await readCsv('apn\nx\ny\n'), false), null);
});

/** Carries out one batch at a time, each item for as long and with that outcome. */
async function carryOut(
  { ledger, clock }: ReturnType<typeof desk>,
  jobId: string,
  { durationMs, outcome }: { durationMs: number; outcome: (at: number) => Outcome },
): Promise<void> {
  for (let at = 0; ; at += 1) {
    const { refs = [] } = (await ledger.dispatch(jobId, 1, clock.now())) ?? {};
    if (refs.length === 0) return;
    for (const lease of await ledger.claim(refs, 'w', clock.now() + 60_000, clock.now())) {
      const { token, items } = lease as Lease;
      const startedAt = clock.now();
      await clock.advance(durationMs);
      const settled = items.map(({ seq, attempt }) => {
        return { seq, attempt, outcome: outcome(at), tries: 1, startedAt, durationMs, usage: USAGE };
      });
      await ledger.settle([{ token, jobId, items: settled }], clock.now());
    }
  }
}

const USAGE = [
  {
    ...{ host: 'county.gov', proxy: 'residential' as const, requests: 5, bytesUp: 4000, bytesDown: 96_000 },
    ...{ refused: 0, blocked: 0 },
  },
];

test('a plan predicts what a job of the whole list will take, in virtual time to the second', async () => {
  const deps = { ...desk(), prices: { residential: { perGb: 8 } } };
  const fields = { scraper_id: 'any', execution_policy: { throttling: { max_concurrent_workers: 1 } } };
  const text = `apn\n${apns(900).join('\n')}\n`;
  const how = { sample: 20, signal };
  const request = requestOf(await readPlanList(deps, fields, pieces(text), { ...LIST, format: 'csv' }, how));
  const job = await beginPlan(deps, request, false);
  assert.ok(job !== null);
  const before = await readPlan(deps, job.jobId);
  assert.ok(before !== null && before.forecast === null && !before.isReady);
  await carryOut(deps, job.jobId, {
    durationMs: 2000,
    outcome: (at) => (at < 2 ? failedWith('server_error') : SCRAPED),
  });
  const state = await readPlan(deps, job.jobId);
  assert.ok(state !== null);
  const { forecast, sample, failures, inputs } = presentPlan(state);
  assert.deepEqual([sample.finished, sample.failed, inputs.items], [20, 2, 900]);
  assert.ok(forecast !== null);
  const { expected, low, high } = forecast.duration_seconds;
  assert.ok(Math.abs(expected - 1800) < 10, String(expected));
  assert.ok(low > 1100 && low < 1800 && high > 1800 && high < 2800, `${low} ${high}`);
  assert.equal(forecast.failure_rate.expected, 0.1);
  assert.deepEqual([forecast.requests?.expected, forecast.bytes?.expected], [4500, 90_000_000]);
  assert.equal(forecast.cost?.expected, 0.72);
  assert.equal(failures[0]?.type, 'server_error');

  // The job that follows takes as long as was predicted.
  const { wanted } = request;
  const items = apns(900).map((apn) => ({ itemId: apn, input: { apn } }));
  const all = { jobId: 'all', name: null, scraperId: 'any', scraperVersion: '1', lane: 'http' as const, labels: {} };
  await deps.ledger.createJob({ ...all, held: false, policy: wanted.execution_policy }, items, deps.clock.now());
  const startedAt = deps.clock.now();
  await carryOut(deps, 'all', { durationMs: 2000, outcome: () => SCRAPED });
  const took = (deps.clock.now() - startedAt) / 1000;
  assert.ok(low <= took && took <= high, `${took} s`);
});

test('a plan that is deleted is no longer found; one whose items are still out goes when they are back', async () => {
  const deps = desk();
  const begin = async (isKept: boolean) => {
    const job = await beginPlan(deps, await readCsv('apn\n101\n102\n'), isKept);
    assert.ok(job !== null);
    return job.jobId;
  };
  const [done, kept] = [await begin(false), await begin(true)];
  assert.equal(await endPlan(deps, done), 'ended');
  assert.equal(await readPlan(deps, done), null);
  assert.equal(await endPlan(deps, done), 'missing');
  assert.equal(await endPlan(deps, 'plan-unknown'), 'missing');
  const { refs = [] } = (await deps.ledger.dispatch(kept, 1, deps.clock.now())) ?? {};
  await deps.ledger.claim(refs.slice(0, 1), 'w', deps.clock.now() + 60_000, deps.clock.now());
  assert.deepEqual(Object.keys(await endPlan(deps, kept)), ['refused']);
});
