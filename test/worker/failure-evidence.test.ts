import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { failure } from '../../src/domain/failure.ts';
import { type PartialPolicy, policySchema } from '../../src/domain/policy.ts';
import { SecretBook } from '../../src/domain/secrets.ts';
import type { Web } from '../../src/egress/web.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import type { Exchange } from '../../src/scraping/fixtures/fixture-folder.ts';
import { ReplayWeb } from '../../src/scraping/fixtures/replay-web.ts';
import { defineHttpScraper } from '../../src/scraping/http/define-http-scraper.ts';
import { decodeVisit } from '../../src/scraping/visits/visit-record.ts';
import { runAttempt } from '../../src/worker/attempt.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

const scraper = defineHttpScraper({
  ...{ id: 'county', name: 'County', version: '1', description: 'For tests.', hosts: ['county.test'] },
  input: z.object({ parcel: z.string() }),
  output: z.object({ owner: z.string() }),
  async scrape({ http, input, secret }) {
    await http.post('https://county.test/login', { form: { name: 'us', password: secret('password') } });
    return { html: await http.get(`https://county.test/parcel/${input.parcel}`) };
  },
  parse: ({ page }) => ({ owner: page.text('#owner') }),
});

const PAGE = '<html><body><p id="other">a page of another layout</p></body></html>';

function exchange(url: string, more: Partial<Exchange> & { method?: 'POST' } = {}): Exchange {
  const { method = 'GET', ...rest } = more;
  const html = { 'content-type': 'text/html; charset=utf-8' };
  return { request: { method, url }, status: 200, headers: html, setCookie: [], body: Buffer.from(PAGE), ...rest };
}

const LOGIN = exchange('https://county.test/login', {
  method: 'POST',
  setCookie: ['session=cookie-of-the-session'],
  body: Buffer.from(
    '<html><input name="csrf_token" value="token-of-the-site-1234"><p>password hunter2secret</p></html>',
  ),
});

interface Wanted {
  readonly answers?: (parcel: string) => readonly Exchange[];
  readonly results?: PartialPolicy['results'];
  readonly attempt?: number;
  readonly web?: Web;
  /** What the store says instead of keeping anything. */
  readonly trouble?: boolean;
}

/** A worker process: its items are tried one after another, and answer what was kept of each. */
function openWorker() {
  const store = openMemoryResultStore();
  const evidence = new FailureEvidence();
  const secrets = new SecretBook(new Map([['password', 'hunter2secret']]));
  let seq = 0;
  return async (parcel: string, wanted: Wanted = {}) => {
    const answers = wanted.answers ?? ((id: string) => [LOGIN, exchange(`https://county.test/parcel/${id}`)]);
    const web = wanted.web ?? new ReplayWeb(answers(parcel), secrets);
    const put = () => Promise.reject(new StorageTrouble('full', 'no room'));
    const order = {
      ...{ isHalted: false, excess: 0, jobCreatedAt: 1, policyRevision: 1, scraperId: scraper.id },
      policy: policySchema.parse({ results: wanted.results ?? {}, retries: { max_retries: 0 } }),
    };
    const item = { seq: seq++, itemId: parcel, input: { parcel }, attempt: wanted.attempt ?? 1 };
    const clock = new FakeClock();
    const settled = await runAttempt(
      {
        ...{ clock, faults: NO_FAULTS, digest: (text: string) => hash('sha256', text) },
        store: wanted.trouble ? Object.assign(Object.create(store), { putAll: put }) : store,
        tools: { ...NO_TOOLS, web, gate: OPEN_GATE, secrets },
        ...{ ladders: new JobLadders(), evidence, deadlines: new Deadlines(clock), onWait() {}, onSteps() {} },
      },
      { jobId: 'job', order, scraper },
      item,
      new AbortController().signal,
    );
    assert.ok(settled !== 'aborted' && 'outcome' in settled, JSON.stringify(settled));
    assert.ok(settled.outcome.kind === 'failed', JSON.stringify(settled));
    const { artifacts = [] } = settled.outcome;
    const read = async (kind: string) => {
      const kept = artifacts.find((each) => each.kind === kind);
      return kept === undefined ? null : Buffer.from((await store.get(kept)) ?? []);
    };
    return { failure: settled.outcome.failure, kinds: artifacts.map(({ kind }) => kind), read };
  };
}

const notThere = (id: string) => [
  LOGIN,
  exchange(`https://county.test/parcel/${id}`, { status: 404, body: Buffer.from('<h1>gone</h1>') }),
];

test('the pages of the first failures of a group are kept with their visits, and of the others only the metadata', async () => {
  const run = openWorker();
  const kept = [];
  for (const parcel of ['a-1', 'a-2', 'a-3', 'a-4', 'a-5']) kept.push(await run(parcel, { answers: notThere }));
  assert.deepEqual(
    kept.map(({ kinds }) => kinds.join(' ')),
    [...Array<string>(3).fill('metadata failed_page visit'), 'metadata', 'metadata'],
  );
  assert.equal((await kept[0]?.read('failed_page'))?.toString(), '<h1>gone</h1>');
  for (const { failure } of kept) assert.equal(failure.place, 'county.test/parcel/#');
  const other = await run('b-1');
  assert.deepEqual(other.kinds, ['html', 'metadata', 'visit'], 'another group has pages of its own');
});

