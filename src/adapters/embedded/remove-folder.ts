import { opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './disk-trouble.ts';

const REMOVED_AT_ONCE = 32;

/** A writer may add files while we remove, so a folder that is not empty then is emptied again, but not for ever. */
const MAX_ROUNDS = 5;

/** Removes a folder and all in it, links themselves and not what they lead to. Answers how many files there were. */
export async function removeFolder(folder: string): Promise<number> {
  let removed = 0;
  for (let round = 1; ; round += 1) {
    removed += await empty(folder);
    try {
      await rmdir(folder);
      return removed;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return removed;
      if (codeOf(error) !== 'ENOTEMPTY' || round === MAX_ROUNDS) throw error;
    }
  }
}

async function empty(folder: string): Promise<number> {
  let removed = 0;
  let batch: Promise<number>[] = [];
  const entries = await opendir(folder).catch((error: unknown) => {
    // Somebody else removes it, too.
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    const removal = entry.isDirectory() ? removeFolder(path) : removeFile(path);
    // It is waited for below; one that fails before that must not count as nobody's.
    removal.catch(() => {});
    batch.push(removal);
    if (batch.length < REMOVED_AT_ONCE) continue;
    removed += sum(await Promise.all(batch));
    batch = [];
  }
  return removed + sum(await Promise.all(batch));
}

async function removeFile(path: string): Promise<number> {
  try {
    await unlink(path);
    return 1;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
