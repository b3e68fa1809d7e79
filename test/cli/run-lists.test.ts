import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkedJobName,
  chooseJob,
  extractionOf,
  type FolderJob,
  hasScraperChanged,
  type ListWish,
  listLabels,
  listName,
  otherUnfinished,
} from '../../src/cli/run-lists.ts';
import { resultsPath, resultsWish } from '../../src/cli/run-results.ts';
import { tempFolder, writeLines } from './trawl.ts';

const WISH: ListWish = { name: 'parcels', isChosen: false, source: '../parcels.csv', scraperId: 's', again: false };
const CODE = { version: '1.0.0', code: 'a'.repeat(64) };

/** The job that a request leads to in a folder with these jobs, as it is after a while. */
function made(jobs: readonly FolderJob[], wish: Partial<ListWish> = {}, more: Partial<FolderJob> = {}): FolderJob {
  const whole = { ...WISH, ...wish };
  const choice = chooseJob(jobs, whole, 'out');
  assert.ok(choice !== null && !choice.isThere);
  return {
    ...{ job_id: choice.jobId, scraper_id: 's', scraper_version: '1.0.0', status: 'completed', held: false },
    labels: listLabels(choice, { source: whole.source, code: CODE.code }),
    created_at: `2026-11-17T00:00:0${jobs.length}.000Z`,
    ...more,
  };
}

test('a list is a job named after its file, whatever the name', () => {
  const names = {
    'lists/parcels-2026.csv': 'parcels-2026',
    'Maricopa County (new).JSONL.gz': 'maricopa-county-new',
    'a.b.csv': 'a.b',
    '.csv': 'list',
    'ä.json': 'list',
    'bulk.csv': 'bulk-list',
    [`${'x'.repeat(300)}.csv`]: 'x'.repeat(80),
  };
  for (const [path, name] of Object.entries(names)) assert.equal(listName(path), name);
  assert.equal(checkedJobName('parcels-2026'), 'parcels-2026');
  for (const name of ['', 'a/b', '../x', 'Parcels', 'bulk']) assert.throws(() => checkedJobName(name), /--job/);
});

test('two lists in a folder are two jobs, and the same list is continued', () => {
  const parcels = made([]);
  assert.deepEqual([parcels.job_id, chooseJob([], WISH, 'out')?.isFirst], ['parcels', true]);
  const same = chooseJob([parcels], WISH, 'out');
  assert.partialDeepStrictEqual(same, { jobId: 'parcels', isThere: true, round: 1, before: null, isFirst: true });
  const condos = chooseJob([parcels], { ...WISH, name: 'condos', source: '../condos.csv' }, 'out');
  assert.partialDeepStrictEqual(condos, { jobId: 'condos', isThere: false, isFirst: false, others: ['parcels'] });
});

test('another file of the same name is refused, unless the user names the job', () => {
  const parcels = made([]);
  const other = { ...WISH, source: '../elsewhere/parcels.csv' };
  assert.throws(
    () => chooseJob([parcels], other, 'out'),
    /job parcels in out belongs to another list, \.\.\/parcels\.csv/,
  );
  assert.equal(chooseJob([parcels], { ...other, isChosen: true }, 'out')?.jobId, 'parcels');
  assert.throws(() => chooseJob([parcels], { ...WISH, scraperId: 't' }, 'out'), /uses scraper s: use another/);
});

test('a list that is scraped again has rounds; the newest is meant, and an unfinished one is continued', () => {
  const first = made([]);
  const second = made([first], { again: true });
  assert.equal(second.job_id, 'parcels-2');
  const jobs = [first, second];
  assert.partialDeepStrictEqual(chooseJob(jobs, WISH, 'out'), { jobId: 'parcels-2', round: 2, before: 'parcels' });
  const third = chooseJob(jobs, { ...WISH, again: true }, 'out');
  assert.partialDeepStrictEqual(third, { jobId: 'parcels-3', round: 3, before: 'parcels-2', isThere: false });
  const unfinished = [first, { ...second, status: 'in_progress' as const }];
  assert.equal(chooseJob(unfinished, { ...WISH, again: true }, 'out')?.jobId, 'parcels-2');
  const named = { ...WISH, name: 'parcels-2', isChosen: true };
  assert.partialDeepStrictEqual(chooseJob([...jobs, made(jobs, { again: true })], named, 'out'), {
    ...{ jobId: 'parcels-2', list: 'parcels', before: 'parcels' },
  });
});

