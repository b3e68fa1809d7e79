import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { nearNames } from '../../src/domain/near-names.ts';
import { definePlainScraper } from '../../src/scraping/define-scraper.ts';
import { loadScrapers, ScraperRegistry } from '../../src/scraping/registry.ts';
import { scanScraper } from '../../src/scraping/scan-scraper.ts';
import type { ScraperLoader } from '../../src/scraping/scraper-loader.ts';
import { SCRAPER_LOADERS } from '../../src/scraping/scraper-loaders.ts';
import { folderWith, plainSource } from './scraper-folder.ts';

function idsOf(registry: ScraperRegistry): string[] {
  return registry.list().map((entry) => (entry.kind === 'known' ? entry.summary.id : `broken: ${entry.id}`));
}

function problemsOf(registry: ScraperRegistry): string[] {
  return registry.list().flatMap((entry) => (entry.kind === 'broken' ? entry.problem : []));
}

test('scrapers are found in nested folders, and files that are not scrapers of the folder are left out', async (t) => {
  const folder = folderWith(t, {
    'b.ts': plainSource('b'),
    'az/deep/a.ts': plainSource('a'),
    'a.test.ts': plainSource('in-a-test'),
    'types.d.ts': plainSource('in-types'),
    'b.fixture/page.ts': plainSource('in-a-fixture'),
    '.hidden/x.ts': plainSource('hidden'),
    '.x.ts': plainSource('hidden-too'),
    'node_modules/p/x.ts': plainSource('in-a-package'),
    'notes.txt': 'nothing',
    'shared.ts': 'export const helper = 1;',
  });
  assert.deepEqual(idsOf(await loadScrapers([folder])), ['a', 'b']);
});

test('links that lead in a circle, and folders that are named twice, give each scraper once', async (t) => {
  const folder = folderWith(t, { 'sub/a.ts': plainSource('a') });
  for (const name of ['up', 'up-too', 'up-again']) symlinkSync(folder, join(folder, 'sub', name));
  symlinkSync(join(folder, 'sub', 'a.ts'), join(folder, 'again.ts'));
  symlinkSync(join(folder, 'gone'), join(folder, 'nowhere.ts'));
  assert.deepEqual(idsOf(await loadScrapers([folder, join(folder, 'sub')])), ['a']);
});

test('a folder that does not exist is named', async (t) => {
  const folder = folderWith(t, { 'a.ts': plainSource('a') });
  await assert.rejects(loadScrapers([folder, join(folder, 'gone')]), /the folder of scrapers .*gone does not exist/);
  await assert.rejects(loadScrapers([join(folder, 'a.ts')]), /a\.ts is not a folder/);
});

test('a scraper is known by its source, and its file is run only when it is asked for', async (t) => {
  const folder = folderWith(t, { 'a.ts': plainSource('a', 'globalThis.ranA = (globalThis.ranA ?? 0) + 1;') });
  const ran = () => Reflect.get(globalThis, 'ranA');
  const registry = await loadScrapers([folder]);
  assert.deepEqual(registry.list(), [
    {
      kind: 'known',
      summary: { id: 'a', name: 'The a', version: '1.2.3', description: 'Does nothing.', kind: 'plain', hosts: [] },
      file: join(folder, 'a.ts'),
    },
  ]);
  assert.equal(ran(), undefined);

  const found = await Promise.all([registry.find('a'), registry.find('a')]);
  assert.equal(ran(), 1);
  assert.equal(found[0]?.id, 'a');
  assert.equal(found[0], found[1]);
  assert.equal(await registry.find('a'), found[0]);
  assert.equal(await registry.find('b'), null);
});

test('a scraper outside of the project imports trawl/scraper, wherever and however its folder is packaged', async (t) => {
  const folder = folderWith(t, {
    'a.ts': "export { default } from './inner/b.ts';\n",
    'inner/package.json': '{}',
    'inner/b.ts': `import { shared } from './shared.ts';\nimport { fail } from 'trawl/scraper';\n${plainSource('a')}export { shared, fail };\n`,
    'inner/shared.ts': 'export const shared: number = 1;\n',
  });
  const registry = await loadScrapers([folder]);
  // Both files lead to one scraper with one id: that is a mistake, and it is reported.
  assert.match(problemsOf(registry).join(), /two scrapers have the id a: .*a\.ts and .*b\.ts/);
  assert.equal((await (await loadScrapers([join(folder, 'inner')])).find('a'))?.name, 'The a');
});

test('an id that is computed is found by importing the file', async (t) => {
  const folder = folderWith(t, {
    'a.ts': plainSource('x').replace("id: 'x'", "id: ['computed', 'id'].join('-')"),
    'county.ts': plainSource('x')
      .replace('export default definePlainScraper(', 'const scraper = definePlainScraper(')
      .concat('export default scraper;'),
  });
  const registry = await loadScrapers([folder]);
  assert.deepEqual(idsOf(registry), ['computed-id', 'x']);
  assert.equal((await registry.find('computed-id'))?.version, '1.2.3');
});

