import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { migrate } from '../../src/adapters/embedded/ledger/schema.ts';
import { SQL } from '../../src/adapters/embedded/ledger/statements.ts';
import { dataDirOf } from './embedded-support.ts';

/** Tables that grow with the items of jobs. `batches` is not among them: it holds what is in flight, which is bounded. */
const LARGE = [
  'items',
  'outcomes',
  'item_ids',
  'item_id_runs',
  'item_groups',
  'returned',
  'jobs',
  'failure_groups',
  'site_rows',
  'run_items',
  'scrape_runs',
];

/** Statements that read a small table as a whole, or change every job; and why that is right. */
const SCANS: Readonly<Record<string, { readonly plan: string; readonly why: string }>> = {
  skipBatchNumbers: { plan: 'SCAN jobs', why: 'once, after the machine went down; a row per job' },
  allRuns: {
    plan: 'SCAN scrape_runs USING COVERING INDEX scrape_runs_by_domain',
    why: 'a list of all runs has their number in its answer; a row per run, without reading its items',
  },
};

function emptyLedger(t: TestContext): DatabaseSync {
  const file = join(dataDirOf(t), 'plans.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  migrate(db, file);
  return db;
}

function planOf(db: DatabaseSync, sql: string): string[] {
  return db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row['detail']));
}

/** In SQLite's words: `SCAN items`, `SCAN i`, `SCAN o USING INDEX …`; also a sort, which reads all there is first. */
function scansOf(sql: string, plan: readonly string[]): string[] {
  const aliases = new Map(LARGE.map((table) => [table, table]));
  for (const table of LARGE) {
    const alias = new RegExp(`\\b${table} ([a-z])\\b`).exec(sql)?.[1];
    if (alias !== undefined) aliases.set(alias, table);
  }
  return plan.filter((step) => {
    const scanned = /^SCAN (\w+)/.exec(step)?.[1];
    return step.includes('TEMP B-TREE') || (scanned !== undefined && aliases.has(scanned));
  });
}

test('no statement of the ledger scans what grows with a job', (t) => {
  const db = emptyLedger(t);
  let explained = 0;
  for (const [name, sql] of Object.entries(SQL)) {
    if (!/^(SELECT|INSERT|UPDATE|DELETE)/.test(sql)) continue;
    explained += 1;
    const scans = scansOf(sql, planOf(db, sql));
    const allowed = SCANS[name]?.plan;
    assert.deepEqual(scans, allowed === undefined ? [] : [allowed], `${name}: ${sql}`);
  }
  assert.ok(explained > 50, 'the statements were not found');
});

test('the statements cannot hide elsewhere: nothing else in the adapter is SQL', async () => {
  const { readdirSync, readFileSync } = await import('node:fs');
  const folder = new URL('../../src/adapters/embedded/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  assert.ok(files.includes('ledger/statements.ts'));
  for (const name of files) {
    if (name === 'ledger/statements.ts' || name === 'ledger/schema.ts') continue;
    const text = readFileSync(new URL(name, folder), 'utf8');
    assert.doesNotMatch(text, /['"`]\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s/, name);
  }
});

test('the check sees a scan, even one that a join, an index or a sort hides', (t) => {
  const db = emptyLedger(t);
  for (const sql of [
    'SELECT * FROM items WHERE item_id = ?',
    'SELECT i.key FROM outcomes o CROSS JOIN items i WHERE i.item_id = ?',
    'SELECT count(*) FROM outcomes WHERE status <> 0',
    'DELETE FROM returned WHERE strikes > 0',
    'SELECT * FROM items WHERE key > ? ORDER BY item_id',
  ]) {
    assert.notDeepEqual(scansOf(sql, planOf(db, sql)), [], sql);
  }
});

test('failed and skipped pages are found by index, and each page of items by its keys', (t) => {
  const db = emptyLedger(t);
  assert.match(
    planOf(db, SQL.itemsOfErrorAfter).join(),
    /outcomes_by_error \(error_type=\? AND rowid>\? AND rowid<\?\)/,
  );
  assert.match(planOf(db, SQL.itemsOfStatusAfter).join(), /outcomes_by_status \(status=\? AND rowid>\? AND rowid<\?\)/);
  assert.match(planOf(db, SQL.failedAfter).join(), /outcomes_by_status \(status=\? AND rowid>\? AND rowid<\?\)/);
  assert.match(planOf(db, SQL.itemsAfter).join(), /SEARCH i USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
  assert.match(planOf(db, SQL.activeJobsAfter).join(), /jobs_active \(active=\? AND rowid>\?\)/);
});

test('an item of a scrape run is found by its hash, and pages by their keys', (t) => {
  const db = emptyLedger(t);
  assert.match(planOf(db, SQL.runItem).join(), /run_items_by_hash \(hash=\? AND rowid>\? AND rowid<\?\)/);
  assert.match(planOf(db, SQL.runItemsAfter).join(), /USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
  assert.match(
    planOf(db, SQL.runItemsOfStateAfter).join(),
    /run_items_by_state \(state=\? AND rowid>\? AND rowid<\?\)/,
  );
  assert.match(planOf(db, SQL.runsOfDomain).join(), /COVERING INDEX scrape_runs_by_domain \(domain=\?\)/);
});
