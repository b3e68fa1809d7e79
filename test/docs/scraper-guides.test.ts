import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { startListingSite } from '../models/listing-site.ts';
import type { ModelServer } from '../models/model-server.ts';
import { API_KEY, startTokenApi } from '../models/token-api.ts';
import { sized } from '../support/sized.ts';
import { blocksOf, isShown, openGuide } from './guide.ts';
import { PASSWORD, startGuideSite } from './guide-site.ts';
import { scrapersOf } from './scrapers-of.ts';

/**
 * Pages with whole scrapers. Each is saved in `scrapers/`, under its id, and the commands of the page are run with the
 * sites of the examples within reach. A scraper that no command of its page runs is an untested example.
 */
const DOCS = new URL('../../docs/', import.meta.url);
const SHORT = ['json-apis.md', 'several-pages.md', 'following-links.md', 'tokens-and-secrets.md', 'exporting.md'];
/** What these show of `trawl run` is also tested in `test/cli`. */
const LONG = ['pagination.md', 'running-again.md'];
const GUIDES = [...SHORT, ...LONG];
/** Its scrapers are run by `browser-guide.test.ts`. */
const WITH_BROWSER = 'browser-scrapers.md';

let sites: Readonly<Record<string, ModelServer>>;
before(async () => {
  const county = await startGuideSite();
  sites = {
    'https://county.example.gov': county,
    'https://treasurer.example.gov': county,
    'https://listing.example.gov': await startListingSite('guides'),
    'https://tokens.example.gov': await startTokenApi('guides'),
  };
});
after(() => Promise.all([...new Set(Object.values(sites))].map((site) => site.close())));

/** Opens a guide with the scrapers of a page in `scrapers/`, and their sites within reach. */
function openPage(page: string) {
  const env = {
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_ROUTES: Object.entries(sites)
      .map(([origin, site]) => `${origin}=${site.origin}`)
      .join(','),
    TRAWL_SECRET_COUNTY_KEY: API_KEY,
    TRAWL_SECRET_COUNTY_PASSWORD: PASSWORD,
    NO_COLOR: '1',
  };
  const scrapers = scrapersOf(page);
  const files = Object.fromEntries(scrapers.map(({ id, code }) => [`scrapers/${id}.ts`, code]));
  return { guide: openGuide({ env, files }), ids: scrapers.map(({ id }) => id) };
}

for (const name of sized({ quick: SHORT, slow: GUIDES })) {
  test(`the scrapers of ${name} do what the page shows`, { timeout: 300_000 }, async () => {
    const page = readFileSync(new URL(name, DOCS), 'utf8');
    const { guide, ids } = openPage(page);
    const commands: string[] = [];
    let service: Readonly<Record<string, string>> = {};
    for (const block of blocksOf(page)) {
      if (block.kind === 'terminal') {
        await guide.start(block.command);
        service = { TRAWL_URL: guide.address('8080') };
        continue;
      }
      for (const { command, expected } of block.steps) {
        commands.push(command);
        const { code, stdout, stderr } = await guide.run(command, service);
        assert.equal(code, 0, `$ ${command}\n${stdout}${stderr}`);
        assert.ok(isShown(expected, stdout), `$ ${command}\n\nshown:\n${expected}\nwritten:\n${stdout}${stderr}`);
      }
    }
    const unused = ids.filter((id) => !commands.some((command) => command.split(/\s+/).includes(id)));
    assert.deepEqual(unused, [], 'no command of the page runs these');
  });
}

const STATEMENT = { apn: '200-14-030', owner: 'SMITH JOHN', total_tax: 1204.5 };

/** Pages that show small scrapers without running them, and what they make of the parcel. */
const SMALL: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'writing-a-scraper.md': { 'my-county': STATEMENT, 'my-county-pages': null },
  '../README.md': { 'my-county': STATEMENT },
};

for (const [name, expected] of Object.entries(SMALL)) {
  test(`the small scrapers of ${name} work as written`, async () => {
    const { guide, ids } = openPage(readFileSync(new URL(name, DOCS), 'utf8'));
    assert.deepEqual(ids, Object.keys(expected));
    for (const id of ids) {
      const { stdout, stderr } = await guide.run(`trawl try ${id} --input apn=200-14-030 --json`);
      const { outcome, data } = JSON.parse(stdout) as { outcome: string; data: unknown };
      assert.deepEqual([outcome, data], ['success', expected[id]], stderr);
    }
  });
}

test('a newcomer can paste the commands of the README that write a scraper, try it and run it', async () => {
  const { guide } = openPage('');
  const [, block = ''] = /^(bin\/trawl scrapers new [\s\S]*?)^```$/m.exec(readme()) ?? [];
  const commands = block.trim().split('\n');
  assert.ok(commands.length >= 5, 'the commands were not found');
  await guide.run("printf 'apn\\n200-14-030\\n200-14-031\\n' > parcels.csv");
  const written: string[] = [];
  for (const command of commands) {
    // Watching continues until it is interrupted.
    const once = command.replace('--watch', '');
    const { code, stdout, stderr } = await guide.run(once);
    assert.equal(code, 0, `$ ${once}\n${stdout}${stderr}`);
    written.push(stdout);
  }
  assert.match(written.join(''), /"total_tax": 1204\.5[\s\S]*2 of 2 \(100 %\): 2 ok, 0 failed/);
});

test('every page with whole scrapers is one whose scrapers are run', () => {
  const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'));
  const withScrapers = pages.filter((name) => scrapersOf(readFileSync(new URL(name, DOCS), 'utf8')).length > 0);
  assert.deepEqual(
    withScrapers.filter((name) => !GUIDES.includes(name) && !(name in SMALL) && name !== WITH_BROWSER),
    [],
  );
});

function readme(): string {
  return readFileSync(new URL('../README.md', DOCS), 'utf8');
}
