import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { writeNewScraper } from '../../src/scraping/template/new-scraper.ts';
import { folderWith, plainSource } from '../scraping/scraper-folder.ts';
import { command, trawl } from './trawl.ts';

/** `trawl scrapers …`, in the folder, which is where its scrapers are. */
function scrapersCommand(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return command(['scrapers', ...args], { TRAWL_SCRAPERS: folder, ...env }, folder);
}

test('a folder of 300 scrapers is listed without running any of them', async (t) => {
  const sources = Array.from({ length: 300 }, (_, at): [string, string] => {
    const id = `county-${String(at).padStart(3, '0')}`;
    return [`state-${at % 50}/${id}.ts`, plainSource(id, "throw new Error('was run');")];
  });
  const folder = folderWith(t, Object.fromEntries(sources));
  const { code, stdout, stderr } = await scrapersCommand(folder, ['list']);
  assert.equal(stderr, '');
  assert.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.match(lines[0] ?? '', /^ID +NAME +VERSION +KIND +HOSTS +FILE$/);
  const found = lines.filter((line) => line.startsWith('county-'));
  assert.equal(found.length, 300);
  assert.match(found[7] ?? '', /^county-007 +The county-007 +1\.2\.3 +plain +- +state-7\/county-007\.ts$/);
  // The scrapers that come with Trawl are there as well.
  assert.ok(lines.some((line) => line.startsWith('example-noop')));
});

test('a file that cannot be used is reported at the end of the list, as text and as JSON', async (t) => {
  const folder = folderWith(t, {
    'good.ts': plainSource('good'),
    'cut.ts': plainSource('cut').slice(0, -10),
    'twin-a.ts': plainSource('twin'),
    'twin-b.ts': plainSource('twin'),
    'throws.ts': plainSource('throws', "throw new Error('at import');"),
  });
  const [text, json, shown] = await Promise.all([
    scrapersCommand(folder, ['list']),
    scrapersCommand(folder, ['list', '--json', '--check']),
    scrapersCommand(folder, ['show', 'throws']),
  ]);
  assert.equal(shown.code, 1);
  assert.match(shown.stderr, /throws\.ts cannot be loaded: at import/);
  assert.equal(text.code, 1);
  assert.match(text.stdout, /^good /m);
  assert.match(
    text.stdout,
    /cannot be used:\n {2}two scrapers have the id twin: .*\n {2}.*cut\.ts:\d+ cannot be loaded/,
  );

  assert.equal(json.code, 1);
  const { scrapers, problems } = JSON.parse(json.stdout);
  const summary = { id: 'good', name: 'The good', version: '1.2.3', description: 'Does nothing.', kind: 'plain' };
  const good = scrapers.find(({ id }: { id: string }) => id === 'good');
  assert.deepEqual(good, { ...summary, hosts: [], file: join(folder, 'good.ts') });
  const inFolder = problems.filter(({ file }: { file: string }) => file.startsWith(folder));
  assert.deepEqual(inFolder.map(({ id }: { id: string | null }) => id).sort(), ['throws', 'twin', null].sort());
});

test('a scraper is shown with its schemas; an unknown one with similar names', async (t) => {
  const folder = folderWith(t, { 'good.ts': plainSource('good').replace('z.unknown()', 'z.object({ a: z.date() })') });
  const [json, text, unknown] = await Promise.all([
    scrapersCommand(folder, ['show', 'good', '--json']),
    scrapersCommand(folder, ['show', 'good']),
    scrapersCommand(folder, ['show', 'godo']),
  ]);
  assert.equal(json.code, 0);
  const shown = JSON.parse(json.stdout);
  assert.deepEqual([shown.id, shown.file, shown.fixture, shown.output], ['good', join(folder, 'good.ts'), null, null]);
  assert.deepEqual(shown.input.required, ['a']);
  assert.match(text.stdout, /^The good {2}1\.2\.3\nDoes nothing\.\n\nid {7}good\n/);
  assert.match(text.stdout, /fixture {2}none/);

  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /there is no scraper godo; did you mean good\?/);
});

