import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as nodeDisk from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import { KeyTaken, type Put } from '../../src/ports/result-store.ts';
import { failing, inRoom, unfinished } from './files-room.ts';

const PAGE = new TextEncoder().encode('<p>parcel</p>'.repeat(500));

function itemPuts(folder = 'job/items/a', data = '{}'): Put[] {
  const how = { contentType: 'x', ifTaken: 'keep' as const };
  return [
    { ...how, key: `${folder}/html.html`, body: PAGE, encoding: 'gzip' },
    { ...how, key: `${folder}/data.json`, body: new TextEncoder().encode(data), encoding: 'identity' },
  ];
}

async function contentOf(root: string, file: string): Promise<string> {
  return readFile(join(root, file), 'utf8');
}

inRoom('the files of a new folder appear at once, and no other user may read them', async ({ root, store, disk }) => {
  const calls: string[] = [];
  disk.linkSync = failing('EIO');
  disk.renameSync = (from, to) => {
    calls.push(String(to));
    nodeDisk.renameSync(from, to);
  };
  await store.putAll(itemPuts());
  assert.deepEqual(calls, [join(root, 'job/items/a')]);
  assert.deepEqual((await readdir(join(root, 'job/items/a'))).sort(), ['data.json', 'html.html.gz']);
  assert.deepEqual(await unfinished(root), []);
  for (const [path, mode] of [
    ['job', 0o700],
    ['job/items/a', 0o700],
    ['job/items/a/data.json', 0o600],
    ['job/items/a/html.html.gz', 0o600],
  ] as const) {
    assert.equal((await stat(join(root, path))).mode & 0o777, mode, path);
  }
});

inRoom('a folder that is there and empty is filled, one with files is added to', async ({ root, store }) => {
  await mkdir(join(root, 'job/items/a'), { recursive: true });
  await mkdir(join(root, 'job/items/b'));
  await writeFile(join(root, 'job/items/b/other'), 'stays');
  await store.putAll(itemPuts('job/items/a'));
  await store.putAll(itemPuts('job/items/b'));
  assert.deepEqual(await readdir(join(root, 'job/items/a')), ['data.json', 'html.html.gz']);
  assert.deepEqual((await readdir(join(root, 'job/items/b'))).sort(), ['data.json', 'html.html.gz', 'other']);
  assert.deepEqual(await unfinished(root), []);
});

inRoom('a second process neither doubles nor replaces what the first has put', async ({ root, clock, store }) => {
  const other = await openFileResultStore(root, { clock });
  const first = await store.putAll(itemPuts());
  assert.deepEqual(await other.putAll(itemPuts()), first);
  await assert.rejects(other.putAll(itemPuts('job/items/a', '[]')), KeyTaken);
  assert.equal(await contentOf(root, 'job/items/a/data.json'), '{}');
  assert.deepEqual(await unfinished(root), []);
});

inRoom('a folder that is a symbolic link is not written through', async ({ root, store }) => {
  const outside = await mkdtemp(join(tmpdir(), 'trawl-outside-'));
  try {
    await mkdir(join(root, 'job/items'), { recursive: true });
    await symlink(outside, join(root, 'job/items/a'));
    await symlink(outside, join(root, 'job-2'));
    await assert.rejects(store.putAll(itemPuts('job/items/a')), /symbolic link/);
    await assert.rejects(store.putAll(itemPuts('job-2/items/a')), /symbolic link/);
    assert.deepEqual(await readdir(outside), []);
    assert.deepEqual(await unfinished(root), []);
  } finally {
    await rm(outside, { recursive: true });
  }
});

inRoom('a file where the folder should be is left alone, and reported', async ({ root, store }) => {
  await mkdir(join(root, 'job/items'), { recursive: true });
  await writeFile(join(root, 'job/items/a'), 'a file');
  await assert.rejects(store.putAll(itemPuts()), /not a folder/);
  assert.equal(await contentOf(root, 'job/items/a'), 'a file');
  assert.deepEqual(await unfinished(root), []);
});

