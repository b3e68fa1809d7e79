import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('..', import.meta.url);

function testsIn(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: ROOT });
}

test('npm test runs every test file once: by itself, or together with the others of its folder', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  const patterns = [...(scripts.test as string).matchAll(/"(test\/[^"]+)"/g)].map(([, pattern = '']) => pattern);
  const alone = patterns.flatMap(testsIn);
  const sources = testsIn('test/_together/*.test.ts').map((file) => readFileSync(new URL(file, ROOT), 'utf8'));
  const together = sources.flatMap((source) => testsIn(`test/${/importTests\('(.+)'\)/.exec(source)?.[1]}`));
  assert.ok(alone.length > 0 && together.length > 0);
  assert.deepEqual([...alone, ...together].sort(), [...testsIn('test/**/*.test.ts')].sort());
});
