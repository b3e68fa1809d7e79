import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { BrowserUnavailable } from '../../src/ports/browser-provider.ts';
import { ensureChromium } from '../../src/sessions/chromium/ensure-chromium.ts';
import { findChromium, findWindowedChromium, firstThatWorks } from '../../src/sessions/chromium/find-chromium.ts';
import { recallChromium, rememberChromium } from '../../src/sessions/chromium/remembered.ts';
import { runProgram } from '../../src/sessions/chromium/run-program.ts';
import { WAYS_TO_INSTALL } from '../../src/sessions/chromium/ways-to-install.ts';
import { testChromium } from '../support/chromium.ts';
import { isRunning } from '../support/processes.ts';
import { untilTrue } from '../support/until.ts';

const clock = systemClock();
let real = '';
const root = mkdtempSync(join(tmpdir(), 'trawl-chromium-'));
after(() => rmSync(root, { recursive: true }));
before(async () => {
  real = (await testChromium()).path;
});

/** A program that records each start and becomes Chromium, and one that ends at once. */
function programs() {
  const folder = mkdtempSync(join(root, 'case-'));
  const log = join(folder, 'starts');
  writeFileSync(log, '');
  const noting = script(join(folder, 'noting'), `echo x >> '${log}'\nexec '${real}' "$@"`);
  const broken = script(join(folder, 'broken'), 'echo "libnss3.so: cannot open shared object file" >&2\nexit 127');
  return { folder, noting, broken, starts: () => readFileSync(log, 'utf8').length / 2 };
}

function script(path: string, text: string): string {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

test('a candidate is proven by a start: the first that works is used, and the errors of the others are known', async () => {
  const { noting, broken, starts } = programs();
  const { found, failed } = await firstThatWorks([broken, noting, real], clock);
  assert.equal(found?.path, noting);
  assert.match(found?.version ?? '', /^\d+\.\d+/);
  assert.deepEqual(failed, [{ path: broken, why: 'libnss3.so: cannot open shared object file' }]);
  assert.equal(starts(), 1);
});

test("the user's choice is used or refused, and no other browser takes its place", async () => {
  const { folder, noting, broken } = programs();
  const chosen = await findChromium({ chosenPath: noting, cacheDir: folder, clock });
  assert.equal(chosen.found?.path, noting);
  const deps = { chosenPath: broken, cacheDir: folder, clock, onProgress: () => {} };
  await assert.rejects(ensureChromium(deps), (error) => {
    assert.ok(error instanceof BrowserUnavailable);
    assert.equal(error.reason, 'misconfigured');
    assert.match(error.message, /^TRAWL_CHROMIUM: .*broken does not work: libnss3/);
    return true;
  });
});

test('a browser that is missing or broken leaves no temporary file', async () => {
  const { folder, broken } = programs();
  const script = `
    import { systemClock } from '${new URL('../../src/adapters/system/clock.ts', import.meta.url)}';
    import { firstThatWorks } from '${new URL('../../src/sessions/chromium/find-chromium.ts', import.meta.url)}';
    const { failed } = await firstThatWorks(['/nowhere/chromium', '${broken}'], systemClock());
    process.stdout.write(failed.map(({ why }) => why).join('|'));`;
  const empty = mkdtempSync(join(folder, 'temporary-'));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, TMPDIR: empty },
  });
  assert.equal(stdout, 'there is no such file|libnss3.so: cannot open shared object file');
  assert.deepEqual(readdirSync(empty), []);
});

test('what was found is remembered without another start, until its file changes or goes away', async () => {
  const { folder, noting, starts } = programs();
  rememberChromium(folder, { path: noting, version: '1.2', sandbox: false });
  const again = await findChromium({ chosenPath: '', cacheDir: folder, clock });
  assert.deepEqual(again.found, { path: noting, version: '1.2', sandbox: false });
  assert.equal(starts(), 0);
  appendFileSync(noting, '# updated\n');
  assert.equal(recallChromium(folder), null);
  rememberChromium(folder, { path: join(folder, 'gone'), version: '1.2', sandbox: false });
  assert.equal(recallChromium(folder), null);
  writeFileSync(join(folder, 'chromium.json'), '{ half');
  assert.equal(recallChromium(folder), null);
});

test('for windows, a headless shell is skipped, and the shell stays the remembered one', async () => {
  const { folder, noting } = programs();
  const shell = script(join(folder, 'chromium-headless-shell'), 'exit 1');
  rememberChromium(folder, { path: shell, version: '1.2', sandbox: false });
  const deps = { chosenPath: '', cacheDir: folder, clock, places: () => [shell, noting] };
  assert.equal((await findWindowedChromium(deps)).found?.path, noting);
  assert.equal(recallChromium(folder)?.path, shell);
  assert.deepEqual(await findWindowedChromium({ ...deps, places: () => [shell] }), { found: null, failed: [] });
});

