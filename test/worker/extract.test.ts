import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { ArtifactKind, StoredArtifact } from '../../src/domain/artifact.ts';
import type { SourcePage } from '../../src/domain/item.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import { expect, z } from '../../src/scraping/author.ts';
import { definePlainScraper } from '../../src/scraping/define-scraper.ts';
import { defineHttpScraper, type HttpScraperDefinition } from '../../src/scraping/http/define-http-scraper.ts';
import type { Scraper, StoredInput } from '../../src/scraping/scraper.ts';
import { runAttempt } from '../../src/worker/attempt.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { FailureEvidence } from '../../src/worker/failure-evidence.ts';
import { JobLadders } from '../../src/worker/job-ladders.ts';
import { policyOf } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

const PAGE = `<h1 id="owner">SMITH</h1><p>${'x'.repeat(2000)}</p>`;
const URL_OF_PAGE = 'https://county.example/parcel/1';

const Input = z.strictObject({ apn: z.string() });
const Output = z.object({ apn: z.string(), owner: z.string().max(10) });

function parserOf(parse: NonNullable<HttpScraperDefinition<typeof Input, typeof Output>['parse']>): Scraper {
  return defineHttpScraper({
    ...{ id: 'county', name: 'County', version: '2.0.0', description: '', hosts: ['county.example'] },
    input: Input,
    output: Output,
    scrape: async () => assert.fail('it went to the web'),
    parse,
  });
}

const READS_OWNER = parserOf(({ page, input }) => ({ apn: input.apn, owner: page.text('#owner') }));

interface ExtractOptions {
  readonly source?: SourcePage;
  readonly input?: object;
  readonly attempt?: number;
  readonly isLate?: boolean;
}

