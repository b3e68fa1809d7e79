import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunStarted } from '../../src/ports/run-service.ts';
import { DOMAIN, openRuns, urlsOf, wishFor, work } from './carrying.ts';
import type { EtlServer } from './etl-server.ts';

type Carried = Extract<RunStarted, { kind: 'started' | 'busy' }>;

function carried(started: RunStarted): Carried {
  assert.ok(started.kind === 'started' || started.kind === 'busy', JSON.stringify(started));
  return started;
}

/** Flags of each item, and the reason up to its first word. */
function flags(server: EtlServer, run: string): string[] {
  return (server.runs.get(run)?.items ?? []).map(({ done, failed, invalid, failedReason }) =>
    [done && 'done', failed && 'failed', invalid && 'invalid', failedReason?.split(':')[0]].filter(Boolean).join(' '),
  );
}

test('a new run is carried out in groups, each item is reported, and the run ends with its counts', async (t) => {
  const { server, ledger, orders, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const urls = [...urlsOf(5), ...urlsOf(4, 'city.gov'), ...urlsOf(1, 'www.city.gov')];
  const { order, job, jobId } = carried(await orchestrator.start(wishFor(urls)));
  assert.deepEqual([jobId, job?.counts.total, job?.scraperId], ['run-run-1-1', 10, 'pages']);
  assert.deepEqual(job?.labels, { run_id: 'run-1', domain: DOMAIN, run_round: '1' });
  assert.equal(job?.policy.throttling.max_concurrent_workers, 2);

  const ends = (url: string) => (url.endsWith('/1') ? 'not_found' : url.endsWith('/2') ? 'timeout' : null);
  const { batches } = await work(ledger, jobId, { ends, most: 4 });
  await orchestrator.reportOnce();
  assert.deepEqual(
    flags(server, order.runId).filter((flag) => flag !== ''),
    ['done', 'invalid not_found', 'failed timeout', 'done'],
  );
  assert.equal(server.runs.get(order.runId)?.endTime, null);
  // The largest domain first, what exceeds the cap to the other session, then the next wave.
  assert.deepEqual(batches, [urls.slice(0, 3), urls.slice(3, 4)]);

  await work(ledger, jobId, { ends });
  await orchestrator.runOnce();
  const { status, endTime, metadata } = server.runs.get(order.runId) ?? {};
  assert.ok(status === 'finished' && endTime);
  const { finished_count, total_count, failed_count } = metadata ?? {};
  assert.deepEqual([finished_count, total_count, failed_count], [6, 10, 4]);
  assert.deepEqual(await orders.list(), []);
});

test('a run is shown with all that has ended here, including what was not reported yet', async (t) => {
  const { ledger, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const { jobId } = carried(await orchestrator.start(wishFor(urlsOf(6))));
  await work(ledger, jobId, { ends: (url) => (url.endsWith('/1') ? 'timeout' : null), most: 3 });
  const { items } = (await orchestrator.find('run-1')) ?? {};
  assert.deepEqual(items, { total: 6, completed: 2, failed: 1, pending: 3 });
});

test('an item that ends before the creation of its job is answered is reported like all others', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const { createJob } = ledger;
  Object.assign(ledger, {
    createJob: async (...args: Parameters<typeof createJob>) => {
      const answer = await createJob(...args);
      await work(ledger, args[0].jobId, { most: 2 });
      return answer;
    },
  });
  const orchestrator = orchestrate();
  await orchestrator.start(wishFor(urlsOf(6)));
  await orchestrator.reportOnce();
  assert.deepEqual(flags(server, 'run-1'), ['done', 'done', '', '', '', '']);
});

test('the active run is used, without what is done, and items that are added meanwhile form another round', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  assert.equal((await orchestrator.start(wishFor([]))).kind, 'no-run');
  const first = carried(await orchestrator.start(wishFor(urlsOf(3))));
  const run = server.runs.get(first.order.runId);
  await ledger.changeJob(first.jobId, { kind: 'cancel' }, 1);
  await orchestrator.runOnce();
  assert.deepEqual([(await orchestrator.list()).length, run?.endTime], [0, null]);

  Object.assign(run?.items[0] ?? {}, { done: true });
  const again = carried(await orchestrator.start(wishFor(urlsOf(9))));
  assert.deepEqual([again.order.runId, again.jobId, again.job?.counts.total], ['run-1', 'run-run-1-2', 2]);
  run?.items.push({ url: 'https://county.gov/late', done: false });
  const { batches } = await work(ledger, again.jobId);
  await orchestrator.runOnce();
  assert.equal(run?.endTime, null);
  const more = await work(ledger, 'run-run-1-3');
  await orchestrator.runOnce();
  assert.deepEqual([...batches, ...more.batches].flat(), [
    'https://county.gov/1',
    'https://county.gov/2',
    'https://county.gov/late',
  ]);
  assert.equal(run?.status, 'finished');
});

test('started twice on one domain, even at the same time, there is one run and one job, and the second start says so', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const [one, other] = [orchestrate(), orchestrate()];
  const both = await Promise.all([one.start(wishFor(urlsOf(6))), other.start(wishFor(urlsOf(6)))]);
  assert.deepEqual(both.map(({ kind }) => kind).sort(), ['started', 'starting']);
  const second = carried(await other.start(wishFor(urlsOf(6))));
  assert.deepEqual([second.kind, second.jobId, server.runs.size], ['busy', 'run-run-1-1', 1]);
  const { batches } = await work(ledger, second.jobId);
  await Promise.all([one.runOnce(), other.runOnce()]);
  assert.deepEqual(batches.flat().sort(), urlsOf(6));
  assert.ok(flags(server, 'run-1').every((flag) => flag === 'done'));
  assert.equal((await ledger.jobs({ status: null, page: { after: null, limit: 9 } })).entries.length, 1);
});

