import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_INLINE_ITEMS } from '../../src/controller/jobs/parse-new-job.ts';
import { submitJob } from '../../src/controller/jobs/submit.ts';
import { derivedItemId } from '../../src/domain/item-entry.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { deskWith } from './intake-desk.ts';

function desk(ledger: Ledger = openMemoryLedger()) {
  const parts = deskWith(ledger);
  return { ...parts, submit: (request: unknown, key: string | null = null) => submitJob(parts, request, key) };
}

async function problemsOf(request: unknown, key: string | null = null) {
  const { submit, ledger } = desk();
  const answer = await submit(request, key);
  assert.equal(answer.kind, 'bad');
  assert.deepEqual(
    (await ledger.jobs({ status: null, page: { after: null, limit: 10 } })).entries,
    [],
    'nothing is made',
  );
  return answer.kind === 'bad' ? answer.problems : [];
}

test('a job is created complete, with the defaults of its policy and what the scraper declares about itself', async () => {
  const { submit } = desk();
  const answer = await submit({ job_id: 'j', scraper_id: 'county', items: [{ input: { apn: '001' } }] });
  assert.ok(answer.kind === 'created');
  const { scraperVersion, lane, counts, policy, status } = answer.job;
  assert.deepEqual([scraperVersion, lane, counts.total, status], ['2.1.0', 'http', 1, 'pending']);
  assert.equal(policy.throttling.max_concurrent_workers, 3);
});

test('a job whose id already exists is left as it is', async () => {
  const { submit } = desk();
  const request = { job_id: 'j', scraper_id: 'county', job_name: 'first' };
  await submit(request);
  for (const again of [request, { ...request, job_name: 'second' }]) {
    const answer = await submit(again);
    assert.ok(answer.kind === 'exists');
    assert.equal(answer.job.name, 'first');
  }
});

test('an unknown scraper is named, and one that cannot be used is named with the reason', async () => {
  assert.deepEqual(await problemsOf({ scraper_id: 'maricopa' }), [
    { path: 'scraper_id', code: 'scraper_unusable', message: 'there is no scraper maricopa; GET /scrapers lists all' },
  ]);
  assert.deepEqual(await problemsOf({ scraper_id: 'conty' }), [
    { path: 'scraper_id', code: 'scraper_unusable', message: 'there is no scraper conty; did you mean county?' },
  ]);
  assert.deepEqual(await problemsOf({ scraper_id: 'broken' }), [
    { path: 'scraper_id', code: 'scraper_unusable', message: 'broken.ts cannot be read' },
  ]);
});

test('every bad field is named with its path', async () => {
  const problems = await problemsOf({
    scraper_id: 'any',
    execution_policy: { throttling: { max_concurrent_workers: 0 }, retrys: {} },
    items: [{ input: { a: 1 } }, { input: 'x' }],
  });
  const paths = problems.map(({ path }) => path);
  assert.ok(paths.includes('execution_policy.throttling.max_concurrent_workers'), paths.join());
  assert.ok(paths.includes('items.1.input'), paths.join());
  assert.ok(problems.some(({ message }) => message.includes('retrys')));
});

test('an input that breaks the scraper’s schema is named by its position and its field', async () => {
  const items = [{ input: { apn: '001' } }, { input: { apn: 'x' } }, { item_id: 'c', input: { apn: '002', year: 1 } }];
  const problems = await problemsOf({ scraper_id: 'county', items });
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['items.1.input.apn', 'items.2.input.year'],
  );
  assert.match(problems[0]?.message ?? '', /must match/);
  assert.match(problems[1]?.message ?? '', /year/);
});

test('a hundred problems are listed, followed by how many more there are', async () => {
  const items = Array.from({ length: 142 }, (_, index) => ({ input: { apn: `bad ${index}` } }));
  const problems = await problemsOf({ scraper_id: 'county', items });
  assert.equal(problems.length, 101);
  assert.equal(problems[99]?.path, 'items.99.input.apn');
  assert.deepEqual(problems[100], { path: '', code: 'more_errors', message: 'and 42 more problems' });
});

