import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { VerifyReport } from '../../src/contract/verify-report.ts';
import { IdHashes } from '../../src/controller/results/id-hashes.ts';
import { verifyJob } from '../../src/controller/results/verify.ts';
import { artifactKey } from '../../src/domain/artifact.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import type { ItemRecord } from '../../src/domain/item.ts';
import { jobMetadata, type PartHash } from '../../src/domain/job-metadata.ts';
import { addPage, EMPTY_MANIFEST, lastParts, partName, renderPart } from '../../src/domain/manifest.ts';
import { parseAddress, type ResultAddress } from '../../src/domain/result-address.ts';
import { itemOf, jobOf, sha256 } from '../domain/builders.ts';

const JOB_ID = 'job-1';
type Files = Map<string, Uint8Array>;

/** The results of a job of 2,500 items, as the finisher leaves them: every tenth failed, the others have a page. */
function resultsOf({
  items = itemsOf(2500),
  meddle = (text: string, _name: string) => text,
  recording = null as string | null,
} = {}): Files {
  const files: Files = new Map();
  for (const item of items) for (const { key } of item.artifacts) files.set(key, pageOf(item.itemId));
  const { fold, parts } = addPage(EMPTY_MANIFEST, items);
  const last = lastParts(fold);
  const hashes: PartHash[] = [];
  for (const part of [...parts, ...last.parts]) {
    const name = partName(part.list, part.number);
    const bytes = Buffer.from(meddle(renderPart(JOB_ID, part), name));
    files.set(`${JOB_ID}/${name}`, bytes);
    hashes.push({ list: part.list, part: part.number, items: part.entries.length, sha256: hash('sha256', bytes) });
  }
  const { seen } = last.fold;
  const counts = { ...NO_COUNTS, ...seen, total: items.length };
  const kept = recording === null ? null : { sha256: hash('sha256', recording) };
  const metadata = jobMetadata(jobOf({}, { jobId: JOB_ID, status: 'completed', counts }), last.fold, hashes, kept);
  if (recording !== null) files.set(`${JOB_ID}/recording.json`, Buffer.from(recording));
  files.set(`${JOB_ID}/job_metadata.json`, Buffer.from(meddle(JSON.stringify(metadata), 'job_metadata.json')));
  return files;
}

function itemsOf(count: number): ItemRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const itemId = `p-${index}`;
    if (index % 10 === 0) return itemOf({ jobId: JOB_ID, itemId, status: 'failed', artifacts: [] });
    const key = artifactKey({ jobId: JOB_ID, itemId, attempt: 1 }, { kind: 'html', extension: 'html' }, sha256);
    const bytes = pageOf(itemId);
    const stored = {
      size: bytes.length,
      sha256: hash('sha256', bytes),
      encoding: 'gzip',
      contentType: 'text/html',
    } as const;
    return itemOf({ jobId: JOB_ID, itemId, artifacts: [{ kind: 'html', key, ...stored }] });
  });
}

function pageOf(itemId: string): Uint8Array {
  return Buffer.from(`<h1>${itemId}</h1>`);
}

async function verify(files: Files, jobId = JOB_ID): Promise<VerifyReport> {
  return await verifyJob(
    { store: { get: async (at) => files.get(parseAddress(at).key) ?? null }, digest: sha256 },
    jobId,
  );
}

/** The problems, as `where: problem`. */
async function problemsOf(files: Files): Promise<string[]> {
  const report = await verify(files);
  assert.equal(report.kind, 'checked');
  return report.kind === 'checked' ? report.problems.map(({ where, problem }) => `${where}: ${problem}`) : [];
}

test('results as the engine leaves them have no problems, and all of them are checked', async () => {
  const report = await verify(resultsOf());
  assert.equal(report.kind, 'checked');
  if (report.kind !== 'checked') return;
  assert.deepEqual([report.problemCount, report.problems], [0, []]);
  assert.deepEqual(report.counts, { total: 2500, success: 2250, failed: 250, skipped: 0, cancelled: 0 });
  const bytes = itemsOf(2500).reduce((sum, { artifacts: [artifact] }) => sum + (artifact?.size ?? 0), 0);
  assert.deepEqual(report.checked, { parts: 3 + 3 + 1, items: 2500, artifacts: 2250, bytes });
});

test('an index that is replaced while it is read is read again, and is not taken for damaged', async () => {
  const [before, after] = [resultsOf({ items: itemsOf(20) }), resultsOf({ items: itemsOf(40) })];
  let files = before;
  const get = async (at: string | ResultAddress) => {
    const { key } = parseAddress(at);
    const bytes = files.get(key) ?? null;
    if (key.endsWith('job_metadata.json')) files = after;
    return bytes;
  };
  const report = await verifyJob({ store: { get }, digest: sha256 }, JOB_ID);
  assert.ok(report.kind === 'checked');
  assert.deepEqual([report.problems, report.counts.total], [[], 40]);
});

test('a job that does not exist, or is not finished, cannot be checked', async () => {
  assert.equal((await verify(resultsOf(), 'job-2')).kind, 'nothing');
});

test('the recording of a job is checked with its results', async () => {
  const results = () => resultsOf({ items: itemsOf(20), recording: '{"id":"a"}' });
  assert.deepEqual(await problemsOf(results()), []);
  const missing = results();
  missing.delete(`${JOB_ID}/recording.json`);
  assert.deepEqual(await problemsOf(missing), ['recording.json: it is missing']);
  const changed = results();
  changed.set(`${JOB_ID}/recording.json`, Buffer.from('{"id":"b"}'));
  assert.deepEqual(await problemsOf(changed), ['recording.json: its SHA-256 is not the one in job_metadata.json']);
});

