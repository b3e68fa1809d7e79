import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareDataDirectory, UnusableDataDirectory } from '../../src/adapters/embedded/data-directory.ts';
import { givenJob } from '../contract/ledger/hands.ts';
import { dataDirOf, openIn } from './embedded-support.ts';
import { failing } from './files-room.ts';

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

function refusalOf(work: () => void): string {
  let message = '';
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof UnusableDataDirectory, String(error));
    message = error.message;
    return true;
  });
  return message;
}

test('the files of a ledger are for their owner alone, in a directory that is open to all', async (t) => {
  const dataDir = dataDirOf(t);
  chmodSync(dataDir, 0o755);
  const { ledger } = openIn(t, dataDir);
  await givenJob(ledger);
  const names = readdirSync(dataDir);
  for (const name of ['ledger.db', 'ledger.db-wal', 'owner.lock', 'owner.pid']) assert.ok(names.includes(name), name);
  for (const name of names) assert.equal(modeOf(join(dataDir, name)), '600', name);
});

test('a ledger that others could read is closed to them when it is opened', async (t) => {
  const dataDir = dataDirOf(t);
  const first = openIn(t, dataDir);
  await givenJob(first.ledger);
  first.crash();
  for (const name of readdirSync(dataDir)) chmodSync(join(dataDir, name), 0o644);
  const { ledger } = openIn(t, dataDir);
  assert.equal((await ledger.job('job-1'))?.counts.total, 1);
  for (const name of ['ledger.db', 'ledger.db-wal', 'owner.lock'])
    assert.equal(modeOf(join(dataDir, name)), '600', name);
});

for (const [code, advice] of [
  ['EROFS', /mounted read-only\. Mount it read-write, or use another data directory/],
  ['EACCES', /may not write there\. Give the directory to the user that runs Trawl/],
] as const) {
  test(`a data directory that cannot be written (${code}) is refused with the reason and what to do`, (t) => {
    const dataDir = dataDirOf(t);
    const disk = { ...nodeFs, writeFileSync: failing(code) };
    const message = refusalOf(() => prepareDataDirectory(dataDir, disk));
    assert.ok(message.includes(dataDir), message);
    assert.match(message, advice);
  });
}

test('a new directory on a read-only file system is refused with that reason, not as missing', (t) => {
  const parent = dataDirOf(t);
  const tried: string[] = [];
  // As Node does there: ENOENT for a recursive mkdir, the reason for a plain one.
  const mkdirSync: typeof nodeFs.mkdirSync = (path, options) => {
    tried.push(String(path));
    return failing(typeof options === 'object' && options?.recursive ? 'ENOENT' : 'EROFS')();
  };
  const message = refusalOf(() => prepareDataDirectory(join(parent, 'new', 'data'), { ...nodeFs, mkdirSync }));
  assert.match(message, /mounted read-only/);
  assert.deepEqual(tried, [join(parent, 'new', 'data'), join(parent, 'new')]);
});

test('a file in the place of the data directory is named as the reason', (t) => {
  const file = join(dataDirOf(t), 'data');
  writeFileSync(file, '');
  assert.match(
    refusalOf(() => prepareDataDirectory(file)),
    /it is a file\. Move that file away/,
  );
});

test('a disk that is full at the start is left to the ledger to report', (t) => {
  prepareDataDirectory(dataDirOf(t), { ...nodeFs, writeFileSync: failing('ENOSPC') });
});

test('a directory that is new, or whose ledger is there, is taken; nothing is left of the check', async (t) => {
  const dataDir = join(dataDirOf(t), 'new');
  prepareDataDirectory(dataDir);
  assert.equal(modeOf(dataDir), '700');
  assert.deepEqual(readdirSync(dataDir), []);
  const first = openIn(t, dataDir);
  mkdirSync(join(dataDir, 'results', 'job-1'), { recursive: true });
  await first.close();
  prepareDataDirectory(dataDir);
});

for (const [state, lose] of [
  ['missing', (_: string) => {}],
  ['empty', (file: string) => writeFileSync(file, '')],
] as const) {
  test(`a ledger that is ${state} beside results is refused, with both ways out`, (t) => {
    const dataDir = dataDirOf(t);
    lose(join(dataDir, 'ledger.db'));
    mkdirSync(join(dataDir, 'results', '.tmp'), { recursive: true });
    prepareDataDirectory(dataDir);
    mkdirSync(join(dataDir, 'results', 'job-1'));
    const message = refusalOf(() => prepareDataDirectory(dataDir));
    assert.match(message, new RegExp(`ledger\\.db is ${state}, but .*results holds results of earlier jobs`));
    assert.match(
      message,
      /Restore ledger\.db from a backup; or, to start with an empty ledger, move .*results and results-id away/,
    );
  });
}

test('a log without its ledger is refused: SQLite would drop it', (t) => {
  const dataDir = dataDirOf(t);
  writeFileSync(join(dataDir, 'ledger.db-wal'), 'frames');
  assert.match(
    refusalOf(() => prepareDataDirectory(dataDir)),
    /ledger\.db is missing, but its log ledger\.db-wal is there/,
  );
});
