import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

/**
 * On the disk that the project is on, because `/tmp` is none on many machines. An ext4 without a journal makes new files
 * ten times as slowly where many were removed in the last minutes, by a test for example; the attribute lets it put each
 * folder in a place of its own. Other file systems do not know it, and need not.
 */
export function makeRoom(name: string): string {
  const data = join(import.meta.dirname, '..', '.trawl');
  mkdirSync(data, { recursive: true });
  const room = mkdtempSync(join(data, `${name}-`));
  spawnSync('chattr', ['+T', room], { stdio: 'ignore' });
  return room;
}
