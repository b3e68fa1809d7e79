import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { RecordingSweep } from '../../src/controller/engine/recording-sweep.ts';
import { beginPlan } from '../../src/controller/jobs/plan-job.ts';
import { readPlanBody } from '../../src/controller/jobs/read-plan-request.ts';
import { removeScraper } from '../../src/controller/jobs/recordings/remove-scraper.ts';
import { type StoreAnswer, storeRecording } from '../../src/controller/jobs/recordings/store-recording.ts';
import { type SubmitAnswer, submitJob } from '../../src/controller/jobs/submit.ts';
import { submitJobStream } from '../../src/controller/jobs/submit-stream.ts';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { MAX_SENT_BYTES } from '../../src/domain/recording/kept-recording.ts';
import { type Faults, NO_FAULTS } from '../../src/ports/faults.ts';
import { openCatalog } from '../../src/scraping/catalog.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';

const HOUR_MS = 3_600_000;
const STEPS = [
  { type: 'goto', url: 'https://county.test/{{input.apn}}' },
  { type: 'extractText', selectors: ['#owner'], field: 'owner' },
];
const county = (more: object = {}) => ({ id: 'county', version: '1', hosts: ['county.test'], steps: STEPS, ...more });
const items = [{ input: { apn: '001' } }];

/** A controller's end without anything that runs; `file` is the id of a scraper that is a file. */
function desk(file = 'from-file') {
  const tools = openMemoryRecordings();
  const ledger = openMemoryLedger();
  const clock = new FakeClock();
  const registry = new ScraperRegistry();
  const summary = { id: file, name: file, version: '1', description: '', kind: 'plain', hosts: [] } as const;
  registry.addEntry({ kind: 'known', summary, file: `${file}.ts` });
  const digest = (text: string) => hash('sha256', text);
  const catalog = openCatalog({ registry, ...tools, clock });
  const deps = { ...tools, ledger, clock, catalog, digest, defaultScraper: file, prices: NO_PRICES, faults: NO_FAULTS };
  const sweep = new RecordingSweep({ ...deps, mayWork: () => true });
  return {
    ...deps,
    deps,
    store: (document: unknown, faults: Faults = NO_FAULTS) => storeRecording({ ...deps, faults }, document),
    submit: (request: object, faults: Faults = NO_FAULTS, key: string | null = null) =>
      submitJob({ ...deps, faults }, request, key),
    async sweepLater(ms: number) {
      await clock.advance(ms);
      return await sweep.runOnce();
    },
  };
}

const DIES: Faults = {
  at(point) {
    if (point === 'after-recording-before-job') throw new Error('killed');
  },
};

function jobOf(answer: SubmitAnswer) {
  assert.equal(answer.kind, 'created', JSON.stringify(answer));
  return (answer as Extract<SubmitAnswer, { kind: 'created' }>).job;
}

function problemsOf(answer: SubmitAnswer | StoreAnswer) {
  assert.equal(answer.kind, 'bad', JSON.stringify(answer));
  return (answer as Extract<SubmitAnswer, { kind: 'bad' }>).problems;
}

test('a recording is stored by version: the same again changes nothing, and other content is refused', async () => {
  const { store, catalog } = desk();
  assert.equal((await store(county())).kind, 'added');
  const reordered = { steps: STEPS, hosts: ['county.test'], version: '1', id: 'county', $schema: 'x' };
  assert.equal((await store(reordered)).kind, 'same');
  assert.equal((await store(county({ description: 'other' }))).kind, 'other-content');
  assert.equal((await store(county({ version: '0.9', name: 'New' }))).kind, 'added');
  const found = await catalog.find('county');
  assert.deepEqual([found?.version, found?.name, found?.kind, found?.source], ['0.9', 'New', 'recording', 'api']);
  assert.equal((await catalog.find('county', '1'))?.version, '1');
  assert.equal(await catalog.find('county', '2'), null);
  const listed = (await catalog.list()).map((entry) => (entry.kind === 'known' ? entry.summary.id : null));
  assert.deepEqual(listed, ['county', 'from-file']);
});

test('when several requests arrive at the same time with one version, one is stored', async () => {
  const { store, recordings } = desk();
  const texts = ['a', 'b', 'c', 'd'];
  const answers = await Promise.all(texts.map((description) => store(county({ description }))));
  assert.deepEqual(answers.map(({ kind }) => kind).sort(), [
    'added',
    'other-content',
    'other-content',
    'other-content',
  ]);
  assert.deepEqual(await recordings.claims(10), []);
});

test('the id of a scraper that is a file is refused', async () => {
  const { store } = desk('county');
  assert.deepEqual(await store(county()), { kind: 'in-file', id: 'county', file: 'county.ts' });
});

