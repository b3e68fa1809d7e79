import assert from 'node:assert/strict';
import { mkdir, open, readdir, rm, stat, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenDraftFile } from '../../src/adapters/embedded/results/draft-files.ts';
import { type Draft, KeyTaken, type PutOptions } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { failing, inRoom, type Room, unfinished } from './files-room.ts';

const KEEP: PutOptions = { contentType: 'application/pdf', encoding: 'identity', ifTaken: 'keep' };
const KEY = 'job/items/a/document.pdf';
const PIECE = Buffer.alloc(200_000, 7);

async function drafted({ store }: Room, pieces: number): Promise<Draft> {
  const draft = store.draft();
  for (let piece = 0; piece < pieces; piece += 1) await draft.write(PIECE);
  return draft;
}

inRoom('a draft touches the disk only when it is large, and leaves no trace there once it is put', async (room) => {
  const { root, store } = room;
  await drafted(room, 1);
  assert.deepEqual(await unfinished(root), []);
  const draft = await drafted(room, 3);
  const [name = ''] = await unfinished(root);
  const { size, mode } = await stat(join(root, '.tmp', name));
  assert.deepEqual([size, mode & 0o777], [600_000, 0o600]);
  await store.put(KEY, draft, KEEP);
  assert.deepEqual(await unfinished(root), []);
  assert.equal((await stat(join(root, KEY))).nlink, 1);
  assert.deepEqual(await readdir(join(root, 'job/items/a')), ['document.pdf']);
});

inRoom('a draft that is put with others gets its place with their folder', async (room) => {
  const { root, store, disk } = room;
  const renamed: string[] = [];
  const rename = disk.renameSync;
  disk.renameSync = (from, to) => {
    renamed.push(String(to));
    rename(from, to);
  };
  const page = { ...KEEP, key: 'job/items/a/html.html', body: new Uint8Array(9) };
  await store.putAll([page, { ...KEEP, key: KEY, body: await drafted(room, 3) }]);
  assert.deepEqual(renamed, [join(root, 'job/items/a')]);
  assert.equal((await stat(join(root, KEY))).nlink, 1);
  assert.deepEqual(await unfinished(root), []);
});

inRoom(
  'on a disk without links drafts are put all the same',
  async (room) => {
    const { root, store } = room;
    const page = { ...KEEP, key: 'job/items/a/html.html', body: new Uint8Array(9) };
    await store.putAll([page, { ...KEEP, key: KEY, body: await drafted(room, 3) }]);
    assert.equal((await store.get(KEY))?.length, 600_000);
    await store.put('job/items/b/document.pdf', await drafted(room, 3), KEEP);
    const other = await drafted(room, 2);
    await assert.rejects(store.put(KEY, other, KEEP), KeyTaken);
    await store.put('job/items/a/attempt-2/document.pdf', other, KEEP);
    assert.deepEqual(await unfinished(root), []);
  },
  { linkSync: failing('EPERM') },
);

inRoom('a draft that is not wanted is gone from the disk', async (room) => {
  const { root, store } = room;
  await store.put(KEY, new Uint8Array(1), KEEP);
  const draft = await drafted(room, 3);
  await draft.discard();
  await draft.discard();
  assert.deepEqual(await unfinished(root), []);
  const others = [await drafted(room, 3), await drafted(room, 3)] as const;
  await assert.rejects(store.put(KEY, others[0], KEEP), KeyTaken);
  await assert.rejects(store.putAll([{ ...KEEP, key: KEY, body: others[1] }]), KeyTaken);
  for (const other of others) await other.discard();
  await assert.rejects(store.put('../x', await drafted(room, 3), KEEP));
  await assert.rejects(store.putAll([{ ...KEEP, key: '../x', body: await drafted(room, 3) }]));
  assert.deepEqual(await unfinished(root), []);
});

inRoom('a draft that is discarded while it is written is gone all the same', async (room) => {
  const draft = await drafted(room, 1);
  const writes = [1, 2, 3].map(() => draft.write(PIECE));
  const discarded = draft.discard();
  const answers = await Promise.allSettled(writes);
  await discarded;
  assert.ok(answers.some(({ status }) => status === 'rejected'));
  assert.deepEqual(await unfinished(room.root), []);
  await assert.rejects(draft.write(PIECE), /already/);
});