test('the name of a round is not mistaken for a list of that name', () => {
  const first = made([]);
  const jobs = [first, made([first], { again: true })];
  const list = { ...WISH, name: 'parcels-2', source: '../parcels-2.csv' };
  assert.partialDeepStrictEqual(chooseJob(jobs, list, 'out'), { jobId: 'parcels-2-2', round: 1, before: null });
});

test('without a list, the only one of the folder is meant', () => {
  const none = { ...WISH, name: null, source: null };
  assert.equal(chooseJob([], none, 'out'), null);
  const parcels = made([]);
  assert.equal(chooseJob([parcels], none, 'out')?.jobId, 'parcels');
  const condos = made([parcels], { name: 'condos', source: '../condos.csv' });
  assert.throws(() => chooseJob([parcels, condos], none, 'out'), /holds several lists: .*--job: parcels, condos/);
  const extraction: FolderJob = { ...parcels, job_id: 'x', labels: extractionOf([parcels], 'parcels', CODE).labels };
  assert.equal(chooseJob([parcels, extraction], none, 'out')?.jobId, 'parcels');
});

test('a scraper has changed if its version or its code is not the one that produced the results', () => {
  const job = made([]);
  const changed = (now: { version: string; code: string | null }, ran = ['1.0.0'], jobs = [job]) =>
    hasScraperChanged(jobs, job, ran, now);
  assert.equal(changed(CODE), false);
  assert.equal(changed({ ...CODE, code: null }), false);
  assert.equal(changed({ ...CODE, code: 'b'.repeat(64) }), true);
  const newer = { version: '1.1.0', code: 'b'.repeat(64) };
  assert.equal(changed(newer), true);
  assert.equal(changed(newer, ['1.0.0', '1.1.0']), false);
  const { id, labels } = extractionOf([job], 'parcels', newer);
  const read: FolderJob = { ...job, job_id: id, scraper_version: '1.1.0', labels };
  assert.equal(changed(newer, ['1.0.0'], [job, read]), false);
  assert.equal(changed({ ...newer, code: 'c'.repeat(64) }, ['1.0.0'], [job, read]), true);
  const unfinished: FolderJob = { ...read, status: 'paused' };
  assert.equal(extractionOf([job, unfinished], 'parcels', newer).id, 'parcels-extract');
  assert.equal(extractionOf([job, read], 'parcels', newer).id, 'parcels-extract-2');
});

test('what is unfinished beside the job of a run is known', () => {
  const job = made([]);
  const other = (id: string, more: Partial<FolderJob>): FolderJob => ({ ...job, job_id: id, ...more });
  const jobs = [
    ...[job, other('a', { status: 'in_progress' }), other('b', { status: 'pending', held: true })],
    ...[other('c', { status: 'paused' }), other('d', { status: 'pending' })],
  ];
  assert.deepEqual(
    otherUnfinished(jobs, 'd').map(({ job_id: id }) => id),
    ['a'],
  );
});

test('--out is a file if its name says its format, and a folder otherwise', () => {
  assert.deepEqual(resultsWish({}), { folder: null, file: null, format: 'jsonl' });
  assert.deepEqual(resultsWish({ out: 'x/y', format: 'csv' }), { folder: 'x/y', file: null, format: 'csv' });
  assert.deepEqual(resultsWish({ out: 'x/y.PARQUET' }), { folder: null, file: 'x/y.PARQUET', format: 'parquet' });
  assert.deepEqual(resultsWish({ out: 'a.csv', format: 'csv' }), { folder: null, file: 'a.csv', format: 'csv' });
  assert.throws(() => resultsWish({ out: 'a.csv', format: 'jsonl' }), /the file name implies another format/);
  assert.throws(() => resultsWish({ format: 'xlsx' }), /--format must be one of jsonl, csv, parquet/);
  const list = writeLines(tempFolder(), 'parcels.csv', ['apn', '1']);
  assert.throws(() => resultsWish({ out: list, items: list }), /is the list itself, which the results would replace/);
  assert.throws(() => resultsWish({ out: 'package.json' }), /is a file\. A results file ends in/);
  const folder = resultsWish({ out: 'out', format: 'csv' });
  assert.equal(resultsPath(folder, 'out', { jobId: 'parcels', isFirst: true }), 'out/results.csv');
  assert.equal(resultsPath(folder, 'out', { jobId: 'condos', isFirst: false }), 'out/results-condos.csv');
  assert.equal(resultsPath(resultsWish({ out: 'p.csv' }), '.trawl', { jobId: 'p', isFirst: false }), 'p.csv');
});
