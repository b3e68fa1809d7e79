import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as nodeDisk from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Disk, type FileResultStore, openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { KeyTaken, type PutOptions } from '../../src/ports/result-store.ts';
import { StorageTrouble } from '../../src/ports/storage-trouble.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { failing, inRoom, unfinished } from './files-room.ts';

const KEEP: PutOptions = { contentType: 'text/html', encoding: 'identity', ifTaken: 'keep' };
const PACKED: PutOptions = { ...KEEP, encoding: 'gzip' };
const REPLACE: PutOptions = { ...KEEP, ifTaken: 'replace' };

const HTML = new TextEncoder().encode('<p>parcel</p>'.repeat(500));
const OTHER = new TextEncoder().encode('<p>another</p>');

inRoom(
  'packed bytes are stored under their key and .gz, as the layout says, and come back unpacked',
  async ({ root, store }) => {
    const stored = await store.put('job-1/items/a/html.html', HTML, PACKED);
    assert.equal(stored.size, HTML.byteLength);
    assert.deepEqual(await readdir(join(root, 'job-1/items/a')), ['html.html.gz']);
    const file = await readFile(join(root, 'job-1/items/a/html.html.gz'));
    assert.deepEqual(new Uint8Array(gunzipSync(file)), HTML);
    assert.deepEqual(new Uint8Array((await store.get('job-1/items/a/html.html')) ?? []), HTML);
  },
);

inRoom('nothing is left beside what was stored', async ({ root, store }) => {
  await store.put('j/a.html', HTML, PACKED);
  await store.put('j/a.html', HTML, PACKED);
  await store.put('j/b.json', HTML, REPLACE);
  await assert.rejects(store.put('j/a.html', OTHER, KEEP), KeyTaken);
  assert.deepEqual(await unfinished(root), []);
  assert.deepEqual((await readdir(join(root, 'j'))).sort(), ['a.html.gz', 'b.json']);
});

inRoom('a key is taken whichever way its bytes are kept', async ({ store }) => {
  await store.put('j/a.html', HTML, PACKED);
  await assert.rejects(store.put('j/a.html', OTHER, KEEP), KeyTaken);
  const again = await store.put('j/a.html', HTML, KEEP);
  assert.equal(again.encoding, 'gzip', 'the answer tells of the bytes that are there');
});

test('where bytes are stored in one encoding, those of the other do not appear even for a moment', async () => {
  const root = await mkdtemp(join(tmpdir(), 'trawl-files-'));
  try {
    const disk = { ...nodeDisk };
    const store = await openFileResultStore(root, { clock: new FakeClock(), disk });
    await store.put('j/a.html', HTML, PACKED);
    disk.linkSync = failing('EIO');
    await assert.rejects(store.put('j/a.html', OTHER, KEEP), KeyTaken);
  } finally {
    await rm(root, { recursive: true });
  }
});

inRoom('a key that ends in .gz and a packed key do not meet', async ({ store }) => {
  await store.put('j/doc', HTML, PACKED);
  await store.put('j/doc.gz', OTHER, KEEP);
  assert.deepEqual(new Uint8Array((await store.get('j/doc')) ?? []), HTML);
  assert.deepEqual(new Uint8Array((await store.get('j/doc.gz')) ?? []), OTHER);
});

inRoom('replacing may change how bytes are kept, and leaves one file', async ({ root, store }) => {
  for (const encoding of ['gzip', 'identity', 'gzip'] as const) {
    await store.put('j/a.json', encoding === 'gzip' ? HTML : OTHER, { ...REPLACE, encoding });
    assert.equal((await readdir(join(root, 'j'))).length, 1);
  }
  assert.deepEqual(new Uint8Array((await store.get('j/a.json')) ?? []), HTML);
});

inRoom('of many writers at once one wins, and the bytes are whole', async ({ store }) => {
  const bodies = Array.from({ length: 16 }, (_, index) => new Uint8Array(50_000).fill(index));
  const puts = bodies.map((body, index) => store.put('j/a.bin', body, index % 2 ? KEEP : PACKED));
  const ends = await Promise.allSettled(puts);
  const winners = ends.flatMap((end, index) => (end.status === 'fulfilled' ? [index] : []));
  assert.equal(winners.length, 1);
  assert.deepEqual(new Uint8Array((await store.get('j/a.bin')) ?? []), bodies[winners[0] ?? -1]);
  for (const end of ends) if (end.status === 'rejected') assert.ok(end.reason instanceof KeyTaken, String(end.reason));
});

