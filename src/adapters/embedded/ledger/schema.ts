import type { DatabaseSync } from 'node:sqlite';

/**
 * The tables, as the steps that led to them. A step that was released is never changed: databases out there have taken
 * it. Each is taken once, in order, in a transaction of its own; `user_version` counts them.
 *
 * Rows about items have one integer key: the job's number times 2^32, and the item's place in the job (see
 * `row-key.ts`). So what is added goes to the end of a job's range, a page is a range, and nothing is kept twice.
 *
 *   jobs       one row per job: its counters, and all that is rarely changed as one JSON document
 *   items      what was submitted or found; appended to, and changed only where a failed item gets another input
 *   item_ids   which place an item id has: see `item-ids.ts`
 *   item_groups   where runs of items of one group begin: see `item-groups.ts`
 *   returned   pending items that have been out before. All others are pending from the job's `cursor` on
 *   batches    what is in flight: few rows, however large the job
 *   outcomes   how items ended; written once
 *   fresh      outcomes of the last minutes whose artifacts may not be on disk yet
 *   host_settings   what operators have set for hosts, as a JSON document each
 *   shares     what processes have reserved of the limits of hosts and jobs
 *   host_seen   what jobs did at hosts: see `compliance.ts` of the domain
 *   step_seen   what was seen of the steps of a recording: see `recording/step-statistics.ts` of the domain
 *   sites      configurations of documentation sites, as a JSON document each
 *   site_rows   what is cached of pages of sites, which of them failed, and recordings: see `ports/site-rows.ts`
 *   scrape_runs   one row per scrape run, with its counters; `seen` is 1 if it is visible, 0 for a draft and for a run whose
 *              items are being deleted
 *   run_items   their items. `hash` is of run and URL, so that a URL is found without storing it twice
 *   removals   jobs that are gone and whose rows are being deleted; with a `done` below zero, drafts of jobs, whose rows
 *              are deleted should the job never be made
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE jobs (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    active INTEGER NOT NULL,
    document TEXT NOT NULL,
    total INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    in_progress INTEGER NOT NULL,
    success INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    items_in_flight INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    fenced INTEGER NOT NULL,
    ready_at REAL NOT NULL,
    open_until REAL NOT NULL,
    tally TEXT NOT NULL,
    throttle TEXT NOT NULL,
    cursor INTEGER NOT NULL,
    next_batch INTEGER NOT NULL
  );
  CREATE INDEX jobs_by_status ON jobs (status);
  CREATE INDEX jobs_active ON jobs (active) WHERE active = 1;

  CREATE TABLE items (key INTEGER PRIMARY KEY, item_id TEXT NOT NULL, input TEXT NOT NULL);

  CREATE TABLE item_ids (key INTEGER PRIMARY KEY, entries BLOB NOT NULL);
  CREATE TABLE item_id_runs (key INTEGER PRIMARY KEY, bits INTEGER NOT NULL, size INTEGER NOT NULL);

  CREATE TABLE returned (
    key INTEGER PRIMARY KEY,
    deliveries INTEGER NOT NULL,
    strikes INTEGER NOT NULL,
    history TEXT
  );

  CREATE TABLE batches (
    key INTEGER PRIMARY KEY,
    suspect INTEGER NOT NULL,
    due_at REAL NOT NULL,
    worker TEXT,
    claimed_at REAL,
    begun_seq INTEGER,
    blameless INTEGER NOT NULL,
    items TEXT NOT NULL
  );

  CREATE TABLE outcomes (
    key INTEGER PRIMARY KEY,
    status INTEGER NOT NULL,
    error_type TEXT,
    attempt INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    started_at REAL NOT NULL,
    duration_ms REAL NOT NULL,
    detail TEXT
  );
  CREATE INDEX outcomes_by_status ON outcomes (status) WHERE status <> 0;
  CREATE INDEX outcomes_by_error ON outcomes (error_type) WHERE error_type IS NOT NULL;

  CREATE TABLE failure_groups (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    type TEXT NOT NULL,
    pattern TEXT NOT NULL,
    count INTEGER NOT NULL,
    examples TEXT NOT NULL
  );
  CREATE INDEX failure_groups_by_job ON failure_groups (job);

  CREATE TABLE fresh (id INTEGER PRIMARY KEY, keys TEXT NOT NULL);
  CREATE TABLE removals (num INTEGER PRIMARY KEY, items INTEGER NOT NULL, done INTEGER NOT NULL);
  CREATE TABLE leadership (id INTEGER PRIMARY KEY CHECK (id = 1), holder TEXT NOT NULL, until REAL NOT NULL);
  CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB NOT NULL);
  `,
  // Only items of a re-extraction have a source; only failures that were seen on a page have one.
  `
  ALTER TABLE items ADD COLUMN source TEXT;
  ALTER TABLE failure_groups ADD COLUMN page TEXT;
  `,
  // Apart from the items: a job without groups costs nothing, and a dispatch does not read inputs to find one.
  `
  CREATE TABLE item_groups (key INTEGER PRIMARY KEY, name TEXT);
  `,
  `
  CREATE TABLE host_settings (host TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
  `,
  // When and where failures were seen; groups that were counted before tell neither.
  `
  ALTER TABLE failure_groups ADD COLUMN place TEXT;
  ALTER TABLE failure_groups ADD COLUMN first_at REAL;
  ALTER TABLE failure_groups ADD COLUMN last_at REAL;
  `,
  `
  CREATE TABLE shares (line TEXT PRIMARY KEY, book TEXT NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID;
  `,
  // What jobs sent and received: changed with every settle, and apart from the document for that reason.
  `
  ALTER TABLE jobs ADD COLUMN usage TEXT NOT NULL DEFAULT '[]';
  `,
  `
  CREATE TABLE host_seen (job INTEGER NOT NULL, host TEXT NOT NULL, seen TEXT NOT NULL, PRIMARY KEY (job, host)) WITHOUT ROWID;
  `,
  // The pace of a job is kept by its workers.
  `
  ALTER TABLE jobs DROP COLUMN ready_at;
  `,
  `
  CREATE TABLE sites (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE site_rows (
    kind TEXT NOT NULL, site TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (kind, site, name)
  ) WITHOUT ROWID;
  `,
  // Only items that others found have a depth, and only their jobs have counted it.
  `
  ALTER TABLE items ADD COLUMN depth INTEGER;
  ALTER TABLE jobs ADD COLUMN discovery TEXT;
  `,
  // Items that a host holds, in jobs whose batches are made by group. All others have 0.
  `
  ALTER TABLE returned ADD COLUMN held_at REAL NOT NULL DEFAULT 0;
  ALTER TABLE returned ADD COLUMN held_until REAL NOT NULL DEFAULT 0;
  `,
  // Steps of recordings: at which one failures were seen, and what was seen of each.
  `
  ALTER TABLE failure_groups ADD COLUMN step TEXT;
  CREATE TABLE step_seen (job INTEGER PRIMARY KEY, seen TEXT NOT NULL);
  `,
  `
  CREATE TABLE scrape_runs (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    seen INTEGER NOT NULL,
    domain TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    document TEXT NOT NULL,
    total INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    invalid INTEGER NOT NULL
  );
  CREATE INDEX scrape_runs_by_domain ON scrape_runs (domain, started_at, status, id, ended_at, created_at) WHERE seen = 1;
  CREATE INDEX scrape_runs_unseen ON scrape_runs (num) WHERE seen = 0;
  CREATE TABLE run_items (
    key INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    url TEXT NOT NULL,
    state INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    reason TEXT
  );
  CREATE INDEX run_items_by_hash ON run_items (hash);
  CREATE INDEX run_items_by_state ON run_items (state);
  `,
];

/** Written to the header of the file, so that the database of another program is not taken for ours: "Trwl". */
const APPLICATION_ID = 0x5472776c;

/** Takes the steps that the database has not taken yet. `file` is for messages. */
export function migrate(db: DatabaseSync, file: string, steps: readonly string[] = MIGRATIONS): void {
  const version = pragma(db, 'user_version');
  if (version > steps.length) {
    throw new Error(
      `${file} was written by a newer Trawl: its format is version ${version}, and this Trawl knows versions up to ` +
        `${steps.length}. Start the newer Trawl, or use another data directory.`,
    );
  }
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (!isEmpty && pragma(db, 'application_id') !== APPLICATION_ID) {
    throw new Error(`${file} is the database of another program. Move it away, or use another data directory.`);
  }
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    db.exec(`BEGIN IMMEDIATE; PRAGMA application_id = ${APPLICATION_ID}`);
    try {
      db.exec(`${step}; PRAGMA user_version = ${index + 1}; COMMIT`);
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
}

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
