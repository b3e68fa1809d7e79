import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadScrapers } from '../../src/scraping/registry.ts';
import { SEARCH } from '../domain/recording/sample-recordings.ts';

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-recordings-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test('a recording beside the scrapers is found like any other', async (t) => {
  const folder = folderOf(t, { 'county.recording.json': JSON.stringify(SEARCH), 'notes.json': '{}' });
  const registry = await loadScrapers([folder]);
  const [entry, ...others] = registry.list();
  assert.deepEqual(others, []);
  assert.ok(entry?.kind === 'known');
  assert.deepEqual(
    [entry.summary.id, entry.summary.kind, entry.summary.hosts],
    ['county', 'recording', ['county.example.gov']],
  );
  const scraper = await registry.find('county');
  assert.deepEqual([scraper?.kind, scraper?.lane, scraper?.version], ['recording', 'browser', '1.0.0']);
  assert.equal(scraper?.input.safeParse({ apn: '1' }).success, true);
  assert.match(registry.codeOf('county') ?? '', /^[0-9a-f]{64}$/);
});

test('a recording with a mistake is listed with the step, and breaks no other', async (t) => {
  const broken = { ...SEARCH, id: 'broken', steps: [...SEARCH.steps, { type: 'clik' }] };
  const folder = folderOf(t, {
    'broken.recording.json': JSON.stringify(broken),
    'county.recording.json': JSON.stringify(SEARCH),
    'torn.recording.json': '{"id": ',
  });
  const registry = await loadScrapers([folder]);
  const problems = registry.list().flatMap((entry) => (entry.kind === 'broken' ? [entry.problem] : []));
  assert.match(
    problems[0] ?? '',
    /broken\.recording\.json: step 7 \(clik\), type: there is no step "clik"; did you mean click\?$/,
  );
  assert.match(problems[1] ?? '', /torn\.recording\.json is not JSON: /);
  await assert.rejects(registry.find('broken'), /step 7 \(clik\)/);
  assert.equal((await registry.find('county'))?.id, 'county');
});

test('an edited recording is loaded again, and one that was broken by the edit is not', async (t) => {
  const folder = folderOf(t, { 'county.recording.json': JSON.stringify(SEARCH) });
  let elapsed = 0;
  const changes: string[] = [];
  const watch = { clock: { elapsed: () => elapsed }, onChange: ({ kind }: { kind: string }) => changes.push(kind) };
  const registry = await loadScrapers([folder], undefined, watch);
  assert.equal((await registry.find('county'))?.version, '1.0.0');
  writeFileSync(join(folder, 'county.recording.json'), JSON.stringify({ ...SEARCH, version: '2' }));
  elapsed += 5_000;
  assert.equal((await registry.find('county'))?.version, '2');
  writeFileSync(join(folder, 'county.recording.json'), JSON.stringify({ ...SEARCH, version: '3', steps: [] }));
  elapsed += 5_000;
  assert.equal((await registry.find('county'))?.version, '2');
  assert.deepEqual(changes, ['reloaded', 'kept']);
});
