import assert from 'node:assert/strict';
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { KeyTaken, type Put } from '../../../src/ports/result-store.ts';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { bytes, KEEP, KEY, noise, REPLACE, same, sha256 } from '../../contract/result-store/bytes.ts';
import { brokenLine, inRoom, refused } from './result-room.ts';

inRoom('a put is one request, and only a key that is taken costs a second', async ({ store, sent }) => {
  await store.put(KEY, bytes('x'), KEEP);
  await store.put('job-1/b.html', noise(5000), { ...KEEP, encoding: 'gzip' });
  await store.put('job-1/b.html', noise(9000), REPLACE);
  assert.deepEqual(sent.splice(0), ['PutObject', 'PutObject', 'PutObject']);
  await store.put(KEY, bytes('x'), KEEP);
  assert.deepEqual(sent, ['PutObject', 'HeadObject']);
});

inRoom('three artifacts of an item are three requests, the second and third side by side', async (room) => {
  const { store, sent } = room;
  const steps: string[] = [];
  room.onTry(async ({ input }, go) => {
    const name = 'Key' in input ? String(input.Key).slice('job-1/items/p-0/'.length) : '';
    steps.push(`begin ${name}`);
    await go();
    steps.push('end');
  });
  await store.putAll(item());
  assert.deepEqual(sent, ['PutObject', 'PutObject', 'PutObject']);
  assert.deepEqual(steps, ['begin html.html', 'end', 'begin data.json', 'begin metadata.json', 'end', 'end']);
});

inRoom('of objects put together, the first failure in order is reported, however soon others fail', async (room) => {
  const { store } = room;
  await store.put('job-1/items/p-0/data.json', bytes('other'), KEEP);
  room.onCall(async ({ name, input }, go) => {
    if (name === 'PutObject' && 'Key' in input && String(input.Key).endsWith('metadata.json')) {
      throw refused('InternalError', 500);
    }
    await go();
  });
  await assert.rejects(store.putAll(item()), KeyTaken);
});

inRoom('when the first of the objects put together is there already, the others follow one by one', async (room) => {
  const { store, sent } = room;
  await store.putAll(item().slice(0, 1));
  await store.put('job-1/items/p-0/data.json', bytes('other'), KEEP);
  sent.length = 0;
  await assert.rejects(store.putAll(item()), KeyTaken);
  assert.deepEqual(sent, ['PutObject', 'HeadObject', 'PutObject', 'HeadObject']);
  assert.equal(await store.get('job-1/items/p-0/metadata.json'), null);
});

inRoom('a reply that is lost after the write is not taken for a second writer', async (room) => {
  const { store, sent } = room;
  let lost = 0;
  room.onTry(async ({ name }, go) => {
    await go();
    if (name !== 'PutObject' || lost > 0) return;
    lost += 1;
    throw brokenLine();
  });
  const body = noise(2000);
  const stored = await store.put(KEY, body, { ...KEEP, encoding: 'gzip' });
  assert.deepEqual(stored, { key: KEY, size: 2000, sha256: sha256(body), encoding: 'gzip' });
  assert.deepEqual(sent, ['PutObject', 'PutObject', 'HeadObject']);
});

inRoom('two writers of the same bytes both succeed; if the bytes differ, only the first does', async (room) => {
  const { store } = room;
  for (const [name, other] of [['same', bytes('a')] as const, ['other', bytes('b')] as const]) {
    const key = `job-1/${name}.json`;
    let isFirst = true;
    room.onTry(async ({ name: operation, input }, go) => {
      // Another writer is faster, between our decision and our write.
      if (operation === 'PutObject' && isFirst && 'Key' in input && input.Key === key) {
        isFirst = false;
        await store.put(key, other, KEEP);
      }
      await go();
    });
    const mine = store.put(key, bytes('a'), KEEP);
    if (name === 'same') assert.equal((await mine).sha256, sha256(bytes('a')));
    else await assert.rejects(mine, KeyTaken);
    assert.ok(same(await store.get(key), other));
  }
});

