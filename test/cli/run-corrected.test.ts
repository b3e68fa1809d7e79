import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { folderWith } from '../scraping/scraper-folder.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

/** A county that knows two parcels. */
const COUNTY = `import { definePlainScraper, failure, z } from 'trawl/scraper';
const OWNERS = { '101': 'GARCIA', '102': 'NGUYEN' };
export default definePlainScraper({
  id: 'county', name: 'County', version: '1', description: 'Knows two parcels.',
  input: z.object({ parid: z.string() }),
  async scrape({ input }) {
    const owner = OWNERS[input.parid];
    if (owner === undefined) return { kind: 'failed', failure: failure('no_results', 'no parcel ' + input.parid) };
    const bytes = new TextEncoder().encode(JSON.stringify({ owner }));
    return { kind: 'scraped', artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }] };
  },
});
`;

function openCounty(t: TestContext) {
  const folder = tempFolder();
  const out = join(folder, 'out');
  const environment = { TRAWL_SCRAPERS: folderWith(t, { 'county.ts': COUNTY }) };
  return {
    run: (rows: readonly string[], ...more: readonly string[]) => {
      const items = writeLines(folder, 'parcels.csv', ['item_id,parid', ...rows]);
      return command(['run', 'county', '--items', items, '--out', out, ...more], environment);
    },
    rows: () =>
      readFileSync(join(out, 'results.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ item_id, status, input, data }) => [item_id, status, input.parid, data?.owner]),
  };
}

const WRONG = ['a,101-00', 'b,102', 'c,103'];
const CORRECTED = ['a,101', 'b,101', 'c,103'];

test('a corrected list, run by the same command, replaces the inputs that failed, and the report says so', async (t) => {
  const county = openCounty(t);
  const first = await county.run(WRONG);
  assert.equal(first.code, 1, first.stderr);
  assert.match(first.stdout, /1 ok, 2 failed/);

  const second = await county.run(CORRECTED);
  assert.equal(second.code, 1, second.stderr);
  assert.match(second.stderr, /^0 items added, 1 corrected, 2 duplicates left unchanged\.$/m);
  assert.match(second.stderr, /^1 item failed before and will run again with the new input: a$/m);
  assert.match(second.stderr, /^1 duplicate came with a different input; the job keeps the one it has: b$/m);
  assert.match(second.stdout, /^Job parcels completed, 1 more item in .*\n {2}3 of 3 \(100 %\): 2 ok, 1 failed\n/);
  assert.deepEqual(county.rows(), [
    ['a', 'success', '101', 'GARCIA'],
    ['b', 'success', '102', 'NGUYEN'],
    ['c', 'failed', '103', undefined],
  ]);

  const third = await county.run(CORRECTED);
  assert.match(third.stdout, /^Done already/);
});

test('--retry-failed with a corrected list retries with the new inputs', async (t) => {
  const county = openCounty(t);
  await county.run(WRONG);
  const again = await county.run(CORRECTED, '--retry-failed', '--json');
  assert.equal(again.code, 1, again.stderr);
  const { items, run, summary } = JSON.parse(again.stdout);
  assert.deepEqual([items.replaced, items.replaced_ids, items.conflicting_ids], [1, ['a'], ['b']]);
  assert.deepEqual([run.finished, summary.success, summary.failed], [2, 2, 1], 'the one that is still wrong, too');
  assert.deepEqual(county.rows()[0], ['a', 'success', '101', 'GARCIA']);
});
