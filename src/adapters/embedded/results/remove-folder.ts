import { opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../domain/error-code.ts';

const REMOVED_AT_ONCE = 32;

/** A writer may add files while we remove, so a folder that is not empty then is emptied again, but not forever. */
const MAX_ROUNDS = 5;

/**
 * Removes a folder and everything in it, links themselves and not their targets. Returns how many files there were;
 * null if `mayGoOn`, which is asked from time to time, returned false before the end.
 */
export async function removeFolder(folder: string, mayGoOn: () => boolean = () => true): Promise<number | null> {
  let removed = 0;
  for (let round = 1; ; round += 1) {
    const emptied = await empty(folder, mayGoOn);
    if (emptied === null) return null;
    removed += emptied;
    try {
      await rmdir(folder);
      return removed;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return removed;
      if (errorCode(error) !== 'ENOTEMPTY' || round === MAX_ROUNDS) throw error;
    }
  }
}

async function empty(folder: string, mayGoOn: () => boolean): Promise<number | null> {
  let removed: number | null = 0;
  let batch: Promise<number | null>[] = [];
  const entries = await opendir(folder).catch((error: unknown) => {
    // It is being removed elsewhere, too.
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  for await (const entry of entries) {
    if (batch.length === 0 && (removed === null || !mayGoOn())) return null;
    const path = join(folder, entry.name);
    const removal = entry.isDirectory() ? removeFolder(path, mayGoOn) : removeFile(path);
    // It is awaited below; failing before that must not count as an unhandled rejection.
    removal.catch(() => {});
    batch.push(removal);
    if (batch.length < REMOVED_AT_ONCE) continue;
    removed = sum([removed, ...(await Promise.all(batch))]);
    batch = [];
  }
  return sum([removed, ...(await Promise.all(batch))]);
}

async function removeFile(path: string): Promise<number> {
  try {
    await unlink(path);
    return 1;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** Null if one of them is. */
function sum(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce((total, each) => (total === null || each === null ? null : total + each), 0);
}
