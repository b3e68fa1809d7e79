import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { workerSocketPath } from '../../src/adapters/embedded/socket/socket-path.ts';
import { TestOwner, withOwner } from './socket-owner.ts';

function inFolder(name: string, body: (folder: string) => Promise<void> | void): void {
  test(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trawl-listen-'));
    try {
      await body(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

withOwner('only the user who started the owner may open its socket', async (owner) => {
  assert.equal(lstatSync(owner.socketPath).mode & 0o777, 0o600);
});

withOwner('an owner that answers is not replaced', async (owner) => {
  const second = new TestOwner(owner.folder);
  await assert.rejects(second.serve(), /another process listens on/);
  assert.equal(await (await owner.worker()).leases.begin('a', 1), true);
});

withOwner('an owner that stops takes its socket with it', async (owner) => {
  await owner.server?.close();
  assert.throws(() => lstatSync(owner.socketPath), { code: 'ENOENT' });
});

inFolder('the socket of an owner that died is replaced', async (folder) => {
  const owner = new TestOwner(folder);
  leaveStaleSocket(owner.socketPath);
  assert.ok(lstatSync(owner.socketPath).isSocket());
  await owner.serve();
  assert.equal(await (await owner.worker()).leases.begin('a', 1), true);
  await owner.close();
});

/** What a killed process leaves behind: a socket on which no process answers. */
function leaveStaleSocket(path: string): void {
  const { status } = spawnSync(
    process.execPath,
    [
      '-e',
      `const net = require('node:net');
       net.createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'));`,
    ],
    { stdio: 'ignore' },
  );
  assert.equal(status, null);
}

inFolder('a file that is in the way is left alone', async (folder) => {
  const owner = new TestOwner(folder);
  writeFileSync(owner.socketPath, 'precious');
  await assert.rejects(owner.serve(), /not a socket/);
  assert.equal(lstatSync(owner.socketPath).size, 8);
});

inFolder('the folder of the socket is created, accessible to its user alone', async (folder) => {
  const owner = new TestOwner(join(folder, 'data'));
  await owner.serve();
  assert.equal(lstatSync(join(folder, 'data')).mode & 0o777, 0o700);
  await owner.close();
});

inFolder('a data directory with a short name has its socket inside', (folder) => {
  assert.equal(workerSocketPath(folder), join(folder, 'trawl.sock'));
});

inFolder('a data directory with a long name has its socket elsewhere, always in the same place', async (folder) => {
  const long = join(folder, 'd'.repeat(100));
  const other = join(folder, 'e'.repeat(100));
  mkdirSync(long);
  mkdirSync(other);
  symlinkSync(long, join(folder, 'link'));
  const path = workerSocketPath(long);
  try {
    assert.ok(Buffer.byteLength(path) <= 100, path);
    assert.equal(basename(path), 'trawl.sock');
    assert.equal(lstatSync(dirname(path)).mode & 0o777, 0o700);
    assert.equal(workerSocketPath(long), path);
    assert.equal(workerSocketPath(join(folder, 'link')), path, 'by whatever name the directory is reached');
    const otherPath = workerSocketPath(other);
    rmSync(dirname(otherPath), { recursive: true });
    assert.notEqual(otherPath, path);

    const server = createServer().listen(path);
    await once(server, 'listening');
    server.close();
  } finally {
    rmSync(dirname(path), { recursive: true });
  }
});

inFolder('a folder for sockets that others may write to is refused', (folder) => {
  const long = join(folder, 'd'.repeat(100));
  mkdirSync(long);
  const path = workerSocketPath(long);
  try {
    chmodSync(dirname(path), 0o777);
    assert.throws(() => workerSocketPath(long), /not a private folder/);
  } finally {
    rmSync(dirname(path), { recursive: true });
  }
});
