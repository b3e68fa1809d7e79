import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemoryLedger } from '../../src/adapters/memory/ledger.ts';
import { derivedItemId, importItems, submitJob } from '../../src/controller/submit.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { FakeClock } from '../support/fake-clock.ts';

function desk() {
  const ledger = openMemoryLedger();
  const clock = new FakeClock();
  const findScraper = async (id: string) => (id === 'known' ? ({ version: '2.1.0', lane: 'browser' } as const) : null);
  return { ledger, clock, submit: (request: unknown) => submitJob({ ledger, clock, findScraper }, request) };
}

async function problemsOf(request: unknown) {
  const { submit, ledger } = desk();
  const answer = await submit(request);
  assert.equal(answer.kind, 'bad');
  assert.deepEqual(
    (await ledger.jobs({ status: null, page: { after: null, limit: 10 } })).entries,
    [],
    'nothing is made',
  );
  return answer.kind === 'bad' ? answer.problems : [];
}

test('a job is made whole, with the defaults of its policy and what the scraper says of itself', async () => {
  const { submit } = desk();
  const answer = await submit({ job_id: 'j', scraper_id: 'known', items: [{ input: { apn: '1' } }] });
  assert.ok(answer.kind === 'created');
  const { scraperVersion, lane, counts, policy, status } = answer.job;
  assert.deepEqual([scraperVersion, lane, counts.total, status], ['2.1.0', 'browser', 1, 'pending']);
  assert.equal(policy.throttling.max_concurrent_workers, 3);
});

test('a job of an id that exists is left as it is', async () => {
  const { submit } = desk();
  await submit({ job_id: 'j', scraper_id: 'known', job_name: 'first' });
  const answer = await submit({ job_id: 'j', scraper_id: 'known', job_name: 'second' });
  assert.ok(answer.kind === 'exists');
  assert.equal(answer.job.name, 'first');
});

test('an unknown scraper is named', async () => {
  assert.deepEqual(await problemsOf({ scraper_id: 'maricopa' }), [
    { path: 'scraper_id', message: 'there is no scraper maricopa' },
  ]);
});

test('every bad field is named with its path', async () => {
  const problems = await problemsOf({
    scraper_id: 'known',
    execution_policy: { throttling: { max_concurrent_workers: 0 }, retrys: {} },
    items: [{ input: { a: 1 } }, { input: 'x' }],
  });
  const paths = problems.map(({ path }) => path);
  assert.ok(paths.includes('execution_policy.throttling.max_concurrent_workers'), paths.join());
  assert.ok(paths.includes('items.1.input'), paths.join());
  assert.ok(problems.some(({ message }) => message.includes('retrys')));
});

test('an item id that stands twice is named by its place, and nothing is made', async () => {
  const items = ['a', 'b', 'a'].map((item_id) => ({ item_id, input: {} }));
  assert.deepEqual(await problemsOf({ scraper_id: 'known', items }), [
    { path: 'items.2.item_id', message: 'a stands earlier in the list' },
  ]);
});

test('an item without an id gets one from its input, the same for the same input', () => {
  assert.equal(derivedItemId({ apn: '200-14-030' }), '200-14-030');
  assert.equal(derivedItemId({ b: 1, a: 'x' }), derivedItemId({ a: 'x', b: 1 }));
  assert.notEqual(derivedItemId({ a: '1', b: '2' }), derivedItemId({ a: '12', b: '' }));
});

test('an import that was cut off and sent again adds every item once, and then lets the job be completed', async () => {
  const { ledger, clock, submit } = desk();
  await submit({ job_id: 'j', scraper_id: 'known' });
  const items = Array.from({ length: 10 }, (_, index) => ({ itemId: `i${index}`, input: {} }));
  const parts = { ledger, clock, faults: NO_FAULTS };
  async function* cutOff() {
    yield items.slice(0, 6);
    throw new Error('the sender is gone');
  }
  await assert.rejects(importItems(parts, 'j', cutOff()), /the sender is gone/);
  assert.ok(((await ledger.job('j'))?.openUntil ?? 0) > clock.now(), 'the job waits for the rest');
  const answer = await importItems(parts, 'j', [items.slice(0, 6), items.slice(6)]);
  assert.deepEqual(answer, { added: 4, duplicates: 6 });
  const job = await ledger.job('j');
  assert.equal(job?.counts.total, 10);
  assert.ok((job?.openUntil ?? Number.POSITIVE_INFINITY) <= clock.now());
});

test('items for a job that is over or not there are not taken', async () => {
  const { ledger, clock, submit } = desk();
  const parts = { ledger, clock, faults: NO_FAULTS };
  const chunk = [[{ itemId: 'a', input: {} }]];
  assert.deepEqual(await importItems(parts, 'nobody', chunk), { kind: 'missing' });
  await submit({ job_id: 'j', scraper_id: 'known' });
  await ledger.changeJob('j', { kind: 'cancel' }, clock.now());
  assert.deepEqual(await importItems(parts, 'j', chunk), { kind: 'closed', status: 'cancelled' });
});

test('what nothing carries out yet is refused by name, and not passed over', async () => {
  const policy = { proxy: { type: 'residential' }, results: { screenshot: 'always' }, robots: 'respect' };
  assert.deepEqual(await problemsOf({ scraper_id: 'known', execution_policy: policy }), [
    { path: 'execution_policy.proxy.type', message: 'is not available yet' },
    { path: 'execution_policy.results.screenshot', message: 'is not available yet' },
    { path: 'execution_policy.robots', message: 'is not available yet' },
  ]);
});