test('a file that does not parse is shown with its place, and the others work', async (t) => {
  const folder = folderWith(t, {
    'good.ts': plainSource('good'),
    'cut-off.ts': plainSource('cut-off').slice(0, -8),
    'typo.ts': plainSource('typo', 'const = 5;'),
  });
  const registry = await loadScrapers([folder]);
  assert.equal((await registry.find('good'))?.id, 'good');
  assert.deepEqual(idsOf(registry), ['good', 'broken: null', 'broken: null']);
  assert.match(problemsOf(registry).join(), /cut-off\.ts:\d+ cannot be loaded: /);
  assert.match(problemsOf(registry).join(), /typo\.ts:6 cannot be loaded: /);
  await assert.rejects(registry.find('cut-off'), /cut-off\.ts:\d+ cannot be loaded/);
  await assert.rejects(registry.find('typo'), /typo\.ts:6 cannot be loaded/);
});

test('a file that throws, exports no scraper, or is another one than it says, is named when it is asked for', async (t) => {
  const folder = folderWith(t, {
    'throws.ts': plainSource('throws', "throw new Error('at import');"),
    'nothing.ts': 'export default 5;',
    'liar.ts': `const definePlainScraper = (facts: object) => ({ ...facts, id: 'other', kind: 'plain', lane: 'http', hosts: [] });
      export default definePlainScraper({ id: 'liar', name: 'n', version: 'v', description: 'd', input: {}, scrape() {} });`,
  });
  const registry = await loadScrapers([folder]);
  await assert.rejects(registry.find('throws'), /throws\.ts cannot be loaded: at import/);
  await assert.rejects(registry.find('nothing'), /nothing\.ts: its default export is not a scraper/);
  await assert.rejects(registry.find('liar'), /liar\.ts says that it is liar, but its scraper has the id other/);

  assert.deepEqual(idsOf(registry), ['liar', 'throws', 'broken: null']);
  const checked = await registry.check();
  assert.deepEqual(
    checked.map((entry) => (entry.kind === 'known' ? entry.summary.id : `broken: ${entry.id}`)),
    ['broken: liar', 'broken: throws', 'broken: null'],
  );
});

test('a file that is too large for a source is not read', async (t) => {
  const registry = await loadScrapers([folderWith(t, { 'big.ts': plainSource('big', '/'.repeat(1 << 20)) })]);
  assert.match(problemsOf(registry).join(), /big\.ts is larger than a source may be/);
});

test('two scrapers with the same id are an error that names both files, and the rest works', async (t) => {
  const folder = folderWith(t, { 'a.ts': plainSource('same'), 'b.ts': plainSource('same'), 'c.ts': plainSource('c') });
  const registry = await loadScrapers([folder]);
  await assert.rejects(registry.find('same'), /two scrapers have the id same: .*a\.ts and .*b\.ts/);
  assert.deepEqual(idsOf(registry), ['c', 'broken: same']);
  assert.equal((await registry.find('c'))?.id, 'c');
});

test('a scraper that is added by hand is found, and a second one with its id is refused', async () => {
  const registry = new ScraperRegistry();
  const scraper = definePlainScraper({
    ...{ id: 'made', name: 'Made', version: '1', description: '', input: z.unknown() },
    scrape: async () => ({ kind: 'scraped', artifacts: [] }),
  });
  registry.add(scraper, 'here');
  assert.equal(await registry.find('made'), scraper);
  assert.throws(() => registry.add(scraper, 'there'), /two scrapers have the id made: here and there/);
});

const FACTS = "id: 'a', name: 'n', version: '1', description: 'd'";

test('a scan reads facts among comments, patterns, templates and nested objects', () => {
  const scanned = scanScraper(`// export default defineHttpScraper({ id: 'commented' })
    /* export default defineHttpScraper({ id: 'commented too' }) */
    const text = "export default defineHttpScraper({ id: 'quoted' })";
    const odd = /["'\`{]/.test(text) ? 4 / 2 / 1 : \`\${ { a: '}' }.a } { \`;
    export default defineHttpScraper({
      input: z.strictObject({ id: z.string().regex(/^[/"{]\\d{3}$/) }),
      scrape({ id }) { const name = 'not this'; return { name, version: { id } }; },
      'id': "the-id", // a remark
      name: 'It\\'s ' + "a \\"name\\"" +
        \` in three\`,
      version: \`1.0.0\`, description: 'd',
      hosts: ['a.gov', '*.b.gov',],
    });`);
  assert.deepEqual(scanned, {
    kind: 'scraper',
    summary: {
      ...{ id: 'the-id', name: 'It\'s a "name" in three', version: '1.0.0', description: 'd', kind: 'http' },
      hosts: ['a.gov', '*.b.gov'],
    },
  });
});

