import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CHEAP, tempFolder } from './trawl.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const WATCH = pathToFileURL(join(import.meta.dirname, 'import-watch.ts')).href;
const run = promisify(execFile);

/** The files that a command imports, in all of its processes: a worker is started with the flags of its parent. */
async function importsOf(args: readonly string[]): Promise<readonly string[]> {
  const list = join(tempFolder(), 'imports.txt');
  const env = { ...process.env, ...CHEAP, TRAWL_TEST_IMPORTS: list };
  await run(process.execPath, ['--import', WATCH, MAIN, ...args], { env });
  return readFileSync(list, 'utf8').trimEnd().split('\n');
}

test('a command that does not use AWS loads nothing of its SDK, which is larger than all the rest', async () => {
  const out = join(tempFolder(), 'run');
  const [help = [], job = []] = await Promise.all([
    importsOf(['--help']),
    importsOf(['run', 'example-noop', '--input', 'a=1', '--out', out]),
  ]);
  assert.ok(job.some((url) => url.endsWith('/src/main/worker.ts')));
  assert.ok(job.some((url) => url.endsWith('/src/main/heartbeat.ts')));
  assert.deepEqual(
    [...help, ...job].filter((url) => /@aws-sdk|@smithy|\/main\/aws-|adapters\/aws\//.test(url)),
    [],
  );
});

test('a trial loads no server, no ledger, no controller and no log: an author waits for it at every save', async () => {
  const files = await importsOf(['try', 'example-mock', '--input', 'apn=101-01-001']);
  assert.ok(files.some((url) => url.endsWith('/src/main/trial.ts')));
  assert.deepEqual(
    files.filter((url) => /src\/(?:controller|adapters\/(?:aws|embedded))\/|fastify|\/pino\/|node:sqlite/.test(url)),
    [],
  );
});
