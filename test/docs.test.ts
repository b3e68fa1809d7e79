import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { IMPORT_TABLE } from './support/import-rules.ts';
import { readSources } from './support/syntax.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const ARCHITECTURE = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const SOURCES = [
  ...readSources(['src', 'scrapers', 'demo', 'test', 'bench', 'docs', 'deploy']),
  ...PAGES.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
];

test('every link of the documentation leads somewhere', () => {
  const broken: string[] = [];
  for (const page of PAGES) {
    for (const [, target = ''] of readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)) {
      if (!existsSync(join(ROOT, dirname(page), target))) broken.push(`${page}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('every link to a section leads to its heading', () => {
  const broken: string[] = [];
  for (const page of PAGES) {
    for (const [, target = '', anchor = ''] of readFileSync(join(ROOT, page), 'utf8').matchAll(
      /\]\(([^)#:\s]*)#([^)\s]+)\)/g,
    )) {
      const text = readFileSync(target === '' ? join(ROOT, page) : join(ROOT, dirname(page), target), 'utf8');
      const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
      if (!anchors.includes(anchor)) broken.push(`${page}: ${target}#${anchor}`);
    }
  }
  assert.deepEqual(broken, []);
});

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

test('every file that the documentation names is there', () => {
  const missing: string[] = [];
  for (const page of PAGES) {
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
    for (const [, path = ''] of text.matchAll(/`((?:src|test|demo|bench|docs|deploy|scrapers)\/[\w./-]+)`/g)) {
      if (!existsSync(join(ROOT, path))) missing.push(`${page}: ${path}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('a file that ARCHITECTURE.md names without its folder is in the folder that it names before', () => {
  const missing: string[] = [];
  let found = 0;
  const [, lookedUp = ''] = ARCHITECTURE.split(/^## Where do I find.*$/m);
  const [places = ''] = lookedUp.split(/^## How it is tested$/m);
  // A row of a table, or a recipe with all its lines.
  for (const entry of places.split(/\n(?! )/)) {
    let folder: string | null = null;
    for (const [, name = ''] of entry.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)) {
      if (/^(?:src|test|demo|deploy|docs)\//.test(name)) {
        folder = name.endsWith('/') ? name : dirname(name);
        continue;
      }
      found += 1;
      if (folder === null || !existsSync(join(ROOT, folder, name))) missing.push(`${name} in ${folder}`);
    }
  }
  assert.ok(found > 30, 'the names were not found');
  assert.deepEqual(missing, []);
});

test('the rooms of ARCHITECTURE.md are those of src, and may import what the import rule says', () => {
  const written: Record<string, string[]> = {};
  for (const [, room = '', cell = ''] of ARCHITECTURE.matchAll(/^\| `src\/([\w./]+)` \| [^|]+ \| ([^|]+) \|$/gm)) {
    const zone = room === 'adapters' ? 'adapters/*' : room;
    written[zone] = cell.split(', ').flatMap((name): string[] => {
      if (name.startsWith('nothing but')) return [];
      if (name === 'everything above') return Object.keys(written);
      if (name === 'every room of the controller') return Object.keys(written).filter((each) => isInController(each));
      return [isInController(room) && existsSync(join(ROOT, 'src/controller', name)) ? `controller/${name}` : name];
    });
  }
  const rooms = Object.keys(IMPORT_TABLE).filter((zone) => existsSync(join(ROOT, 'src', zone.replace('/*', ''))));
  const ruled = rooms.map((zone) => {
    const allowed = (IMPORT_TABLE[zone] ?? []).flatMap((name) =>
      name === 'controller/*' ? rooms.filter(isInController) : name,
    );
    return [zone, allowed.filter((name) => rooms.includes(name)).sort()] as const;
  });
  const sorted = Object.entries(written).map(([zone, names]) => [zone, names.sort()] as const);
  assert.deepEqual(Object.fromEntries(sorted), Object.fromEntries(ruled));
});

function isInController(zone: string): boolean {
  return zone.startsWith('controller/');
}

test('every document that a source cites is in the repository', () => {
  const missing: string[] = [];
  for (const { path, text } of SOURCES) {
    for (const [, cited = ''] of text.matchAll(/((?:\bdocs\/[\w/-]+|\b[A-Z]{2,})\.md)\b/g)) {
      if (!existsSync(join(ROOT, cited))) missing.push(`${path}: ${cited}`);
    }
    // A section of a document that has no link: only a standard can be found by its number.
    for (const [cited] of text.matchAll(/(?:\S+ )?\S+ \u00a7/g)) {
      if (!/\bRFC \d+ /.test(cited)) missing.push(`${path}: ${cited}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('the code in the documentation is code: each block is a file that the compiler accepts', async () => {
  const scratch = join(ROOT, '.trawl');
  mkdirSync(scratch, { recursive: true });
  // Inside of the project, so that `trawl/scraper` is what it is to a scraper here.
  const folder = mkdtempSync(join(scratch, 'docs-'));
  try {
    const files = PAGES.flatMap((page) => {
      const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g);
      return [...blocks].map(([, code = ''], index) => {
        const name = `${page.replaceAll(/\W+/g, '-')}-${index + 1}.ts`;
        // A fragment shows a line or two of something that stands elsewhere in full.
        const isFragment = !code.includes('import ');
        if (!isFragment) writeFileSync(join(folder, name), code);
        return isFragment ? null : name;
      });
    });
    assert.ok(files.filter((name) => name !== null).length >= 8, 'the blocks were not found');
    const config = { extends: '../../tsconfig.json', include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    // One checker: others run beside this test, and each checks the types that files share once more.
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
    const { stdout } = await promisify(execFile)(tsc, ['--noEmit', '--checkers', '1', '-p', folder]).catch(
      (error) => error,
    );
    assert.equal(stdout, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
