import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** A file that adds a test, is busy with something else until that test has ended, and adds another. */
function run(loading: string): readonly string[] {
  const code = `
    import { after, test } from 'node:test';
    import { setImmediate as turn } from 'node:timers/promises';
    import { whileLoading } from ${JSON.stringify(new URL('while-loading.ts', import.meta.url).href)};
    const say = (text) => process.stderr.write(text + '\\n');
    async function load() {
      after(() => say('closed'));
      test('first', () => say('first'));
      for (let turns = 0; turns < 1000; turns += 1) await turn();
      test('second', () => say('second'));
    }
    ${loading}`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  return stderr.trim().split('\n');
}

test('what a file needs is available until its last test has ended, however long it takes to add that test', () => {
  assert.deepEqual(run('await whileLoading(load);'), ['first', 'second', 'closed']);
  assert.deepEqual(run('await load();'), ['first', 'closed', 'second'], 'node:test waits by itself: this can go');
});
