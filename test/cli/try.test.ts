import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type County, startCounty } from '../../demo/county.ts';
import { startService } from '../api/service.ts';
import { folderWith, plainSource } from '../scraping/scraper-folder.ts';
import { spawnTied } from '../support/spawn-tied.ts';
import { untilTrue } from '../support/until.ts';
import { CHEAP, command, startTrawl, tempFolder } from './trawl.ts';

let county: County;
before(async () => {
  county = await startCounty({ parcels: 100 });
});
after(() => county.close());

/** `trawl try …` in a folder of its own, with the demo county within reach. */
function tryCommand(args: readonly string[], { folder = tempFolder(), env = {} } = {}) {
  const routes = `http://demo-county.test=${county.url}`;
  const reach = { TRAWL_ROUTES: routes, TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_SCRAPERS: folder };
  return command(['try', ...args], { ...reach, ...env }, folder);
}

/** The source of a plain scraper that returns the data, which is the text of an expression. */
function returning(data: string, more = ''): string {
  return plainSource('a', more).replace(
    'artifacts: []',
    `artifacts: [{ kind: 'data', bytes: Buffer.from(JSON.stringify(${data})) }]`,
  );
}

test('a trial shows its requests, what the selectors matched, and the data, and stores nothing', async () => {
  const folder = tempFolder();
  const { code, stdout, stderr } = await tryCommand(['demo-parcel', '--input', 'apn=101-01-001'], { folder });
  assert.deepEqual([stderr, code], ['', 0]);
  assert.match(stdout, /^ {2}200 {2}GET http:\/\/demo-county\.test\/parcel\/101-01-001 {2}\d+ ms {2}[\d.]+ KiB$/m);
  assert.match(stdout, /^selectors\n {2}#datalet_lblParid +1 match in 2 uses +"101-01-001"$/m);
  assert.match(stdout, /^ {2}#datalet_lblTotalTax +1 match +"\$[\d,.]+"$/m);
  assert.match(stdout, /^data\n\{\n {2}"apn": "101-01-001",$/m);
  assert.match(stdout, /^ok\ndemo-parcel 1\.0\.0, 1 request, html .*, data .*$/m);
  assert.deepEqual(readdirSync(folder), []);
});

test('for programs, the whole output is one JSON object', async () => {
  const { code, stdout } = await tryCommand(['demo-parcel', '--input', 'apn=101-01-001', '--json']);
  assert.equal(code, 0);
  const report = JSON.parse(stdout);
  assert.deepEqual(
    [report.scraper_id, report.outcome, report.tries, report.error],
    ['demo-parcel', 'success', 1, null],
  );
  assert.equal(report.data.apn, '101-01-001');
  const [request] = report.events;
  assert.deepEqual([request.kind, request.method, request.status, request.problem], ['request', 'GET', 200, null]);
  assert.ok(request.bytes > 0 && Number.isInteger(request.ms));
  assert.deepEqual(
    report.selectors.find(({ selector }: { selector: string }) => selector === '#datalet_lblParid'),
    { selector: '#datalet_lblParid', uses: 2, fewest: 1, most: 1, text: '101-01-001' },
  );
});

test('a failure is shown with its type, and its exit code is 1', async () => {
  const missing = await tryCommand(['demo-parcel', '--input', 'apn=999-99-999']);
  assert.equal(missing.code, 1);
  assert.match(missing.stdout, /^ {2}404 {2}GET /m);
  assert.match(missing.stdout, /^failed: not_found: /m);
  const bad = await tryCommand(['demo-parcel', '--input', 'parcel=1', '--json']);
  assert.equal(bad.code, 1);
  assert.equal(JSON.parse(bad.stdout).error.type, 'invalid_input');
  const refused = await tryCommand(['demo-parcel', '--input', 'apn=1'], { env: { TRAWL_ALLOW_ADDRESSES: '' } });
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^ {2}--- {2}GET .* refused_address: /m);
});

test('rows of a list count as one selector, and one that never matches is conspicuous', async () => {
  const folder = tempFolder();
  writeFileSync(
    join(folder, 'rows.ts'),
    `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'rows', name: 'Rows', version: '1', description: '', input: z.object({ url: z.string() }), hosts: [],
  output: z.object({ rows: z.array(z.string()) }),
  async scrape({ http, input, log }) {
    const page = await http.get(input.url);
    log.info({ rows: 3 }, 'reading');
    page.optional.text('#never');
    return { html: page, data: { rows: page.all('tr', (row) => row.optional.text('td') ?? '').slice(0, 2) } };
  },
});`,
  );
  const url = 'http://demo-county.test/parcel/101-01-001';
  const { code, stdout } = await tryCommand(['rows', '--url', url], { folder });
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}info {2}reading \{"rows":3\}$/m);
  assert.match(stdout, /^ {2}#never +no match$/m);
  assert.match(stdout, /^ {2}tr +\d+ matches +"/m);
  assert.match(stdout, /^ {2}td in tr +0 to \d+ matches in \d+ uses +"/m);
});

test('retries are shown when they happen, with the reason and the wait', async () => {
  const folder = tempFolder();
  const source = plainSource('a', 'let tries = 0;')
    .replace('definePlainScraper,', 'definePlainScraper, fail,')
    .replace('{ return {', "{ tries += 1; if (tries === 1) fail('timeout', 'too slow'); return {");
  writeFileSync(join(folder, 'a.ts'), source);
  const { code, stdout } = await tryCommand(['a'], { folder });
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}try 1 failed: timeout: too slow; the next one is in [\d.]+ m?s$/m);
  assert.match(stdout, /^a 1\.2\.3, 0 requests, 2 tries, /m);
});

test('a case of the fixture is played offline', async () => {
  const env = { TRAWL_ALLOW_ADDRESSES: '', TRAWL_ROUTES: '' };
  const { code, stdout } = await tryCommand(['demo-parcel', '--case', 'a parcel'], { env });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ok\ndemo-parcel 1\.0\.0, recorded pages of a parcel, 1 request, /m);
  const unknown = await tryCommand(['demo-parcel', '--case', 'nothing'], { env });
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /--case: the fixture of demo-parcel has no case "nothing", but "a parcel"/);
  const none = await tryCommand(['example-mock', '--case', 'x'], { env });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /example-mock has no fixture/);
});