inRoom('a write that conflicts with another is tried again, and ends as trouble if that persists', async (room) => {
  const { store, sent } = room;
  let conflicts = 2;
  room.onCall(async ({ name }, go) => {
    if (name === 'PutObject' && conflicts > 0) {
      conflicts -= 1;
      throw refused('ConditionalRequestConflict', 409);
    }
    await go();
  });
  await store.put(KEY, bytes('x'), KEEP);
  assert.deepEqual(sent, ['PutObject']);
  conflicts = 1000;
  await assert.rejects(store.put('job-1/b', bytes('x'), KEEP), isTrouble(/cannot store job-1\/b: others keep writing/));
});

inRoom('a key that was taken, and is free by the time it is looked at, is put', async (room) => {
  const { store, s3, bucket } = room;
  await store.put(KEY, bytes('other'), KEEP);
  room.onCall(async ({ name }, go) => {
    if (name === 'HeadObject') await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: KEY }));
    await go();
  });
  await store.put(KEY, bytes('x'), KEEP);
  assert.ok(same(await store.get(KEY), bytes('x')));
});

inRoom('bytes that others have put there are compared by reading them', async ({ store, s3, bucket }) => {
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: KEY, Body: bytes('by hand') }));
  assert.ok(same(await store.get(KEY), bytes('by hand')));
  assert.equal((await store.put(KEY, bytes('by hand'), KEEP)).size, 7);
  await assert.rejects(store.put(KEY, bytes('other'), KEEP), KeyTaken);
});

inRoom('an object records how it is packed, its type, and what it was', async ({ store, s3, bucket }) => {
  const body = bytes('<p>'.repeat(1000));
  await store.put(KEY, body, { ...KEEP, encoding: 'gzip' });
  const packed = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: KEY }));
  assert.deepEqual([packed.ContentEncoding, packed.ContentType], ['gzip', 'text/html']);
  assert.deepEqual(packed.Metadata, { sha256: sha256(body), size: '3000' });
  assert.ok((packed.ContentLength ?? 9999) < 300);
  await store.put(KEY, body, REPLACE);
  const plain = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: KEY }));
  assert.deepEqual([plain.ContentEncoding, plain.ContentLength], [undefined, 3000]);
});

inRoom('a type that is not a valid header does not lose the bytes', async ({ store, s3, bucket }) => {
  for (const contentType of ['text/html\r\nx-evil: 1', 'text/ü', '', 'x'.repeat(10_000)]) {
    await store.put(KEY, bytes('x'), { ...REPLACE, contentType });
    const { ContentType } = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: KEY }));
    assert.equal(ContentType, 'application/octet-stream');
  }
});

inRoom('a probe writes under a key that no job has, and fails as the storage does', async (room) => {
  const { store, sent, s3, bucket } = room;
  await store.probe();
  await store.probe();
  assert.deepEqual(sent, ['PutObject', 'PutObject']);
  await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: '.trawl/probe' }));
  await assert.rejects(store.get('.trawl/probe'), /not a key of safe segments/);
  room.onCall(async () => {
    throw refused('SlowDown', 503);
  });
  await assert.rejects(store.probe(), isTrouble(/cannot store .trawl\/probe: SlowDown/));
});

inRoom('a server that ignores conditions is detected', async (room) => {
  assert.equal(await room.store.holdsConditions(), true);
  room.onCall(async ({ input }, go) => {
    if ('IfNoneMatch' in input) delete input.IfNoneMatch;
    await go();
  });
  assert.equal(await room.store.holdsConditions(), false);
});

inRoom('a call that is never answered ends, as trouble', async (room) => {
  const { store, clock } = room;
  const asked = Promise.withResolvers<void>();
  room.onTry((_call, _go) => {
    asked.resolve();
    return new Promise(() => {});
  });
  const call = assert.rejects(store.put(KEY, bytes('x'), KEEP), isTrouble(/cannot store .*: no answer in 180 s/));
  await asked.promise;
  await clock.advance(180_000);
  await call;
  assert.equal(clock.sleepers, 0);
});

function item(): Put[] {
  return ['html.html', 'data.json', 'metadata.json'].map((name) => {
    return { ...KEEP, key: `job-1/items/p-0/${name}`, body: bytes(name) };
  });
}

function isTrouble(message: RegExp) {
  return (error: unknown) => error instanceof StorageTrouble && error.kind === 'io' && message.test(error.message);
}