/** A page that an older job kept, and a worker that reads it. */
async function stored(t: TestContext, { page = PAGE, metadata = METADATA }: { page?: string; metadata?: string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-extract-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new FakeClock();
  const store = await openFileResultStore(folder, { clock });
  const keep = async (kind: ArtifactKind, key: string, text: string): Promise<StoredArtifact> => {
    const contentType = kind === 'html' ? 'text/html; charset=utf-8' : 'application/json';
    const encoding = kind === 'html' ? 'gzip' : 'identity';
    const put = { contentType, encoding, ifTaken: 'keep' } as const;
    return { kind, contentType, ...(await store.put(key, Buffer.from(text), put)) };
  };
  const html = await keep('html', 'old/items/1/html.html', page);
  const source: SourcePage = { html, metadata: await keep('metadata', 'old/items/1/metadata.json', metadata) };

  const extract = async (scraper: Scraper, options: ExtractOptions = {}) => {
    const item = { seq: 0, itemId: '1', input: { apn: '1', ...options.input }, attempt: options.attempt ?? 1 };
    const policy = policyOf({ timeouts: { item_timeout_seconds: 5 } });
    const running = runAttempt(
      {
        clock,
        store,
        faults: NO_FAULTS,
        digest: (text) => hash('sha256', text),
        tools: NO_TOOLS,
        ladders: new JobLadders(),
        evidence: new FailureEvidence(),
        deadlines: new Deadlines(clock),
        onWait() {},
        onSteps() {},
      },
      {
        jobId: 'new',
        order: { isHalted: false, excess: 0, jobCreatedAt: 1, scraperId: 'county', policy, policyRevision: 1 },
        scraper,
      },
      { ...item, source: options.source ?? source },
      new AbortController().signal,
    );
    if (options.isLate) await clock.advance(5000);
    const settlement = await running;
    assert.ok(settlement !== 'aborted' && 'outcome' in settlement);
    return settlement;
  };
  const failureOf = async (scraper: Scraper, options: ExtractOptions = {}) => {
    const { outcome, tries } = await extract(scraper, options);
    assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
    assert.equal(tries, 1, 'what cannot change is not tried again');
    return outcome.failure;
  };
  return { store, folder, source, clock, extract, failureOf };
}

const METADATA = JSON.stringify({ job_id: 'old', url: URL_OF_PAGE });

test('a stored page is read again, and the result is kept under the new job', async (t) => {
  const { store, extract } = await stored(t);
  const { outcome, tries } = await extract(READS_OWNER);
  assert.ok(outcome.kind === 'scraped', JSON.stringify(outcome));
  assert.equal(tries, 1);
  assert.deepEqual(
    outcome.artifacts.map(({ kind, key }) => [kind, key]),
    [['data', 'new/items/1/data.json']],
  );
  const read = async (key: string) => JSON.parse(Buffer.from((await store.get(key)) ?? []).toString());
  assert.deepEqual(await read('new/items/1/data.json'), { apn: '1', owner: 'SMITH' });
});

test('parse sees the page as it was fetched: its text to the letter, and where it came from', async (t) => {
  const page = '\u{feff}<p id="owner">MÜLLER</p><a href="/bill">bill</a>';
  const { extract } = await stored(t, { page });
  let seen: unknown = null;
  await extract(
    parserOf(({ page: given, input }) => {
      seen = [given.body, given.url, given.link('a')];
      return { apn: input.apn, owner: 'x' };
    }),
  );
  assert.deepEqual(seen, [page, URL_OF_PAGE, 'https://county.example/bill']);
});

test('a page whose origin was not kept has no origin', async (t) => {
  for (const metadata of ['no JSON', '"text"', '{"url":5,"job_id":{}}']) {
    const { extract, source } = await stored(t, { metadata });
    const urls: string[] = [];
    const scraper = parserOf(({ page, input }) => {
      urls.push(page.url);
      return { apn: input.apn, owner: 'x' };
    });
    await extract(scraper);
    await extract(scraper, { source: { ...source, metadata: null }, attempt: 2 });
    assert.deepEqual(urls, ['about:blank', 'about:blank']);
  }
});

test('what the newer parse does not find, or makes wrong, is the failure that it is in a scrape', async (t) => {
  const { failureOf } = await stored(t);
  const wants = (selector: string) =>
    parserOf(({ page, input }) => ({ apn: input.apn, owner: page.text(selector).repeat(3) }));
  assert.partialDeepStrictEqual(await failureOf(wants('#missing')), { type: 'structure_changed' });
  assert.partialDeepStrictEqual(await failureOf(wants('#owner')), { type: 'invalid_output' });
  assert.partialDeepStrictEqual(await failureOf(READS_OWNER, { input: { apn: 5 } }), { type: 'invalid_input' });
  const other = parserOf(({ page }) => expect.sameItem(page.text('#owner'), 'JONES') as never);
  assert.partialDeepStrictEqual(await failureOf(other), { type: 'navigation_failed' });
  const bug = parserOf(() => {
    throw new TypeError('a bug');
  });
  const { type, message } = await failureOf(bug);
  assert.equal(type, 'unexpected');
  assert.match(message, /a bug \(extract\.test\.ts:\d+\)/);
});

test('a page that is gone, damaged or torn is not read, and the item says which', async (t) => {
  const { failureOf, folder, source } = await stored(t);
  const file = join(folder, 'old/items/1/html.html.gz');
  const changed = { ...source, html: { ...source.html, sha256: '0'.repeat(64) } };
  const wrong = await failureOf(READS_OWNER, { source: changed });
  assert.deepEqual(
    [wrong.type, wrong.message],
    ['unexpected', 'the stored page old/items/1/html.html is damaged: its SHA-256 is not the one on record'],
  );
  truncateSync(file, 20);
  assert.match((await failureOf(READS_OWNER)).message, /^the stored page old\/items\/1\/html\.html cannot be read$/);
  unlinkSync(file);
  const missing = await failureOf(READS_OWNER);
  assert.deepEqual([missing.type, missing.message], ['not_found', 'the stored page old/items/1/html.html is missing']);
  const huge = { ...source, html: { ...source.html, size: 2 ** 30 } };
  assert.equal((await failureOf(READS_OWNER, { source: huge })).type, 'too_large');
});

test('damaged metadata are reported, too: they say where the page is from', async (t) => {
  const { failureOf, folder } = await stored(t);
  truncateSync(join(folder, 'old/items/1/metadata.json'), 3);
  assert.match((await failureOf(READS_OWNER)).message, /^the stored metadata .* is damaged/);
});

test('a scraper that cannot read stored pages says so', async (t) => {
  const { failureOf } = await stored(t);
  const plain = definePlainScraper({
    ...{ id: 'plain', name: '', version: '1', description: '', input: z.unknown() },
    scrape: async () => assert.fail('it was run'),
  });
  assert.equal(plain.extract, null);
  const { type, message } = await failureOf(plain);
  assert.deepEqual([type, message], ['unexpected', 'plain cannot parse stored pages: it has no parse function']);
});

test('one that does not come to an end loses its slot when its time is over', async (t) => {
  const { failureOf } = await stored(t);
  const never = { ...READS_OWNER, extract: () => new Promise<never>(() => {}) };
  assert.deepEqual(await failureOf(never, { isLate: true }), {
    ...{ type: 'timeout', message: 'item took longer than 5 s', cause: null, retryAfterMs: null },
  });
});

test('nothing that leads to the web is lent to what reads stored pages', async (t) => {
  const { extract } = await stored(t);
  let given: StoredInput | null = null;
  const nosy: Scraper = {
    ...READS_OWNER,
    extract(input) {
      given = input;
      return { kind: 'scraped', artifacts: [] };
    },
  };
  await extract(nosy);
  assert.deepEqual(Object.keys(given ?? {}), ['input', 'body', 'url']);
});
