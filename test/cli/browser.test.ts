import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startService } from '../api/service.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { testChromium } from '../support/chromium.ts';
import { startApi } from './api-stub.ts';
import { command, tempFolder, writeLines } from './trawl.ts';

const chromium = await testChromium();

/** A page whose owner is written by its script. `parse` is the part that a re-extraction runs again. */
function scraperSource(id: string, owner: string): string {
  return `import { defineBrowserScraper, z } from 'trawl/scraper';
export default defineBrowserScraper({
  id: '${id}', name: 'Owners', version: '1.0.0', description: 'Who owns a parcel.',
  input: z.strictObject({ apn: z.string() }),
  output: z.object({ owner: z.string().min(1) }),
  hosts: ['owners.test'],
  async scrape({ input, tab }) {
    return { html: await tab.goto('http://owners.test/' + input.apn, { expectElement: '#owner' }) };
  },
  parse({ page }) {
    return { owner: ${owner} };
  },
});
`;
}

const PAGE = `<body><script>document.body.innerHTML = '<p id="owner">SMITH ' + location.pathname + '</p>'</script></body>`;

async function startOwners() {
  let requests = 0;
  const site = await startApi((_, response) => {
    requests += 1;
    response.setHeader('content-type', 'text/html').end(PAGE);
  });
  return { route: `http://owners.test=${site.url}`, requests: () => requests };
}

test('scrapers new --browser creates a scraper that passes its test in a browser', async (t) => {
  const folder = folderWith(t, { 'package.json': '{}' });
  const run = (...words: string[]) => command(['scrapers', ...words], { TRAWL_SCRAPERS: folder }, folder);
  const made = await run('new', 'my-county', '--browser', '--folder', '.', '--host', 'treasurer.example.gov');
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(readFileSync(join(folder, 'my-county.ts'), 'utf8'), /defineBrowserScraper\(/);
  const tested = await run('test', 'my-county');
  assert.equal(tested.code, 0, tested.stdout + tested.stderr);
  assert.match(tested.stdout, /\n2 passed, 0 failed\n$/);
  assert.equal((await run('new', 'other', '--kind', 'chrome')).code, EXIT.badUsage);
});

test('run --headed opens windows, --slow pauses before each step, and a missing display is reported', async (t) => {
  const site = await startOwners();
  const folder = folderWith(t, { 'owners.ts': scraperSource('owners', "page.text('#owner')") });
  const started = join(folder, 'started');
  // Its name says that it has windows, and it records what it was started with.
  const windowed = join(folder, 'chromium');
  writeFileSync(windowed, `#!/bin/sh\nprintf '%s\\n' "$*" >> '${started}'\nexec '${chromium.path}' "$@"\n`, {
    mode: 0o755,
  });
  const list = writeLines(tempFolder(), 'list.csv', ['apn', '1']);
  const env = { TRAWL_SCRAPERS: folder, TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_ROUTES: site.route };
  const run = (out: string, options: readonly string[], more: Readonly<Record<string, string>>) =>
    command(['run', 'owners', '--items', list, '--out', join(tempFolder(), out), ...options], { ...env, ...more });

  const nowhere = await run('nowhere', ['--headed'], { DISPLAY: '', WAYLAND_DISPLAY: '' });
  assert.equal(nowhere.code, EXIT.badUsage);
  assert.match(nowhere.stderr, /--headed needs a display, and DISPLAY is not set/);

  const begun = performance.now();
  const shown = await run('shown', ['--headed', '--slow', '400'], { DISPLAY: ':99', TRAWL_CHROMIUM: windowed });
  assert.equal(shown.code, EXIT.done, shown.stderr);
  const [last = ''] = readFileSync(started, 'utf8').trimEnd().split('\n').slice(-1);
  assert.ok(last.includes('--trawl-session='), last);
  assert.ok(!/--headless/.test(last), last);
  // There are at least a context, a page and a navigation.
  assert.ok(performance.now() - begun > 3 * 400);

  const hidden = await run('hidden', ['--headed'], { DISPLAY: ':99', TRAWL_CHROMIUM: chromium.path });
  assert.notEqual(hidden.code, EXIT.done);
});

test('extract reads the stored pages of a browser job again, without a browser and without a request', async (t) => {
  const site = await startOwners();
  const folder = folderWith(t, {
    'old.ts': scraperSource('owners', "page.text('#owner')"),
    'new.ts': scraperSource('owners-again', "page.text('#owner').toLowerCase()"),
  });
  const settings = { scrapers: [folder], allowAddresses: 'loopback', routes: site.route, chromium: chromium.path };
  const { url } = await startService({ ...settings, browserWorkers: 1 });
  const run = (...words: string[]) => command(words, { TRAWL_URL: url });
  const list = writeLines(tempFolder(), 'list.csv', ['apn', '1', '2']);
  const created = await run('jobs', 'create', 'owners', '--items', list, '--job-id', 'old', '--watch');
  assert.equal(created.code, EXIT.done, created.stderr);
  const before = site.requests();
  const done = await run('extract', 'old', '--scraper', 'owners-again', '--job-id', 'new', '--replace', '--json');
  assert.deepEqual([JSON.parse(done.stdout).changed, JSON.parse(done.stdout).replaced], [2, true]);
  const { stdout } = await run('jobs', 'export', 'old');
  assert.match(stdout, /"owner":"smith \/1"/);
  assert.equal(site.requests(), before);
});