test('more items than can be created in one step are not created', async () => {
  const items = Array.from({ length: MAX_INLINE_ITEMS + 1 }, (_, index) => ({ input: { index } }));
  const problems = await problemsOf({ scraper_id: 'any', items });
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['items'],
  );
  assert.match(problems[0]?.message ?? '', /at most 10000 items .* in one step/);
  const { submit } = desk();
  assert.equal((await submit({ scraper_id: 'any', items: items.slice(1) })).kind, 'created');
});

test('an item id that is given twice is named with both positions, and whether the inputs differ', async () => {
  const items = ['a', 'b', 'a', 'b'].map((item_id, n) => ({ item_id, input: item_id === 'a' ? {} : { n } }));
  assert.deepEqual(await problemsOf({ scraper_id: 'any', items }), [
    { path: 'items.2.item_id', code: 'duplicate_id', message: 'a is already the id of items.0, with the same input' },
    {
      path: 'items.3.item_id',
      code: 'duplicate_id',
      message: 'b is already the id of items.1, with a different input',
    },
  ]);
});

test('an item without an id gets one from its input, the same for the same input', () => {
  assert.equal(derivedItemId({ apn: '200-14-030' }), '200-14-030');
  assert.equal(derivedItemId({ b: 1, a: 'x' }), derivedItemId({ a: 'x', b: 1 }));
  assert.notEqual(derivedItemId({ a: '1', b: '2' }), derivedItemId({ a: '12', b: '' }));
});

test('an input too long to derive an id from needs one', async () => {
  const items = [{ input: { apn: 'x'.repeat(2000) } }, { input: { apn: '' } }];
  assert.deepEqual(
    (await problemsOf({ scraper_id: 'any', items })).map(({ path }) => path),
    ['items.0.item_id', 'items.1.item_id'],
  );
});

test('texts that would not come back from the ledger unchanged are refused, wherever they occur', async () => {
  for (const wrong of ['half \ud800', '\udc00', 'zero \0']) {
    const problems = await problemsOf({
      job_id: wrong,
      job_name: wrong,
      scraper_id: 'any',
      labels: { team: wrong },
      items: [{ item_id: wrong, input: {} }],
    });
    assert.deepEqual(problems.map(({ path }) => path).sort(), ['items.0.item_id', 'job_id', 'job_name', 'labels.team']);
    for (const { message } of problems) assert.match(message, /surrogate|zero byte/);
  }
  assert.match((await problemsOf({ scraper_id: 'any', labels: { '\ud800': 'x' } }))[0]?.path ?? '', /labels/);
  const inputs = [{ a: { b: ['\ud800'] } }, { '\ud800': 1 }, { a: JSON.parse('1e999') }, nested(65), { a: 'fine' }];
  assert.deepEqual(
    (await problemsOf({ scraper_id: 'any', items: inputs.map((input) => ({ item_id: 'i', input })) })).map(
      ({ path }) => path,
    ),
    ['items.0.input.a.b.0', 'items.1.input', 'items.2.input.a', 'items.3.input'],
  );
});

test('all other texts come back from the ledger’s file unchanged, and stay distinct', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const { submit } = desk(first.ledger);
  const odd = ['\u00e9', 'e\u0301', '\ufeff', '\ufffd', '\uffff', '\u{1f600}', ' ', '\u0001', 'A', 'a', '%00', '..'];
  const input = JSON.parse('{"__proto__":"x","zero":"\\u0000","deep":[[[-0.5]]]}');
  const items = odd.map((item_id) => ({ item_id, input }));
  const answer = await submit({
    job_id: odd.join(),
    job_name: odd.join(),
    scraper_id: 'any',
    labels: { [odd.join()]: odd.join() },
    items,
  });
  assert.ok(answer.kind === 'created');
  await first.close();
  const { ledger } = openIn(t, dataDir);
  const job = await ledger.job(odd.join());
  assert.deepEqual([job?.name, job?.labels, job?.counts.total], [odd.join(), { [odd.join()]: odd.join() }, odd.length]);
  for (const itemId of odd) {
    const item = await ledger.item(odd.join(), itemId);
    assert.equal(item?.itemId, itemId);
    assert.equal(JSON.stringify(item?.input), JSON.stringify(input));
  }
});

function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? {} : { a: nested(levels - 1) };
}

test('a label that would be lost is refused', async () => {
  const request = JSON.parse('{"scraper_id":"any","labels":{"__proto__":"x"}}');
  assert.equal((await problemsOf(request))[0]?.path, 'labels.__proto__');
});

