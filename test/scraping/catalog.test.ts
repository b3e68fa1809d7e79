import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { ScraperCatalog } from '../../src/controller/intake/scraper-catalog.ts';
import { definePlainScraper } from '../../src/scraping/define-scraper.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { openFileCatalog } from '../support/file-catalog.ts';

function catalogWith(input: z.ZodType): ScraperCatalog {
  const registry = new ScraperRegistry();
  const scrape = async () => ({ kind: 'scraped', artifacts: [] }) as const;
  const facts = { id: 'one', name: 'One', version: '1.0.0', description: 'the first' };
  registry.add(definePlainScraper({ ...facts, input, scrape }), 'here');
  registry.addEntry({ kind: 'broken', id: 'bad', file: 'bad.ts', problem: 'bad.ts cannot be read' });
  return openFileCatalog(registry);
}

const owner = z.strictObject({ apn: z.string(), owner: z.object({ name: z.string() }) });

test('a scraper is listed with what it declares about itself, and broken ones come last', async () => {
  const catalog = catalogWith(owner);
  const entries = await catalog.list();
  assert.deepEqual(
    entries.map((entry) => (entry.kind === 'known' ? entry.summary.id : entry.problem)),
    ['one', 'bad.ts cannot be read'],
  );
  const found = await catalog.find('one');
  assert.deepEqual([found?.lane, found?.output, found?.canExtract], ['http', null, false]);
  assert.match(JSON.stringify(found?.input), /"required":\["apn","owner"\]/);
  assert.equal(await catalog.find('none'), null);
  await assert.rejects(catalog.find('bad'), /cannot be read/);
});

test('problems with an input are reported field by field', async () => {
  const found = await catalogWith(owner).find('one');
  assert.deepEqual(found?.problemsOf({ apn: '1', owner: { name: 'A' } }), []);
  const paths = found?.problemsOf({ owner: { name: 5 }, more: 1 }).map(({ path }) => path);
  assert.deepEqual(paths?.sort(), ['apn', 'more', 'owner.name']);
});

test('a schema that cannot be checked here is left to the worker', async () => {
  const throwing = z.object({}).refine(() => {
    throw new Error('a bug in the schema');
  });
  const waiting = z.object({}).refine(async () => false);
  for (const schema of [throwing, waiting]) {
    assert.deepEqual((await catalogWith(schema).find('one'))?.problemsOf({}), []);
  }
});
