import assert from 'node:assert/strict';
import { hash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { scanOrRecall } from '../../src/scraping/kept-scans.ts';

// Used only if no folder was named for this process.
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

test('an edited file is scanned anew', async () => {
  const { file } = unknownFile();
  for (const id of ['first', 'second', 'first']) assert.equal(await idOf(file, sourceOf(id)), id);
});

test('what was kept and cannot be read is found again', async () => {
  const { file, kept } = unknownFile();
  await idOf(file, sourceOf('mine'));
  for (const text of ['', '{"known":', 'null']) {
    writeFileSync(kept, text);
    assert.equal(await idOf(file, sourceOf('mine')), 'mine', text);
  }
});
