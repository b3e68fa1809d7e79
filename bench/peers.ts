import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Trawl does not depend on the programs it is compared with, so they are installed here on first use. */
export function installPeers(names: readonly string[], say: (line: string) => void): void {
  const folder = import.meta.dirname;
  if (names.every((name) => existsSync(join(folder, 'node_modules', name)))) return;
  say('installing what Trawl is measured against …');
  const { status } = spawnSync('npm', ['ci', '--prefix', folder], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm ci --prefix bench failed; its output is above');
}
