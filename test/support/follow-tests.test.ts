import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('./followed-tests.ts', import.meta.url));
const FOLLOW = fileURLToPath(new URL('./follow-tests.ts', import.meta.url));

/** The report of a run, without times and Node's own stack frames: those depend on how busy the machine is. */
function report(...flags: readonly string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [...flags, '--test-reporter=tap', TESTS], { env }, (_error, stdout) =>
    resolve(stdout.replace(/duration_ms.*|waiting.*|^.*\(node:internal\/(?:process|timers)[^)]*\)\n/gm, '')),
  );
  return promise;
}

test('the runner knows the test of an error and of a hook as it does without our help', async () => {
  const [ours, its] = await Promise.all([report('--require', FOLLOW), report()]);
  assert.equal(ours, its);
  assert.deepEqual(ours.match(/^(?:not )?ok \d/gm), ['not ok 1', 'not ok 2', 'ok 3', 'not ok 4']);
});
