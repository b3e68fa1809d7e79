import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PRIVATE_FILE } from './data-directory.ts';
import { isLocked } from './ledger/database.ts';
import { makePrivate } from './private-file.ts';

/**
 * One process owns a data directory. The lock is SQLite's own, on a tiny database beside the ledger, held for as long
 * as the process lives; the kernel releases it when the process dies, however it dies, so it is never stale. The pid
 * beside it is only for the message.
 *
 * These files must not be opened in any other way: closing another descriptor of a locked file drops the lock.
 */
export class OwnerLock {
  readonly #db: DatabaseSync;
  readonly #pidFile: string;

  constructor(db: DatabaseSync, pidFile: string) {
    this.#db = db;
    this.#pidFile = pidFile;
  }

  release(): void {
    // In a directory that replaced ours, it belongs to another owner.
    if (readPid(this.#pidFile) === String(process.pid)) rmSync(this.#pidFile, { force: true });
    this.#db.close();
  }
}

/** Another process, which is alive, owns the data directory. */
export class DataDirInUse extends Error {
  override name = 'DataDirInUse';
  readonly pid: string;

  constructor(dataDir: string, pid: string, cause: unknown) {
    super(
      `the data directory ${dataDir} is in use by process ${pid}. Only one process can own it: stop that one, or use ` +
        'another data directory.',
      { cause },
    );
    this.pid = pid;
  }
}

export function takeOwnership(dataDir: string): OwnerLock {
  const pidFile = join(dataDir, 'owner.pid');
  const lockFile = join(dataDir, 'owner.lock');
  makePrivate(lockFile);
  const db = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (!isLocked(error)) throw error;
    throw new DataDirInUse(dataDir, readPid(pidFile), error);
  }
  writePid(pidFile);
  return new OwnerLock(db, pidFile);
}

/** If the disk has no space for a number, the ledger reports that. */
function writePid(pidFile: string): void {
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: PRIVATE_FILE });
  } catch {
    rmSync(pidFile, { force: true });
  }
}

function readPid(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return '(unknown)';
  }
}
