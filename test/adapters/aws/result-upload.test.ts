import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CreateMultipartUploadCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openS3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { type Draft, KeyTaken, type ResultStore } from '../../../src/ports/result-store.ts';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { bytes, KEEP, KEY, noise, REPLACE, same, sha256 } from '../../contract/result-store/bytes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { brokenLine, inRoom, NOBODY, refused } from './result-room.ts';

const MIB = 1 << 20;
/** Four parts: three of 8 MiB and a rest. */
const LARGE = noise(30 * MIB);
/** Three parts. */
const LARGISH = LARGE.subarray(0, 17 * MIB);

async function drafted(store: ResultStore, body: Uint8Array): Promise<Draft> {
  const draft = store.draft();
  for (let at = 0; at < body.length; at += MIB) await draft.write(body.subarray(at, at + MIB));
  return draft;
}

inRoom('a large document goes in parts, a few at a time however many documents there are', async (room) => {
  const { store, sent } = room;
  let [atOnce, most] = [0, 0];
  const sizes: number[] = [];
  room.onTry(async ({ name, input }, go) => {
    if (name !== 'UploadPart') return await go();
    atOnce += 1;
    most = Math.max(most, atOnce);
    if ('Body' in input && input.Body instanceof Uint8Array) sizes.push(input.Body.length);
    await go();
    atOnce -= 1;
  });
  const drafts = [await drafted(store, LARGE), await drafted(store, LARGE)];
  const stored = await Promise.all(drafts.map((draft, index) => store.put(`job-1/${index}.pdf`, draft, KEEP)));
  const expected = { key: 'job-1/1.pdf', size: LARGE.length, sha256: sha256(LARGE), encoding: 'identity' };
  assert.deepEqual(stored[1], expected);
  assert.equal(most, 4);
  assert.deepEqual(sizes.filter((size) => size === 8 * MIB).length, 6);
  assert.equal(sent.length, 12);
  assert.ok(same(await store.get('job-1/1.pdf'), LARGE));
});

inRoom('large bytes that are not a draft go the same way, packed or not', async ({ store, sent, s3, bucket }) => {
  await store.put('job-1/a.bin', LARGE.subarray(0, 9 * MIB), KEEP);
  await store.put('job-1/b.bin', LARGE.subarray(0, 9 * MIB), { ...KEEP, encoding: 'gzip' });
  const parts = ['CreateMultipartUpload', 'UploadPart', 'UploadPart', 'CompleteMultipartUpload'];
  assert.deepEqual(sent, [...parts, ...parts]);
  const { ContentEncoding, ContentType } = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: 'job-1/b.bin' }));
  assert.deepEqual([ContentEncoding, ContentType], ['gzip', 'text/html']);
  for (const key of ['job-1/a.bin', 'job-1/b.bin']) {
    assert.ok(same(await store.get(key), LARGE.subarray(0, 9 * MIB)), key);
  }
});

inRoom('up to 8 MiB it is one request, from memory or from disk, which does not wait for permission', async (room) => {
  const { store, sent, s3 } = room;
  const headers: string[] = [];
  s3.middlewareStack.add(
    (next) => async (args) => {
      const { request } = args as { request: { headers: Record<string, string> } };
      headers.push(...Object.keys(request.headers));
      return await next(args);
    },
    { step: 'finalizeRequest', priority: 'low' },
  );
  const body = LARGE.subarray(0, 8 * MIB);
  await store.put('job-1/a.pdf', await drafted(store, body), KEEP);
  await store.put('job-1/b.pdf', body, KEEP);
  assert.deepEqual(sent, ['PutObject', 'PutObject']);
  const names = headers.map((name) => name.toLowerCase());
  assert.ok(names.includes('if-none-match') && !names.includes('expect'), names.join());
  assert.ok(same(await store.get('job-1/a.pdf'), body));
});