inRoom('a reader of what is being replaced sees the old bytes or the new, whole', async ({ store }) => {
  const bodies = [new Uint8Array(100_000).fill(1), new Uint8Array(100_000).fill(2)] as const;
  await store.put('j/a.bin', bodies[0], REPLACE);
  let isWriting = true;
  const writing = (async () => {
    for (let round = 0; round < 40; round += 1) {
      await store.put('j/a.bin', bodies[(round % 2) as 0 | 1], {
        ...REPLACE,
        encoding: round % 3 ? 'gzip' : 'identity',
      });
    }
    isWriting = false;
  })();
  while (isWriting) {
    const seen = await store.get('j/a.bin');
    assert.equal(seen?.length, 100_000);
    assert.ok(seen.every((byte) => byte === seen[0]));
  }
  await writing;
});

const OVERWRITE: PutOptions = { ...KEEP, ifTaken: 'overwrite' };

inRoom(
  'bytes that their readers check are written under their own name, without another and a rename',
  async (room) => {
    const { store, disk, root } = room;
    await store.put('j/first', HTML, OVERWRITE);
    disk.renameSync = failing('EIO');
    await store.put('j/second', HTML, OVERWRITE);
    assert.deepEqual(new Uint8Array(await readFile(join(root, 'j/second'))), HTML);
  },
);

inRoom('what a crash left of them is replaced, and so is what another process wrote', async ({ root, store }) => {
  await store.put('j/first', HTML, OVERWRITE);
  for (const torn of ['', '<p>par', '\0'.repeat(10)]) {
    await writeFile(join(root, 'j/second'), torn);
    await store.put('j/second', HTML, OVERWRITE);
    assert.deepEqual(new Uint8Array((await store.get('j/second')) ?? []), HTML);
  }
  assert.deepEqual(await unfinished(root), []);
});

inRoom('on a full disk nothing is left of them', async ({ root, store, disk }) => {
  await store.put('j/first', HTML, OVERWRITE);
  disk.writeFileSync = (path, bytes, options) => {
    nodeDisk.writeFileSync(path, (bytes as Uint8Array).subarray(0, 10), options);
    failing('ENOSPC')();
  };
  await assert.rejects(store.put('j/second', HTML, OVERWRITE), StorageTrouble);
  assert.deepEqual(await readdir(join(root, 'j')), ['first']);
});

inRoom('a folder that another process removed is created again for them', async ({ root, store }) => {
  await store.put('j/first', HTML, OVERWRITE);
  await rm(join(root, 'j'), { recursive: true });
  await store.put('j/second', HTML, OVERWRITE);
  assert.deepEqual(await readdir(join(root, 'j')), ['second']);
});

for (const key of [
  '',
  '/etc/passwd',
  '../a',
  'a/../../b',
  'a//b',
  'a/./b',
  'a\\b',
  'a\0b',
  'A/NUL',
  '.tmp/x',
  'a/',
  'ä',
]) {
  inRoom(`${JSON.stringify(key)} is refused as a key and nothing is written`, async ({ root, store }) => {
    await assert.rejects(store.put(key, HTML, KEEP), /safe segments/);
    await assert.rejects(store.get(key), /safe segments/);
    assert.deepEqual(await readdir(root), ['.store']);
  });
}

inRoom('a folder that is a symbolic link is not passed through', async ({ root, store }) => {
  const outside = await mkdtemp(join(tmpdir(), 'trawl-outside-'));
  try {
    await writeFile(join(outside, 'secret.html'), 'secret');
    await symlink(outside, join(root, 'job'));
    await assert.rejects(store.put('job/a.html', HTML, KEEP), /not a folder/);
    await assert.rejects(store.get('job/secret.html'), /not a folder/);
    await assert.rejects(store.removeAll('job/'), /not a folder/);
    assert.deepEqual(await readdir(outside), ['secret.html']);
  } finally {
    await rm(outside, { recursive: true });
  }
});

inRoom('a file that is a symbolic link is neither read nor written through', async ({ root, store }) => {
  const outside = join(root, 'outside');
  await writeFile(outside, 'secret');
  await mkdir(join(root, 'job'));
  await symlink(outside, join(root, 'job/a.html'));
  await assert.rejects(store.get('job/a.html'), /damaged/);
  await assert.rejects(store.put('job/a.html', HTML, KEEP), KeyTaken);
  await store.put('job/a.html', HTML, REPLACE);
  assert.equal(await readFile(outside, 'utf8'), 'secret');
  assert.deepEqual(new Uint8Array((await store.get('job/a.html')) ?? []), HTML);
});

