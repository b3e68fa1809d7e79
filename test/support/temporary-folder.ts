import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { sized } from './sized.ts';

const MEMORY = '/dev/shm';
/** Several times what the files of a run need at once; containers often have 64 MiB there. */
const ENOUGH_BYTES = 4 * 2 ** 30;
const PREFIX = 'trawl-tests-';

/**
 * A folder in memory for the temporary files of a whole run, where there is room for it: no test looks at the disk
 * itself, and thousands of syncs take longer than all the rest of what the ledgers do. The slow run is on the disk. Null
 * if the system's folder is to be used.
 */
export function makeTemporaryFolder(): { readonly path: string; remove(): void } | null {
  if (!sized({ quick: hasRoom(), slow: false })) return null;
  removeLeftBehind();
  const path = join(MEMORY, `${PREFIX}${process.pid}`);
  mkdirSync(path);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}

/** A run that was killed could not remove its folder. */
function removeLeftBehind(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN;
    if (Number.isInteger(pid) && !existsSync(`/proc/${pid}`)) {
      rmSync(join(MEMORY, name), { recursive: true, force: true });
    }
  }
}
