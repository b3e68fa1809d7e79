import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_INLINE_ITEMS } from '../../src/controller/jobs/parse-new-job.ts';
import {
  MAX_INLINE_BYTES,
  type StreamOptions,
  type SubmitStreamDeps,
  submitJobStream,
} from '../../src/controller/jobs/submit-stream.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { JobDraft, Ledger } from '../../src/ports/ledger.ts';
import { dataDirOf, openIn } from '../adapters/embedded-support.ts';
import { allItems, idsOf } from '../contract/ledger/hands.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { deskWith } from './intake-desk.ts';

const LARGE: StreamOptions = {
  idempotencyKey: null,
  signal: new AbortController().signal,
  inlineBytes: 0,
  itemsPerChunk: 3,
};

/** A ledger, and what became of its drafts. */
function desk(ledger: Ledger = openMemoryLedger()) {
  const drafts = { begun: 0, dropped: 0, added: 0, atOnce: 0 };
  const watched = (draft: JobDraft): JobDraft => ({
    items: (first, limit) => draft.items(first, limit),
    commit: (job, now) => draft.commit(job, now),
    add(place, items) {
      drafts.added += items.length;
      drafts.atOnce = Math.max(drafts.atOnce, items.length);
      return draft.add(place, items);
    },
    drop() {
      drafts.dropped += 1;
      return draft.drop();
    },
  });
  const jobs: SubmitStreamDeps['ledger'] = {
    job: (jobId) => ledger.job(jobId),
    createJob: (job, items, now) => ledger.createJob(job, items, now),
    async draftJob() {
      drafts.begun += 1;
      return watched(await ledger.draftJob());
    },
  };
  const deps: SubmitStreamDeps = { ...deskWith(ledger), ledger: jobs, faults: NO_FAULTS };
  const send = (bytes: AsyncIterable<Uint8Array>, options: Partial<StreamOptions> = {}) =>
    submitJobStream(deps, bytes, { ...LARGE, ...options });
  return {
    ledger,
    drafts,
    send,
    submit: (text: string, options: Partial<StreamOptions> = {}) => send(inPieces(text), options),
  };
}

async function* inPieces(text: string, size = 100): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function county(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    item_id: `p-${n}`,
    input: { apn: String(n % 1000).padStart(3, '0') },
  }));
}

async function noJob(ledger: Ledger): Promise<void> {
  const { entries } = await ledger.jobs({ status: null, page: { after: null, limit: 10 } });
  assert.deepEqual(entries, [], 'nothing is made');
}

async function problemsOf(request: unknown) {
  const { submit, ledger, drafts } = desk();
  const answer = await submit(JSON.stringify(request));
  assert.ok(answer.kind === 'bad', answer.kind);
  await noJob(ledger);
  assert.equal(drafts.dropped, drafts.begun);
  return answer.problems.map(({ path, message }) => `${path}: ${message}`);
}

test('a large request creates the same job as a small one, whatever the order of its fields', async (t) => {
  const fields = { job_id: 'j', job_name: 'County', scraper_id: 'county', labels: { a: 'b' }, hold: true };
  const { scraper_id: _s, ...withoutScraper } = fields;
  const items = county(10);
  const small = desk();
  const expected = await small.submit(JSON.stringify({ ...fields, items }), { inlineBytes: MAX_INLINE_BYTES });
  assert.ok(expected.kind === 'created');
  assert.equal(small.drafts.begun, 0);
  for (const request of [
    { ...fields, items },
    { items, ...fields },
    { scraper_id: 'county', items, ...withoutScraper },
  ]) {
    for (const open of [openMemoryLedger(), openIn(t, dataDirOf(t)).ledger]) {
      const { submit, ledger, drafts } = desk(open);
      const answer = await submit(JSON.stringify(request));
      assert.ok(answer.kind === 'created', JSON.stringify(answer));
      const { submission: _, createdAt: __, ...job } = answer.job;
      const { submission: ___, createdAt: ____, ...wanted } = expected.job;
      assert.deepEqual(job, wanted);
      assert.deepEqual(await allItems(ledger, 'j'), await allItems(small.ledger, 'j'));
      assert.deepEqual([drafts.begun, drafts.added, drafts.atOnce], [1, 10, 3]);
    }
  }
});

