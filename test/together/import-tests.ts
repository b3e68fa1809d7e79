import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * All test files of a folder in this process: where tests take milliseconds, starting a process and loading the sources
 * for each file would be most of the time. For tests of pure code only, which leave nothing behind for the next file.
 */
export async function importTests(folder: string): Promise<void> {
  const root = join(import.meta.dirname, '..', folder);
  const files = globSync('**/*.test.ts', { cwd: root }).sort();
  if (files.length === 0) throw new Error(`there are no tests in ${root}`);
  for (const file of files) await import(pathToFileURL(join(root, file)).href);
}
