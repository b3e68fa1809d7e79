import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../../demo/main.ts', import.meta.url));

async function withSite(options: string[], run: (child: ChildProcess, firstLine: string) => Promise<void>) {
  const child = spawn(process.execPath, [ENTRY, ...options], { stdio: ['pipe', 'pipe', 'pipe'] });
  try {
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    await run(child, String(line));
  } finally {
    child.kill('SIGKILL');
  }
}

test('it says where it is, serves, and ends with its input', () =>
  withSite(['--parcels', '1_000_000', '--faults', '{"notFound":{"from":1}}'], async (child, line) => {
    const { url } = JSON.parse(line);
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    const statuses = [(await fetch(url)).status, (await fetch(url)).status];
    assert.deepEqual(statuses, [200, 404]);
    const ended = once(child, 'exit');
    child.stdin?.end();
    assert.deepEqual(await ended, [0, null]);
  }));

test('it ends on SIGTERM', () =>
  withSite([], async (child) => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  }));

test('it ends with the channel to the process that forked it', async () => {
  const child = fork(ENTRY, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  try {
    assert.ok(child.stdout !== null);
    await once(child.stdout, 'data');
    const ended = once(child, 'exit');
    child.disconnect();
    assert.deepEqual(await ended, [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});

test('invalid options end it with a message about what is wrong', () =>
  withSite(['--faults', '{"resets":{}}'], async (child, line) => {
    assert.match(line, /^resets: is not a fault/);
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 2);
  }));
