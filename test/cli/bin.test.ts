import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('trawl runs on the pinned Node, whichever Node starts it', async () => {
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