test('the input of an item comes from the folder of a run, or from a service', async () => {
  const folder = tempFolder();
  const rows = [
    { item_id: '1', input: { apn: 'of-1' } },
    { item_id: 'two', input: { apn: 'of-two' } },
  ];
  writeFileSync(join(folder, 'results.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  // These are the items of a second list in the same folder.
  const other = { item_id: 'of-another-list', input: { apn: 'another' } };
  writeFileSync(join(folder, 'results-condos.jsonl'), `${JSON.stringify(other)}\n`);
  const second = await tryCommand(['example-mock', '--json', '--from', folder, 'of-another-list']);
  assert.equal(JSON.parse(second.stdout).data.apn, 'another');
  const stored = await tryCommand(['example-mock', '--json', '--from', folder, 'two']);
  assert.deepEqual([stored.stderr, JSON.parse(stored.stdout).data.apn], ['', 'of-two']);
  const missing = await tryCommand(['example-mock', '--from', folder, 'three']);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /no item three in results-condos\.jsonl, results\.jsonl/);

  const { url, ask } = await startService({ workers: 0 });
  const items = [{ item_id: 'x', input: { apn: 'of-the-service' } }];
  await ask('POST', '/jobs', { json: { job_id: 'j', scraper_id: 'example-mock', hold: true, items } });
  const asked = await tryCommand(['example-mock', '--from', 'j', 'x', '--json'], { env: { TRAWL_URL: url } });
  assert.deepEqual([asked.stderr, JSON.parse(asked.stdout).input], ['', { apn: 'of-the-service' }]);
  const unknown = await tryCommand(['example-mock', '--from', 'j', 'y'], { env: { TRAWL_URL: url } });
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /no item y/i);
});

