import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { folderWith } from '../scraping/scraper-folder.ts';
import { startApi } from './api-stub.ts';
import { command, startTrawl, tempFolder, writeLines } from './trawl.ts';

function scraperSource({ version = '1.0.0', owner = "page.text('#a')" } = {}): string {
  return `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'owners', name: 'Owners', version: '${version}', description: 'Who owns a parcel.',
  input: z.strictObject({ apn: z.string() }),
  output: z.object({ owner: z.string().min(1) }),
  hosts: ['owners.test'],
  async scrape({ input, http }) {
    return { html: await http.get('http://owners.test/' + input.apn) };
  },
  parse({ page }) {
    return { owner: ${owner} };
  },
});
`;
}

/** A site whose parcels have owners, a scraper for it, and a folder for lists and results. */
async function openCounty(t: TestContext, owners: Record<string, string>) {
  const requests: string[] = [];
  const waiting = new Map<string, () => void>();
  const site = await startApi(({ url = '' }, response) => {
    const apn = url.slice(1);
    requests.push(apn);
    waiting.get(apn)?.();
    const owner = owners[apn];
    response.setHeader('content-type', 'text/html');
    if (owner === undefined) response.writeHead(404).end('<p>nothing here</p>');
    else if (owner !== 'HANGS') response.end(`<p id="a">${owner}</p>`);
  });
  const scrapers = folderWith(t, { 'owners.ts': scraperSource() });
  const folder = tempFolder();
  const env = {
    TRAWL_SCRAPERS: scrapers,
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_ROUTES: `http://owners.test=${site.url}`,
    TRAWL_DATA_DIR: join(folder, '.trawl'),
  };
  const words = (options: readonly string[]) => ['run', 'owners', ...options];
  return {
    ...{ owners, requests, folder, out: join(folder, 'out') },
    list: (name: string, apns: readonly string[]) => writeLines(folder, name, ['apn', ...apns]),
    edit: (change: { version?: string; owner?: string }) =>
      writeFileSync(join(scrapers, 'owners.ts'), scraperSource(change)),
    run: (...options: string[]) => command(words(options), env),
    start: (...options: string[]) => startTrawl(words(options), env),
    /** Resolves when this parcel is requested from the site. */
    asked: (apn: string) => new Promise<void>((resolve) => waiting.set(apn, resolve)),
  };
}

function ownersIn(path: string): Record<string, string | undefined> {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line)).map(({ item_id, data }) => [item_id, data?.owner]));
}

test('each list is a job of its own, and one that is scraped again shows what is different', async (t) => {
  const { owners, requests, out, list, run } = await openCounty(t, { 1: 'ANN', 2: 'BOB', 3: 'CAT', 9: 'ZOE' });
  const parcels = list('Parcels 2026.csv', ['1', '2', '3']);
  const first = await run('--items', parcels, '--out', out);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^Job parcels-2026 completed in /);

  const second = await run('--items', list('condos.csv', ['9']), '--out', out);
  assert.match(second.stderr, /^New job condos: \S+ also holds parcels-2026\.$/m);
  assert.match(second.stdout, /^Job condos completed in .*\n {2}1 of 1 /);
  assert.deepEqual(ownersIn(join(out, 'results.jsonl')), { 1: 'ANN', 2: 'BOB', 3: 'CAT' });
  assert.deepEqual(ownersIn(join(out, 'results-condos.jsonl')), { 9: 'ZOE' });

  owners['2'] = 'BEN';
  owners['4'] = 'DAN';
  list('Parcels 2026.csv', ['1', '2', '4']);
  const command = ['--items', parcels, '--out', out];
  const again = await run(...command, '--again');
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /^Round 2 of parcels-2026 is job parcels-2026-2\.$/m);
  const difference =
    /\nCompared with job parcels-2026: 1 of 2 items changed, 1 appeared, 1 vanished\.\n {2}Appeared: 4\n {2}Vanished: 3\n\nFIELD .*\nowner .* 2: "BOB" → "BEN"\n$/;
  assert.match(again.stdout, difference);
  assert.deepEqual(ownersIn(join(out, 'results-parcels-2026-2.jsonl')), { 1: 'ANN', 2: 'BEN', 4: 'DAN' });
  assert.deepEqual(ownersIn(join(out, 'results.jsonl')), { 1: 'ANN', 2: 'BOB', 3: 'CAT' });
  // On a busy machine a lease may run out, and an item may be requested twice.
  const asked = requests.length;

  const later = await run(...command, '--diff');
  assert.match(later.stdout, /^Done already: nothing was left to do\.\n/);
  assert.match(later.stdout, difference);
  const json = JSON.parse((await run(...command, '--diff', '--json')).stdout);
  assert.deepEqual([json.run.list, json.run.round, json.difference.changed], ['parcels-2026', 2, 1]);
  assert.equal(requests.length, asked);

  const unnamed = await run('--out', out);
  assert.equal(unnamed.code, 2);
  assert.match(unnamed.stderr, /holds several lists: .*--job: parcels-2026, condos/);
});

test('a list that was left unfinished does not continue while another one is run', async (t) => {
  const county = await openCounty(t, { 1: 'ANN', 2: 'HANGS', 3: 'CAT', 9: 'ZOE' });
  const { owners, requests, out, list, run, start } = county;
  const parcels = ['--items', list('parcels.csv', ['1', '2', '3']), '--out', out, '--concurrency', '1'];
  const begun = start(...parcels);
  await county.asked('2');
  begun.signalGroup('SIGKILL');
  await begun.ended;
  requests.length = 0;
  owners['2'] = 'BOB';

  const other = await run('--items', list('condos.csv', ['9']), '--out', out);
  assert.equal(other.code, 0, other.stderr);
  assert.match(other.stderr, /^Job parcels in the same folder is unfinished and waits until it is run again\.$/m);
  // What was in progress when the first one ended may be finished; nothing else of it is started.
  assert.deepEqual(
    requests.filter((apn) => apn !== '2'),
    ['9'],
  );

  const rest = await run(...parcels);
  assert.equal(rest.code, 0, rest.stderr);
  assert.deepEqual([...new Set(requests)].sort(), ['2', '3', '9']);
  assert.deepEqual(ownersIn(join(out, 'results.jsonl')), { 1: 'ANN', 2: 'BOB', 3: 'CAT' });
});

