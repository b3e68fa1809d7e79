import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startCounty } from '../../demo/county.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startService } from '../api/service.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { sized } from '../support/sized.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

const ITEMS = sized({ quick: 100, slow: 1000 });
const BROKEN_EVERY = 10;
const BROKEN_OF_THEM = 3;
const BROKEN = (ITEMS / BROKEN_EVERY) * BROKEN_OF_THEM;

/** The parcel's page of the demo county. The broken one looks for an element that the page does not have. */
function scraperSource(version: string, parse: string): string {
  return `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'parcels', name: 'Parcels', version: '${version}', description: 'Who owns a parcel.',
  input: z.object({ apn: z.string(), number: z.coerce.number() }),
  ${parse}
  hosts: ['demo-county.test'],
  async scrape({ input, http }) {
    return { html: await http.get('http://demo-county.test/parcel/' + input.apn) };
  },
});
`;
}

const OUTPUT = 'output: z.object({ owner: z.string().min(1) }),';
const REPAIRED = scraperSource(
  '1.1.0',
  `${OUTPUT}\n  parse: ({ page }) => ({ owner: page.text('#datalet_lblOwner') }),`,
);
const BROKEN_FOR_SOME = scraperSource(
  '1.0.0',
  `${OUTPUT}
  parse({ page, input }) {
    const selector = input.number % ${BROKEN_EVERY} < ${BROKEN_OF_THEM} ? '#datalet_lblProprietor' : '#datalet_lblOwner';
    return { owner: page.text(selector) };
  },`,
);
const PAGES_ONLY = scraperSource('0.9.0', '');

/** A county that counts its requests, and a service with one scraper, which can be restarted with another. */
async function openStage(t: TestContext, parcels: number) {
  const county = await startCounty({ parcels });
  t.after(() => county.close());
  const dataDir = tempFolder();
  const list = await (await fetch(`${county.url}/parcels.csv`)).text();
  const apns = list
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',')[0]);
  const items = writeLines(
    dataDir,
    'items.jsonl',
    apns.map((apn, number) => ({ item_id: apn, input: { apn, number } })),
  );
  const policy = writeLines(dataDir, 'policy.json', [
    {
      throttling: { max_concurrent_workers: 16 },
      circuit_breaker: { min_requests: 1_000_000, consecutive_failures: 1_000_000 },
      // What is kept of the first failures comes on top of that.
      results: { keep_failures: 0 },
    },
  ]);
  return {
    items,
    policy,
    async requests(): Promise<number> {
      const stats = (await (await fetch(`${county.url}/__control/stats`)).json()) as { requests: number };
      return stats.requests;
    },
    async serve(source: string) {
      const { url, stop } = await startService({
        ...{ dataDir, allowAddresses: 'loopback', routes: `http://demo-county.test=${county.url}` },
        scrapers: [folderWith(t, { 'parcels.ts': source })],
      });
      return { stop, run: (...words: string[]) => command(words, { TRAWL_URL: url, TRAWL_DATA_DIR: dataDir }) };
    },
  };
}

type Run = (...words: string[]) => ReturnType<typeof command>;

async function summaryOf(run: Run, jobId: string): Promise<Record<string, number>> {
  const { stdout, stderr } = await run('jobs', 'status', jobId, '--json');
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout).summary;
}

async function rowsOf(run: Run, jobId: string, ...more: string[]) {
  const { stdout } = await run('jobs', 'export', jobId, ...more);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { status: string; data: { owner?: string } | null });
}

test(`a job of ${ITEMS} whose parse is broken for ${BROKEN} keeps every page, and a repaired parse turns all into successes without a request`, async (t) => {
  const stage = await openStage(t, ITEMS);
  const broken = await stage.serve(BROKEN_FOR_SOME);
  const words = ['--items', stage.items, '--policy', stage.policy, '--job-id', 'parcels-1', '--watch'];
  const created = await broken.run('jobs', 'create', 'parcels', ...words);
  assert.equal(created.code, EXIT.someItemsFailed, created.stderr);
  assert.partialDeepStrictEqual(await summaryOf(broken.run, 'parcels-1'), { success: ITEMS - BROKEN, failed: BROKEN });
  const asked = await stage.requests();
  assert.equal(asked, ITEMS);
  const results = JSON.parse((await broken.run('verify', 'parcels-1', '--json')).stdout || '{}');
  assert.deepEqual(
    results.checked?.artifacts ?? 0,
    2 * ITEMS + (ITEMS - BROKEN),
    'a page and metadata of each, and the data',
  );
  await broken.stop();

  const repaired = await stage.serve(REPAIRED);
  const extracted = await repaired.run('extract', 'parcels-1', '--job-id', 'parcels-2', '--replace');
  assert.equal(extracted.code, EXIT.done, extracted.stderr);
  assert.match(extracted.stdout, new RegExp(`${BROKEN} failed items would become successes`));
  const all = ITEMS.toLocaleString('en-US');
  assert.ok(extracted.stderr.includes(`${all} of ${all} (100 %): ${all} ok, 0 failed`), extracted.stderr);
  assert.partialDeepStrictEqual(await summaryOf(repaired.run, 'parcels-1'), {
    success: ITEMS,
    failed: 0,
    total: ITEMS,
  });
  const rows = await rowsOf(repaired.run, 'parcels-1', '--filter', 'success');
  assert.equal(rows.length, ITEMS);
  assert.ok(rows.every(({ data }) => typeof data?.owner === 'string'));
  const verified = await repaired.run('verify', 'parcels-1');
  assert.equal(verified.code, EXIT.done, verified.stdout + verified.stderr);
  assert.equal(await stage.requests(), asked, 'nothing was asked for again');
  await repaired.stop();
});

test('a scraper that keeps pages only succeeds, and a later version reads them without a request', async (t) => {
  const stage = await openStage(t, 100);
  const keeper = await stage.serve(PAGES_ONLY);
  const words = ['--items', stage.items, '--policy', stage.policy, '--job-id', 'pages', '--watch'];
  const created = await keeper.run('jobs', 'create', 'parcels', ...words);
  assert.equal(created.code, EXIT.done, created.stderr);
  const [first] = await rowsOf(keeper.run, 'pages');
  assert.deepEqual([first?.status, first?.data], ['success', null]);
  const asked = await stage.requests();
  await keeper.stop();

  const reader = await stage.serve(REPAIRED);
  const extracted = await reader.run('extract', 'pages', '--replace');
  assert.equal(extracted.code, EXIT.done, extracted.stderr);
  const rows = await rowsOf(reader.run, 'pages');
  assert.ok(rows.length === 100 && rows.every(({ data }) => typeof data?.owner === 'string'));
  assert.equal(await stage.requests(), asked);
  await reader.stop();
});
