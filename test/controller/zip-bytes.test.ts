import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageTree } from '../../src/controller/results/export/page-tree.ts';
import { zipBytes } from '../../src/controller/results/export/zip-bytes.ts';
import { digest } from '../../src/main/digest.ts';

const READ = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
names = archive.namelist()
print(json.dumps([len(names), {name: archive.read(name).decode() for name in names[:20]}]))
`;

/** What Python's zipfile reads: how many files, and the first of them. */
async function readBack(files: AsyncIterable<{ name: string; content: string }>) {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-zip-'));
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of zipBytes(files)) chunks.push(chunk);
    const path = join(folder, 'x.zip');
    writeFileSync(path, Buffer.concat(chunks));
    return JSON.parse(execFileSync('python3', ['-c', READ, path], { encoding: 'utf8' })) as [
      number,
      Record<string, string>,
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* files(count: number) {
  for (let at = 0; at < count; at += 1) yield { name: `f/ä${at}.md`, content: at % 2 === 0 ? '' : `Text ${at} ✓` };
}

test('an archive is read back by another program, with names and texts as they were', async () => {
  const [count, read] = await readBack(files(5));
  assert.deepEqual([count, read['f/ä0.md'], read['f/ä3.md']], [5, '', 'Text 3 ✓']);
});

test('an archive can have more files than 16 bits can count', async () => {
  const [count] = await readBack(files(66_000));
  assert.equal(count, 66_000);
});

test('pages are files below their site, no name escapes it or collides, and the manifest lists them', async () => {
  async function* pages() {
    for (const path of ['/a', '/A', '/../../x', '/a', '/q?b=1', '/failed']) {
      yield { site: 's', path, markdown: path === '/failed' ? null : `# ${path}`, about: { path } };
    }
  }
  const [count, read] = await readBack(pageTree({ job_id: 'j' }, pages(), digest));
  const names = Object.keys(read);
  assert.equal(count, 5);
  assert.equal(names.at(-1), 'manifest.json');
  assert.equal(
    names.every((name) => name === 'manifest.json' || name.startsWith('s/')),
    true,
    names.join(),
  );
  assert.equal(
    names.some((name) => name.split('/').includes('..')),
    false,
  );
  assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length);
  const manifest = JSON.parse(read['manifest.json'] ?? '');
  assert.equal(manifest.job_id, 'j');
  assert.deepEqual(
    manifest.pages.map(({ path, file }: { path: string; file?: string }) => [path, file !== undefined]),
    [
      ['/a', true],
      ['/A', true],
      ['/../../x', true],
      ['/a', true],
      ['/q?b=1', true],
      ['/failed', false],
    ],
  );
  assert.equal(read['s/a.md'], '# /a\n');
});
