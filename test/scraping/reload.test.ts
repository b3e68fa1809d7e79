import assert from 'node:assert/strict';
import { symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadScrapers, type ScraperChange } from '../../src/scraping/registry.ts';
import { SCRAPER_LOADERS } from '../../src/scraping/scraper-loaders.ts';
import { SCRAPER_MODULES } from '../../src/scraping/scraper-modules.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { folderWith, plainSource } from './scraper-folder.ts';

/** The source of a scraper whose description is computed by a helper: what it says shows which code runs. */
const WITH_HELPER = `import { words } from './helper.ts';\n${plainSource('a').replace("'Does nothing.'", 'words()')}`;
const helper = (said: string) => `export const words = (): string => '${said}';\n`;

async function following(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = folderWith(t, files);
  const clock = new FakeClock();
  const changes: ScraperChange[] = [];
  const watch = { clock, onChange: (change: ScraperChange) => void changes.push(change) };
  const registry = await loadScrapers([folder], SCRAPER_LOADERS, watch);
  return {
    folder,
    registry,
    clock,
    changes,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    /** What there is a second later, when the files are looked at again. */
    async later(id: string) {
      await clock.advance(1000);
      return registry.find(id);
    },
  };
}

test('an edited scraper is loaded again, once a second at most, and is known by its new version', async (t) => {
  const { registry, changes, write, later, folder } = await following(t, { 'a.ts': plainSource('a') });
  const first = await registry.find('a');
  assert.equal(first?.version, '1.2.3');
  assert.equal(await later('a'), first, 'the same while nothing changes');
  write('a.ts', plainSource('a').replace('1.2.3', '1.3.0'));
  assert.equal(await registry.find('a'), first, 'looked at within this second');
  assert.equal((await later('a'))?.version, '1.3.0');
  assert.equal((await registry.find('a'))?.version, '1.3.0');
  assert.deepEqual(changes, [{ kind: 'reloaded', id: 'a', file: join(folder, 'a.ts'), version: '1.3.0' }]);
  const [entry] = registry.list();
  assert.ok(entry?.kind === 'known' && entry.summary.version === '1.3.0', 'what is listed is what runs');
});

test('all who ask while an edited scraper is loaded get the new code', async (t) => {
  const { registry, clock, write } = await following(t, { 'a.ts': plainSource('a') });
  await registry.find('a');
  write('a.ts', plainSource('a').replace('1.2.3', '1.3.0'));
  await clock.advance(1000);
  const found = await Promise.all([registry.find('a'), registry.find('a'), registry.find('a')]);
  assert.deepEqual(
    found.map((scraper) => scraper?.version),
    ['1.3.0', '1.3.0', '1.3.0'],
  );
});

test('other code under the same version is named by its content, and the first code by the version alone', async (t) => {
  const { registry, write, later } = await following(t, { 'a.ts': plainSource('a') });
  await registry.find('a');
  write('a.ts', plainSource('a', '// a comment'));
  const edited = (await later('a'))?.version ?? '';
  assert.match(edited, /^1\.2\.3\+[0-9a-f]{7}$/);
  write('a.ts', plainSource('a', '// another comment'));
  assert.notEqual((await later('a'))?.version, edited);
  write('a.ts', plainSource('a', '// a comment'));
  assert.equal((await later('a'))?.version, edited, 'the same code has the same name');
  write('a.ts', plainSource('a'));
  assert.equal((await later('a'))?.version, '1.2.3');
  write('a.ts', plainSource('a').replace('1.2.3', '1.2.3+build'));
  assert.equal((await later('a'))?.version, '1.2.3+build');
  write('a.ts', plainSource('a', '// more').replace('1.2.3', '1.2.3+build'));
  assert.match((await later('a'))?.version ?? '', /^1\.2\.3\+build\.[0-9a-f]{7}$/);
});

test('a local file that a scraper imports counts as part of it', async (t) => {
  const { registry, write, later } = await following(t, { 'a.ts': WITH_HELPER, 'helper.ts': helper('before') });
  assert.equal((await registry.find('a'))?.description, 'before');
  write('helper.ts', helper('after'));
  assert.equal((await later('a'))?.description, 'after');
  write('helper.ts', helper('once more'));
  assert.equal((await later('a'))?.description, 'once more');
});

test('a file that is saved without a change is not loaded again', async (t) => {
  const { registry, changes, folder, later } = await following(t, { 'a.ts': plainSource('a') });
  const first = await registry.find('a');
  utimesSync(join(folder, 'a.ts'), 1, 1);
  assert.equal(await later('a'), first);
  assert.deepEqual(changes, []);
});

test('an edit that cannot be loaded leaves the old code in use, and is reported once, until it is repaired', async (t) => {
  const { registry, changes, write, later } = await following(t, { 'a.ts': plainSource('a') });
  const catalog = openFileCatalog(registry);
  const first = await registry.find('a');
  assert.equal(await catalog.problemOf('a'), null);
  write('a.ts', plainSource('a', 'const = 5;'));
  assert.equal(await later('a'), first);
  assert.equal(await later('a'), first);
  assert.match((await catalog.problemOf('a')) ?? '', /a\.ts:6 cannot be loaded: /);
  write('a.ts', plainSource('other'));
  assert.equal(await later('a'), first);
  assert.match((await catalog.problemOf('a')) ?? '', /other/);
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    ['kept', 'kept'],
  );
  write('a.ts', plainSource('a').replace('1.2.3', '2.0.0'));
  assert.equal((await later('a'))?.version, '2.0.0');
  assert.equal(await catalog.problemOf('a'), null);
});

test('a missing import that is created later repairs the scraper', async (t) => {
  const { registry, write, later } = await following(t, { 'a.ts': plainSource('a') });
  const first = await registry.find('a');
  write('a.ts', WITH_HELPER);
  assert.equal(await later('a'), first);
  write('helper.ts', helper('there now'));
  assert.equal((await later('a'))?.description, 'there now');
});

test('a file that was broken from the beginning is used once it is repaired', async (t) => {
  const { registry, write, later } = await following(t, { 'a.ts': plainSource('a', 'const = 5;') });
  await assert.rejects(registry.find('a'), /a\.ts:6 cannot be loaded/);
  write('a.ts', plainSource('a'));
  assert.equal((await later('a'))?.id, 'a');
  assert.deepEqual(
    registry.list().map(({ kind }) => kind),
    ['known'],
  );
});

test('a scraper that is reached through a link is loaded again like any other', async (t) => {
  const { folder } = await following(t, { 'real/a.ts': plainSource('a'), 'linked/keep.txt': '' });
  const link = join(folder, 'linked', 'b.ts');
  symlinkSync(join(folder, 'real', 'a.ts'), link);
  await SCRAPER_MODULES.import(link);
  assert.equal(SCRAPER_MODULES.hasChanged(link), false);
  const before = SCRAPER_MODULES.codeOf(link);
  writeFileSync(join(folder, 'real', 'a.ts'), plainSource('a', '// edited'));
  assert.equal(SCRAPER_MODULES.hasChanged(link), true);
  await SCRAPER_MODULES.import(link);
  assert.notEqual(SCRAPER_MODULES.codeOf(link), before);
});
