import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { FailureType } from '../../src/domain/failure.ts';
import { isRecord } from '../../src/domain/is-record.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import type { Settlement } from '../../src/ports/ledger.ts';
import { RECORDING_LOADER } from '../../src/scraping/recording-loader.ts';
import type { Scraper } from '../../src/scraping/scraper.ts';
import { runAttempt } from '../../src/worker/attempt.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { loopbackWeb } from '../egress/visits.ts';
import { policyOf } from '../support/builders.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';
import { sized } from '../support/sized.ts';
import { startWebFormsCounty, type WebFormsCounty } from './webforms-county.ts';
import { type Fate, fateOf, type Parcel, parcelOf } from './webforms-county-parcels.ts';
import bespoke from './webforms-county-scraper.ts';

/** What must become of a parcel: its data, with or without its bill, or a failure. */
const EXPECTED: Readonly<Record<Fate, 'bill' | 'no bill' | FailureType>> = {
  good: 'bill',
  'loses its session once': 'bill',
  'has no bill': 'no bill',
  unknown: 'no_results',
  'loses every session': 'navigation_failed',
  'shows another parcel': 'navigation_failed',
  'has a new layout': 'structure_changed',
  'is gone': 'not_found',
  'is broken': 'server_error',
  'is closed for maintenance': 'maintenance',
};

const ITEMS = sized({ quick: 60, slow: 1000 });
/** No waiting between tries; as many as usual. */
const POLICY = policyOf({ retries: { backoff_factor: 0, max_backoff_seconds: 0 } });

for (const seed of [1, 2, 3]) {
  test(`${ITEMS} parcels with 1 % of 503s, seed ${seed}: every field and every failure is right`, async (t) => {
    const county = await startWebFormsCounty({ seed, unavailable: 0.01 });
    const visit = openVisits(t, county);
    // One after another, so that a seed gives the same run every time.
    for (let number = 0; number < ITEMS; number += 1) checkItem(number, await visit(number));
    assert.ok(county.counts.unavailable > 0, `none of ${county.counts.requests} requests met a 503`);
  });
}

test(`${ITEMS} parcels by a recording, without a browser: postbacks, view state and every failure are right`, async (t) => {
  const county = await startWebFormsCounty({ seed: 1, unavailable: 0.01 });
  const visit = openVisits(t, county, await loadRecording());
  for (let number = 0; number < ITEMS; number += 1) {
    const visited = await visit(number);
    checkItem(number, { ...visited, data: asScraped(visited.data) });
  }
});

test('a name that was sent in UTF-8 would be another name to this county', async (t) => {
  const county = await startWebFormsCounty({ seed: 1, unavailable: 0 });
  const visit = openVisits(t, county);
  const { owner } = parcelOf(0);
  const asUtf8 = Buffer.from(owner).toString('latin1');
  assert.notEqual(asUtf8, owner);
  assert.equal((await visit(0)).settled.outcome.kind, 'scraped');
  const { outcome } = (await visit(0, asUtf8)).settled;
  assert.ok(outcome.kind === 'failed' && outcome.failure.type === 'no_results', JSON.stringify(outcome));
});

interface Visited {
  readonly settled: Settlement;
  readonly data: unknown;
  readonly metadata: { readonly missing_documents?: readonly { readonly type: string; readonly url: string }[] };
  readonly document: string | null;
}

/** One attempt at a parcel as a worker makes it, over the real egress; answers what was kept. */
function openVisits(t: TestContext, county: WebFormsCounty, scraper: Scraper = bespoke) {
  const web = loopbackWeb({ routes: parseRoutes(`http://webforms-county.test=${county.url}`) });
  t.after(async () => {
    await web.close();
    await county.close();
  });
  const store = openMemoryResultStore();
  const digest = (text: string) => hash('sha256', text);
  const tools = { ...NO_TOOLS, web, gate: OPEN_GATE };
  const clock = systemClock();
  const deps = {
    clock,
    store,
    faults: NO_FAULTS,
    digest,
    tools,
    ladders: new JobLadders(),
    evidence: new FailureEvidence(),
    deadlines: new Deadlines(clock),
    onWait() {},
    onSteps() {},
  };
  const facts = { isHalted: false, excess: 0, jobCreatedAt: 1, policyRevision: 1 };
  const job = { jobId: 'job', order: { ...facts, scraperId: scraper.id, policy: POLICY }, scraper };
  return async (number: number, owner = parcelOf(number).owner): Promise<Visited> => {
    const { parid } = parcelOf(number);
    const item = { seq: number, itemId: parid, input: { parid, owner }, attempt: 1 };
    const settled = await runAttempt(deps, job, item, new AbortController().signal);
    assert.ok(settled !== 'aborted' && 'outcome' in settled);
    const { artifacts = [] } = settled.outcome;
    const read = async (kind: string) => {
      const kept = artifacts.find((each) => each.kind === kind);
      const bytes = kept === undefined ? null : await store.get(kept.key);
      return bytes === null ? null : Buffer.from(bytes).toString('latin1');
    };
    const json = async (kind: string) => {
      const text = await read(kind);
      return text === null ? null : JSON.parse(Buffer.from(text, 'latin1').toString());
    };
    return { settled, data: await json('data'), metadata: await json('metadata'), document: await read('document') };
  };
}

async function loadRecording(): Promise<Scraper> {
  const scraper = await RECORDING_LOADER.load(
    fileURLToPath(new URL('webforms-county.recording.json', import.meta.url)),
  );
  assert.ok(scraper !== null);
  return scraper;
}

/** A recording reads the facts as rows, of which second lines have no label. */
function asScraped(data: unknown): unknown {
  if (!isRecord(data)) return data;
  const { facts, ...others } = data as { facts: readonly { label: string | null; value: string }[] };
  const texts = new Map<string, string[]>();
  for (const { label, value } of facts) {
    if (label !== null) texts.set(label.replace(/:$/, ''), []);
    [...texts.values()].at(-1)?.push(value);
  }
  const text = (label: string) => texts.get(label)?.join(' ');
  return {
    ...{ parid: text('Parcel'), owner: text('Owner'), mailing_address: text('Mailing Address') },
    ...{ legal_description: text('Legal Description'), ...others },
  };
}

function checkItem(number: number, { settled, data, metadata, document }: Visited): void {
  const parcel = parcelOf(number);
  const fate = fateOf(number);
  const expected = EXPECTED[fate];
  const about = `${parcel.parid}, which ${fate}: ${JSON.stringify(settled.outcome)}`;
  const { outcome } = settled;
  if (outcome.kind === 'failed') {
    assert.equal(outcome.failure.type, expected, about);
    return;
  }
  assert.ok(expected === 'bill' || expected === 'no bill', about);
  assert.deepEqual(data, expectedData(parcel), about);
  const [newest] = parcel.bills;
  assert.equal(document?.includes(`Bill ${newest?.id}`) ?? false, expected === 'bill', about);
  const missing = metadata.missing_documents?.map(({ type, url }) => `${type} ${url}`);
  const absent = [`navigation_failed http://webforms-county.test/Bill.aspx?id=${newest?.id}`];
  assert.deepEqual(missing, expected === 'bill' ? undefined : absent, about);
}

function expectedData({ parid, owner, mailing, legal, values, bills }: Parcel) {
  return {
    ...{ parid, owner, mailing_address: mailing.join(' '), legal_description: legal.join(' '), values },
    bills: bills.map(({ id, year, cents, balanceCents }) => ({
      ...{ id, year, amount: cents / 100, balance: balanceCents / 100 },
    })),
  };
}