test('a folder of scrapers that does not exist is bad usage, and names the setting', async (t) => {
  const folder = folderWith(t, {});
  const { code, stderr } = await trawl(['scrapers', 'list'], { TRAWL_SCRAPERS: join(folder, 'gone') });
  assert.equal(code, 2);
  assert.match(stderr, /TRAWL_SCRAPERS: the folder of scrapers .*gone does not exist/);
});

test('a new scraper passes its test at once, fails by the name of the field when its page changes, and is not written over', async (t) => {
  const folder = folderWith(t, { 'package.json': '{}' });
  const made = await scrapersCommand(folder, ['new', 'my-county', '--folder', '.', '--host', 'treasurer.example.gov']);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(made.stdout, /wrote my-county\.ts\n/);
  assert.match(made.stdout, /\$ trawl scrapers test my-county\n/);

  const good = await scrapersCommand(folder, ['test', 'my-county']);
  assert.deepEqual([good.stderr, good.code], ['', 0], good.stdout);
  assert.equal(good.stdout, 'ok     my-county  a parcel\nok     my-county  no such parcel\n2 passed, 0 failed\n');

  const page = join(folder, 'my-county.fixture', '1-detail.html');
  writeFileSync(page, readFileSync(page, 'utf8').replace('SMITH JANE', 'JONES JIM'));
  const [changed, json, again] = await Promise.all([
    scrapersCommand(folder, ['test', 'my-county']),
    scrapersCommand(folder, ['test', 'my-county', '--json']),
    scrapersCommand(folder, ['new', 'my-county', '--folder', '.']),
  ]);
  assert.equal(changed.code, 1);
  assert.match(changed.stdout, /FAILED my-county {2}a parcel\n +owner: expected "SMITH JANE", got "JONES JIM"\n/);
  assert.match(changed.stdout, /\n1 passed, 1 failed\n$/);

  assert.equal(json.code, 1);
  const report = JSON.parse(json.stdout);
  assert.deepEqual([report.passed, report.failed], [1, 1]);
  assert.deepEqual(report.scrapers[0].cases[0], {
    ...{ name: 'a parcel', passed: false },
    differences: [{ field: 'owner', expected: 'SMITH JANE', got: 'JONES JIM' }],
  });

  assert.equal(again.code, 2);
  assert.match(again.stderr, /the scraper my-county already exists/);
  assert.match(readFileSync(join(folder, 'my-county.ts'), 'utf8'), /treasurer\.example\.gov/);
});

test('a new recording passes its cases at once, without a browser', async (t) => {
  const folder = folderWith(t, {});
  const made = await scrapersCommand(folder, ['new', 'my-county', '--recording', '--folder', '.']);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(made.stdout, /wrote my-county\.recording\.json\n/);
  const tested = await scrapersCommand(folder, ['test', 'my-county']);
  assert.equal(tested.stdout, 'ok     my-county  a parcel\nok     my-county  no such parcel\n2 passed, 0 failed\n');
  const other = await scrapersCommand(folder, ['new', 'other', '--kind', 'soap', '--folder', '.']);
  assert.match(other.stderr, /--kind must be one of http, browser, recording/);
});

test('a new scraper in a folder that is not searched yet comes with the setting to type', async (t) => {
  const folder = folderWith(t, {});
  const { code, stdout } = await scrapersCommand(folder, ['new', 'near', '--folder', 'made'], { TRAWL_SCRAPERS: '' });
  assert.equal(code, 0);
  assert.match(stdout, /\$ TRAWL_SCRAPERS=made trawl scrapers test near\n/);
});

