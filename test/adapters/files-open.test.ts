import assert from 'node:assert/strict';
import { fstatSync } from 'node:fs';
import { mkdir, rename, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cutRange } from '../../src/domain/result-address.ts';
import type { PutOptions } from '../../src/ports/result-store.ts';
import { inRoom, type Room } from './files-room.ts';

const KEEP: PutOptions = { contentType: 'application/pdf', encoding: 'identity', ifTaken: 'keep' };
const KEY = 'job/items/a/document.pdf';
const BODY = Buffer.alloc(500_000, 'trawl ');

async function bodyOf({ store }: Pick<Room, 'store'>, key = KEY): Promise<AsyncIterable<Uint8Array>> {
  const body = await store.open(key, null);
  assert.ok(body);
  return body;
}

/** How often this process has the file open. */
async function openHandles({ root }: Room): Promise<number> {
  const { dev, ino } = await stat(join(root, KEY));
  let open = 0;
  for (let fd = 0; fd < 1024; fd += 1) {
    try {
      const found = fstatSync(fd);
      if (found.dev === dev && found.ino === ino) open += 1;
    } catch {}
  }
  return open;
}

inRoom('a file is open while its body is read, and not before or after', async (room) => {
  await room.store.put(KEY, BODY, KEEP);
  const body = await bodyOf(room);
  assert.equal(await openHandles(room), 0);
  let pieces = 0;
  for await (const piece of body) {
    pieces += 1;
    assert.ok(piece.length < 100_000);
    assert.equal(await openHandles(room), 1);
  }
  assert.ok(pieces > 4);
  assert.equal(await openHandles(room), 0);
});

inRoom('a reader who stops early, breaks down or has read enough leaves no file open', async (room) => {
  await room.store.put(KEY, BODY, KEEP);
  for await (const _ of await bodyOf(room)) break;
  assert.equal(await openHandles(room), 0);
  const breaksDown = async () => {
    for await (const _ of await bodyOf(room)) throw new Error('as arranged');
  };
  await assert.rejects(breaksDown(), /as arranged/);
  assert.equal(await openHandles(room), 0);
  const iterator = (await bodyOf(room))[Symbol.asyncIterator]();
  await iterator.next();
  assert.equal(await openHandles(room), 1);
  await iterator.return?.();
  assert.equal(await openHandles(room), 0);
});

inRoom('a file that gets shorter while it is read is an error, and is closed', async (room) => {
  await room.store.put(KEY, BODY, KEEP);
  const reading = async () => {
    for await (const _ of await bodyOf(room)) await truncate(join(room.root, KEY), 100_000);
  };
  await assert.rejects(reading(), /not those that were opened/);
  assert.equal(await openHandles(room), 0);
});

inRoom('a file that another has taken the place of before it is read is an error, and is closed', async (room) => {
  await room.store.put(KEY, BODY, KEEP);
  const body = await bodyOf(room);
  await writeFile(join(room.root, 'other'), BODY);
  await rename(join(room.root, 'other'), join(room.root, KEY));
  await assert.rejects(Array.fromAsync(body), /not those that were opened/);
  assert.equal(await openHandles(room), 0);
});

inRoom('a file that is gone before it is read is an error', async (room) => {
  await room.store.put(KEY, BODY, KEEP);
  const body = await bodyOf(room);
  await room.store.removeAll('job/');
  await assert.rejects(Array.fromAsync(body), /not those that were opened/);
});

inRoom('links are not opened, neither for a file nor for a folder on the way', async ({ root, store }) => {
  await writeFile(join(root, 'outside'), 'secret');
  await mkdir(join(root, 'job'));
  await symlink(join(root, 'outside'), join(root, 'job/a.html'));
  await symlink(join(root, 'outside'), join(root, 'job/b.html.gz'));
  await symlink(join(root, 'job'), join(root, 'linked'));
  await assert.rejects(store.open('job/a.html', null), /damaged/);
  await assert.rejects(store.open('job/b.html', null), /damaged/);
  await assert.rejects(store.open('linked/a.html', null), /not a folder/);
});

inRoom('a link that takes the place of a file before it is read is not followed', async (room) => {
  const { root } = room;
  await room.store.put(KEY, BODY, KEEP);
  const body = await bodyOf(room);
  await rename(join(root, KEY), join(root, 'moved'));
  await symlink(join(root, 'moved'), join(root, KEY));
  await assert.rejects(Array.fromAsync(body), /damaged/);
});

inRoom('packed bytes that are damaged are detected before any of them are read', async ({ root, store }) => {
  await store.put('job/a.html', BODY, { ...KEEP, encoding: 'gzip' });
  await truncate(join(root, 'job/a.html.gz'), 20);
  await assert.rejects(store.open('job/a.html', { start: 0, end: 1 }), /damaged/);
});

test('a range is cut to what is in the body, and never ends before it starts', () => {
  assert.deepEqual(cutRange(null, 5), { start: 0, end: 5 });
  assert.deepEqual(cutRange({ start: 1, end: 9 }, 5), { start: 1, end: 5 });
  assert.deepEqual(cutRange({ start: 7, end: 9 }, 5), { start: 5, end: 5 });
  assert.deepEqual(cutRange({ start: 4, end: 2 }, 5), { start: 2, end: 2 });
  assert.throws(() => cutRange({ start: -1, end: 2 }, 5), RangeError);
});
