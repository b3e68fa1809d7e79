import * as nodeFs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from '../../domain/error-code.ts';

export const LEDGER_FILE = 'ledger.db';
export const RESULTS_FOLDER = 'results';
/** Identifies the store that belongs to this ledger (`result-root.ts`). */
export const RESULTS_NOTE = 'results-id';

/** Only the user that runs Trawl may read what users submit and sites answer. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/** What the check of a data directory writes with; a test may put a disk in its place that cannot be written. */
type StartDisk = Pick<typeof nodeFs, 'mkdirSync' | 'writeFileSync' | 'rmSync'>;

/** Thrown at the start: waiting will not make this directory usable, and the message says what would. */
export class UnusableDataDirectory extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableDataDirectory';
  }
}

/**
 * Creates the data directory if it does not exist, and refuses one that cannot be written, or whose ledger is lost while
 * its results are still there. A new ledger would know none of those jobs, give their ids to other jobs, and mix new
 * results with old ones.
 */
export function prepareDataDirectory(dataDir: string, disk: StartDisk = nodeFs): void {
  mustBeWritable(dataDir, disk);
  const lost = lostLedger(dataDir);
  if (lost !== null) throw new UnusableDataDirectory(lost);
}

function mustBeWritable(dataDir: string, disk: StartDisk): void {
  // The name is unique to this process: another one may own the directory.
  const probe = join(dataDir, `.write-check-${process.pid}`);
  try {
    makeFolder(dataDir, disk);
    disk.writeFileSync(probe, '', { mode: PRIVATE_FILE });
    disk.rmSync(probe, { force: true });
  } catch (error) {
    const why = WHY_NOT_WRITABLE.get(errorCode(error) ?? '');
    // A disk that is full or fails now may recover: the ledger reports that.
    if (why === undefined) return;
    throw new UnusableDataDirectory(
      `cannot write to the data directory ${dataDir}: ${why}, or use another data directory (--data-dir, TRAWL_DATA_DIR).`,
      error,
    );
  }
}

function makeFolder(folder: string, disk: StartDisk): void {
  try {
    disk.mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    // What Node says of a recursive mkdir on a read-only file system; a plain one gets the reason.
    disk.mkdirSync(firstMissing(resolve(folder)), { mode: PRIVATE_FOLDER });
    disk.mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  }
}

function firstMissing(folder: string): string {
  const above = dirname(folder);
  return above === folder || nodeFs.existsSync(above) ? folder : firstMissing(above);
}

const WHY_NOT_WRITABLE: ReadonlyMap<string, string> = new Map([
  ['EROFS', 'its file system is mounted read-only. Mount it read-write'],
  ['EACCES', 'this user may not write there. Give the directory to the user that runs Trawl'],
  ['EPERM', 'this user may not write there. Give the directory to the user that runs Trawl'],
  ['ENOTDIR', 'it, or a folder above it, is a file. Move that file away'],
  ['EEXIST', 'it is a file. Move that file away'],
]);

/** What is wrong and what to do; null if nothing is missing. */
function lostLedger(dataDir: string): string | null {
  const file = join(dataDir, LEDGER_FILE);
  const size = sizeOf(file);
  if (size !== null && size > 0) return null;
  const state = size === null ? 'is missing' : 'is empty';
  const restore = `Restore ${LEDGER_FILE} from a backup`;
  if ((sizeOf(`${file}-wal`) ?? 0) > 0) {
    const startOver = `move ${LEDGER_FILE}-wal, ${RESULTS_FOLDER}/ and ${RESULTS_NOTE} away`;
    return `${file} ${state}, but its log ${LEDGER_FILE}-wal is there. ${restore}; or, to start with an empty ledger, ${startOver}.`;
  }
  const results = join(dataDir, RESULTS_FOLDER);
  if (!hasEntries(results)) return null;
  return `${file} ${state}, but ${results} holds results of earlier jobs. ${restore}; or, to start with an empty ledger, move ${results} and ${RESULTS_NOTE} away.`;
}

function sizeOf(file: string): number | null {
  return nodeFs.statSync(file, { throwIfNoEntry: false })?.size ?? null;
}

/** Whether the folder contains anything but unfinished files. */
function hasEntries(folder: string): boolean {
  try {
    const opened = nodeFs.opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        if (!entry.name.startsWith('.')) return true;
      }
      return false;
    } finally {
      opened.closeSync();
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}
