import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BrowserUnavailable } from '../../src/ports/browser-provider.ts';
import { statOf } from '../../src/sessions/local/process-group.ts';
import { testChromium } from '../support/chromium.ts';
import { isRunning, processesWith } from '../support/processes.ts';
import { untilTrue } from '../support/until.ts';
import { localProvider, OPTIONS, patience } from './local-support.ts';

/** A field of /proc/<pid>/stat after the name, and what it is for batch work (sched(7)). */
const POLICY = 38;
const SCHED_BATCH = '3';

const isEnded = (pids: readonly number[]) => pids.every((pid) => !isRunning(pid));

test('a session is a browser with its processes and memory, and nothing of it is left after close', async () => {
  const { provider, files, temporaryDir } = await localProvider();
  const listeners = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => process.listenerCount(signal));
  const before = listeners();
  const session = await provider.open(OPTIONS, patience());
  assert.deepEqual(listeners(), before, 'a worker that is told to stop decides itself when its browsers close');
  const page = await session.browser.newPage();
  assert.equal(await page.evaluate('navigator.userAgent.length > 0'), true);
  const pids = session.pids();
  assert.ok(pids.length >= 2 && pids.every(isRunning), 'the browser and its page are processes');
  assert.ok((session.memoryBytes() ?? 0) > 20e6);
  if (process.platform === 'linux') {
    const { sandbox } = await testChromium();
    const commands = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
    const drawing = commands.filter((command) => command.includes('--type=gpu-process'));
    assert.equal(drawing.length, sandbox ? 1 : 0, 'only in a sandbox has drawing a process of its own');
    const policies = pids.map((pid) => statOf(pid)[POLICY]);
    assert.deepEqual(
      policies,
      pids.map(() => SCHED_BATCH),
      'to the scheduler, all of them are batch work',
    );
  }
  // Traces are written into the folder of the session, too, which goes away with it.
  await page.context().tracing.start({ snapshots: true });
  assert.match(readdirSync(temporaryDir, { recursive: true }).join(), /\.(trace|network)\b/);
  assert.equal(await session.isHealthy(30_000), true);
  await session.close();
  assert.equal(isEnded(pids), true);
  assert.deepEqual([session.pids(), session.memoryBytes(), session.gone.aborted], [[], null, true]);
  assert.equal(await session.isHealthy(30_000), false);
  await session.close();
  await provider.close();
  assert.deepEqual(files(), []);
  assert.deepEqual(processesWith(temporaryDir), []);
});

test('a stopped browser is not healthy, and is killed with all of its processes by our own clock', async () => {
  const { provider, files } = await localProvider();
  const session = await provider.open(OPTIONS, patience());
  await session.browser.newPage();
  const pids = session.pids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  assert.equal(await session.isHealthy(300), false);
  const stuck = session.browser.newContext().catch(() => 'rejected');
  await session.close();
  assert.equal(isEnded(pids), true);
  assert.equal(await stuck, 'rejected');
  await provider.close();
  assert.deepEqual(files(), []);
});

test('a browser that is killed from outside is gone at once, and its files with it', async () => {
  const { provider, files } = await localProvider();
  const session = await provider.open(OPTIONS, patience());
  const [main = 0, ...others] = session.pids();
  process.kill(main, 'SIGKILL');
  if (!session.gone.aborted) await once(session.gone, 'abort');
  assert.match(String(session.gone.reason), /the browser of session \S+ has ended/);
  await session.kill();
  assert.equal(isEnded([main, ...others]), true);
  await provider.close();
  assert.deepEqual(files(), []);
});

test('a browser that does not start in time, or at all, leaves nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-programs-'));
  const hanging = join(folder, 'hanging');
  const ending = join(folder, 'ending');
  writeFileSync(hanging, '#!/bin/sh\nsleep 600 & wait\n');
  writeFileSync(ending, '#!/bin/sh\nexit 3\n');
  for (const path of [hanging, ending]) chmodSync(path, 0o755);
  for (const path of [hanging, ending, join(folder, 'missing')]) {
    const { provider, files, temporaryDir } = await localProvider(path);
    await assert.rejects(provider.open({ ...OPTIONS, openMs: 500 }, patience()), (error) => {
      assert.ok(error instanceof BrowserUnavailable && error.reason === 'failed', String(error));
      return true;
    });
    await provider.close();
    assert.deepEqual([files(), processesWith(temporaryDir)], [[], []], path);
  }
  rmSync(folder, { recursive: true });
});

test('a start that is no longer wanted is abandoned with the reason', async () => {
  const { provider, files } = await localProvider();
  const stop = new AbortController();
  const opening = provider.open(OPTIONS, stop.signal);
  stop.abort(new Error('drained'));
  await assert.rejects(opening, { message: 'drained' });
  await assert.rejects(provider.open(OPTIONS, stop.signal), { message: 'drained' });
  await provider.close();
  assert.deepEqual(files(), []);
});

/** Starts a process that opens browsers, and returns what it reported about them. */
async function startHolder(temporaryDir: string, how: 'idle' | 'stopped') {
  const { path } = await testChromium();
  const entry = fileURLToPath(new URL('holding-process.ts', import.meta.url));
  const holder = spawn(process.execPath, [entry, temporaryDir, path, how], { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => holder.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: holder.stdout }), 'line');
  const told: { browsers: number[]; guardian: number; profiles: string[] } = JSON.parse(line);
  assert.ok(
    told.browsers.length >= 4 && told.browsers.every(isRunning) && told.profiles.every((each) => existsSync(each)),
  );
  return { holder, ...told };
}

for (const how of ['idle', 'stopped'] as const) {
  test(`after kill -9 of a process that has ${how} browsers, no process and no file remains`, async () => {
    const temporaryDir = mkdtempSync(join(tmpdir(), 'trawl-killed-'));
    const { holder, browsers, guardian, profiles } = await startHolder(temporaryDir, how);
    holder.kill('SIGKILL');
    await untilTrue(() => isEnded([...browsers, guardian]));
    assert.deepEqual(readdirSync(temporaryDir), []);
    assert.deepEqual(
      profiles.filter((profile) => existsSync(profile)),
      [],
    );
    rmSync(temporaryDir, { recursive: true });
  });
}

test('where the guardian was killed, too, the next process sweeps what is left, and nothing of living ones', async () => {
  const { provider, files, temporaryDir } = await localProvider();
  const own = await provider.open(OPTIONS, patience());
  const living = await startHolder(temporaryDir, 'idle');
  const killed = await startHolder(temporaryDir, 'stopped');
  process.kill(killed.guardian, 'SIGKILL');
  killed.holder.kill('SIGKILL');
  await once(killed.holder, 'exit');
  assert.equal(await provider.sweep(), 2);
  await untilTrue(() => isEnded(killed.browsers));
  assert.deepEqual(
    killed.profiles.filter((profile) => existsSync(profile)),
    [],
  );
  assert.ok(living.browsers.every(isRunning) && own.pids().length > 0);
  assert.equal(files().length, 2);
  assert.equal(await provider.sweep(), 0);
  living.holder.kill('SIGKILL');
  await untilTrue(() => isEnded([...living.browsers, living.guardian]));
});
