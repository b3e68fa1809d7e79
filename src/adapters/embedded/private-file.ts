import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { errorCode } from '../../domain/error-code.ts';
import { PRIVATE_FILE } from './data-directory.ts';

/**
 * Makes the database file, or takes the rights of others from one that an earlier version made: the data directory may
 * be open to all users of the machine. SQLite gives its log and its shared memory the mode of the database. To be called
 * before SQLite opens the file: closing another descriptor of it would drop SQLite's locks.
 */
export function makePrivate(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) {
    closeSync(openSync(file, 'a', PRIVATE_FILE));
    return;
  }
  for (const name of [file, `${file}-wal`, `${file}-shm`]) takeRightsOfOthers(name);
}

function takeRightsOfOthers(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & 0o077) === 0) return;
  try {
    chmodSync(file, PRIVATE_FILE);
  } catch (error) {
    // The file of another user that we may write anyway: its mode is that user's choice.
    if (errorCode(error) !== 'EPERM') throw error;
  }
}