test('installing checks the remembered browser again, so that one that has broken since is replaced', async () => {
  const { folder, broken } = programs();
  rememberChromium(folder, { path: broken, version: '1.2', sandbox: false });
  const found = await ensureChromium({
    chosenPath: '',
    cacheDir: folder,
    clock,
    onProgress: () => {},
    places: () => [real],
  });
  assert.equal(found.path, real);
  assert.equal(recallChromium(folder)?.path, real);
});

test('an installer that fails, or leaves a browser that does not work, is followed by the next one; all are reported', async () => {
  const { folder, broken } = programs();
  const said: string[] = [];
  const way = (name: string, end: { paths: readonly string[] } | { why: string }) => ({
    ...{ name, isPossible: () => true },
    install: async () => end,
  });
  const ways = [way('one', { why: 'no network' }), way('two', { paths: [broken] }), way('three', { paths: [] })];
  const throwing = { ...way('thrown', { paths: [] }), install: () => Promise.reject(new Error('EACCES')) };
  const impossible = { ...way('none', { paths: [real] }), isPossible: () => false };
  const emptyHome = { chosenPath: '', cacheDir: folder, clock, onProgress: (line: string) => void said.push(line) };
  // What is installed here must not be found: the test is about a machine without any.
  await assert.rejects(
    ensureChromium({ ...emptyHome, ways: [...ways, throwing, impossible], places: () => [] }),
    /no Chromium could be installed.*one: no network; two: .*broken does not work.*; three: it left no browser behind; thrown: EACCES/,
  );
  const found = await ensureChromium({
    ...emptyHome,
    ways: [...ways, way('four', { paths: [broken, real] })],
    places: () => [],
  });
  assert.equal(found.path, real);
  assert.deepEqual(
    said.filter((line) => line.startsWith('installing')).map((line) => line.split(' ')[1]),
    ['one', 'two', 'three', 'thrown', 'one', 'two', 'three', 'four'],
  );
  assert.equal(recallChromium(folder)?.path, real);
});

test('two processes install once, and the second uses what the first has installed', async () => {
  const { folder } = programs();
  const log = join(folder, 'installs');
  const ends = await Promise.all([runInstaller(folder, log, 'quick'), runInstaller(folder, log, 'quick')]);
  assert.deepEqual(
    ends.map(({ stdout }) => stdout.trim()),
    [real, real],
  );
  assert.equal(readFileSync(log, 'utf8'), 'x');
  assert.match(ends.map(({ stderr }) => stderr).join(), /another process is installing Chromium; waiting for it/);
});

test('a process that is killed while it installs does not keep others from installing', async () => {
  const { folder } = programs();
  const log = join(folder, 'installs');
  const hanging = spawn(process.execPath, [INSTALLER, folder, log, 'never', real]);
  await once(hanging.stderr, 'data');
  hanging.kill('SIGKILL');
  const { stdout } = await runInstaller(folder, log, 'quick');
  assert.equal(stdout.trim(), real);
});

const INSTALLER = fileURLToPath(new URL('installing-process.ts', import.meta.url));

function runInstaller(cacheDir: string, log: string, how: 'quick' | 'never') {
  return promisify(execFile)(process.execPath, [INSTALLER, cacheDir, log, how, real]);
}

test('the ways to install are those of this machine, in order', () => {
  const names = WAYS_TO_INSTALL.map(({ name }) => name);
  assert.match(names.join(' | '), /^Debian's .* \| Playwright's .* \| npm's @?.*$/);
});

test('a program that hangs is killed at its deadline with all that it started, and a missing one is reported', async () => {
  const folder = mkdtempSync(join(root, 'case-'));
  const pidFile = join(folder, 'pid');
  const lines: string[] = [];
  const options = { clock, onLine: (line: string) => void lines.push(line) };
  const late = await runProgram('sh', ['-c', `sleep 600 & echo $! > '${pidFile}'; echo begun; wait`], {
    ...options,
    deadlineMs: 500,
  });
  assert.deepEqual([late.ok, lines], [false, ['begun']]);
  const sleeper = Number(readFileSync(pidFile, 'utf8'));
  await untilTrue(() => !isRunning(sleeper));
  const missing = await runProgram('/nowhere/program', [], { ...options, deadlineMs: 60_000 });
  assert.match(missing.ok ? '' : missing.why, /ENOENT/);
});
