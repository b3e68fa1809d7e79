import { hash } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** The system's limit is 104 to 108 bytes, the closing zero included. */
const MAX_PATH_BYTES = 100;

/** Where owner and workers of a data directory meet. */
export function workerSocketPath(dataDir: string): string {
  return socketPath(dataDir, 'trawl.sock');
}

/** Where a private service of a data directory listens. */
export function apiSocketPath(dataDir: string): string {
  return socketPath(dataDir, 'api.sock');
}

/**
 * In the data directory or, if that path is too long for a socket, in a folder of our own among the temporary ones, whose
 * name follows from the directory.
 */
function socketPath(dataDir: string, name: string): string {
  const dir = realpathSync(dataDir);
  const path = join(dir, name);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;

  const folder = join(tmpdir(), `trawl-${userInfo().uid}-${hash('sha256', dir).slice(0, 16)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Any user may create a folder there, and its owner can pretend to be the owner of our ledger.
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== userInfo().uid || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder} is not a private folder of this user: remove it, or choose a shorter data directory`);
  }
  return join(folder, name);
}