test('a page that parse could not read is kept of every item, so that it can be read again', async () => {
  const run = openWorker();
  const kinds = [];
  for (const parcel of ['1', '2', '3']) kinds.push((await run(parcel, { results: { keep_failures: 1 } })).kinds);
  assert.deepEqual(kinds, [
    ['html', 'metadata', 'visit'],
    ['html', 'metadata'],
    ['html', 'metadata'],
  ]);
});

test('without keep_html the page of a failure is kept under a kind of its own, which is never extracted again', async () => {
  const run = openWorker();
  const results = { keep_html: false, keep_failures: 1 };
  const first = await run('1', { results });
  assert.deepEqual(first.kinds, ['metadata', 'failed_page', 'visit']);
  assert.equal((await first.read('failed_page'))?.toString(), PAGE);
  assert.deepEqual((await run('2', { results })).kinds, ['metadata']);
});

test('keep_failures 0 keeps none, and the address of a failure is still reported', async () => {
  const run = openWorker();
  const { kinds, failure } = await run('1', { answers: notThere, results: { keep_failures: 0 } });
  assert.deepEqual(kinds, ['metadata']);
  assert.equal(failure.place, 'county.test/parcel/#');
});

test('after a retry the first failures are news again', async () => {
  const run = openWorker();
  const results = { keep_failures: 1 };
  const kinds = [];
  for (const attempt of [1, 1, 2, 2]) {
    kinds.push((await run(`p-${kinds.length}`, { answers: notThere, results, attempt })).kinds.includes('visit'));
  }
  assert.deepEqual(kinds, [true, false, true, false]);
});

test('pages that could not be stored are not counted: never fewer are kept than the policy says', async () => {
  const run = openWorker();
  const results = { keep_failures: 1 };
  await assert.rejects(run('1', { answers: notThere, results, trouble: true }), StorageTrouble);
  assert.deepEqual((await run('1', { answers: notThere, results })).kinds, ['metadata', 'failed_page', 'visit']);
  assert.deepEqual((await run('2', { answers: notThere, results })).kinds, ['metadata']);
});

test('a visit has every exchange of the try, and neither cookies, tokens nor secrets', async () => {
  const run = openWorker();
  const bytes = await (await run('7-a')).read('visit');
  assert.ok(bytes);
  const text = bytes.toString();
  for (const secret of ['hunter2secret', 'token-of-the-site', 'cookie-of-the-session', 'set-cookie']) {
    assert.ok(!text.includes(secret), `${secret} in ${text}`);
  }
  const { recorded, failure, input, missing } = decodeVisit(bytes);
  assert.deepEqual(
    recorded.map(({ request: { method, url }, status }) => `${method} ${url} ${status}`),
    ['POST https://county.test/login 200', 'GET https://county.test/parcel/7-a 200'],
  );
  assert.deepEqual([failure.type, input, missing], ['structure_changed', { parcel: '7-a' }, []]);
  assert.equal(Buffer.from(recorded[1]?.body ?? []).toString(), PAGE);
});

test('a page in another charset is kept as it came, and shown as UTF-8', async () => {
  const run = openWorker();
  const body = Buffer.from('<p id="other">Peña</p>', 'latin1');
  const headers = { 'content-type': 'text/html; charset=windows-1252' };
  const answers = (id: string) => [LOGIN, exchange(`https://county.test/parcel/${id}`, { status: 404, headers, body })];
  const { read } = await run('1', { answers });
  assert.equal((await read('failed_page'))?.toString(), '<p id="other">Peña</p>');
  assert.deepEqual(decodeVisit((await read('visit')) ?? Buffer.from('')).recorded[1]?.body, body);
});

test('a JSON answer is kept as JSON, and what is not text is only part of the visit', async () => {
  const run = openWorker();
  const answering = (type: string) => (id: string) => {
    const headers = { 'content-type': type };
    return [
      LOGIN,
      exchange(`https://county.test/parcel/${id}`, { status: 404, headers, body: Buffer.from('{"a":1}') }),
    ];
  };
  const results = { keep_failures: 9 };
  const json = await run('1', { answers: answering('application/json'), results });
  assert.equal((await json.read('failed_page'))?.toString(), '{"a":1}');
  assert.deepEqual((await run('2', { answers: answering('application/pdf'), results })).kinds, ['metadata', 'visit']);
});

test('a request without an answer has no page: the one before it is not the one that failed', async () => {
  const run = openWorker();
  const web: Web = {
    async send({ url }, visit) {
      if (url.endsWith('/login')) return new ReplayWeb([LOGIN], new SecretBook(new Map())).send(sent(url), visit);
      const late = failure('timeout', `no answer from ${url}`);
      return { kind: 'failed', failure: late, url, redirects: [], ms: 5 };
    },
  };
  const { kinds, failure: seen } = await run('1', { web });
  assert.deepEqual([kinds, seen.type, seen.place], [['metadata'], 'timeout', 'county.test/parcel/#']);
});

function sent(url: string) {
  return { method: 'POST', url, headers: {}, body: null } as const;
}
