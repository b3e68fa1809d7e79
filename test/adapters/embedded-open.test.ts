import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MIGRATIONS, migrate } from '../../src/adapters/embedded/ledger/schema.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { failuresByStep } from '../../src/domain/recording/step-failures.ts';
import { addSpan, NO_SPANS } from '../../src/domain/recording/step-spans.ts';
import { addSeen, NO_STEPS } from '../../src/domain/recording/step-statistics.ts';
import {
  allItems,
  change,
  complete,
  givenJob,
  itemOf,
  jobOf,
  reopenAll,
  runAll,
  takeOne,
} from '../contract/ledger/hands.ts';
import { failedAtStep, failedWith, NOW, partOf, sourcePage } from '../support/builders.ts';
import { dataDirOf, openIn } from './embedded-support.ts';

const userVersion = (db: DatabaseSync) => db.prepare('PRAGMA user_version').get()?.['user_version'];

test('a new database takes every step, and an old one those that it lacks', (t) => {
  const file = join(dataDirOf(t), 'steps.db');
  const steps = ['CREATE TABLE one (a)', 'ALTER TABLE one ADD COLUMN b', 'INSERT INTO one VALUES (1, 2)'];
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  migrate(db, file, steps.slice(0, 1));
  assert.equal(userVersion(db), 1);
  migrate(db, file, steps);
  migrate(db, file, steps);
  assert.equal(userVersion(db), 3);
  assert.deepEqual({ ...db.prepare('SELECT * FROM one').get() }, { a: 1, b: 2 });
});

test('a step that fails leaves the database as the step before made it', (t) => {
  const file = join(dataDirOf(t), 'steps.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  const steps = ['CREATE TABLE one (a)', 'CREATE TABLE two (a); CREATE TABLE one (a)'];
  assert.throws(() => migrate(db, file, steps), /already exists/);
  assert.equal(userVersion(db), 1);
  assert.equal(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'two'").get(), undefined);
});

test('a ledger opened twice in a row is migrated once', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger);
  await first.close();
  const second = openIn(t, dataDir);
  assert.equal((await jobOf(second.ledger, jobId)).counts.total, 1);
});

test('what was seen of steps, and at which of them items failed, is there after a restart', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 2 });
  await runAll(first.ledger, jobId, failedAtStep('4', 'timeout'));
  const step = { path: '4', label: 'click "Search"' };
  const seen = { step, selectors: ['#go', 'text/Search'], spans: addSpan(NO_SPANS, 20), alternative: 1 };
  await first.stepRecords.report([{ jobId, steps: addSeen(NO_STEPS, [seen], NOW) }]);
  const read = async ({ ledger, stepRecords }: ReturnType<typeof openIn>) => ({
    steps: await stepRecords.ofJob(await jobOf(ledger, jobId)),
    failures: failuresByStep(await ledger.failureGroups(jobId, 10)),
  });
  const before = await read(first);
  assert.deepEqual([before.steps[0]?.matched, before.failures.steps[0]?.count], [[0, 1], 2]);
  await first.close();
  assert.deepEqual(await read(openIn(t, dataDir)), before);
});

