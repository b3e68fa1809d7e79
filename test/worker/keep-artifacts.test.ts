import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileResultStore } from '../../src/adapters/embedded/result-store.ts';
import type { StoredArtifact } from '../../src/domain/artifact.ts';
import { KeyTaken, type ResultStore } from '../../src/ports/result-store.ts';
import type { ProducedArtifact } from '../../src/scraping/scraper.ts';
import { keepArtifacts } from '../../src/worker/keep-artifacts.ts';
import { sha256 } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FoldingStore } from '../support/folding-store.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';

const AT = { jobId: 'job-1', itemId: '101', attempt: 1 };

function page(text: string): readonly ProducedArtifact[] {
  const bytes = new TextEncoder().encode(text);
  return [
    { kind: 'html', bytes, contentType: 'text/html', extension: 'html' },
    { kind: 'data', bytes: new TextEncoder().encode('{}'), contentType: 'application/json', extension: 'json' },
  ];
}

function keeper(store: ResultStore) {
  const clock = new FakeClock();
  return (at: Partial<typeof AT>, artifacts: readonly ProducedArtifact[]) =>
    keepArtifacts({ store, clock, digest: sha256 }, { ...AT, ...at }, artifacts);
}

async function textOf(store: ResultStore, { key }: StoredArtifact): Promise<string> {
  return new TextDecoder().decode((await store.get(key)) ?? undefined);
}

function foldersOf(kept: readonly StoredArtifact[]): string[] {
  return [...new Set(kept.map(({ key }) => key.slice(0, key.lastIndexOf('/'))))];
}

test('an attempt that finds other bytes under its key is kept whole in a folder of its own', async () => {
  const store = openMemoryResultStore();
  const keep = keeper(store);
  const first = await keep({}, page('as it was'));
  assert.deepEqual(foldersOf(first), ['job-1/items/101']);
  const again = await keep({}, page('as it is now'));
  assert.equal(foldersOf(again).length, 1);
  assert.match(foldersOf(again)[0] ?? '', /^job-1\/items\/101\/attempt-1-[0-9a-f]{16}$/);
  assert.deepEqual(
    again.map(({ kind }) => kind),
    ['html', 'data'],
  );
  assert.equal(await textOf(store, first[0] as StoredArtifact), 'as it was');
  assert.equal(await textOf(store, again[0] as StoredArtifact), 'as it is now');
  const third = await keep({}, page('as it will be'));
  assert.notDeepEqual(foldersOf(third), foldersOf(again));
  assert.equal(await store.removeAll('job-1/'), 6);
});

test('the same bytes under the same key are not a reason for another folder', async () => {
  const keep = keeper(openMemoryResultStore());
  assert.deepEqual(await keep({}, page('same')), await keep({}, page('same')));
});

test('a document that was drafted follows the page into the other folder, whatever its size', async () => {
  const root = await mkdtemp(join(tmpdir(), 'trawl-keep-'));
  try {
    const store = await openFileResultStore(root, { clock: new FakeClock() });
    const keep = keeper(store);
    for (const size of [10, 600_000]) {
      const body = new Uint8Array(size).fill(7);
      const withDocument = async (text: string): Promise<readonly ProducedArtifact[]> => {
        const draft = store.draft();
        await draft.write(body);
        // The document is new when the page turns out to be taken.
        return [
          { kind: 'document', bytes: draft, contentType: 'application/pdf', extension: `pdf${text.length}` },
          ...page(text),
        ];
      };
      await keep({ itemId: `of-${size}` }, await withDocument('one'));
      const again = await keep({ itemId: `of-${size}` }, await withDocument('another'));
      assert.equal(foldersOf(again).length, 1);
      assert.match(foldersOf(again)[0] ?? '', /attempt-1-/);
      const [document] = again;
      assert.deepEqual(await store.get(document?.key ?? ''), Buffer.from(body));
    }
    assert.equal(await store.sweep(), 0);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test('two ids that differ only in case keep apart what is theirs, also on a disk that folds case', async () => {
  for (const store of [openMemoryResultStore(), new FoldingStore(openMemoryResultStore())]) {
    const keep = keeper(store);
    const upper = await keep({ itemId: '503-51-079A' }, page('the parcel with a letter'));
    const lower = await keep({ itemId: '503-51-079a' }, page('another parcel'));
    assert.deepEqual(foldersOf(upper), ['job-1/items/503-51-079A']);
    assert.match(foldersOf(lower)[0] ?? '', /^job-1\/items\/503-51-079a(\/attempt-1-[0-9a-f]{16})?$/);
    assert.equal(await textOf(store, upper[0] as StoredArtifact), 'the parcel with a letter');
    assert.equal(await textOf(store, lower[0] as StoredArtifact), 'another parcel');
  }
});

test('a store that has other bytes under every key is an error, not an endless search', async () => {
  let puts = 0;
  const store = openMemoryResultStore();
  store.putAll = async ([first]) => {
    puts += 1;
    throw new KeyTaken(first?.key ?? '');
  };
  await assert.rejects(keeper(store)({}, page('x')), KeyTaken);
  assert.equal(puts, 4);
});