test('a mistake is reported with its step, its field and its reason', async () => {
  const { store, submit } = desk();
  const steps = [...STEPS, { type: 'if', condition: { type: 'text', text: 'x' }, then: [{ type: 'clik' }] }];
  const [problem] = problemsOf(await store(county({ steps })));
  assert.match(problem?.path ?? '', /^steps\.2\.then\.0/);
  assert.match(problem?.message ?? '', /^step 3\.then\.1 \(clik\)/);
  const [inline] = problemsOf(await submit({ recording: county({ steps }), items }));
  assert.match(inline?.path ?? '', /^recording\.steps\.2\.then\.0/);
  const sequences = { login: [{ type: 'click', selectors: [] }] };
  const [nested] = problemsOf(await store(county({ sequences })));
  assert.match(nested?.path ?? '', /^sequences\.login\.0\.selectors/);
});

test('a recording that is too large, too deep or not an object is refused', async () => {
  const { store, submit } = desk();
  let deep: unknown = 'x';
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  const text = 'x'.repeat(9000);
  const many = Array.from({ length: MAX_SENT_BYTES / 9000 + 1 }, () => ({
    type: 'goto',
    url: `https://county.test/${text}`,
  }));
  for (const bad of [county({ steps: deep }), county({ steps: many }), [], 'x', null, 7, deep]) {
    assert.ok(problemsOf(await store(bad)).length > 0);
    assert.ok(problemsOf(await submit({ recording: bad, items })).length > 0);
  }
});

test('a job keeps the version that was current when it was created, and outlives the stored one', async () => {
  const { store, submit, catalog, recordings, deps } = desk();
  await store(county());
  const job = jobOf(await submit({ scraper_id: 'county', items }));
  assert.deepEqual(
    [job.scraperVersion, job.lane, job.recording?.origin, job.recording?.steps],
    ['1', 'browser', 'stored', 2],
  );
  await store(county({ version: '2', engine: 'http' }));
  assert.equal(jobOf(await submit({ scraper_id: 'county', items })).lane, 'http');
  assert.equal((await catalog.ofJob(job))?.version, '1');
  assert.equal((await removeScraper(deps, 'county')).kind, 'in-use');
  for (const { jobId } of (await deps.ledger.jobs({ status: null, page: { after: null, limit: 9 } })).entries) {
    await deps.ledger.changeJob(jobId, { kind: 'cancel' }, deps.clock.now());
  }
  assert.deepEqual(await removeScraper(deps, 'county'), { kind: 'removed', versions: 2 });
  assert.deepEqual(await removeScraper(deps, 'county'), { kind: 'missing' });
  assert.equal(await catalog.find('county'), null);
  assert.deepEqual(await recordings.claims(10), []);
  assert.equal((await catalog.ofJob(job))?.version, '1');
});

test('a job carries its own recording, and its inputs are checked by it', async () => {
  const { submit, recordings } = desk();
  const job = jobOf(await submit({ recording: county({ engine: 'http' }), items }));
  assert.deepEqual([job.scraperId, job.scraperVersion, job.lane], ['county', '1', 'http']);
  assert.equal(job.recording?.origin, 'inline');
  const kept = await recordings.get(job.recording?.key ?? '');
  assert.deepEqual([kept?.document, kept?.digest], [county({ engine: 'http' }), job.recording?.digest]);
  const [wrong] = problemsOf(await submit({ recording: county(), items: [{ item_id: 'a', input: { parcel: '1' } }] }));
  assert.match(wrong?.path ?? '', /^items\.0\.input/);
  const [both] = problemsOf(await submit({ recording: county(), scraper_id: 'from-file', items }));
  assert.equal(both?.path, 'recording');
});

test('a request that is repeated with its key does not keep a second recording', async () => {
  const { submit, ledger, recordings } = desk();
  const request = { recording: county(), items };
  const job = jobOf(await submit(request, NO_FAULTS, 'k'));
  assert.equal((await submit(request, NO_FAULTS, 'k')).kind, 'replayed');
  assert.equal((await submit({ ...request, recording: county({ version: '2' }) }, NO_FAULTS, 'k')).kind, 'key-reused');
  assert.equal((await submit({ ...request, job_id: job.jobId })).kind, 'exists');
  assert.deepEqual(await recordings.claims(10), []);
  assert.deepEqual((await ledger.job(job.jobId))?.recording, job.recording);
});

