import assert from 'node:assert/strict';
import { hash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Scanner, scanOrRecall } from '../../src/scraping/kept-scans.ts';
import { RECORDING_LOADER } from '../../src/scraping/recording-loader.ts';
import { SEARCH } from '../domain/recording/sample-recordings.ts';

// This is used only if no folder was named for this process.
const spare = mkdtempSync(join(tmpdir(), 'trawl-scans-'));
enableCompileCache(spare);
after(() => rmSync(spare, { recursive: true, force: true }));

/** A file that no process has scanned yet, and where its scan is kept. */
function unknownFile() {
  const file = `/nowhere/${randomUUID()}.ts`;
  const kept = join(getCompileCacheDir() ?? '', 'scans', `${hash('sha256', file)}.json`);
  after(() => rmSync(kept, { force: true }));
  return { file, kept };
}

function sourceOf(id: string): string {
  return `export default definePlainScraper({ id: '${id}', name: 'N', version: '1.0.0', description: 'D' });`;
}

async function idOf(file: string, source: string): Promise<string | null> {
  const scanned = await scanOrRecall(file, source);
  return scanned.kind === 'scraper' ? scanned.summary.id : null;
}

test('a source that was scanned before is not parsed again', async () => {
  const { file, kept } = unknownFile();
  assert.equal(await idOf(file, sourceOf('mine')), 'mine');
  writeFileSync(kept, readFileSync(kept, 'utf8').replace('"mine"', '"kept"'));
  assert.equal(await idOf(file, sourceOf('mine')), 'kept');
});

test('an edited file is scanned again', async () => {
  const { file } = unknownFile();
  for (const id of ['first', 'second', 'first']) assert.equal(await idOf(file, sourceOf(id)), id);
});

test('a kept scan that cannot be read is made again', async () => {
  const { file, kept } = unknownFile();
  await idOf(file, sourceOf('mine'));
  for (const text of ['', '{"known":', 'null']) {
    writeFileSync(kept, text);
    assert.equal(await idOf(file, sourceOf('mine')), 'mine', text);
  }
});

test('a recording that was scanned before is not parsed again, and a mistake in one is reported each time', async () => {
  const file = join(spare, `${randomUUID()}.recording.json`);
  const kept = join(getCompileCacheDir() ?? '', 'scans', `${hash('sha256', file)}.json`);
  after(() => rmSync(kept, { force: true }));
  const scannedId = async () => {
    const scanned = await RECORDING_LOADER.scan(file);
    return scanned.kind === 'scraper' ? scanned.summary.id : null;
  };
  writeFileSync(file, JSON.stringify(SEARCH));
  assert.equal(await scannedId(), SEARCH.id);
  writeFileSync(kept, readFileSync(kept, 'utf8').replace(`"${SEARCH.id}"`, '"kept"'));
  assert.equal(await scannedId(), 'kept');
  writeFileSync(file, JSON.stringify({ ...SEARCH, steps: [{ type: 'clik' }] }));
  for (let time = 1; time <= 2; time += 1) await assert.rejects(scannedId(), /did you mean click/);
});

test('a scanner that changed scans again', async () => {
  const { file } = unknownFile();
  let version = '1';
  let scans = 0;
  const scanner: Scanner = {
    version: async () => version,
    async scan() {
      scans += 1;
      return { kind: 'helper' };
    },
  };
  for (const each of ['1', '1', '2', '2']) {
    version = each;
    await scanOrRecall(file, '', scanner);
  }
  assert.equal(scans, 2);
});
