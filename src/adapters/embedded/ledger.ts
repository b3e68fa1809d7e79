import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BatchTurn } from '../../domain/batch-turn.ts';
import type { CachedEntry } from '../../domain/cached-page.ts';
import type { PathErrors } from '../../domain/path-errors.ts';
import type { RecordedScraper, RecordingClaim, SentRecording } from '../../domain/recording/kept-recording.ts';
import type { Clock } from '../../ports/clock.ts';
import { composeLedger } from '../../ports/compose-ledger.ts';
import type { HostRecords } from '../../ports/host-records.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import type { HostShares } from '../../ports/host-shares.ts';
import type { Leadership } from '../../ports/leadership.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { RunBook } from '../../ports/run-book.ts';
import type { RunRow } from '../../ports/run-orders.ts';
import type { SiteBook } from '../../ports/site-book.ts';
import type { SiteRows } from '../../ports/site-rows.ts';
import type { StepRecords } from '../../ports/step-records.ts';
import { LEDGER_FILE, PRIVATE_FOLDER } from './data-directory.ts';
import { EmbeddedHostRecords } from './host-records.ts';
import { EmbeddedHostSettings } from './host-settings.ts';
import { EmbeddedHostShares } from './host-shares.ts';
import { EmbeddedLeadership } from './leadership.ts';
import { Books, type BooksDeps } from './ledger/books.ts';
import { Committer } from './ledger/committer.ts';
import { type Database, openDatabase, troubleOf } from './ledger/database.ts';
import { Durability, type Sync, walSync } from './ledger/durability.ts';
import { EmbeddedItemBook } from './ledger/item-book.ts';
import { EmbeddedJobBook } from './ledger/job-book.ts';
import { EmbeddedLeaseBook } from './ledger/lease-book.ts';
import { type ArtifactCheck, recoverArtifacts, recoverInFlight } from './ledger/recovery.ts';
import { Removal } from './ledger/removal.ts';
import { EmbeddedReturns } from './ledger/returns.ts';
import { Tables } from './ledger/tables.ts';
import { type OwnerLock, takeOwnership } from './owner-lock.ts';
import { EmbeddedRunBook } from './run-book.ts';
import { EmbeddedSiteBook } from './site-book.ts';
import { EmbeddedSiteRows } from './site-rows.ts';
import { EmbeddedStepRecords } from './step-records.ts';

export interface EmbeddedLedgerOptions {
  /** Created if it does not exist. Only one process can have it open. */
  readonly dataDir: string;
  readonly clock: Clock;
  /** For tests: replaces syncing the log. */
  readonly sync?: Sync;
  /** How long settles are gathered before they are synced together. */
  readonly gatherMs?: number;
  /** Identifies this boot of the machine: if it changed, the machine was restarted or crashed. */
  readonly bootId?: string;
  /** How long workers of a former process keep their leases without reporting. */
  readonly leaseGraceMs?: number;
  /** Workers that cannot have outlived a former process: their batches are pending again at once. */
  readonly diedWithOwner?: (worker: string) => boolean;
}

export interface EmbeddedLedgerHandle {
  readonly ledger: Ledger;
  readonly leadership: Leadership;
  readonly hostSettings: HostSettingsBook;
  readonly hostShares: HostShares;
  readonly hostRecords: HostRecords;
  readonly stepRecords: StepRecords;
  readonly runs: RunBook;
  readonly sites: SiteBook;
  readonly pageRows: SiteRows<CachedEntry>;
  readonly errorRows: SiteRows<PathErrors>;
  readonly turnRows: SiteRows<BatchTurn>;
  readonly recordingRows: SiteRows<SentRecording>;
  readonly claimRows: SiteRows<RecordingClaim>;
  readonly recordedScraperRows: SiteRows<RecordedScraper>;
  readonly runRows: SiteRows<RunRow>;
  /** A small durable write. Throws StorageTrouble while there is no room. */
  probe(): Promise<void>;
  /**
   * Whether the files of the ledger are still the ones that were opened: then this process still owns the directory.
   */
  isInPlace(): boolean;
  /**
   * Call it before work begins. If the machine crashed since the ledger was last open, checks the artifacts that were
   * recorded just before, and reopens items whose bytes are missing; returns how many. Otherwise does nothing.
   */
  recoverAfterMachineCrash(check: ArtifactCheck): Promise<number>;
  /** Maximum size of the database; null for no limit but the disk's. */
  limitSize(bytes: number | null): void;
  /** Waits for work under way, and writes everything into the database file. */
  close(): Promise<void>;
  /** Behaves as if the process were killed now: pending writes are dropped, and no more answers are given. */
  crash(): void;
}

