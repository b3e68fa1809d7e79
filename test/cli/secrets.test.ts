import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { openSite } from '../scraping/http-support.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { tempFolder, trawl, writeLines } from './trawl.ts';

const KEY = 'open/sesame+7';

/** It is careless in every way: it logs its key, fails with it, sends it in the URL and in a header, and returns it. */
const sourceFor = (site: string) => `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'careless', name: 'Careless', version: '1', description: 'Tells its secret to everybody.',
  input: z.object({ number: z.coerce.number() }),
  output: z.object({ echo: z.string() }),
  hosts: [],
  async scrape({ input, http, secret, log }) {
    const key = secret('county_key');
    log.warn({ key, basic: btoa('ann:' + key) }, 'my key is ' + key);
    const page = await http.get('${site}/' + encodeURIComponent(key), { query: { key }, headers: { 'x-key': key } });
    if (input.number === 2) throw new Error('no luck with ' + key, { cause: new Error(btoa(key)) });
    return { html: page, data: input.number === 3 ? { echo: 7, key } : { echo: page.text('#echo') } };
  },
});
`;

function itemList(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => ({
    item_id: `${index + 1}`,
    input: { number: index + 1 },
  }));
  return writeLines(tempFolder(), 'items.jsonl', lines);
}

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
  }
}

test('a secret is in no log, error, metadata, page or ledger, however careless the scraper is', async (t) => {
  const site = await openSite(t, ({ query, headers }) => {
    return `<p id="echo">${query.get('key')}</p><a href="?${query}">${btoa(headers['x-key'] ?? '')}</a>`;
  });
  const folder = folderWith(t, { 'careless.ts': sourceFor(site.origin) });
  const out = tempFolder();
  const items = itemList(3);
  const environment = { TRAWL_SCRAPERS: folder, TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_LOG_LEVEL: 'debug' };
  const policy = writeLines(tempFolder(), 'policy.json', [{ retries: { max_retries: 0 } }]);
  const run = ['run', 'careless', '--items', items, '--out', out, '--policy', policy];
  const { code, stdout, stderr } = await trawl(run, { ...environment, TRAWL_SECRET_COUNTY_KEY: KEY });
  assert.equal(code, EXIT.someItemsFailed, stderr);
  assert.equal(site.asked.length, 3);
  assert.equal(site.asked[0]?.query.get('key'), KEY, 'the site gets the real one');
  const told: [string, string][] = [...filesIn(out)].map((file) => {
    const bytes = readFileSync(file);
    return [file, (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
  });
  for (const [where, text] of [...told, ['stdout', stdout], ['stderr', stderr]] as const) {
    for (const form of [KEY, encodeURIComponent(KEY), btoa(KEY)]) assert.ok(!text.includes(form), `${where}: ${form}`);
  }
  assert.match(stderr, /my key is \*\*\*county_key\*\*\*/);
  assert.match(told.find(([file]) => file.endsWith('items/1/metadata.json'))?.[1] ?? '', /\*\*\*county_key\*\*\*/);
});

test('a secret that is not set stops the job, and the reason says what to set', async (t) => {
  const site = await openSite(t, () => 'ok');
  const folder = folderWith(t, { 'careless.ts': sourceFor(site.origin) });
  const environment = { TRAWL_SCRAPERS: folder, TRAWL_ALLOW_ADDRESSES: 'loopback' };
  const run = ['run', 'careless', '--items', itemList(200), '--concurrency', '1', '--out', tempFolder(), '--json'];
  const { code, stdout, stderr } = await trawl(run, environment);
  assert.equal(code, EXIT.failed, stderr);
  assert.match(stdout + stderr, /the secret county_key is not set: set TRAWL_SECRET_COUNTY_KEY/);
  const { failed } = JSON.parse(stdout).summary;
  assert.ok(failed >= 1 && failed < 50, `${failed} items were tried in vain`);
  assert.equal(site.asked.length, 0);
});

test('a trial shows no secret either, whether it succeeds or fails', async (t) => {
  const site = await openSite(t, ({ query }) => `<p id="echo">${query.get('key')}</p>`);
  const folder = folderWith(t, { 'careless.ts': sourceFor(site.origin) });
  const environment = {
    TRAWL_SCRAPERS: folder,
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_SECRET_COUNTY_KEY: KEY,
  };
  for (const [number, expected] of [
    [1, EXIT.done],
    [3, EXIT.someItemsFailed],
  ] as const) {
    const tried = await trawl(['try', 'careless', '--input', `number=${number}`, '--json'], environment);
    assert.equal(tried.code, expected, tried.stderr);
    assert.match(tried.stdout, /\*\*\*county_key\*\*\*/);
    for (const form of [KEY, encodeURIComponent(KEY), btoa(KEY)]) {
      assert.ok(!tried.stdout.includes(form) && !tried.stderr.includes(form), form);
    }
  }
});