test('metadata that cannot be read is damage', async () => {
  const files = resultsOf();
  files.set(`${JOB_ID}/job_metadata.json`, Buffer.from('{"job_id":'));
  assert.deepEqual(await problemsOf(files), [`${JOB_ID}/job_metadata.json: it is not the metadata of a job`]);
});

test('a part that is missing, changed, or not the one that its name says is reported', async () => {
  const name = 'manifests/full/part-1.json';
  const missing = resultsOf();
  missing.delete(`${JOB_ID}/${name}`);
  assert.ok((await problemsOf(missing)).includes(`${name}: it is missing`));
  const changed = resultsOf();
  changed.set(`${JOB_ID}/${name}`, Buffer.from(`${changed.get(`${JOB_ID}/${name}`)} `));
  assert.ok((await problemsOf(changed)).includes(`${name}: its SHA-256 is not the one in job_metadata.json`));
  const other = resultsOf({ meddle: (text, at) => (at === name ? text.replace('"part":1', '"part":2') : text) });
  assert.ok((await problemsOf(other)).includes(`${name}: it says that it is part 2 of full of job-1`));
  const short = resultsOf({ meddle: (text, at) => (at === name ? text.replace('"count":1000', '"count":999') : text) });
  assert.ok((await problemsOf(short)).includes(`${name}: it has 1000 items, and should have 999`));
});

test('an item that is listed twice is named', async () => {
  const items = itemsOf(20);
  const [first] = items.filter(({ status }) => status === 'success');
  assert.ok(first);
  assert.deepEqual(await problemsOf(resultsOf({ items: [...items, first] })), ['p-1: it is listed 2 times in full']);
});

test('counts that the items do not add up to are reported', async () => {
  const meddle = (text: string, name: string) =>
    name.startsWith('job') ? text.replace('"success":2250', '"success":2251') : text;
  assert.deepEqual(await problemsOf(resultsOf({ meddle })), [
    'job_metadata.json: it counts 2251 items that are success, and the list full has 2250',
  ]);
});

test('lists that do not agree with the full one are reported, once each', async () => {
  const swapped = resultsOf({
    meddle: (text, name) =>
      name === 'manifests/success/part-1.json' ? text.replace('"item_id":"p-1112"', '"item_id":"x"') : text,
  });
  assert.deepEqual(await problemsOf(swapped), [
    'p-1112: it is success in full, and the list success has x in its place',
  ]);
  const fewer = resultsOf({
    meddle(text, name) {
      if (name === 'job_metadata.json') return text.replace('"errors":1', '"errors":0');
      return text;
    },
  });
  assert.deepEqual(await problemsOf(fewer), ['p-0: it is failed in full, and the list errors does not list it']);
  const more = resultsOf({
    meddle: (text, name) =>
      name.startsWith('manifests/full')
        ? text.replace('"item_id":"p-10","status":"failed"', '"item_id":"p-10","status":"skipped"')
        : text,
  });
  assert.match((await problemsOf(more)).join('\n'), /the list errors has p-10 in its place/);
});

test('files that are missing, short, changed or unreadable are named with their item', async () => {
  const items = itemsOf(6);
  const files = resultsOf({ items });
  const keyOf = (index: number) => items[index]?.artifacts[0]?.key ?? '';
  files.delete(keyOf(1));
  files.set(keyOf(2), Buffer.from('<h1>'));
  files.set(keyOf(3), Buffer.from('<h1>q-3</h1>'));
  const get = async (at: string | ResultAddress) => {
    const { key } = parseAddress(at);
    if (key === keyOf(4)) throw new Error('the bytes are damaged');
    return files.get(key) ?? null;
  };
  const report = await verifyJob({ store: { get }, digest: sha256 }, JOB_ID);
  assert.ok(report.kind === 'checked');
  assert.deepEqual(
    report.problems.map(({ where, problem }) => [where, problem]),
    [
      [keyOf(1), 'it is missing (item p-1)'],
      [keyOf(2), 'it has 4 bytes, and the manifest says 12 (item p-2)'],
      [keyOf(3), 'its SHA-256 is not the one in the manifest (item p-3)'],
      [keyOf(4), 'the bytes are damaged (item p-4)'],
    ],
  );
  assert.equal(report.checked.artifacts, 5);
});

test('with many problems, all are counted and the first ones are listed', async () => {
  const files = resultsOf();
  for (const key of files.keys()) if (key.includes('/items/')) files.delete(key);
  const report = await verify(files);
  assert.ok(report.kind === 'checked');
  assert.deepEqual([report.problemCount, report.problems.length], [2250, 100]);
});

test('at most sixteen files are read at once', async () => {
  const files = resultsOf({ items: itemsOf(200) });
  let running = 0;
  let most = 0;
  const get = async (at: string | ResultAddress) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    return files.get(parseAddress(at).key) ?? null;
  };
  await verifyJob({ store: { get }, digest: sha256 }, JOB_ID);
  // The others are one part of each of the three lists.
  assert.ok(most >= 16 && most <= 19, `${most} at once`);
});

test('hashes that occur twice are found among many, including those with leading zeros', () => {
  const hashes = new IdHashes();
  for (let index = 0; index < 5000; index += 1) hashes.add(sha256(`${index}`).slice(0, 16));
  assert.deepEqual([...hashes.repeated(10)], []);
  for (const hash of ['0000000000000001', 'ffffffffffffffff', '0000000000000001', 'ffffffffffffffff']) hashes.add(hash);
  assert.deepEqual([...hashes.repeated(10)], ['0000000000000001', 'ffffffffffffffff']);
  assert.equal(hashes.repeated(1).size, 1);
});
