import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { whileLoading } from '../support/while-loading.ts';

/**
 * All test files of a pattern below `test/` in this process: where tests take milliseconds, starting a process and loading
 * the sources for each file would be most of the time. For tests which leave nothing behind for the next file.
 */
export async function importTests(pattern: string): Promise<void> {
  const root = join(import.meta.dirname, '..');
  const files = globSync(pattern, { cwd: root }).sort();
  if (files.length === 0) throw new Error(`there are no tests for ${pattern} in ${root}`);
  await whileLoading(async () => {
    for (const file of files) await import(pathToFileURL(join(root, file)).href);
  });
}