export function openEmbeddedLedger(options: EmbeddedLedgerOptions): EmbeddedLedgerHandle {
  const { dataDir } = options;
  mkdirSync(dataDir, { recursive: true, mode: PRIVATE_FOLDER });
  const lock = takeOwnership(dataDir);
  let database: Database | null = null;
  try {
    database = openDatabase(join(dataDir, LEDGER_FILE));
    return openOwned(options, lock, database);
  } catch (error) {
    const trouble = database === null ? troubleOf(error, dataDir) : database.troubleOf(error);
    database?.close();
    lock.release();
    throw trouble ?? error;
  }
}

function openOwned(options: EmbeddedLedgerOptions, lock: OwnerLock, database: Database): EmbeddedLedgerHandle {
  const { clock, bootId = machineBootId(), leaseGraceMs = 4000, diedWithOwner = () => false } = options;
  const { sql } = database;
  const lastBootId = sql.meta.get(BOOT_ID)?.['value'];
  const afterMachineCrash = lastBootId !== undefined && lastBootId !== bootId;
  const tables = new Tables(sql, clock, { afterMachineCrash });
  database.transaction(() => {
    recoverInFlight(tables, clock.now(), { leaseGraceMs, diedWithOwner });
    tables.flush();
    // The processes that were creating them are gone: one process owns the ledger.
    sql.dropAllDrafts.run();
    // The last numbers may not have reached the disk, and must not be used again.
    if (afterMachineCrash) sql.skipBatchNumbers.run(BATCH_NUMBERS_SKIPPED);
    else if (lastBootId !== bootId) sql.setMeta.run(BOOT_ID, bootId);
  });
  if (afterMachineCrash) tables.forget();

  const wal = walSync(database.walFile);
  const { gatherMs = 0 } = options;
  const gather = (signal: AbortSignal) => (gatherMs > 0 ? clock.sleep(gatherMs, signal) : Promise.resolve());
  const durability = new Durability(database, options.sync ?? wal.sync, gather);
  const committer = new Committer({ database, durability, working: tables, clock });
  const removal = new Removal({ sql, committer, clock });
  if (sql.firstRemoval.get() !== undefined) removal.poke();

  let ending: Promise<void> | null = null;
  async function end(): Promise<void> {
    await removal.stop();
    await committer.close();
    await wal.close();
    database.close();
    lock.release();
  }

  return {
    ledger: ledgerOn({ tables, committer, removal }),
    leadership: new EmbeddedLeadership(sql, committer),
    hostSettings: new EmbeddedHostSettings(sql, committer),
    hostShares: new EmbeddedHostShares(sql, committer),
    hostRecords: new EmbeddedHostRecords(tables, committer),
    stepRecords: new EmbeddedStepRecords(tables, committer),
    runs: new EmbeddedRunBook(sql, committer, clock),
    sites: new EmbeddedSiteBook(sql, committer),
    pageRows: new EmbeddedSiteRows<CachedEntry>(sql, committer, 'page'),
    errorRows: new EmbeddedSiteRows<PathErrors>(sql, committer, 'error'),
    turnRows: new EmbeddedSiteRows<BatchTurn>(sql, committer, 'turn'),
    recordingRows: new EmbeddedSiteRows<SentRecording>(sql, committer, 'recording'),
    claimRows: new EmbeddedSiteRows<RecordingClaim>(sql, committer, 'recording-claim'),
    recordedScraperRows: new EmbeddedSiteRows<RecordedScraper>(sql, committer, 'recorded-scraper'),
    runRows: new EmbeddedSiteRows<RunRow>(sql, committer, 'run'),
    async probe() {
      await committer.durable(() => sql.insertProbe.run());
      await committer.applied(() => sql.deleteProbe.run());
    },
    isInPlace() {
      try {
        database.checkFiles();
        return true;
      } catch {
        return false;
      }
    },
    async recoverAfterMachineCrash(check) {
      if (!afterMachineCrash) return 0;
      const undone = await recoverArtifacts(tables, committer, check);
      await committer.durable(() => sql.setMeta.run(BOOT_ID, bootId));
      return undone;
    },
    limitSize: (bytes) => database.limitSize(bytes),
    close() {
      ending ??= end();
      return ending;
    },
    crash() {
      if (ending !== null) return;
      ending = Promise.resolve();
      committer.die();
      void removal.stop();
      void durability.idle().then(() => wal.close());
      database.closeUnsynced();
      lock.release();
    },
  };
}

/** The ledger on SQLite: `schema.ts` says what is where. */
export function ledgerOn(deps: BooksDeps): Ledger {
  const books = new Books(deps);
  return composeLedger({
    changes: books,
    jobs: new EmbeddedJobBook(books),
    items: new EmbeddedItemBook(books),
    leases: new EmbeddedLeaseBook(books),
    returns: new EmbeddedReturns(books),
  });
}

const BOOT_ID = 'boot_id';
const BATCH_NUMBERS_SKIPPED = 1_000_000;

function machineBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // If the system has none, a crash of the machine is not noticed, and nothing is checked.
    return 'unknown';
  }
}
