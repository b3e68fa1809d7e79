import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Trawl does not depend on what it is measured against, so that is installed here, the first time. */
export function installPeers(names: readonly string[], say: (line: string) => void): void {
  const folder = import.meta.dirname;
  if (names.every((name) => existsSync(join(folder, 'node_modules', name)))) return;
  say('installing what Trawl is measured against …');
  const { status } = spawnSync('npm', ['ci', '--prefix', folder], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm ci --prefix bench failed; its output is above');
}