test('more items than can be created in one step are drafted, even in a small body', async () => {
  const { submit, ledger, drafts } = desk();
  const items = Array.from({ length: MAX_INLINE_ITEMS + 1 }, (_, n) => ({ input: { n } }));
  const text = JSON.stringify({ job_id: 'j', scraper_id: 'any', items });
  const answer = await submit(text, { inlineBytes: MAX_INLINE_BYTES, itemsPerChunk: 1000 });
  assert.ok(answer.kind === 'created');
  assert.deepEqual(
    [drafts.begun, drafts.added, answer.job.counts.total],
    [1, MAX_INLINE_ITEMS + 1, MAX_INLINE_ITEMS + 1],
  );
  const exact = desk();
  const fits = JSON.stringify({ job_id: 'j', scraper_id: 'any', items: items.slice(1) });
  assert.equal((await exact.submit(fits, { inlineBytes: MAX_INLINE_BYTES })).kind, 'created');
  assert.equal(exact.drafts.begun, 0);
  assert.equal((await idsOf(allItems(ledger, 'j'))).at(-1), String(MAX_INLINE_ITEMS));
});

test('a large request may have no items at all', async () => {
  for (const text of ['{"scraper_id":"any"}', '{"scraper_id":"any","items":[]}']) {
    const answer = await desk().submit(text);
    assert.ok(answer.kind === 'created' && answer.job.counts.total === 0);
  }
});

test('problems with items are reported by index and field, and nothing is created', async () => {
  const items: unknown[] = county(9);
  items[2] = { input: { apn: 'x' } };
  items[4] = { item_id: 'a', input: { apn: '001', year: 1 } };
  items[7] = { item_id: 'b', input: { apn: '1' } };
  for (const request of [
    { scraper_id: 'county', items },
    { items, scraper_id: 'county' },
  ]) {
    const said = await problemsOf(request);
    assert.deepEqual(
      said.map((each) => each.split(':')[0]),
      ['items.2.input.apn', 'items.4.input.year', 'items.7.input.apn'],
    );
  }
  items[3] = { input: 'x' };
  items[5] = 7;
  items[8] = { input: {}, id: 'x' };
  const shape = await problemsOf({ scraper_id: 'county', items, priority: 3 });
  assert.deepEqual(
    shape.map((each) => each.split(':')[0]),
    ['priority', 'items.3.input', 'items.5', 'items.8.id'],
  );
});

test('duplicate ids are named with both indexes, even where items before them were left out', async () => {
  const items = county(12);
  items[1] = { item_id: 'bad', input: { apn: 'x' } };
  items[6] = { item_id: 'p-0', input: { apn: '000' } };
  items[9] = { item_id: 'p-4', input: { apn: '999' } };
  items[11] = { item_id: 'p-10', input: { apn: '010' } };
  const repeated = [
    'items.6.item_id: p-0 is already the id of items.0, with the same input',
    'items.9.item_id: p-4 is already the id of items.4, with a different input',
    'items.11.item_id: p-10 is already the id of items.10, with the same input',
  ];
  const early = await problemsOf({ scraper_id: 'county', items });
  assert.deepEqual(early.slice(1), repeated);
  assert.match(early[0] ?? '', /^items\.1\.input\.apn: /);
  const late = await problemsOf({ items, scraper_id: 'county' });
  assert.match(late[0] ?? '', /^items\.1\.input\.apn: /);
  assert.deepEqual(late.slice(1), repeated);
});

test('an id that is given twice in the last chunk is noticed before the job is created', async (t) => {
  const { submit, ledger } = desk(openIn(t, dataDirOf(t)).ledger);
  const items = [...county(3), { item_id: 'p-1', input: { apn: '001' } }];
  const answer = await submit(JSON.stringify({ job_id: 'j', scraper_id: 'county', items }));
  assert.ok(answer.kind === 'bad' && answer.problems[0]?.path === 'items.3.item_id');
  await noJob(ledger);
});

test('with many problems, a hundred are listed, all are counted, and nothing more is written', async () => {
  const { submit, drafts, ledger } = desk();
  const items = [
    ...county(5),
    ...Array.from({ length: 342 }, (_, n) => ({ input: { apn: `bad ${n}` } })),
    ...county(900),
  ];
  const answer = await submit(JSON.stringify({ scraper_id: 'county', items }));
  assert.ok(answer.kind === 'bad');
  assert.deepEqual(
    [answer.problems.length, answer.problems[99]?.path, answer.problems[100]?.message],
    [101, 'items.104.input.apn', 'and 242 more problems'],
  );
  assert.ok(drafts.added <= 6, `${drafts.added}`);
  await noJob(ledger);
});

test('a large request that names no scraper is for the default one, and the answer says so', async () => {
  const { submit, ledger } = desk();
  const answer = await submit(JSON.stringify({ job_id: 'unnamed', items: county(4) }));
  assert.ok(answer.kind === 'created');
  const message = 'not given: the default scraper any is used';
  assert.deepEqual(answer.warnings, [{ path: 'scraper_id', code: 'default_scraper', message }]);
  assert.equal((await ledger.job('unnamed'))?.scraperId, 'any');
});

