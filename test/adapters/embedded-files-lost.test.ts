import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { EmbeddedLedgerHandle } from '../../src/adapters/embedded/ledger.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { allItems, givenJob, jobOf } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob } from '../support/builders.ts';
import { dataDirOf, HeldDisk, openIn } from './embedded-support.ts';

const PAGE = 4096;

/** A ledger with a job, most of which is in the database file and the rest in its log. */
async function givenLedger(t: TestContext): Promise<{ dataDir: string; handle: EmbeddedLedgerHandle }> {
  const dataDir = join(dataDirOf(t), 'data');
  const first = openIn(t, dataDir);
  await givenJob(first.ledger, { items: 2000 });
  await first.close();
  const handle = openIn(t, dataDir);
  await handle.probe();
  return { dataDir, handle };
}

const add = ({ ledger }: EmbeddedLedgerHandle, jobId: string) => ledger.createJob(newJob({ jobId }), newItems(1), NOW);

async function assertRefused(promise: Promise<unknown>, what: RegExp): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof StorageTrouble, String(error));
    assert.equal(error.kind, 'broken');
    assert.match(error.message, what);
    return true;
  });
}

/** Zeros over the middle of a file, in place. */
function overwrite(file: string): void {
  const pages = Math.floor(statSync(file).size / PAGE);
  const descriptor = openSync(file, 'r+');
  for (let page = 3; page < pages; page += 1) writeSync(descriptor, new Uint8Array(PAGE), 0, PAGE, page * PAGE);
  closeSync(descriptor);
}

test('a data directory that is deleted while it is open takes no more writes, and can still be read', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  rmSync(dataDir, { recursive: true });
  await assertRefused(
    add(handle, 'late'),
    /ledger\.db was deleted or moved by another program .* Stop Trawl, .* start again/,
  );
  await assertRefused(handle.probe(), /deleted/);
  assert.equal(handle.isInPlace(), false);
  assert.equal((await jobOf(handle.ledger, 'job-1')).counts.total, 2000);
});

test('what was committed before the directory was deleted, and not yet acknowledged, is not acknowledged', async (t) => {
  const dataDir = join(dataDirOf(t), 'data');
  const disk = new HeldDisk();
  const handle = openIn(t, dataDir, { sync: disk.sync });
  const adding = add(handle, 'late');
  await disk.reached();
  rmSync(dataDir, { recursive: true });
  disk.letGo();
  await assertRefused(adding, /deleted/);
});

test('another directory in the place of ours is refused, and ours is taken again when it is back', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  renameSync(dataDir, `${dataDir}-away`);
  cpSync(`${dataDir}-away`, dataDir, { recursive: true });
  await assertRefused(add(handle, 'late'), /ledger\.db was replaced/);
  rmSync(dataDir, { recursive: true });
  renameSync(`${dataDir}-away`, dataDir);
  await handle.probe();
  assert.equal((await add(handle, 'late')).kind, 'created');
  await handle.close();
  assert.equal((await jobOf(openIn(t, dataDir).ledger, 'late')).counts.total, 1);
});

test('a log that is deleted or emptied while it is open is noticed', async (t) => {
  for (const lose of [rmSync, (file: string) => truncateSync(file, 0)]) {
    const { dataDir, handle } = await givenLedger(t);
    lose(join(dataDir, 'ledger.db-wal'));
    await assertRefused(add(handle, 'late'), /ledger\.db-wal was (deleted or moved|changed)/);
  }
});

test('a ledger that is overwritten in place takes no more writes, even if no damaged page is read', async (t) => {
  for (const damage of [overwrite, (file: string) => truncateSync(file, 0)]) {
    const { dataDir, handle } = await givenLedger(t);
    damage(join(dataDir, 'ledger.db'));
    await assertRefused(add(handle, 'late'), /ledger\.db was changed by another program/);
  }
});

test('a process that copies the ledger with VACUUM INTO, or only reads it, does not disturb it', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  const file = join(dataDir, 'ledger.db');
  const copy = `
    const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(${JSON.stringify(file)});
    db.prepare('SELECT count(*) FROM items').get();
    db.exec(${JSON.stringify(`VACUUM INTO '${dataDir}/copy.db'`)});
    db.close();`;
  for (const jobId of ['one', 'two']) {
    execFileSync(process.execPath, ['-e', copy]);
    assert.equal((await add(handle, jobId)).kind, 'created');
    rmSync(join(dataDir, 'copy.db'));
  }
});

test('a ledger that copies its log into the database does not take that for a change by others', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  const changedAt = statSync(join(dataDir, 'ledger.db')).mtimeMs;
  // More than the log holds before it is copied.
  for (let at = 0; at < 6000; at += 500) {
    const items = newItems(500, { from: 2000 + at }).map((item) => ({ ...item, input: { text: 'x'.repeat(4000) } }));
    await handle.ledger.addItems('job-1', items, 0, NOW);
  }
  assert.notEqual(statSync(join(dataDir, 'ledger.db')).mtimeMs, changedAt, 'it was copied');
  await handle.probe();
});

test('zeros in the middle of a ledger are found at the start, with advice on what to do', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  await handle.close();
  overwrite(join(dataDir, 'ledger.db'));
  const before = readFileSync(join(dataDir, 'ledger.db'));
  assert.throws(() => openIn(t, dataDir), /ledger\.db is damaged.* restore ledger\.db from a backup .*start again/);
  assert.deepEqual(readFileSync(join(dataDir, 'ledger.db')), before, 'it is left as it was');
});

test('a damaged page of a ledger too large to be checked at the start is found when it is read; then writes end', async (t) => {
  const { dataDir, handle } = await givenLedger(t);
  await handle.close();
  const file = join(dataDir, 'ledger.db');
  const { size } = statSync(file);
  const items = readFileSync(file).indexOf('p-1500');
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, new Uint8Array(PAGE), 0, PAGE, Math.floor(items / PAGE) * PAGE);
  closeSync(descriptor);
  // Only its size counts for that, and the rest is a hole.
  truncateSync(file, size + 300 * 2 ** 20);

  const again = openIn(t, dataDir);
  assert.equal((await add(again, 'before')).kind, 'created');
  await assertRefused(allItems(again.ledger, 'job-1'), /ledger\.db is damaged.*malformed.* Stop Trawl, restore/);
  await assertRefused(add(again, 'late'), /ledger\.db is damaged/);
  await assertRefused(again.probe(), /ledger\.db is damaged/);
  assert.equal((await jobOf(again.ledger, 'before')).counts.total, 1);
});