test('a request sent again with its key is answered with the job that it created, however it is written', async () => {
  const { submit } = desk();
  const made = await submit({ scraper_id: 'any', labels: { a: '1', b: '2' }, items: [{ input: { x: 1, y: 2 } }] }, 'k');
  assert.ok(made.kind === 'created');
  assert.match(made.job.jobId, /^idem-[0-9a-f]{32}$/);
  const again = await submit(
    { items: [{ input: { y: 2, x: 1 } }], labels: { b: '2', a: '1' }, scraper_id: 'any' },
    'k',
  );
  assert.ok(again.kind === 'replayed');
  assert.equal(again.job.jobId, made.job.jobId);
});

test('a key is not valid for another request, and another key creates another job', async () => {
  const { submit } = desk();
  await submit({ scraper_id: 'any', job_name: 'one' }, 'k');
  const other = await submit({ scraper_id: 'any', job_name: 'two' }, 'k');
  assert.ok(other.kind === 'key-reused');
  assert.equal(other.job.name, 'one');
  assert.equal((await submit({ scraper_id: 'any', job_name: 'one' }, 'l')).kind, 'created');
});

test('with a key and a job_id the id is the user’s', async () => {
  const { submit } = desk();
  const request = { scraper_id: 'any', job_id: 'mine' };
  const made = await submit(request, 'k');
  assert.ok(made.kind === 'created' && made.job.jobId === 'mine');
  assert.equal((await submit(request, 'k')).kind, 'replayed');
  assert.equal((await submit({ ...request, hold: true }, 'k')).kind, 'key-reused');
  assert.equal((await submit(request)).kind, 'exists');
});

test('a job that names no scraper runs the default one, and the answer says so', async () => {
  const { submit } = desk();
  const request = { job_id: 'mine', items: [{ input: { anything: 1 } }] };
  const made = await submit(request, 'k');
  assert.ok(made.kind === 'created');
  assert.equal(made.job.scraperId, 'any');
  const warnings = [
    { path: 'scraper_id', code: 'default_scraper', message: 'not given: the default scraper any is used' },
  ];
  assert.deepEqual(made.warnings, warnings);
  const again = await submit(request, 'k');
  assert.deepEqual(again.kind === 'replayed' && again.warnings, warnings, 'a repetition is answered as the first was');
  const named = await submit({ scraper_id: 'any' });
  assert.deepEqual(named.kind === 'created' && named.warnings, []);
});

test('a default scraper that does not exist is named together with its setting', async () => {
  const parts = { ...deskWith(openMemoryLedger()), defaultScraper: 'missing' };
  const answer = await submitJob(parts, {}, null);
  const message =
    'there is no scraper missing; GET /scrapers lists all (the default scraper, set by TRAWL_DEFAULT_SCRAPER)';
  assert.deepEqual(answer.kind === 'bad' && answer.problems, [
    { path: 'scraper_id', code: 'scraper_unusable', message },
  ]);
});

for (const id of ['bulk', 'BULK', 'plan']) {
  test(`no job can be called ${id}: that is a path of the API`, async () => {
    const problems = await problemsOf({ job_id: id, scraper_id: 'any' });
    assert.deepEqual(problems, [{ path: 'job_id', message: `${id} is reserved: /jobs/${id} is a path of the API` }]);
  });
}

test('a request is recognised even though its scraper has since gone', async () => {
  const parts = deskWith(openMemoryLedger());
  const request = { scraper_id: 'county', items: [{ input: { apn: '001' } }] };
  await submitJob(parts, request, 'k');
  const gone = { ...parts, catalog: { ...parts.catalog, find: async () => null, list: async () => [] } };
  assert.equal((await submitJob(gone, request, 'k')).kind, 'replayed');
});

test('of two identical requests at once, one creates the job and the other is answered with it', async (t) => {
  const { submit } = desk(openIn(t, dataDirOf(t)).ledger);
  const request = { scraper_id: 'any', items: [{ input: { a: 1 } }] };
  const answers = await Promise.all([submit(request, 'k'), submit(request, 'k')]);
  assert.deepEqual(answers.map(({ kind }) => kind).sort(), ['created', 'replayed']);
});
