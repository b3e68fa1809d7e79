import assert from 'node:assert/strict';
import * as nodeDisk from 'node:fs';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { removeFolder } from '../../src/adapters/embedded/results/remove-folder.ts';
import type { PutOptions } from '../../src/ports/result-store.ts';
import { failing, inRoom, type Room, unfinished } from './files-room.ts';

const KEEP: PutOptions = { contentType: 'text/html', encoding: 'identity', ifTaken: 'keep' };
const PAGE = new TextEncoder().encode('<p>parcel</p>');
const OTHER = new TextEncoder().encode('<p>another</p>');

async function putItems({ store }: Pick<Room, 'store'>, count: number): Promise<void> {
  for (let item = 0; item < count; item += 1) {
    await store.putAll([
      { ...KEEP, key: `job/items/i-${item}/html.html`, body: PAGE, encoding: 'gzip' },
      { ...KEEP, key: `job/items/i-${item}/data.json`, body: PAGE },
    ]);
  }
}

inRoom('a job that is removed is gone at once, before its files are', async (room) => {
  const { root, store } = room;
  await putItems(room, 200);
  const removing = store.removeAll('job/');
  // Nothing has been awaited since.
  assert.equal(nodeDisk.existsSync(join(root, 'job')), false);
  const [name = ''] = await unfinished(root);
  assert.match(name, /^removed-/);
  assert.equal(await store.get('job/items/i-199/data.json'), null);
  assert.equal(await removing, 400);
  assert.deepEqual(await unfinished(root), []);
  assert.equal(await store.removeAll('job/'), 0);
});

inRoom('what is put while a job is being removed belongs to the next one, and stays', async (room) => {
  const { store } = room;
  await putItems(room, 100);
  const removing = store.removeAll('job/');
  await store.put('job/items/i-7/data.json', OTHER, KEEP);
  await store.putAll([{ ...KEEP, key: 'job/items/i-8/data.json', body: OTHER }]);
  assert.equal(await removing, 200);
  for (const item of ['i-7', 'i-8']) {
    assert.deepEqual(new Uint8Array((await store.get(`job/items/${item}/data.json`)) ?? []), OTHER);
  }
  assert.equal(await store.get('job/items/i-9/data.json'), null);
  assert.equal(await store.removeAll('job/'), 2);
});

inRoom('a second process sees the removal, and writes where the folders were', async (room) => {
  const other = await openFileResultStore(room.root, { clock: room.clock });
  await putItems(room, 3);
  assert.notEqual(await other.get('job/items/i-1/data.json'), null);
  assert.equal(await room.store.removeAll('job/'), 6);
  assert.equal(await other.get('job/items/i-1/data.json'), null);
  await other.put('job/items/i-1/data.json', OTHER, KEEP);
  assert.deepEqual(new Uint8Array((await room.store.get('job/items/i-1/data.json')) ?? []), OTHER);
});

inRoom('when two stores remove a job at once, each counts what it took', async (room) => {
  const other = await openFileResultStore(room.root, { clock: room.clock });
  await putItems(room, 20);
  const counts = await Promise.all([room.store.removeAll('job/'), other.removeAll('job/')]);
  assert.deepEqual(counts, [40, 0]);
});

inRoom('a job that another process removes a moment earlier had nothing', async (room) => {
  const { store, disk } = room;
  await putItems(room, 2);
  disk.renameSync = (from, to) => {
    nodeDisk.rmSync(from, { recursive: true });
    nodeDisk.renameSync(from, to);
  };
  assert.equal(await store.removeAll('job/'), 0);
});

inRoom('a folder that is gone already is removed, too', async ({ root }) => {
  assert.equal(await removeFolder(join(root, 'nobody')), 0);
});

inRoom('a part of a job is removed, and the rest of it stays', async (room) => {
  const { store } = room;
  await putItems(room, 3);
  assert.equal(await store.removeAll('job/items/i-1/'), 2);
  assert.equal(await store.get('job/items/i-1/data.json'), null);
  assert.notEqual(await store.get('job/items/i-2/data.json'), null);
});

inRoom('what a dead process had taken away, and not removed, is swept up by the next one', async (room) => {
  const { root, clock, store, disk } = room;
  await putItems(room, 20);
  disk.renameSync = (from, to) => {
    nodeDisk.renameSync(from, to);
    throw new Error('died here');
  };
  await assert.rejects(store.removeAll('job/'), /died here/);
  assert.equal(await store.get('job/items/i-1/data.json'), null);
  assert.equal((await unfinished(root)).length, 1);
  await writeFile(join(root, '.tmp/young'), 'half');
  const next = await openFileResultStore(root, { clock });
  assert.equal(await next.sweep(), 1);
  assert.deepEqual(await unfinished(root), ['young']);
  assert.equal(await next.sweep(), 0);
});

inRoom('a sweep leaves what is being removed by its own store, however old it is', async (room) => {
  const { root, clock, store } = room;
  await putItems(room, 100);
  const longAgo = clock.now() / 1000 - 7200;
  await utimes(join(root, 'job'), longAgo, longAgo);
  const removing = store.removeAll('job/');
  assert.equal(await store.sweep(), 0);
  assert.equal(await removing, 200);
});

inRoom('a removal and a sweep of the same files do not get in each other’s way', async (room) => {
  const { root, clock, store } = room;
  const other = await openFileResultStore(root, { clock });
  await putItems(room, 200);
  const removing = store.removeAll('job/');
  await Promise.all([removing, other.sweep()]);
  assert.deepEqual(await unfinished(root), []);
});

for (const code of ['ENOSPC', 'EXDEV', 'EPERM', 'EMLINK']) {
  inRoom(`a job that cannot be moved away (${code}) is removed where it is`, async (room) => {
    const { root, store, disk } = room;
    await putItems(room, 20);
    disk.renameSync = failing(code);
    assert.equal(await store.removeAll('job/'), 40);
    assert.deepEqual(await readdir(root), ['.store', '.tmp']);
    assert.deepEqual(await unfinished(root), []);
  });
}

inRoom('on a disk without room for a folder a job is removed all the same', async ({ root, store, disk }) => {
  await mkdir(join(root, 'job'));
  await writeFile(join(root, 'job/a.html'), PAGE);
  disk.mkdirSync = failing('ENOSPC');
  assert.equal(await store.removeAll('job/'), 1);
  assert.deepEqual(await readdir(root), ['.store']);
});

inRoom('a disk that fails to move a job is storage trouble, and the job is still there', async (room) => {
  const { store, disk } = room;
  await putItems(room, 1);
  disk.renameSync = failing('EIO');
  await assert.rejects(store.removeAll('job/'), { name: 'StorageTrouble', kind: 'io' });
  assert.notEqual(await store.get('job/items/i-0/data.json'), null);
});

inRoom('the folder for what is unfinished is created again when it was removed', async (room) => {
  const { root, store } = room;
  await putItems(room, 2);
  await nodeDisk.promises.rm(join(root, '.tmp'), { recursive: true });
  assert.equal(await store.removeAll('job/'), 4);
  assert.equal(nodeDisk.existsSync(join(root, 'job')), false);
});
