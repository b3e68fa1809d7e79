import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '../../../domain/error-message.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { makePrivate } from '../private-file.ts';
import { LedgerFiles } from './ledger-files.ts';
import { migrate } from './schema.ts';
import { prepareAll, type Statements } from './statements.ts';

/**
 * Memory for pages: what is in flight and the ends of all tables fit many times over, and four times as much was not
 * faster at a million items. The log is copied into the database at 16 MB: each copy is two waits for the disk, and a
 * page that changed a hundred times is copied once.
 */
const CACHE_KIB = 16_384;
const PAGES_PER_CHECKPOINT = 4000;
/** What is left of the log after a long transaction made it longer than usual. */
const LOG_BYTES = 64 * 2 ** 20;

/**
 * The SQLite file, with its statements. Order is SQLite's, durability is ours: with `synchronous = NORMAL` a COMMIT
 * appends to the log and does not wait for the disk, the log is synced before it is copied and the database after; what
 * must not be lost waits for `Durability`, which syncs the log once for many.
 */
export class Database {
  readonly file: string;
  readonly sql: Statements;
  readonly #db: DatabaseSync;
  readonly #files: LedgerFiles;
  /** After a damaged page was found, nothing more is written: it would only add to what must be restored. */
  #damage: StorageTrouble | null = null;

  constructor(file: string, db: DatabaseSync) {
    this.file = file;
    this.#db = db;
    this.sql = prepareAll(db);
    this.#files = new LedgerFiles(file);
  }

  get walFile(): string {
    return `${this.file}-wal`;
  }

  /** All of `work`, or nothing. A transaction that SQLite has rolled back itself is also over. */
  transaction(work: () => void): void {
    this.checkFiles();
    this.sql.begin.run();
    try {
      work();
      this.sql.commit.run();
    } catch (error) {
      if (this.#db.isTransaction) this.sql.rollback.run();
      throw error;
    } finally {
      this.#files.note();
    }
  }

  /** Reads of one state. Outside of a transaction, each statement would lock and unlock the log, which costs as much as itself. */
  reading<T>(work: () => T): T {
    this.sql.beginReading.run();
    try {
      return work();
    } finally {
      if (this.#db.isTransaction) this.sql.rollback.run();
    }
  }

  /** Copies the whole log into the database and syncs that; then the log is empty. Throws if it could not. */
  checkpoint(): void {
    this.checkFiles();
    const answer = this.sql.checkpoint.get();
    this.#files.note();
    if (answer?.['busy'] !== 0) throw new StorageTrouble('io', `${this.file}: another process keeps the log in use`);
  }

  /** Throws StorageTrouble if commits would be lost: the files are damaged, or no longer ours. */
  checkFiles(): void {
    if (this.#damage !== null) throw this.#damage;
    this.#files.check();
  }

  /** The storage trouble behind the error; null for any other error. Damage is remembered. */
  troubleOf(error: unknown): StorageTrouble | null {
    if (isDamage(error)) this.#damage ??= new StorageTrouble('broken', damageOf(this.file, error), error);
    return isDamage(error) ? this.#damage : troubleOf(error, this.file);
  }

  /** The file may not grow beyond this; null for no limit. It never shrinks below what it is. */
  limitSize(bytes: number | null): void {
    const pageSize = Number(this.#db.prepare('PRAGMA page_size').get()?.['page_size']);
    const pages = bytes === null ? 0xfffffffe : Math.max(1, Math.floor(bytes / pageSize));
    this.#db.exec(`PRAGMA max_page_count = ${pages}`);
  }

  close(): void {
    this.#db.close();
  }

  /** Closes without waiting for the disk. Only for simulating a dead process: promises are not kept. */
  closeUnsynced(): void {
    this.#db.exec('PRAGMA synchronous = OFF');
    this.#db.close();
  }
}

export function openDatabase(file: string): Database {
  const isNew = !existsSync(file);
  let db: DatabaseSync | null = null;
  try {
    makePrivate(file);
    // No timeout: this is the only writer, and waiting for a lock would stop the whole process.
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY');
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${PAGES_PER_CHECKPOINT}`);
    db.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`);
    migrate(db, file);
    mustBeSound(db, file);
    return new Database(file, db);
  } catch (error) {
    db?.close();
    if (isNew || !isDamage(error)) throw error;
    throw new Error(damageOf(file, error), { cause: error });
  }
}

/**
 * Finds pages that cannot be a part of this database, such as zeros in the middle of it. It reads the whole file: 0.15 s
 * for a million items in 48 MB. A larger ledger is not checked at the start, and damage is found when it is touched.
 */
function mustBeSound(db: DatabaseSync, file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > CHECKED_BYTES) return;
  const found = String(db.prepare('PRAGMA quick_check(1)').get()?.['quick_check']);
  if (found !== 'ok') throw new Error(damageMessage(file, found.replace(/^\*\*\*.*\n/, '')));
}

const CHECKED_BYTES = 256 * 2 ** 20;

function damageOf(file: string, error: unknown): string {
  return damageMessage(file, errorMessage(error));
}

function damageMessage(file: string, why: string): string {
  return (
    `${file} is damaged, or not a ledger at all (${why}). Stop Trawl, restore ledger.db from a backup without a -wal or ` +
    '-shm of another time, and start again; or move it away together with results/ to start with an empty ledger'
  );
}

const SQLITE = { BUSY: 5, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, NOTADB: 26 };
const TROUBLE: readonly number[] = [SQLITE.BUSY, SQLITE.READONLY, SQLITE.IOERR, SQLITE.CANTOPEN];

/** The storage trouble behind the error; null for any other error. */
export function troubleOf(error: unknown, file: string): StorageTrouble | null {
  if (error instanceof StorageTrouble) return error;
  const code = sqliteCode(error);
  if (code === null) return null;
  const message = `${file}: ${error instanceof Error ? error.message : ''}`;
  if (code === SQLITE.FULL) return new StorageTrouble('full', message, error);
  return TROUBLE.includes(code) ? new StorageTrouble('io', message, error) : null;
}

/** Another connection has a lock that we want. */
export function isLocked(error: unknown): boolean {
  return sqliteCode(error) === SQLITE.BUSY;
}

function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE.NOTADB || code === SQLITE.CORRUPT;
}

/** The primary code: extended ones are in the higher bits. */
function sqliteCode(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : null;
}