test('a plain list of actions is converted, and what was lost or changed is a warning', async () => {
  const { submit } = desk();
  const actions = [
    { action: 'goto', url: 'https://county.test/search' },
    { action: 'input', selector: '#apn', value: '{{input.apn}}' },
    { action: 'fly', selector: '#moon' },
    { action: 'extract', selector: '#owner', field: 'owner' },
  ];
  const answer = await submit({ recording: actions, items });
  const job = jobOf(answer);
  assert.deepEqual([job.scraperId, job.recording?.steps], ['inline-actions', 3]);
  const [warning] = answer.kind === 'created' ? answer.warnings : [];
  assert.deepEqual([warning?.path, warning?.code], ['recording', 'recording_converted']);
  assert.match(warning?.message ?? '', /^entry 3 .* is left out: /);
});

test('the sample of a plan has a recording of its own', async () => {
  const { deps, recordings } = desk();
  const body = Buffer.from(JSON.stringify({ recording: county({ engine: 'http' }), items }));
  const how = { sample: 1, signal: new AbortController().signal };
  const read = await readPlanBody(deps, Readable.from([body]), how);
  assert.equal(read.kind, 'read', JSON.stringify(read));
  const { request } = read as Extract<typeof read, { kind: 'read' }>;
  const job = await beginPlan({ ...deps, hostSettings: { list: async () => [] } }, request, false);
  assert.deepEqual([job?.lane, job?.recording?.origin], ['http', 'inline']);
  assert.notEqual(await recordings.get(job?.recording?.key ?? ''), null);
});

for (const order of ['before', 'after'] as const) {
  test(`in a large request the recording may come ${order} the items`, async () => {
    const { deps } = desk();
    const recording = `"recording":${JSON.stringify(county({ engine: 'http' }))}`;
    const send = (list: readonly object[]) => {
      const fields = [recording, `"items":${JSON.stringify(list)}`];
      const body = Buffer.from(`{${(order === 'before' ? fields : fields.toReversed()).join()}}`);
      const { signal } = new AbortController();
      const bytes = (async function* () {
        for (let at = 0; at < body.length; at += 50) yield body.subarray(at, at + 50);
      })();
      return submitJobStream(deps, bytes, { idempotencyKey: null, signal, inlineBytes: 0, itemsPerChunk: 2 });
    };
    const many = Array.from({ length: 5 }, (_, n) => ({ input: { apn: String(n) } }));
    const answer = await send(many);
    assert.equal(answer.kind, 'created', JSON.stringify(answer));
    const { job } = answer as Extract<SubmitAnswer, { kind: 'created' }>;
    assert.deepEqual([job.counts.total, job.lane, job.recording?.origin], [5, 'http', 'inline']);
    const bad = await send([...many, { item_id: 'bad', input: { parcel: '1' } }]);
    assert.match((bad.kind === 'bad' && bad.problems[0]?.path) || '', /^items\.5\.input/);
  });
}

test('after an hour, nothing is left of a controller that died before the job was created', async () => {
  const { submit, ledger, recordings, sweepLater } = desk();
  await assert.rejects(submit({ job_id: 'a', recording: county(), items }, DIES), /killed/);
  assert.equal(await ledger.job('a'), null);
  const [claim] = await recordings.claims(10);
  assert.deepEqual(await sweepLater(HOUR_MS - 1), { confirmed: 0, removed: 0 });
  // The sender sends the same request again: that makes another copy, which is used.
  const job = jobOf(await submit({ job_id: 'a', recording: county(), items }));
  assert.deepEqual(await sweepLater(1), { confirmed: 0, removed: 1 });
  assert.equal(await recordings.get(claim?.key ?? ''), null);
  assert.notEqual(await recordings.get(job.recording?.key ?? ''), null);
});

test('a controller that dies after the job is created does not cost the job its recording', async () => {
  const { deps, recordings, sweepLater } = desk();
  const dying = { ...recordings, confirm: async () => Promise.reject(new Error('killed')) };
  const job = jobOf(await submitJob({ ...deps, recordings: dying }, { recording: county(), items }, null));
  assert.equal((await recordings.claims(10)).length, 1);
  assert.deepEqual(await sweepLater(HOUR_MS), { confirmed: 1, removed: 0 });
  assert.notEqual(await recordings.get(job.recording?.key ?? ''), null);
  assert.deepEqual(await recordings.claims(10), []);
});

test('a controller that dies while a version is stored leaves nothing of it', async () => {
  const { store, catalog, recordings, sweepLater } = desk();
  await assert.rejects(store(county(), DIES), /killed/);
  assert.equal(await catalog.find('county'), null);
  assert.deepEqual(await sweepLater(HOUR_MS), { confirmed: 0, removed: 1 });
  assert.equal((await store(county())).kind, 'added');
  assert.deepEqual(await recordings.claims(10), []);
});
