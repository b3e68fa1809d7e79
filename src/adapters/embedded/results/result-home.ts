import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import type { Clock } from '../../../ports/clock.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { isEmptyRoot, markRoot, ResultRoot, readMark } from './result-root.ts';
import type { Disk } from './unfinished-results.ts';

/**
 * Which process opens a store, and what it may create:
 *
 *   anyone   makes the folder if it is missing, and marks it
 *   owner    the same for a new store. It notes the mark beside it, in `noteFile`; where there is such a note and the
 *            folder is missing or empty, nothing is made: its disk is not mounted, and the store waits for it
 *   guest    another process owns the store: nothing is made. Where there is none yet, opening fails
 */
export type Opening = { readonly as: 'anyone' | 'guest' } | { readonly as: 'owner'; readonly noteFile: string };

export function findHome(root: string, opening: Opening, clock: Clock, disk: Disk): ResultRoot {
  if (opening.as === 'guest') {
    const path = realpathSync(root);
    if (isEmptyRoot(path)) throw new StorageTrouble('io', `${path} is empty, and no result store: mount its disk`);
    return new ResultRoot(path, disk, readMark(path));
  }
  const noted = opening.as === 'owner' ? readNote(opening.noteFile) : null;
  if (noted !== null && (!existsSync(root) || isEmptyRoot(root))) {
    return new ResultRoot(existsSync(root) ? realpathSync(root) : root, disk, noted);
  }
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const path = realpathSync(root);
  const mark = readMark(path) ?? markRoot(path, clock.id());
  if (opening.as === 'owner' && mark !== null && mark !== noted) {
    writeFileSync(opening.noteFile, `${mark}\n`, { mode: 0o600 });
  }
  return new ResultRoot(path, disk, mark);
}

function readNote(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || null : null;
}