inRoom('removing a job counts its keys and does not follow links out of it', async ({ root, store }) => {
  const outside = join(root, 'outside');
  await writeFile(outside, 'stays');
  for (let item = 0; item < 100; item += 1) await store.put(`job/items/i-${item}/html.html`, OTHER, KEEP);
  await store.put('job-2/items/i/html.html', OTHER, KEEP);
  assert.equal(await store.removeAll('job/'), 100);
  assert.equal(await store.removeAll('job/'), 0);
  assert.equal(await store.get('job/items/i-1/html.html'), null);
  assert.notEqual(await store.get('job-2/items/i/html.html'), null);
  await mkdir(join(root, 'job-3'));
  await symlink(outside, join(root, 'job-3/link'));
  await store.removeAll('job-3/');
  assert.equal(await readFile(outside, 'utf8'), 'stays');
});

inRoom('a folder removed by another process is created again', async ({ root, store }) => {
  await store.put('job/items/a/html.html', OTHER, KEEP);
  await rm(join(root, 'job'), { recursive: true });
  await store.put('job/items/a/data.json', OTHER, KEEP);
  assert.deepEqual(new Uint8Array((await store.get('job/items/a/data.json')) ?? []), OTHER);
});

for (const [code, kind] of [
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['EIO', 'io'],
  ['EROFS', 'io'],
] as const) {
  for (const call of ['writeFileSync', 'linkSync', 'mkdirSync'] as const) {
    test(`${code} from ${call} is storage trouble (${kind}), and nothing half-written stays`, async () => {
      const root = await mkdtemp(join(tmpdir(), 'trawl-files-'));
      try {
        const disk = { ...nodeDisk };
        const store = await openFileResultStore(root, { clock: new FakeClock(), disk });
        await store.put('before/a.html', OTHER, KEEP);
        disk[call] = failing(code);
        const trouble = { name: 'StorageTrouble', kind };
        await assert.rejects(store.put('job/a.html', HTML, KEEP), trouble);
        Object.assign(disk, nodeDisk);
        assert.deepEqual(await unfinished(root), []);
        assert.equal(await store.get('job/a.html'), null);
        await store.put('job/a.html', HTML, KEEP);
        assert.deepEqual(new Uint8Array((await store.get('job/a.html')) ?? []), HTML);
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    });
  }
}

/** Has room for half a file. */
const fullDisk: Disk['writeFileSync'] = (file, bytes, how) => {
  nodeDisk.writeFileSync(file, (bytes as Uint8Array).subarray(0, 1000), how);
  failing('ENOSPC')();
};

inRoom(
  'a disk that is full in the middle of a file leaves neither the file nor an unfinished one',
  async ({ root, store }) => {
    await assert.rejects(store.put('job/a.html', HTML, KEEP), (error) => error instanceof StorageTrouble);
    await assert.rejects(store.probe(), (error) => error instanceof StorageTrouble && error.kind === 'full');
    assert.deepEqual(await unfinished(root), []);
    assert.equal(await store.get('job/a.html'), null);
  },
  { writeFileSync: fullDisk },
);

inRoom('a probe of a sound disk leaves nothing behind', async ({ root, store }) => {
  await store.probe();
  assert.deepEqual(await unfinished(root), []);
});

inRoom(
  'a disk without links keeps the first bytes too',
  async ({ store }) => {
    await store.put('j/a.html', HTML, KEEP);
    await assert.rejects(store.put('j/a.html', OTHER, KEEP), KeyTaken);
    assert.deepEqual(new Uint8Array((await store.get('j/a.html')) ?? []), HTML);
  },
  { linkSync: failing('EPERM') },
);

async function storedArtifact(store: FileResultStore, how: PutOptions): Promise<StoredArtifact> {
  const stored = await store.put('job/a.html', HTML, how);
  return { kind: 'html', contentType: how.contentType, ...stored };
}

for (const how of [KEEP, PACKED]) {
  inRoom(
    `bytes kept as ${how.encoding} that are short, empty, changed or gone are detected`,
    async ({ root, store }) => {
      const artifact = await storedArtifact(store, how);
      const file = join(root, how.encoding === 'gzip' ? 'job/a.html.gz' : 'job/a.html');
      const whole = await readFile(file);
      assert.equal(await store.check(artifact), true);
      assert.equal(await store.check({ ...artifact, sha256: '0'.repeat(64) }), false);
      for (const length of [whole.length - 1, 10, 0]) {
        await truncate(file, length);
        assert.equal(await store.check(artifact), false, `${length} bytes`);
      }
      await writeFile(file, Buffer.alloc(whole.length));
      assert.equal(await store.check(artifact), false, 'zeros');
      await rm(file);
      assert.equal(await store.check(artifact), false, 'gone');
      await writeFile(file, whole);
      assert.equal(await store.check(artifact), true);
    },
  );
}

inRoom('damaged bytes are never handed out, nor written over', async ({ root, store }) => {
  await store.put('job/a.html', HTML, PACKED);
  await truncate(join(root, 'job/a.html.gz'), 20);
  await assert.rejects(store.get('job/a.html'), /damaged/);
  await assert.rejects(store.put('job/a.html', HTML, PACKED), KeyTaken);
});

inRoom('what a dead process left unfinished is swept up, and what is young is not', async ({ root, clock, store }) => {
  await store.put('job/a.html', HTML, KEEP);
  await writeFile(join(root, '.tmp/old'), 'half');
  await writeFile(join(root, '.tmp/young'), 'half');
  const longAgo = clock.now() / 1000 - 7200;
  await utimes(join(root, '.tmp/old'), longAgo, longAgo);
  assert.equal(await store.sweep(), 1);
  assert.deepEqual(await unfinished(root), ['young']);
  assert.notEqual(await store.get('job/a.html'), null);
});

inRoom(
  'the empty folder of a process is swept up when it is old, and created again by one that was idle',
  async (room) => {
    const { root, clock, store } = room;
    await store.put('job/a.html', HTML, KEEP);
    const [own = ''] = await readdir(join(root, '.tmp'));
    await mkdir(join(root, '.tmp/dead'));
    await mkdir(join(root, '.tmp/young'));
    const longAgo = clock.now() / 1000 - 7200;
    for (const name of [own, 'dead']) await utimes(join(root, '.tmp', name), longAgo, longAgo);
    assert.equal(await store.sweep(), 0, 'none of them held anything');
    assert.deepEqual(await readdir(join(root, '.tmp')), ['young']);
    await store.put('job/b.html', HTML, KEEP);
    assert.deepEqual((await readdir(join(root, '.tmp'))).sort(), [own, 'young'].sort());
  },
);

inRoom('leftovers are swept again and again while the store is open', async ({ root, clock, store }) => {
  await store.put('job/a.html', HTML, KEEP);
  const stop = new AbortController();
  const errors: unknown[] = [];
  const sweeping = store.sweepEvery(60_000, stop.signal, (error) => errors.push(error));
  for (const name of ['first', 'second']) {
    await writeFile(join(root, '.tmp', name), 'half');
    const longAgo = clock.now() / 1000 - 7200;
    await utimes(join(root, '.tmp', name), longAgo, longAgo);
    await clock.advance(60_000);
    // It sleeps again once it has swept everything.
    while (clock.sleepers === 0) await clock.turn();
    assert.deepEqual(await unfinished(root), []);
  }
  stop.abort();
  await sweeping;
  assert.deepEqual(errors, []);
});

inRoom('a clock that is set forward makes nothing old that is being written', async ({ root, clock, store }) => {
  await store.put('job/a.html', HTML, KEEP);
  await writeFile(join(root, '.tmp/young'), 'half');
  clock.jump(3 * 3_600_000);
  assert.equal(await store.sweep(), 0);
  await clock.advance(2 * 3_600_000);
  assert.equal(await store.sweep(), 1);
});

inRoom('a sweep of a store that nothing was put in finds nothing', async ({ store }) => {
  assert.equal(await store.sweep(), 0);
});

inRoom('a process killed while it stores leaves every file whole or not there', async ({ root, store }) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'files-writer.ts'), root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const keys = (await readdir(join(root, 'job'))).map((name) => `job/${name.replace(/\.gz$/, '')}`);
  assert.ok(keys.length > 0);
  for (const key of keys) {
    const body = await store.get(key);
    assert.equal(body?.length, 200_000, key);
  }
});
