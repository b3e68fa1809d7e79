import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The columns of an item, with its outcome if it has one. */
const ITEM_COLUMNS = `i.key, i.item_id, i.input, i.source, i.depth,
    o.status, o.attempt, o.tries, o.started_at, o.duration_ms, o.detail`;

/**
 * Every statement that the ledger runs, prepared once. They are in one place so that a test can read the plan of each:
 * none may scan items, outcomes, item_ids or returned, whatever the number of rows. `batches` is read as a whole, once,
 * when the ledger opens: it contains what is in flight, which the policies limit.
 */
export const SQL = {
  begin: 'BEGIN IMMEDIATE',
  beginReading: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  checkpoint: 'PRAGMA wal_checkpoint(TRUNCATE)',

  meta: 'SELECT value FROM meta WHERE name = ?',
  setMeta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',

  nextJobNum: "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'jobs' RETURNING seq",
  firstJobNum: "INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', 1)",
  insertJob: `INSERT INTO jobs
    (num, id, status, active, document, total, queued, in_progress, success, failed, skipped, cancelled, items_in_flight,
     refusals, fenced, open_until, tally, throttle, cursor, next_batch)
    VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?, 0, 0)`,
  jobById: 'SELECT * FROM jobs WHERE id = ?',
  jobByNum: 'SELECT * FROM jobs WHERE num = ?',
  jobsBefore: 'SELECT * FROM jobs WHERE num < ? ORDER BY num DESC LIMIT ?',
  jobsOfStatusBefore: 'SELECT * FROM jobs WHERE status = ? AND num < ? ORDER BY num DESC LIMIT ?',
  activeJobsAfter: 'SELECT * FROM jobs WHERE active = 1 AND num > ? ORDER BY num LIMIT ?',
  updateJob: `UPDATE jobs SET total = ?, queued = ?, in_progress = ?, success = ?, failed = ?, skipped = ?,
    cancelled = ?, items_in_flight = ?, refusals = ?, fenced = ?, open_until = ?, tally = ?, throttle = ?,
    usage = ?, discovery = ?, cursor = ?, next_batch = ? WHERE num = ?`,
  updateJobDocument: 'UPDATE jobs SET status = ?, active = ?, document = ? WHERE num = ?',
  deleteJob: 'DELETE FROM jobs WHERE num = ?',
  skipBatchNumbers: 'UPDATE jobs SET next_batch = next_batch + ?',

  insertItem: 'INSERT INTO items (key, item_id, input, source) VALUES (?, ?, ?, ?)',
  insertFound: 'INSERT INTO items (key, item_id, input, depth) VALUES (?, ?, ?, ?)',
  updateItem: 'UPDATE items SET input = ?, source = ? WHERE key = ?',
  itemId: 'SELECT item_id FROM items WHERE key = ?',
  idAndInput: 'SELECT item_id, input FROM items WHERE key = ?',
  itemToLease: 'SELECT key, item_id, input, source, depth FROM items WHERE key = ?',
  itemsToLease: 'SELECT key, item_id, input, source, depth FROM items WHERE key BETWEEN ? AND ?',
  inputBytes: 'SELECT octet_length(input) + ifnull(octet_length(source), 0) AS bytes FROM items WHERE key = ?',

  insertIds: 'INSERT INTO item_ids (key, entries) VALUES (?, ?)',
  ids: 'SELECT entries FROM item_ids WHERE key = ?',
  idsBetween: 'SELECT entries FROM item_ids WHERE key BETWEEN ? AND ?',
  deleteIdsBetween: 'DELETE FROM item_ids WHERE key BETWEEN ? AND ?',
  insertIdRun: 'INSERT INTO item_id_runs (key, bits, size) VALUES (?, ?, ?)',
  idRunsBetween: 'SELECT key, bits, size FROM item_id_runs WHERE key BETWEEN ? AND ? ORDER BY key',
  deleteIdRunsBetween: 'DELETE FROM item_id_runs WHERE key BETWEEN ? AND ?',

  insertGroup: 'INSERT INTO item_groups (key, name) VALUES (?, ?)',
  setGroup: 'INSERT OR REPLACE INTO item_groups (key, name) VALUES (?, ?)',
  groupUpTo: 'SELECT key, name FROM item_groups WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1',
  groupsAfter: 'SELECT key, name FROM item_groups WHERE key > ? AND key <= ? ORDER BY key LIMIT ?',
  deleteGroupsBetween: 'DELETE FROM item_groups WHERE key BETWEEN ? AND ?',

  insertReturned: 'INSERT INTO returned (key, deliveries, strikes, history) VALUES (?, ?, ?, ?)',
  insertHeld: `INSERT INTO returned (key, deliveries, strikes, history, held_at, held_until)
    VALUES (?, ?, ?, ?, ?, ?)`,
  returnedUnheld: `SELECT key, deliveries, strikes, history FROM returned
    WHERE key BETWEEN ? AND ? AND NOT (held_at >= ? AND held_until > ?) ORDER BY key LIMIT ?`,
  returnedFirst: `SELECT key, deliveries, strikes, history FROM returned
    WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?`,
  returnedBetween: 'SELECT key, deliveries, strikes, history FROM returned WHERE key BETWEEN ? AND ?',
  deleteReturned: 'DELETE FROM returned WHERE key = ?',
  deleteReturnedBetween: 'DELETE FROM returned WHERE key BETWEEN ? AND ?',

  insertBatch: 'INSERT INTO batches (key, suspect, due_at, blameless, items) VALUES (?, ?, ?, 0, ?)',
  updateBatch: `UPDATE batches SET due_at = ?, worker = ?, claimed_at = ?, begun_seq = ?, blameless = ?, items = ?
    WHERE key = ?`,
  deleteBatchesBetween: 'DELETE FROM batches WHERE key BETWEEN ? AND ?',
  allBatches: 'SELECT * FROM batches',

  insertOutcome: `INSERT INTO outcomes (key, status, error_type, attempt, tries, started_at, duration_ms, detail)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  outcome: 'SELECT * FROM outcomes WHERE key = ?',
  deleteOutcome: 'DELETE FROM outcomes WHERE key = ?',
  deleteOutcomesBetween: 'DELETE FROM outcomes WHERE key BETWEEN ? AND ?',
  deleteItemsBetween: 'DELETE FROM items WHERE key BETWEEN ? AND ?',
  failedAfter: `SELECT * FROM outcomes WHERE status <> 0 AND status = 1 AND key > ? AND key <= ? ORDER BY key LIMIT ?`,
  failedOfTypeAfter: `SELECT * FROM outcomes WHERE error_type = ? AND key > ? AND key <= ? ORDER BY key LIMIT ?`,

  inputBytesBetween: 'SELECT total(octet_length(input)) AS bytes FROM items WHERE key > ? AND key <= ?',
  detailBytesBetween: 'SELECT total(octet_length(detail)) AS bytes FROM outcomes WHERE key > ? AND key <= ?',
  itemsAfter: `SELECT ${ITEM_COLUMNS}
    FROM items i LEFT JOIN outcomes o ON o.key = i.key
    WHERE i.key > ? AND i.key <= ? ORDER BY i.key LIMIT ?`,
  itemsWithOutcomeAfter: `SELECT ${ITEM_COLUMNS}
    FROM outcomes o CROSS JOIN items i ON i.key = o.key
    WHERE o.key > ? AND o.key <= ? ORDER BY o.key LIMIT ?`,
  itemsOfStatusAfter: `SELECT ${ITEM_COLUMNS}
    FROM outcomes o CROSS JOIN items i ON i.key = o.key
    WHERE o.status <> 0 AND o.status = ? AND o.key > ? AND o.key <= ? ORDER BY o.key LIMIT ?`,
  itemsOfErrorAfter: `SELECT ${ITEM_COLUMNS}
    FROM outcomes o CROSS JOIN items i ON i.key = o.key
    WHERE o.error_type = ? AND o.key > ? AND o.key <= ? ORDER BY o.key LIMIT ?`,

  failureGroups:
    'SELECT id, type, pattern, page, place, step, count, first_at, last_at, examples FROM failure_groups ' +
    'WHERE job = ? ORDER BY id',
  insertFailureGroup:
    'INSERT INTO failure_groups (job, type, pattern, page, place, step, count, first_at, last_at, examples) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  updateFailureGroup: 'UPDATE failure_groups SET count = ?, first_at = ?, last_at = ?, examples = ? WHERE id = ?',
  deleteFailureGroup: 'DELETE FROM failure_groups WHERE id = ?',
  deleteFailureGroups: 'DELETE FROM failure_groups WHERE job = ?',

  insertFresh: 'INSERT INTO fresh (id, keys) VALUES (?, ?)',
  newestFresh: 'SELECT max(id) AS id FROM fresh',
  freshAfter: 'SELECT id, keys FROM fresh WHERE id > ? AND id <= ? ORDER BY id LIMIT 1',
  deleteFreshUntil: 'DELETE FROM fresh WHERE id <= ?',

  insertRemoval: 'INSERT INTO removals (num, items, done) VALUES (?, ?, 0)',
  firstRemoval: 'SELECT num, items, done FROM removals WHERE done >= 0 ORDER BY num LIMIT 1',
  updateRemoval: 'UPDATE removals SET done = ? WHERE num = ?',
  deleteRemoval: 'DELETE FROM removals WHERE num = ?',
  insertDraft: 'INSERT INTO removals (num, items, done) VALUES (?, 0, -1)',
  draft: 'SELECT items FROM removals WHERE num = ? AND done < 0',
  updateDraft: 'UPDATE removals SET items = ? WHERE num = ? AND done < 0',
  dropDraft: 'UPDATE removals SET done = 0 WHERE num = ? AND done < 0',
  dropAllDrafts: 'UPDATE removals SET done = 0 WHERE done < 0',

  leader: 'SELECT holder, until FROM leadership WHERE id = 1',
  setLeader: 'INSERT OR REPLACE INTO leadership (id, holder, until) VALUES (1, ?, ?)',
  deleteLeader: 'DELETE FROM leadership WHERE id = 1',

  hostSettings: 'SELECT document FROM host_settings ORDER BY host LIMIT 10000',
  hostSettingsOf: 'SELECT document FROM host_settings WHERE host = ?',
  setHostSettings: 'INSERT OR REPLACE INTO host_settings (host, document) VALUES (?, ?)',
  deleteHostSettings: 'DELETE FROM host_settings WHERE host = ?',
  sites: 'SELECT document FROM sites ORDER BY id LIMIT 10000',
  site: 'SELECT document FROM sites WHERE id = ?',
  setSite: 'INSERT OR REPLACE INTO sites (id, document) VALUES (?, ?)',
  deleteSite: 'DELETE FROM sites WHERE id = ?',
  siteHasRows: 'SELECT 1 FROM site_rows WHERE kind = ? AND site = ? LIMIT 1',
  siteRow: 'SELECT document FROM site_rows WHERE kind = ? AND site = ? AND name = ?',
  setSiteRow: 'INSERT OR REPLACE INTO site_rows (kind, site, name, document) VALUES (?, ?, ?, ?)',
  deleteSiteRow: 'DELETE FROM site_rows WHERE kind = ? AND site = ? AND name = ?',
  siteRowsAfter: 'SELECT name, document FROM site_rows WHERE kind = ? AND site = ? AND name > ? ORDER BY name LIMIT ?',
  siteWithRowsAfter: 'SELECT site FROM site_rows WHERE kind = ? AND site > ? ORDER BY site LIMIT 1',
  deleteSiteRows: `DELETE FROM site_rows WHERE kind = ? AND site = ? AND name IN
    (SELECT name FROM site_rows WHERE kind = ? AND site = ? LIMIT ?)`,
  shareBook: 'SELECT book FROM shares WHERE line = ?',
  setShareBook: 'INSERT OR REPLACE INTO shares (line, book, ends_at) VALUES (?, ?, ?)',
  deleteShareBooks: 'DELETE FROM shares WHERE ends_at < ?',

  hostSeen: 'SELECT seen FROM host_seen WHERE job = ? AND host = ?',
  hostSeenOfJob: 'SELECT host, seen FROM host_seen WHERE job = ? ORDER BY host LIMIT ?',
  countHostSeen: 'SELECT count(*) AS hosts FROM host_seen WHERE job = ?',
  setHostSeen: 'INSERT OR REPLACE INTO host_seen (job, host, seen) VALUES (?, ?, ?)',
  deleteHostSeen: 'DELETE FROM host_seen WHERE job = ?',
  stepSeen: 'SELECT seen FROM step_seen WHERE job = ?',
  setStepSeen: 'INSERT OR REPLACE INTO step_seen (job, seen) VALUES (?, ?)',
  deleteStepSeen: 'DELETE FROM step_seen WHERE job = ?',

  insertRun: `INSERT INTO scrape_runs
    (id, seen, domain, status, started_at, created_at, updated_at, document, total, completed, failed, invalid)
    VALUES (?, 0, '', 'pending', 0, 0, 0, '{}', 0, 0, 0, 0)`,
  seeRun: `UPDATE scrape_runs SET seen = 1, domain = ?, started_at = ?, created_at = ?, updated_at = ?, document = ?
    WHERE num = ? AND seen = 0`,
  run: 'SELECT * FROM scrape_runs WHERE id = ? AND seen = 1',
  runByNum: 'SELECT * FROM scrape_runs WHERE num = ?',
  growRun: 'UPDATE scrape_runs SET total = total + ?, updated_at = ? WHERE num = ?',
  countRun: `UPDATE scrape_runs SET status = ?, completed = ?, failed = ?, invalid = ?, updated_at = ? WHERE num = ?`,
  changeRun: 'UPDATE scrape_runs SET status = ?, ended_at = ?, document = ?, updated_at = ? WHERE num = ?',
  hideRun: 'UPDATE scrape_runs SET seen = 0 WHERE num = ?',
  runsOfDomain: `SELECT id, domain, status, started_at, ended_at, created_at FROM scrape_runs
    INDEXED BY scrape_runs_by_domain WHERE seen = 1 AND domain = ?`,
  allRuns: `SELECT id, domain, status, started_at, ended_at, created_at FROM scrape_runs
    INDEXED BY scrape_runs_by_domain WHERE seen = 1`,
  unseenRunAfter: 'SELECT num, total FROM scrape_runs WHERE seen = 0 AND num > ? ORDER BY num LIMIT 1',
  deleteRun: 'DELETE FROM scrape_runs WHERE num = ? AND seen = 0',

  insertRunItem: 'INSERT INTO run_items (key, hash, url, state, flags) VALUES (?, ?, ?, 0, 0)',
  runItem: 'SELECT key, url, flags, reason FROM run_items WHERE hash = ? AND url = ? AND key BETWEEN ? AND ?',
  updateRunItem: 'UPDATE run_items SET state = ?, flags = ?, reason = ? WHERE key = ?',
  runItemsAfter: 'SELECT key, url, flags, reason FROM run_items WHERE key > ? AND key <= ? ORDER BY key LIMIT ?',
  runItemsOfStateAfter: `SELECT key, url, flags, reason FROM run_items
    WHERE state = ? AND key > ? AND key <= ? ORDER BY key LIMIT ?`,
  deleteRunItemsBetween: 'DELETE FROM run_items WHERE key BETWEEN ? AND ?',

  insertProbe: 'INSERT OR REPLACE INTO probe (id, filler) VALUES (1, zeroblob(65536))',
  deleteProbe: 'DELETE FROM probe WHERE id = 1',
} as const;

export type Statements = { readonly [Name in keyof typeof SQL]: StatementSync };

/** Those that read many rows, which are handed out as arrays: that takes half the time of objects. */
const AS_ARRAYS = [
  'itemToLease',
  'itemsToLease',
  'itemsAfter',
  'itemsWithOutcomeAfter',
  'itemsOfStatusAfter',
  'itemsOfErrorAfter',
] as const satisfies readonly (keyof Statements)[];

export function prepareAll(db: DatabaseSync): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
  const statements: Statements = Object.fromEntries(prepared);
  for (const name of AS_ARRAYS) statements[name].setReturnArrays(true);
  return statements;
}