test('an unknown scraper, bad fields and bodies that are not a request create nothing', async () => {
  assert.deepEqual(await problemsOf({ scraper_id: 'maricopa', items: county(4) }), [
    'scraper_id: there is no scraper maricopa; GET /scrapers lists all',
  ]);
  assert.match((await problemsOf({ scraper_id: 'county', items: { a: 1 } })).join(), /^items: /);
  for (const [text, message] of [
    [
      '{"scraper_id":"county","items":[{"input":{"apn":"001"}},{"input":{"apn":"002"}},{"input":{"apn":',
      /the bytes end before the request/,
    ],
    [
      '{"scraper_id":"county","items":[{"input":{"apn":"001"}},{"input":{"apn":tru}}]}',
      /^items\.1: it is not valid JSON/,
    ],
    ['{"scraper_id":county,"items":[]}', /^scraper_id: it is not valid JSON/],
    ['[]', /not a JSON object/],
    ['', /no body/],
  ] as const) {
    const { submit, ledger, drafts } = desk();
    const answer = await submit(text);
    assert.ok(answer.kind === 'malformed', text);
    assert.match(answer.message, message);
    assert.equal(drafts.dropped, drafts.begun);
    await noJob(ledger);
  }
});

test('a large request that is sent again with its key is recognised, however it is written', async () => {
  const { submit, drafts } = desk();
  const request = { scraper_id: 'county', items: county(8), labels: { a: '1', b: '2' } };
  const first = await submit(JSON.stringify(request), { idempotencyKey: 'key' });
  assert.ok(first.kind === 'created');
  const { labels, ...others } = request;
  const turned = JSON.stringify({ labels: { b: labels.b, a: labels.a }, ...others }, null, 1);
  const again = await submit(turned, { idempotencyKey: 'key' });
  assert.deepEqual([again.kind, 'job' in again ? again.job.jobId : ''], ['replayed', first.job.jobId]);
  const other = JSON.stringify({ ...request, items: county(8).reverse() });
  assert.equal((await submit(other, { idempotencyKey: 'key' })).kind, 'key-reused');
  assert.equal(drafts.dropped, drafts.begun);
});

test('a job that exists already is left alone, and the items are read but not written', async () => {
  const { submit, drafts, ledger } = desk();
  const request = { job_id: 'j', scraper_id: 'county', items: county(4) };
  await submit(JSON.stringify(request));
  assert.equal(drafts.added, 4);
  const answer = await submit(JSON.stringify({ ...request, items: county(50) }));
  assert.equal(answer.kind, 'exists');
  assert.equal(drafts.added, 4);
  const late = await submit(JSON.stringify({ items: county(5), scraper_id: 'county', job_id: 'j' }));
  assert.equal(late.kind, 'exists');
  assert.equal((await allItems(ledger, 'j')).length, 4);
  assert.equal(drafts.dropped, drafts.begun);
});

test('of two large requests for one id, the first to be complete creates the job', async () => {
  const { send, ledger } = desk();
  const halfWay = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  async function* slow(): AsyncGenerator<Uint8Array> {
    const text = JSON.stringify({ job_id: 'j', scraper_id: 'county', items: county(20) });
    yield Buffer.from(text.slice(0, 500));
    yield Buffer.from(text.slice(500, 600));
    halfWay.resolve();
    await goOn.promise;
    yield Buffer.from(text.slice(600));
  }
  const first = send(slow());
  await halfWay.promise;
  assert.equal(await ledger.job('j'), null);
  const second = await send(inPieces(JSON.stringify({ job_id: 'j', scraper_id: 'county', items: county(3) })));
  assert.equal(second.kind, 'created');
  goOn.resolve();
  assert.equal((await first).kind, 'exists');
  assert.equal((await allItems(ledger, 'j')).length, 3);
});

test('a sender that hangs up in the middle leaves nothing', async () => {
  const { send, ledger, drafts } = desk();
  const gone = new AbortController();
  const text = JSON.stringify({ job_id: 'j', scraper_id: 'county', items: county(50) });
  async function* silent(): AsyncGenerator<Uint8Array> {
    yield* inPieces(text.slice(0, 1500));
    setImmediate(() => gone.abort(new Error('the sender hung up')));
    await new Promise(() => {});
  }
  await assert.rejects(send(silent(), { signal: gone.signal }), /hung up/);
  async function* breaks(): AsyncGenerator<Uint8Array> {
    yield* inPieces(text.slice(0, 1500));
    throw new Error('the connection broke');
  }
  await assert.rejects(send(breaks()), /broke/);
  assert.ok(drafts.added > 0);
  assert.equal(drafts.dropped, drafts.begun);
  await noJob(ledger);
});
