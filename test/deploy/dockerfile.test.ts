import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { IMAGE_USER, SCRATCH } from '../../deploy/aws/image.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

interface Instruction {
  readonly name: string;
  readonly text: string;
}

interface Stage {
  readonly name: string;
  readonly from: string;
  readonly instructions: readonly Instruction[];
}

const PACKAGE = JSON.parse(read('package.json'));
const { args, stages } = parse(read('deploy/aws/Dockerfile'));

function parse(text: string) {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const before: Instruction[] = [];
  const found: (Stage & { instructions: Instruction[] })[] = [];
  for (const line of lines) {
    const [name = '', ...rest] = line.split(' ');
    const instruction = { name, text: rest.join(' ') };
    const [, from, stage] = name === 'FROM' ? (/^(\S+) AS (\S+)$/.exec(instruction.text) ?? []) : [];
    if (from !== undefined && stage !== undefined) found.push({ name: stage, from, instructions: [] });
    else (found.at(-1)?.instructions ?? before).push(instruction);
  }
  return { args: before, stages: found as readonly Stage[] };
}

function stage(name: string): Stage {
  const found = stages.find((each) => each.name === name);
  assert.ok(found, `there is no stage ${name}`);
  return found;
}

/** All instructions of one kind in an image, those of the stages that it is built on first. */
function allOf(name: string, of: string): readonly string[] {
  const { from, instructions } = stage(of);
  const inherited = stages.some((each) => each.name === from) ? allOf(name, from) : [];
  return [...inherited, ...instructions.filter((each) => each.name === name).map((each) => each.text)];
}

/** What is copied out of the project: what, and where to. */
function copies(of: string): readonly { readonly sources: readonly string[]; readonly to: string }[] {
  return allOf('COPY', of)
    .filter((text) => !text.startsWith('--from='))
    .map((text) => text.split(' '))
    .map((words) => ({ sources: words.slice(0, -1), to: words.at(-1) ?? '' }));
}

test('there is an image for workers that fetch and one for those with a browser, and one more step for packages', () => {
  assert.deepEqual(
    stages.map(({ name }) => name),
    ['packages', 'http', 'browser'],
  );
  assert.equal(stage('browser').from, 'http');
});

test('the images have the Node that the project pins', () => {
  assert.deepEqual(args, [{ name: 'ARG', text: `NODE_VERSION=${PACKAGE.devDependencies.node}` }]);
  for (const name of ['packages', 'http']) assert.match(stage(name).from, /^node:\$\{NODE_VERSION\}-[a-z]+-slim$/);
});

test('no image ends as root, and what may be written to belongs to the user before it is a volume', () => {
  for (const name of ['http', 'browser']) assert.equal(allOf('USER', name).at(-1), IMAGE_USER);
  const { instructions } = stage('http');
  const owned = instructions.findIndex(
    ({ name, text }) => name === 'RUN' && text.includes(`chown ${IMAGE_USER} ${SCRATCH}`),
  );
  const volume = instructions.findIndex(({ name, text }) => name === 'VOLUME' && text === SCRATCH);
  assert.ok(owned >= 0 && owned < volume);
  const environment = allOf('ENV', 'http').join(' ');
  for (const name of ['HOME', 'TMPDIR', 'TRAWL_DATA_DIR'])
    assert.match(environment, new RegExp(`\\b${name}=${SCRATCH}`));
});

test('only the image with a browser has one, and no image has development tools', () => {
  const installed = (of: string) => allOf('RUN', of).filter((text) => /apt|apk|chromium/.test(text));
  assert.deepEqual(installed('http'), []);
  assert.match(
    installed('browser').join(' '),
    /--no-install-recommends chromium-headless-shell .*rm -rf \/var\/lib\/apt\/lists/,
  );
  assert.match(allOf('RUN', 'packages').join(' '), /npm ci --omit=dev --omit=optional --ignore-scripts/);
});

test('what the pages call an install for production is what the images do', () => {
  const [command] = /npm ci --omit=\w+ --omit=\w+/.exec(allOf('RUN', 'packages').join(' ')) ?? [];
  for (const page of ['README.md', 'docs/operations.md', 'docs/decisions/0013-emulators-from-npm.md']) {
    const named = [...read(page).matchAll(/npm ci --omit[^`]*/g)].map(([text]) => text);
    assert.deepEqual([...new Set(named)], [command], page);
  }
});

test('the allocator has one setting: in the image, in bin/trawl and for worker processes', () => {
  for (const path of ['deploy/aws/Dockerfile', 'bin/trawl', 'src/main/child-workers.ts']) {
    const values = [...read(path).matchAll(/MALLOC_MMAP_THRESHOLD_\W+(\w.*?)\W/g)].map(([, value]) => value);
    assert.deepEqual(values, ['131072'], path);
  }
});

test('what is copied exists, and is let through to Docker, and nothing else is', () => {
  const sources = [...new Set(['packages', 'http', 'browser'].flatMap(copies).flatMap((each) => each.sources))];
  for (const source of sources) assert.ok(existsSync(join(PROJECT, source)), source);
  const [all, ...through] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(all, '**');
  assert.deepEqual(through.sort(), [...sources, 'deploy/aws/Dockerfile'].map((source) => `!${source}`).sort());
});

/** Links the packages of the lock file that `npm ci` installs with these options, but none nested in another one. */
function linkPackages(into: string): void {
  const { packages }: { packages: Record<string, { dev?: true; optional?: true; devOptional?: true }> } = JSON.parse(
    read('package-lock.json'),
  );
  for (const [path, { dev, optional, devOptional }] of Object.entries(packages)) {
    if (!/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || dev || optional || devOptional) continue;
    mkdirSync(dirname(join(into, path)), { recursive: true });
    symlinkSync(join(PROJECT, path), join(into, path));
  }
}

test('Trawl runs on what the image holds, and writes nothing there', async () => {
  const room = await mkdtemp(join(tmpdir(), 'trawl-image-'));
  try {
    const app = join(room, 'app');
    mkdirSync(app);
    for (const { sources, to } of copies('http')) {
      for (const source of sources) {
        const target = to.endsWith('/') ? join(app, to, source) : join(app, to);
        cpSync(join(PROJECT, source), target, { recursive: true });
      }
    }
    linkPackages(app);
    const filesIn = () => globSync('**', { cwd: app }).sort();
    const before = filesIn();
    const [entry] = allOf('ENTRYPOINT', 'http').map((text): string[] => JSON.parse(text));
    const program = entry?.[0]?.replace('/app', app) ?? '';
    assert.ok(statSync(program).mode & 0o111, 'the entry is a program');
    const options = allOf('ENV', 'http')
      .join(' ')
      .match(/NODE_OPTIONS=(\S+)/)?.[1];
    const env = { PATH: dirname(process.execPath), HOME: room, NODE_OPTIONS: options };
    const run = (...words: string[]) =>
      promisify(execFile)(process.execPath, [program, ...words], { cwd: app, env, timeout: 300_000 });
    const [help, scrapers] = await Promise.all([run('--help'), run('scrapers', 'list')]);
    for (const command of ['controller', 'worker', 'demo', 'doctor'])
      assert.match(help.stdout, new RegExp(`^  ${command}`, 'm'));
    assert.match(scrapers.stdout, /^maricopa-az /m);
    assert.equal(help.stderr + scrapers.stderr, '');
    assert.deepEqual(filesIn(), before);
  } finally {
    await rm(room, { recursive: true });
  }
});
