import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));
const run = promisify(execFile);

test('trawl --help lists the commands', async () => {
  const { stdout } = await run(BIN, ['--help']);
  assert.match(stdout, /serve/);
  assert.match(stdout, /worker/);
});

test('an unknown command is bad usage, and says so', async () => {
  await assert.rejects(run(BIN, ['scrap']), ({ code, stderr }: { code: number; stderr: string }) => {
    assert.equal(code, 2);
    assert.match(stderr, /unknown command 'scrap'/);
    return true;
  });
});

test('a setting that cannot be used is named', async () => {
  await assert.rejects(
    run(BIN, ['serve'], { env: { ...process.env, TRAWL_WORKERS: 'many' } }),
    ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 2);
      assert.match(stderr, /TRAWL_WORKERS/);
      return true;
    },
  );
});

test('trawl runs on the pinned Node, regardless of which Node starts it', async () => {
  // Old Nodes cannot run our sources: that it works under the one that ships with the system shows the hand-over.
  const found = await run('which', ['-a', 'node']).catch(() => ({ stdout: '' }));
  for (const node of found.stdout.trim().split('\n').filter(Boolean)) {
    const { stdout } = await run(node, [BIN, '--version']);
    assert.match(stdout, /^\d+\.\d+\.\d+/);
  }
});

test('trawl serve refuses a data directory that another process owns, and stops gracefully on SIGTERM', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'trawl-cli-'));
  const serve = spawn(BIN, ['serve', '--port', '0', '--data-dir', dir, '--workers', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    const joined = Promise.withResolvers<void>();
    serve.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('worker joined')) joined.resolve();
    });
    await joined.promise;
    await assert.rejects(
      run(BIN, ['serve', '--port', '0', '--data-dir', dir]),
      ({ code, stderr }: { code: number; stderr: string }) => {
        assert.equal(code, 3);
        assert.match(stderr, /in use by process \d+/);
        return true;
      },
    );
    serve.kill('SIGTERM');
    const [code] = await once(serve, 'exit');
    assert.equal(code, 0);
    assert.match(output, /"msg":"stopped"/);
  } finally {
    serve.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});

test('trawl serve refuses results whose ledger is gone, and says what to do', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'trawl-cli-'));
  try {
    mkdirSync(join(dir, 'results', 'job-1'), { recursive: true });
    await assert.rejects(
      run(BIN, ['serve', '--port', '0', '--data-dir', dir]),
      ({ code, stderr }: { code: number; stderr: string }) => {
        assert.equal(code, 3);
        assert.match(stderr, /^trawl: .*ledger\.db is missing, but .*results holds results .* Restore ledger\.db/);
        return true;
      },
    );
    assert.deepEqual(readdirSync(dir), ['results']);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

for (const node of [process.execPath, ...nodesOfTheSystem()]) {
  test(`kill -9 of bin/trawl leaves no process that owns the data directory (started by ${node})`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'trawl-cli-'));
    const args = ['serve', '--port', '0', '--data-dir', dir, '--workers', '1'];
    const serve = spawn(node, [BIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      let output = '';
      const joined = Promise.withResolvers<void>();
      serve.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('worker joined')) joined.resolve();
      });
      await joined.promise;
      serve.kill('SIGKILL');
      // Every process that it started shares its standard output, which closes with the last of them.
      await once(serve, 'close', { signal: AbortSignal.timeout(120_000) });
    } finally {
      const owner = Number(readFileSync(join(dir, 'owner.pid'), 'utf8'));
      if (isAlive(owner)) process.kill(owner, 'SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

/** The first Node that a shell would find, apart from our own. */
function nodesOfTheSystem(): readonly string[] {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return path
    .map((folder) => join(folder, 'node'))
    .filter((file) => existsSync(file))
    .slice(0, 1);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