test('an invalid command is bad usage', async (t) => {
  const folder = folderWith(t, { 'good.ts': plainSource('good'), 'cut.ts': plainSource('cut').slice(0, -10) });
  const cases: readonly [readonly string[], RegExp][] = [
    [['godo'], /there is no scraper godo; did you mean good\?/],
    [['good', '--input', 'a=1', '--case', 'x'], /give one of --input/],
    [['good', '--from', 'job'], /--from takes a job and an item/],
    [['demo-parcel', '--url', 'http://a.test'], /--url: the input of demo-parcel has no field url: it has apn/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await tryCommand(args, { folder });
    assert.match(stderr, message);
    assert.equal(code, 2);
  }
  const broken = await tryCommand(['cut'], { folder });
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /cut\.ts:\d+ cannot be loaded/);
});

test('the last page is written to a file, and opened where there is a display', async () => {
  const folder = tempFolder();
  const opener = join(folder, 'xdg-open');
  const opened = join(folder, 'opened.txt');
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`);
  chmodSync(opener, 0o755);
  const args = ['demo-parcel', '--input', 'apn=101-01-001', '--open'];
  const path = `${folder}${delimiter}${process.env['PATH']}`;
  const bare = await tryCommand(args, { env: { PATH: path, DISPLAY: '', WAYLAND_DISPLAY: '' } });
  const file = /^page: (.+)$/m.exec(bare.stdout)?.[1] ?? '';
  assert.match(readFileSync(file, 'utf8'), /^\uFEFF<!doctype html>[\s\S]*datalet_lblParid/i);

  const shown = await tryCommand(args, { env: { PATH: path, DISPLAY: ':7' } });
  await untilTrue(() => existsSync(opened) && readFileSync(opened, 'utf8') !== '');
  assert.equal(readFileSync(opened, 'utf8'), /^page: (.+)$/m.exec(shown.stdout)?.[1]);
});

const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));

test('with --watch it runs again when the scraper or a file that it imports is saved, until it is interrupted', async (t) => {
  const source = `import { words } from './lib/words.ts';\n${returning('{ said: words() }')}`;
  const words = (said: string) => `export const words = () => '${said}';\n`;
  const folder = folderWith(t, { 'a.ts': source, 'lib/words.ts': words('first') });
  const env = { ...process.env, ...CHEAP, TRAWL_SCRAPERS: folder };
  const child = spawnTied(BIN, ['try', 'a', '--watch', '--json'], { stdout: 'pipe', env });
  const ended = once(child, 'close');
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  assert.ok(child.stdout);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextData = async () => JSON.parse((await lines.next()).value ?? '').data;

  assert.deepEqual(await nextData(), { said: 'first' });
  writeFileSync(join(folder, 'lib', 'words.ts'), words('second'));
  assert.deepEqual(await nextData(), { said: 'second' });
  writeFileSync(join(folder, 'a.ts'), source.replace('{ said', '{ also: 1, said'));
  assert.deepEqual(await nextData(), { also: 1, said: 'second' });
  writeFileSync(join(folder, 'a.ts'), 'const = 5;');
  await untilTrue(() => /a\.ts:1 cannot be loaded/.test(stderr));
  writeFileSync(join(folder, 'a.ts'), source);
  assert.deepEqual(await nextData(), { said: 'second' });
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
});

test('a trial that takes too long can be interrupted', async (t) => {
  const waiting = plainSource('a').replace(
    'async scrape() {',
    "async scrape() { console.error('begun'); await new Promise(() => {});",
  );
  const running = startTrawl(['try', 'a'], { TRAWL_SCRAPERS: folderWith(t, { 'a.ts': waiting }) });
  await running.shows(/begun/);
  running.signalGroup('SIGINT');
  assert.equal((await running.ended).code, 130);
});