inRoom('a job that is removed while its item is put is there again, whole', async ({ root, store, disk }) => {
  await store.putAll(itemPuts('job/items/before'));
  let removals = 0;
  disk.renameSync = (from, to) => {
    removals += 1;
    if (removals === 1) nodeDisk.rmSync(join(root, 'job'), { recursive: true });
    nodeDisk.renameSync(from, to);
  };
  await store.putAll(itemPuts());
  assert.equal(removals, 2);
  assert.deepEqual(await readdir(join(root, 'job/items')), ['a']);
  assert.deepEqual(await readdir(join(root, 'job/items/a')), ['data.json', 'html.html.gz']);
  assert.deepEqual(await unfinished(root), []);
});

inRoom('what is unfinished may be swept away meanwhile, and is written again', async ({ root, store, disk }) => {
  let writes = 0;
  disk.writeFileSync = (...args) => {
    writes += 1;
    if (writes === 2) nodeDisk.rmSync(join(root, '.tmp'), { recursive: true });
    nodeDisk.writeFileSync(...args);
  };
  await store.putAll(itemPuts());
  assert.deepEqual(await readdir(join(root, 'job/items/a')), ['data.json', 'html.html.gz']);
  assert.deepEqual(await unfinished(root), []);
});

inRoom(
  'a file system that cannot move folders gets the files one by one',
  async ({ root, store }) => {
    const stored = await store.putAll(itemPuts());
    assert.deepEqual(await store.putAll(itemPuts()), stored);
    assert.deepEqual((await readdir(join(root, 'job/items/a'))).sort(), ['data.json', 'html.html.gz']);
    assert.deepEqual(await unfinished(root), []);
  },
  { renameSync: failing('EXDEV') },
);

inRoom(
  'a writer that finds folders gone again and again gives up',
  async ({ store }) => {
    await assert.rejects(store.putAll(itemPuts()), { code: 'ENOENT' });
  },
  { renameSync: failing('ENOENT') },
);

for (const call of ['writeFileSync', 'renameSync', 'mkdirSync'] as const) {
  const title = `ENOSPC from ${call} in the middle leaves nothing of the folder, and goes again later`;
  inRoom(title, async ({ root, store, disk }) => {
    await store.putAll(itemPuts('job/items/before'));
    const sound = { ...disk };
    let calls = 0;
    Object.assign(disk, {
      [call]: (...args: unknown[]) => {
        calls += 1;
        if (call !== 'writeFileSync' || calls === 2) failing('ENOSPC')();
        return Reflect.apply(sound[call], disk, args);
      },
    });
    await assert.rejects(store.putAll(itemPuts()), { name: 'StorageTrouble', kind: 'full' });
    Object.assign(disk, sound);
    assert.deepEqual(await unfinished(root), []);
    assert.deepEqual(await readdir(join(root, 'job/items')), ['before']);
    await store.putAll(itemPuts());
    assert.equal(await contentOf(root, 'job/items/a/data.json'), '{}');
  });
}

inRoom('a folder that a dead process left unfinished is swept up, and a young one is not', async (room) => {
  const { root, clock, store } = room;
  await store.putAll(itemPuts());
  for (const name of ['old', 'young']) {
    await mkdir(join(root, '.tmp/dead', name), { recursive: true });
    await writeFile(join(root, '.tmp/dead', name, 'data.json'), 'half');
  }
  const longAgo = clock.now() / 1000 - 7200;
  await utimes(join(root, '.tmp/dead/old'), longAgo, longAgo);
  assert.equal(await store.sweep(), 1);
  assert.deepEqual(await unfinished(root), ['dead/young']);
  assert.equal(await contentOf(root, 'job/items/a/data.json'), '{}');
});

inRoom('a process killed while it puts items leaves each with all its files or none', async ({ root, store }) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'files-writer.ts'), root, 'together'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const items = await readdir(join(root, 'job/items'));
  assert.ok(items.length > 0);
  for (const item of items) {
    for (const name of ['html.html', 'data.json', 'document.bin']) {
      assert.equal((await store.get(`job/items/${item}/${name}`))?.length, 200_000, `${item}/${name}`);
    }
  }
});