test('a job that its breaker has stopped leaves the run open, and once resumed it finishes with the right counts', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const wish = wishFor(urlsOf(8));
  const circuit_breaker = { ...wish.policy.circuit_breaker, min_requests: 4, consecutive_failures: 2 };
  const { jobId } = carried(await orchestrator.start({ ...wish, policy: { ...wish.policy, circuit_breaker } }));
  await work(ledger, jobId, { ends: () => 'blocked', most: 4 });
  const tripped = await ledger.changeJob(jobId, { kind: 'trip', evidence: [] }, 1_750_000_100_001);
  assert.ok(typeof tripped === 'object' && 'status' in tripped && tripped.status === 'failed');
  await orchestrator.runOnce();
  const run = server.runs.get('run-1');
  assert.deepEqual(
    [run?.endTime, flags(server, 'run-1').filter((flag) => flag === 'failed blocked').length],
    [null, 4],
  );
  assert.equal((await orchestrator.start(wish)).kind, 'busy');
  await ledger.changeJob(jobId, { kind: 'resume' }, 1_750_000_100_002);
  await work(ledger, jobId);
  await orchestrator.runOnce();
  assert.deepEqual([run?.status, run?.metadata['finished_count'], run?.metadata['failed_count']], ['finished', 4, 4]);
});

test('a retry scrapes the failed items again, and reports that they are done and no longer failed', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const { jobId } = carried(await orchestrator.start(wishFor(urlsOf(4))));
  await work(ledger, jobId, {
    ends: (url) => (url.endsWith('/0') ? 'not_found' : url.endsWith('/1') ? 'timeout' : null),
  });
  await orchestrator.runOnce();
  assert.deepEqual(flags(server, 'run-1'), ['invalid not_found', 'failed timeout', 'done', 'done']);

  const again = carried(await orchestrator.retry('run-1', ['failed'], wishFor([])));
  assert.deepEqual([again.jobId, again.job?.counts.total], ['run-run-1-2', 1]);
  await work(ledger, again.jobId);
  await orchestrator.runOnce();
  assert.deepEqual(flags(server, 'run-1'), ['invalid not_found', 'done', 'done', 'done']);
  const { metadata } = server.runs.get('run-1') ?? {};
  assert.deepEqual([metadata?.['finished_count'], metadata?.['failed_count']], [3, 1]);

  // Here the job is named instead of the run.
  const failed = { errorType: null, itemIds: null, groupKeys: null, preview: false };
  await ledger.reopen(jobId, { ...failed, errorType: 'not_found' }, { after: null, limit: 9 }, 0, 1_750_000_100_000);
  while ((await orchestrator.list()).length === 0) await new Promise(setImmediate);
  await work(ledger, jobId);
  await orchestrator.runOnce();
  assert.deepEqual(flags(server, 'run-1'), ['done', 'done', 'done', 'done']);
  assert.deepEqual(await orchestrator.retry('nobody', ['failed'], wishFor([])), { kind: 'no-run' });
});

test('a URL that cannot be stored is invalid, one that is listed twice is scraped once, and a run without work ends', async (t) => {
  const { server, ledger, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const bad = `https://county.gov/${'x'.repeat(10_000)}`;
  const { jobId } = carried(await orchestrator.start(wishFor([bad, ...urlsOf(2), ...urlsOf(1)])));
  const { batches } = await work(ledger, jobId);
  assert.deepEqual(batches.flat(), urlsOf(2));
  await orchestrator.runOnce();
  assert.equal(flags(server, 'run-1')[0], 'invalid invalid_input');

  const { jobId: last } = carried(await orchestrator.start(wishFor(urlsOf(1))));
  const run = server.runs.get('run-2');
  Object.assign(run?.items[0] ?? {}, { failed: true });
  await ledger.changeJob(last, { kind: 'cancel' }, 1);
  await orchestrator.runOnce();
  assert.deepEqual([run?.endTime, (await orchestrator.start(wishFor([]))).kind], [null, 'nothing-pending']);
  assert.equal(run?.status, 'finished');
});

test('a run that the server no longer has is given up, and one whose server is away is tried again', async (t) => {
  const { server, ledger, orders, warnings, orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const { jobId } = carried(await orchestrator.start(wishFor(urlsOf(4))));
  await work(ledger, jobId, { most: 1 });
  server.troubles.push({ status: 500 });
  await orchestrator.reportOnce();
  assert.deepEqual([flags(server, 'run-1')[0], warnings.length], ['', 1]);
  await orchestrator.reportOnce();
  assert.equal(flags(server, 'run-1')[0], 'done');
  server.runs.delete('run-1');
  await work(ledger, jobId);
  await orchestrator.runOnce();
  assert.deepEqual(await orders.list(), []);
  assert.match(warnings.at(-1) ?? '', /no longer has this run/);
});

test('the scraper is chosen by the hosts of the domain, and what is wrong with a choice is reported', async (t) => {
  const { orchestrate } = await openRuns(t);
  const orchestrator = orchestrate();
  const wrong = async (more: object) => {
    const answer = await orchestrator.start(wishFor(urlsOf(1), more));
    return answer.kind === 'bad' ? `${answer.path}: ${answer.problem}` : answer.kind;
  };
  assert.match(await wrong({ scraperId: 'nobody' }), /^scraper_id: there is no scraper nobody/);
  assert.match(await wrong({ scraperId: null, domain: 'elsewhere.gov' }), /no scraper has the host elsewhere\.gov/);
  assert.equal(await wrong({ scraperId: null }), 'started');
});