test('a scraper that has changed since: the run says so, and does what the user chooses', async (t) => {
  const { owners, requests, out, list, edit, run } = await openCounty(t, { 1: 'ANN', 2: 'BOB', 3: 'CAT' });
  const command = ['--items', list('parcels.csv', ['1', '2', '3', '4']), '--out', out];
  edit({ owner: "page.text(page.text('#a') === 'BOB' ? '#missing' : '#a')" });
  const first = await run(...command);
  assert.equal(first.code, 1, first.stderr);
  assert.match(
    first.stdout,
    /structure_changed: .*repair the scraper.*Once the scraper is repaired:\n {2}trawl run .* --extract\n/s,
  );
  assert.doesNotMatch(first.stdout, /--failed/);
  const asked = requests.length;

  edit({ version: '1.1.0', owner: "page.text('#a').toLowerCase()" });
  const told = await run(...command);
  assert.match(told.stdout, /^Done already/);
  assert.match(told.stdout, /Scraper owners is now version 1\.1\.0; the results were made with 1\.0\.0\.\n/);
  for (const option of ['--again', '--failed', '--extract']) {
    assert.match(told.stdout, new RegExp(`:\\n {2}trawl run owners .* ${option}\\n`));
  }
  const extracted = await run(...command, '--extract');
  assert.equal(extracted.code, 1, extracted.stderr);
  assert.match(extracted.stdout, /^Stored pages parsed again: 3 of 3 items changed, 1 failed item recovered\.\n/);
  assert.match(extracted.stderr, /The data of parcels were replaced: 4 of 4 \(100 %\): 3 ok, 1 failed\./);
  assert.deepEqual(ownersIn(join(out, 'results.jsonl')), { 1: 'ann', 2: 'bob', 3: 'cat', 4: undefined });
  assert.equal(requests.length, asked);
  assert.doesNotMatch((await run(...command)).stdout, /Scraper owners/);

  owners['4'] = 'DAN';
  const retried = await run(...command, '--failed');
  assert.equal(retried.code, 0, retried.stderr);
  assert.deepEqual([...new Set(requests.slice(asked))], ['4']);
  assert.deepEqual(ownersIn(join(out, 'results.jsonl')), { 1: 'ann', 2: 'bob', 3: 'cat', 4: 'dan' });

  edit({ version: '1.1.0', owner: "page.text('#a')" });
  const edited = await run(...command, '--json');
  assert.deepEqual(JSON.parse(edited.stdout).run.scraper_changed.to, '1.1.0');
  const both = await run(...command, '--again', '--failed');
  assert.deepEqual([both.code, both.stderr], [2, 'trawl: --again and --failed: give one of them\n']);
});

test('a single item is run every time, and its data are printed', async (t) => {
  const { owners, requests, run } = await openCounty(t, { 1: 'ANN' });
  const first = await run('--input', 'apn=1');
  assert.deepEqual([first.code, JSON.parse(first.stdout)], [0, { owner: 'ANN' }], first.stderr);
  assert.match(first.stderr, /1 of 1 \(100 %\): 1 ok, 0 failed/);
  owners['1'] = 'AMY';
  const second = await run('--input', 'apn=1');
  assert.deepEqual([second.code, JSON.parse(second.stdout)], [0, { owner: 'AMY' }], second.stderr);
  const json = JSON.parse((await run('--input', 'apn=1', '--json')).stdout);
  assert.deepEqual([json.data, json.summary.success], [{ owner: 'AMY' }, 1]);
  assert.ok(requests.length >= 3, 'it was not run each time');
  const failed = await run('--input', 'apn=2');
  assert.deepEqual([failed.code, failed.stdout], [1, '']);
  assert.match(failed.stderr, /not_found/);
});

test('results go into the file that is named, in its format, or into the folder', async (t) => {
  const { requests, folder, out, list, run } = await openCounty(t, { 1: 'ANN', 2: 'BOB' });
  const items = ['--items', list('parcels.csv', ['1', '2'])];
  const csv = join(folder, 'done', 'owners.csv');
  const first = await run(...items, '--out', csv);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, new RegExp(`^Results: ${csv}$`, 'm'));
  assert.match(readFileSync(csv, 'utf8'), /^item_id,status,.*\r\n1,success,.*ANN.*\r\n2,success,.*BOB/);
  assert.equal(existsSync(join(folder, '.trawl', 'run', 'owners', 'results', 'parcels')), true);

  // It is the same job, so nothing is scraped again for another format.
  const asked = requests.length;
  const parquet = join(folder, 'owners.parquet');
  assert.equal((await run(...items, '--out', parquet)).code, 0);
  assert.equal(readFileSync(parquet).subarray(0, 4).toString(), 'PAR1');
  assert.equal(requests.length, asked);

  assert.equal((await run(...items, '--format', 'csv', '--out', out)).code, 0);
  assert.equal(readFileSync(join(out, 'results.csv'), 'utf8'), readFileSync(csv, 'utf8'));
  assert.equal((await run(...items, '--format', 'jsonl', '--out', csv)).code, 2);
});