const opening = Promise.withResolvers<void>();
const goOn = Promise.withResolvers<void>();
inRoom(
  'a draft whose file is being created when it is discarded does not leave it behind',
  async (room) => {
    const draft = await drafted(room, 1);
    const write = draft.write(PIECE);
    await opening.promise;
    const discarded = draft.discard();
    goOn.resolve();
    await Promise.allSettled([write, discarded]);
    assert.deepEqual(await unfinished(room.root), []);
  },
  {},
  {
    async openDraftFile(path) {
      opening.resolve();
      await goOn.promise;
      return open(path, 'wx');
    },
  },
);

inRoom('pieces that are not waited for come in order, and a put waits for them', async ({ store }) => {
  const draft = store.draft();
  const pieces = [1, 2, 3, 4].map((value) => Buffer.alloc(150_000, value));
  const writes = pieces.map((piece) => draft.write(piece));
  await store.put(KEY, draft, KEEP);
  await Promise.all(writes);
  assert.ok(Buffer.concat(pieces).equals((await store.get(KEY)) ?? new Uint8Array()));
});

inRoom('a draft outlives the folder of unfinished files being removed before it is large', async (room) => {
  const { root, store } = room;
  await store.put('job/a.pdf', PIECE, KEEP);
  const draft = await drafted(room, 1);
  await rm(join(root, '.tmp'), { recursive: true });
  await draft.write(PIECE);
  await store.put(KEY, draft, KEEP);
  assert.equal((await store.get(KEY))?.length, 400_000);
});

inRoom('a draft is placed in a job that is removed meanwhile', async (room) => {
  const { root, store } = room;
  await store.put('job/items/a/html.html', PIECE, KEEP);
  const draft = await drafted(room, 3);
  await rm(join(root, 'job'), { recursive: true });
  await store.put(KEY, draft, KEEP);
  assert.equal((await store.get(KEY))?.length, 600_000);
});

inRoom('a draft whose file was swept away is not put as something else', async (room) => {
  const { root, store } = room;
  const draft = await drafted(room, 3);
  await rm(join(root, '.tmp'), { recursive: true });
  await assert.rejects(store.put(KEY, draft, KEEP), { code: 'ENOENT' });
  assert.equal(await store.get(KEY), null);
});

inRoom('a draft is not put through a symbolic link', async (room) => {
  const { root, store } = room;
  await mkdir(join(root, 'outside'));
  await symlink(join(root, 'outside'), join(root, 'job'));
  await assert.rejects(store.put(KEY, await drafted(room, 3), KEEP), /symbolic link/);
  assert.deepEqual(await readdir(join(root, 'outside')), []);
  assert.deepEqual(await unfinished(root), []);
});

inRoom('the file of a draft whose process died is swept up when it is old', async (room) => {
  const { root, clock, store } = room;
  const draft = await drafted(room, 3);
  assert.equal(await store.sweep(), 0);
  const [name = ''] = await unfinished(root);
  const longAgo = clock.now() / 1000 - 7200;
  await utimes(join(root, '.tmp', name), longAgo, longAgo);
  assert.equal(await store.sweep(), 1);
  await draft.discard();
});

/** A disk with room for this many bytes in drafts. */
function smallDisk(room: number): OpenDraftFile {
  let left = room;
  return async (path) => {
    const handle = await open(path, 'wx');
    return {
      async appendFile(bytes) {
        left -= (bytes as Uint8Array).length;
        await handle.appendFile(bytes);
        if (left < 0) failing('ENOSPC')();
      },
      close: () => handle.close(),
    };
  };
}

inRoom(
  'a disk that is full in the middle of a draft is storage trouble, and the draft gives its room back',
  async (room) => {
    const draft = await drafted(room, 3);
    const isFull = (error: unknown) => error instanceof StorageTrouble && error.kind === 'full';
    await assert.rejects(draft.write(PIECE), isFull);
    assert.deepEqual(await unfinished(room.root), []);
    await assert.rejects(draft.write(PIECE), /no room/);
    await assert.rejects(room.store.put(KEY, draft, KEEP), /no room/);
    await draft.discard();
    assert.equal(await room.store.get(KEY), null);
  },
  {},
  { openDraftFile: smallDisk(700_000) },
);

inRoom(
  'a draft whose last piece found no room is not put without it',
  async (room) => {
    const draft = await drafted(room, 3);
    const write = assert.rejects(draft.write(PIECE), StorageTrouble);
    await assert.rejects(room.store.put(KEY, draft, KEEP), /no room/);
    await write;
    assert.equal(await room.store.get(KEY), null);
    assert.deepEqual(await unfinished(room.root), []);
  },
  {},
  { openDraftFile: smallDisk(700_000) },
);
