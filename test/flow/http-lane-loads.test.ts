import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

/** Says whether Playwright was loaded along with these files. */
function loadsPlaywright(files: readonly string[]): string {
  const script = `
    import { registerHooks } from 'node:module';
    let isLoaded = false;
    registerHooks({ resolve: (name, context, next) => { isLoaded ||= name === 'playwright-core'; return next(name, context); } });
    for (const file of ${JSON.stringify(files)}) await import('${ROOT}/' + file);
    console.log(isLoaded ? 'loaded' : 'not loaded');
    process.exit();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return stdout.trim() || stderr;
}

test('a worker of the HTTP lane and its scrapers load without Playwright, which takes longer to load than all else', () => {
  assert.equal(
    loadsPlaywright(['src/main/worker.ts', 'src/scraping/author.ts', 'scrapers/demo/county.ts']),
    'not loaded',
  );
  assert.equal(loadsPlaywright(['src/main/browser-tools.ts']), 'loaded');
});