test('a new scraper is refused where a file would be in its way, and for invalid ids and hosts', async (t) => {
  const folder = folderWith(t, { 'county.fixture/notes.txt': 'mine' });
  const create = (id: string, host = 'a.gov') =>
    writeNewScraper(new ScraperRegistry(), { id, folder, host, kind: 'http' });
  const answer = await create('county');
  assert.match(answer.kind === 'refused' ? answer.because : '', /county\.fixture already exists/);
  for (const id of ['../up', 'Upper', 'a--b', '-a', '', 'a'.repeat(65)])
    assert.equal((await create(id)).kind, 'refused');
  for (const host of ["a.gov'", 'a.gov/x', 'user@a.gov', 'A.gov', ''])
    assert.equal((await create('fine', host)).kind, 'refused');
  assert.deepEqual(readdirSync(folder), ['county.fixture']);
});

/** Sends requests to a server on this machine; the path is its input. */
const LOCAL = `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: 'local', name: 'Local', version: '1.0.0', description: 'Asks this machine.',
  input: z.strictObject({ site: z.string(), path: z.string() }),
  output: z.object({ owner: z.string() }),
  hosts: [],
  async scrape({ input, http }) {
    const page = await http.get(input.site + input.path);
    return { html: page, data: { owner: page.text('#owner') } };
  },
});
`;

async function countingServer(t: TestContext) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p id="owner">SMITH</p>');
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { site: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

test('recording contacts the site, and a test never does, not even for a page that the fixture does not have', async (t) => {
  const { site, requests } = await countingServer(t);
  const folder = folderWith(t, { 'local.ts': LOCAL });
  const record = ['test', 'local', '--record', '--input', `site=${site}`, '--input', 'path=/a', '--case', 'one'];
  const refused = await scrapersCommand(folder, record, { TRAWL_ALLOW_ADDRESSES: '' });
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /nothing was recorded/);
  assert.equal(requests(), 0);

  const env = { TRAWL_ALLOW_ADDRESSES: 'loopback' };
  const recorded = await scrapersCommand(folder, record, env);
  assert.deepEqual([recorded.stderr, recorded.code], ['', 0]);
  assert.match(recorded.stdout, /recorded one with 1 exchanges? in local\.fixture\nit expects .*"owner": "SMITH"/);
  assert.equal(requests(), 1);

  const file = join(folder, 'local.fixture', 'cases.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"path": "/a"', '"path": "/b"'));
  const missing = await scrapersCommand(folder, ['test', 'local'], env);
  assert.equal(missing.code, 1);
  assert.ok(missing.stdout.includes(`(request): expected "one that the fixture has", got "GET ${site}/b"`));
  assert.equal(requests(), 1);
});

test('a broken scraper is not recorded as expected unless that is requested, and the output says what to do', async (t) => {
  const { site } = await countingServer(t);
  const folder = folderWith(t, { 'local.ts': LOCAL.replace("'#owner'", "'#gone'") });
  const record = ['test', 'local', '--record', '--input', `site=${site}`, '--input', 'path=/a', '--case', 'one'];
  const env = { TRAWL_ALLOW_ADDRESSES: 'loopback' };
  const refused = await scrapersCommand(folder, record, env);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /nothing was recorded: the scraper failed with structure_changed \(#gone is not on the page/,
  );
  assert.match(refused.stderr, /\$ trawl try local --input site=http:.* --input path=\/a\n.*--expect-failure/);
  assert.deepEqual(readdirSync(folder), ['local.ts']);
  const asked = await scrapersCommand(folder, [...record, '--expect-failure', '--json'], env);
  assert.deepEqual([asked.stderr, asked.code], ['', 0]);
  assert.equal(JSON.parse(asked.stdout).expect.failure, 'structure_changed');
});

test('testing a scraper that does not exist or has no fixture is bad usage', async (t) => {
  const folder = folderWith(t, { 'good.ts': plainSource('good') });
  const [unknown, bare, stray] = await Promise.all([
    scrapersCommand(folder, ['test', 'godo']),
    scrapersCommand(folder, ['test', 'good']),
    scrapersCommand(folder, ['test', 'good', '--input', 'a=1']),
  ]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /no scraper godo; did you mean good\?/);
  assert.equal(bare.code, 2);
  assert.match(bare.stdout, /good {2}has no fixture/);
  assert.equal(stray.code, 2);
  assert.match(stray.stderr, /--input, --case and --expect-failure go with --record/);
});
