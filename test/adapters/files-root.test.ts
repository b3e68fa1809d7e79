import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { PutOptions } from '../../src/ports/result-store.ts';
import { sha256 } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

const HOW: PutOptions = { contentType: 'text/plain', encoding: 'identity', ifTaken: 'keep' };
const BODY = new TextEncoder().encode('body');
const ARTIFACT = { kind: 'data', key: 'job/a', size: 4, sha256: sha256('body'), ...HOW } as const;
const clock = new FakeClock();
const TROUBLE = { name: 'StorageTrouble', message: /results .*(is missing|is not the folder)/ };

/** A data directory with a store in it that holds one result. */
async function setUp() {
  const dataDir = await mkdtemp(join(tmpdir(), 'trawl-root-'));
  after(() => rm(dataDir, { recursive: true, force: true }));
  const root = join(dataDir, 'results');
  const away = join(dataDir, 'away');
  const opening = { as: 'owner', noteFile: join(dataDir, 'results-id') } as const;
  const open = () => openFileResultStore(root, { clock, opening });
  const store = await open();
  await store.put('job/a', BODY, HOW);
  return { dataDir, root, away, opening, open, store };
}

/** Whatever is asked of it: writing, reading, removing, probing. */
async function assertTrouble(store: Awaited<ReturnType<typeof openFileResultStore>>) {
  const draft = store.draft();
  const asked: Record<string, () => Promise<unknown>> = {
    put: () => store.put('job/b', BODY, HOW),
    putAll: () => store.putAll([{ key: 'other/b', body: BODY, ...HOW }]),
    draft: () => draft.write(new Uint8Array(1_000_000)),
    get: () => store.get('job/a'),
    open: () => store.open('job/a', null),
    removeAll: () => store.removeAll('job/'),
    check: () => store.check(ARTIFACT),
    probe: () => store.probe(),
  };
  for (const [name, ask] of Object.entries(asked)) await assert.rejects(ask(), TROUBLE, name);
}

test('without its folder a store is in trouble, does not make another, and is well when the folder is back', async () => {
  const { root, away, store } = await setUp();
  await rename(root, away);
  await assertTrouble(store);
  assert.equal(existsSync(root), false);
  await rename(away, root);
  await store.put('job/b', BODY, HOW);
  assert.deepEqual(await store.get('job/a'), Buffer.from(BODY));
  assert.equal(await store.get('job/c'), null, 'what is not there is no trouble');
});

test('a folder in its place, like a mount point without its disk, gets nothing', async () => {
  const { root, away, store } = await setUp();
  await rename(root, away);
  await mkdir(root);
  await assertTrouble(store);
  assert.deepEqual(await readdir(root), []);
  await mkdir(join(root, '.tmp/of-another-process'), { recursive: true });
  await assertTrouble(store);
  assert.deepEqual(await readdir(join(root, '.tmp')), ['of-another-process']);
  await rm(join(root, '.tmp'), { recursive: true });
  await rmdir(root);
  await rename(away, root);
  assert.ok(await store.get('job/a'));
});

test('a file in its place is trouble, too', async () => {
  const { root, away, store } = await setUp();
  await rename(root, away);
  await writeFile(root, '');
  await assertTrouble(store);
});

test('a folder with other numbers but the same mark is the store: its disk was mounted again', async () => {
  const { root, away, store } = await setUp();
  await rename(root, away);
  await cp(away, root, { recursive: true });
  assert.ok(await store.get('job/a'));
  await store.put('job/b', BODY, HOW);
});

test('a store whose disk is not mounted when its owner starts waits for it', async () => {
  const { root, away, open } = await setUp();
  await rename(root, away);
  const waiting = await open();
  await assertTrouble(waiting);
  assert.equal(existsSync(root), false);
  await mkdir(root);
  const beside = await open();
  await assertTrouble(beside);
  assert.deepEqual(await readdir(root), []);
  await rmdir(root);
  await rename(away, root);
  for (const store of [waiting, beside]) assert.ok(await store.get('job/a'));
});

test('an older store, and one restored from a backup without its mark, are taken as they are', async () => {
  const { root, opening, open } = await setUp();
  const before = await readFile(opening.noteFile, 'utf8');
  await rm(join(root, '.store'));
  const store = await open();
  assert.ok(await store.get('job/a'));
  assert.notEqual(await readFile(opening.noteFile, 'utf8'), before);
  await rm(opening.noteFile);
  assert.ok(await (await open()).get('job/a'));
});

test('a guest creates nothing, and cannot open a store that is not there', async () => {
  const { root, away, store } = await setUp();
  const guest = await openFileResultStore(root, { clock, opening: { as: 'guest' } });
  await guest.put('job/b', BODY, HOW);
  assert.ok(await store.get('job/b'));
  await rename(root, away);
  await assertTrouble(guest);
  const late = openFileResultStore(root, { clock, opening: { as: 'guest' } });
  await assert.rejects(late, { name: 'StorageTrouble', message: /cannot open the result store .*: it is missing/ });
  assert.equal(existsSync(root), false);
  await mkdir(root);
  const beside = openFileResultStore(root, { clock, opening: { as: 'guest' } });
  await assert.rejects(beside, { name: 'StorageTrouble', message: /is empty/ });
  assert.deepEqual(await readdir(root), []);
});