test('hosts that are computed are unknown, and the rest is known', () => {
  const scanned = scanScraper(`export default defineBrowserScraper({ ${FACTS}, hosts: HOSTS });`);
  assert.equal(scanned.kind, 'scraper');
  assert.deepEqual(scanned.kind === 'scraper' && [scanned.summary.kind, scanned.summary.hosts], ['browser', null]);
});

test('a scan that cannot be sure says so', () => {
  const unclear = [
    `export default defineHttpScraper({ ${FACTS}, ...more });`,
    `export default defineHttpScraper({ ${FACTS.replace("'a'", 'ID')} });`,
    `export default defineHttpScraper({ ${FACTS.replace("'a'", '`a-$'.concat('{state}`'))} });`,
    `export default defineHttpScraper({ ${FACTS.replace("'a'", "'a' + STATE")} });`,
    `export default defineHttpScraper({ ${FACTS}, id: 'b' });`,
    `export default defineHttpScraper({ ${FACTS}, ['id']: 'b' });`,
    `export default defineHttpScraper({ ${FACTS.replace(", version: '1'", '')} });`,
    `export default defineHttpScraper({ ${FACTS} })); }`,
    `export default defineHttpScraper(facts);`,
    `export default tylerCounty({ ${FACTS} });`,
    "export { scraper as default } from './b.ts';",
    `export default defineHttpScraper({ ${FACTS}, a: 'never ends`,
  ];
  for (const source of unclear) assert.equal(scanScraper(source).kind, 'unclear', source);
  assert.equal(scanScraper('export const year = z.number().default(2025);').kind, 'helper');
});

test('files are loaded by their suffix: another kind of file needs only another loader', async (t) => {
  const loaded: string[] = [];
  /** A line of facts: id, name, version. */
  const facts: ScraperLoader = {
    async scan(file) {
      const [id = '', name = '', version = ''] = readFileSync(file, 'utf8').split(' ');
      return { kind: 'scraper', summary: { id, name, version, description: '', kind: 'recording', hosts: [] } };
    },
    async load(file) {
      loaded.push(basename(file));
      const [id = '', name = '', version = ''] = readFileSync(file, 'utf8').split(' ');
      const scrape = async () => ({ kind: 'scraped' as const, artifacts: [] });
      return definePlainScraper({ id, name, version, description: '', input: z.unknown(), scrape });
    },
    hasChanged: () => false,
    codeOf: () => null,
  };
  const folder = folderWith(t, {
    'a.facts.txt': 'a The-a 2',
    'b.ts': plainSource('b'),
    'c.txt': 'not a scraper',
    'd.draft.facts.txt': 'd never 1',
  });
  const loaders = { ...SCRAPER_LOADERS, '.facts.txt': facts, '.draft.facts.txt': null };
  const registry = await loadScrapers([folder], loaders);
  assert.deepEqual(idsOf(registry), ['a', 'b']);
  assert.deepEqual(loaded, []);
  const [entry] = registry.list();
  assert.ok(entry?.kind === 'known' && entry.summary.kind === 'recording');
  assert.equal((await registry.find('a'))?.version, '2');
  assert.equal((await registry.find('b'))?.version, '1.2.3');
  assert.deepEqual(loaded, ['a.facts.txt']);
  assert.deepEqual(idsOf(await loadScrapers([folder])), ['b'], 'only those whose loader there is');
});

test('a file of any kind that cannot be read is found by its name without the suffix', async (t) => {
  const broken: ScraperLoader = {
    scan: async (file) => Promise.reject(new Error(`${file} has no steps`)),
    load: async () => null,
    hasChanged: () => false,
    codeOf: () => null,
  };
  const folder = folderWith(t, { 'county.recording.json': '{}' });
  const registry = await loadScrapers([folder], { ...SCRAPER_LOADERS, '.recording.json': broken });
  await assert.rejects(registry.find('county'), /county\.recording\.json has no steps/);
});

test('near names are those with a few letters wrong, or a part of the name', () => {
  const names = ['maricopa-az', 'pima-az', 'pinal-az', 'cook-il'];
  assert.deepEqual(nearNames('maricpoa-az', names), ['maricopa-az']);
  assert.deepEqual(nearNames('maricopa', names), ['maricopa-az']);
  assert.deepEqual(nearNames('pina-az', names), ['pima-az', 'pinal-az']);
  assert.deepEqual(nearNames('zzzzzz', names), []);
});

test('a scraper that was changed after it was scanned is listed as it is run', async (t) => {
  const folder = folderWith(t, { 'a.ts': plainSource('a') });
  const registry = await loadScrapers([folder]);
  writeFileSync(join(folder, 'a.ts'), plainSource('a').replace('1.2.3', '2.0.0'));
  assert.equal((await registry.find('a'))?.version, '2.0.0');
  const [entry] = registry.list();
  assert.ok(entry?.kind === 'known');
  assert.equal(entry.summary.version, '2.0.0');
});