test('a ledger of the first version is read as it was, and takes what is new', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { items: 3 });
  await runAll(first.ledger, jobId, failedWith('timeout', 'late'));
  await complete(first.ledger, jobId);
  const before = { job: await jobOf(first.ledger, jobId), items: await allItems(first.ledger, jobId) };
  await first.close();
  const file = new DatabaseSync(join(dataDir, 'ledger.db'));
  file.exec(`ALTER TABLE items DROP COLUMN source; ALTER TABLE failure_groups DROP COLUMN page;
    ALTER TABLE failure_groups DROP COLUMN place; ALTER TABLE failure_groups DROP COLUMN first_at;
    ALTER TABLE failure_groups DROP COLUMN last_at; ALTER TABLE failure_groups DROP COLUMN step; DROP TABLE step_seen;
    DROP TABLE item_groups; DROP TABLE host_settings; DROP TABLE shares; DROP TABLE scrape_runs; DROP TABLE run_items;
    DROP TABLE host_seen; DROP TABLE sites; DROP TABLE site_rows; ALTER TABLE jobs DROP COLUMN usage; ALTER TABLE jobs DROP COLUMN discovery;
    ALTER TABLE items DROP COLUMN depth; ALTER TABLE returned DROP COLUMN held_at;
    ALTER TABLE returned DROP COLUMN held_until; ALTER TABLE jobs ADD COLUMN ready_at REAL NOT NULL DEFAULT 0;
    PRAGMA user_version = 1`);
  file.close();

  const { ledger } = openIn(t, dataDir);
  assert.deepEqual({ job: await jobOf(ledger, jobId), items: await allItems(ledger, jobId) }, before);
  const [group] = await ledger.failureGroups(jobId, 10);
  assert.deepEqual([group?.pattern, group?.page, group?.count], ['late', null, 3]);
  assert.deepEqual([group?.place, group?.firstAt, group?.lastAt], [null, null, null]);
  assert.equal(await reopenAll(ledger, jobId, { groupKeys: group?.keys ?? [], preview: true }), 3);
  const source = sourcePage('old');
  await ledger.addItems(jobId, [{ itemId: 'new', input: {}, source }], 0, NOW);
  assert.deepEqual((await takeOne(ledger, jobId)).items[0]?.source, source);
  await ledger.addItems(jobId, [{ itemId: 'grouped', input: {}, group: 'g' }], 0, NOW);
  assert.equal((await itemOf(ledger, jobId, 'grouped')).group, 'g');
  const found: Outcome = {
    kind: 'scraped',
    artifacts: [],
    found: { items: [{ itemId: 'found', input: {}, depth: 1 }] },
  };
  await ledger.settle([partOf(await takeOne(ledger, jobId), found)], NOW);
  assert.equal((await itemOf(ledger, jobId, 'found')).depth, 1);
  assert.equal((await jobOf(ledger, jobId)).discovery?.added, 1);
  assert.equal((await change(ledger, jobId, { kind: 'replace-results', by: 'x' })).replacedBy, 'x');
});

test('a job of an earlier version has the defaults of policy fields that came later', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  const jobId = await givenJob(first.ledger, { policy: { retries: { max_retries: 7 } } });
  await first.close();
  const file = new DatabaseSync(join(dataDir, 'ledger.db'));
  file.exec("UPDATE jobs SET document = json_remove(document, '$.policy.retries.max_retry_after_seconds')");
  file.close();
  const { policy } = await jobOf(openIn(t, dataDir).ledger, jobId);
  assert.deepEqual([policy.retries.max_retries, policy.retries.max_retry_after_seconds], [7, 3600]);
});

test('a database of a newer version is refused with both versions and what to do, and left alone', async (t) => {
  const dataDir = dataDirOf(t);
  await openIn(t, dataDir).close();
  const file = join(dataDir, 'ledger.db');
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 6}`);
  db.close();
  assert.throws(
    () => openIn(t, dataDir),
    (error: Error) => {
      assert.match(error.message, /ledger\.db/);
      assert.match(error.message, new RegExp(`version ${MIGRATIONS.length + 6}\\b`));
      assert.match(error.message, new RegExp(`up to ${MIGRATIONS.length}\\b`));
      assert.match(error.message, /newer Trawl|another data directory/);
      return true;
    },
  );
  const left = new DatabaseSync(file);
  assert.equal(userVersion(left), MIGRATIONS.length + 6);
  left.close();
});

test('a directory that could not be opened is free for the next', async (t) => {
  const dataDir = dataDirOf(t);
  const file = join(dataDir, 'ledger.db');
  writeFileSync(file, 'this was never a database, however long one looks at it\n'.repeat(100));
  assert.throws(
    () => openIn(t, dataDir),
    /ledger\.db is damaged, or not a ledger at all .*restore ledger\.db from a backup .*or move it away/,
  );
  assert.match(readFileSync(file, 'utf8'), /never a database/);
  writeFileSync(file, '');
  const { ledger } = openIn(t, dataDir);
  assert.equal(await ledger.job('none'), null);
});

test('the database of another program is not taken for a ledger', (t) => {
  const dataDir = dataDirOf(t);
  const db = new DatabaseSync(join(dataDir, 'ledger.db'));
  db.exec('CREATE TABLE recipes (name)');
  db.close();
  assert.throws(() => openIn(t, dataDir), /another program/);
});

test('a directory has one owner, and a second process that opens it learns who that is', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  assert.throws(
    () => openIn(t, dataDir),
    (error: Error) => {
      assert.ok(error.message.includes(dataDir));
      assert.ok(error.message.includes(`process ${process.pid}`));
      return true;
    },
  );
  // The refusal did not take the lock away either.
  assert.throws(() => openIn(t, dataDir), /in use/);
  assert.equal(await first.ledger.job('none'), null);
  await first.close();
  const second = openIn(t, dataDir);
  second.crash();
  const third = openIn(t, dataDir);
  assert.equal(await third.ledger.job('none'), null);
});