for (const [what, operation, number] of [
  ['a part', 'UploadPart', 2],
  ['the end', 'CompleteMultipartUpload', 1],
] as const) {
  inRoom(`an upload in which ${what} fails is aborted, and nothing of it remains`, async (room) => {
    const { store, sent } = room;
    let calls = 0;
    room.onCall(async ({ name }, go) => {
      if (name === operation) calls += 1;
      if (name === operation && calls === number) throw refused('InternalError', 500);
      await go();
    });
    const putting = store.put(KEY, await drafted(store, LARGISH), KEEP);
    await assert.rejects(putting, (error) => error instanceof StorageTrouble && /InternalError/.test(error.message));
    assert.equal(sent.at(-1), 'AbortMultipartUpload');
    assert.deepEqual(await room.unfinished(), []);
    assert.equal(await store.get(KEY), null);
  });
}

inRoom('a large document follows the rules of the key it is put under', async (room) => {
  const { store } = room;
  await store.put(KEY, bytes('first'), KEEP);
  const other = await drafted(store, LARGISH);
  await assert.rejects(store.put(KEY, other, KEEP), KeyTaken);
  assert.deepEqual(await room.unfinished(), []);
  await store.put('job-1/items/apart/document.pdf', other, KEEP);
  assert.ok(same(await store.get(KEY), bytes('first')));
  const stored = await store.put(KEY, await drafted(store, LARGISH), REPLACE);
  assert.deepEqual(await store.put(KEY, await drafted(store, LARGISH), KEEP), stored);
  assert.deepEqual(await room.unfinished(), []);
});

for (const how of [KEEP, REPLACE]) {
  inRoom(`the end of an upload whose reply is lost is not taken for a second writer (${how.ifTaken})`, async (room) => {
    const { store, sent } = room;
    let lost = 0;
    room.onTry(async ({ name }, go) => {
      await go();
      if (name !== 'CompleteMultipartUpload' || lost > 0) return;
      lost += 1;
      throw brokenLine();
    });
    const { sha256: digest } = await store.put(KEY, await drafted(store, LARGISH), how);
    assert.equal(digest, sha256(LARGISH));
    assert.equal(sent.filter((name) => name === 'CreateMultipartUpload').length, 1);
    assert.ok(same(await store.get(KEY), LARGISH));
  });
}

inRoom('the removal of a job aborts uploads that were never finished', async (room) => {
  const { store, s3, bucket } = room;
  for (const key of ['job-1/a.pdf', 'job-1/b.pdf', 'job-10/c.pdf']) {
    await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }));
  }
  assert.equal(await store.removeAll('job-1/'), 0);
  assert.deepEqual(await room.unfinished(), ['job-10/c.pdf']);
});

test('a draft on the disk has no name there, so that a process that dies leaves nothing behind', async () => {
  const tempDir = await mkdtemp(join(tmpdir(), 'trawl-drafts-'));
  const { s3, close } = openAwsClients({ ...NOBODY, endpoints: { s3: 'http://127.0.0.1:9' } });
  try {
    const store = openS3ResultStore({ s3, bucket: 'none', tempDir, clock: new FakeClock() });
    const draft = await drafted(store, LARGE.subarray(0, 3 * MIB));
    assert.equal(draft.size, 3 * MIB);
    assert.deepEqual(await readdir(tempDir), []);
    await draft.discard();
    await assert.rejects(draft.write(bytes('x')), /already/);
    await writeFile(join(tempDir, 'trawl-draft-id-00000002'), 'of somebody else');
    const next = await drafted(store, LARGE.subarray(0, 2 * MIB));
    assert.equal(await readFile(join(tempDir, 'trawl-draft-id-00000002'), 'utf8'), 'of somebody else');
    await next.discard();
  } finally {
    close();
    await rm(tempDir, { recursive: true });
  }
});

test('a draft that finds no place on the disk is storage trouble, and takes no more bytes', async () => {
  const { s3, close } = openAwsClients({ ...NOBODY, endpoints: { s3: 'http://127.0.0.1:9' } });
  try {
    const store = openS3ResultStore({ s3, bucket: 'none', tempDir: '/nowhere/at/all', clock: new FakeClock() });
    const draft = store.draft();
    await draft.write(LARGE.subarray(0, MIB));
    await assert.rejects(draft.write(bytes('x')), (error) => error instanceof StorageTrouble && error.kind === 'io');
    await assert.rejects(draft.write(bytes('x')), /already/);
    await draft.discard();
  } finally {
    close();
  }
});
