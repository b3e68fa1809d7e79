import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { COMMAND, settingsPage } from '../../docs/generate-settings.ts';
import { loadConfig, settingsInForce } from '../../src/config.ts';
import { SECRET_PREFIX } from '../../src/domain/secrets.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
const NOWHERE = join(ROOT, 'no-such.config.ts');
/** AWS has all the settings that there are elsewhere, and a few more. */
const AWS = { TRAWL_BACKEND: 'aws', WEB_SCRAPER_QUEUE_URL: 'https://sqs.us-east-1.amazonaws.com/1/trawl' };
const SETTINGS = settingsInForce(loadConfig({}, AWS, NOWHERE), AWS, NOWHERE).map(({ name }) => name);

test('the table of settings matches what the code reads', () => {
  assert.equal(PAGE, settingsPage(PAGE), `docs/configuration.md is out of date: run ${COMMAND}`);
});

test('every setting has its row on the page of settings, and every row is a setting', () => {
  const rows = [...PAGE.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(rows.sort(), [...SETTINGS].sort());
});

test('no page names a setting that does not exist', () => {
  const pages = [
    ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
    ...readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const unknown = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\bTRAWL_[A-Z_]+\b/g)]
      .filter(([name]) => !SETTINGS.includes(name) && !name.startsWith(SECRET_PREFIX))
      .map(([name]) => `${page}: ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('the settings file that the page shows is accepted as written', () => {
  const code = /```ts\n(\/\/ trawl\.config\.ts\n[\s\S]*?)```/.exec(PAGE)?.[1];
  assert.ok(code !== undefined, 'the block was not found');
  const folder = mkdtempSync(join(tmpdir(), 'trawl-settings-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'trawl.config.ts');
  writeFileSync(file, code);
  const { dataDir, port, workers, scrapers, allowedHosts } = loadConfig({}, {}, file);
  assert.deepEqual(
    { dataDir, port, workers, scrapers, allowedHosts },
    {
      dataDir: '/var/lib/trawl',
      port: 9000,
      workers: 4,
      scrapers: ['./scrapers', '/opt/county-scrapers'],
      allowedHosts: ['trawl.example.com'],
    },
  );
});
