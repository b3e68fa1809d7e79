import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSafeKey } from '../../src/domain/artifact.ts';
import { failure } from '../../src/domain/failure.ts';
import { isManifestOf, itemManifest, itemManifestNames } from '../../src/domain/item-manifest.ts';
import { anyText, itemOf, NOW, sha256 } from './builders.ts';

const ENDED = { attempt: 2, tries: 1, startedAt: NOW, durationMs: 1500, end: 'success', failure: null } as const;

test('it says how the item ended, when, and where its files are', () => {
  const artifact = {
    key: 'j/items/a/data.json',
    size: 2,
    sha256: 'x',
    encoding: 'identity',
    contentType: 'x',
  } as const;
  const item = itemOf({
    itemId: 'a',
    status: 'success',
    attempts: [ENDED],
    artifacts: [{ kind: 'data', ...artifact }],
  });
  const made = itemManifest(item);
  assert.equal(made?.attempt, 2);
  assert.deepEqual(JSON.parse(made?.text ?? ''), {
    item_id: 'a',
    status: 'success',
    storage_keys: { data: 'j/items/a/data.json' },
    completed_at: new Date(NOW + 1500).toISOString(),
  });
  const failed = { ...ENDED, end: 'failed', failure: failure('timeout', 'slow') } as const;
  const other = itemManifest(itemOf({ status: 'failed', attempts: [failed] }));
  assert.partialDeepStrictEqual(JSON.parse(other?.text ?? ''), { status: 'error', storage_keys: {} });
});

test('a file that is a slice has its offset, length and encoding beside its key', () => {
  const about = { key: 'j/segments/1', size: 2, sha256: 'x', encoding: 'gzip', contentType: 'x' } as const;
  const artifacts = [{ kind: 'html', ...about, offset: 7, length: 30 } as const, { kind: 'data', ...about } as const];
  const made = itemManifest(itemOf({ status: 'success', attempts: [ENDED], artifacts }));
  assert.partialDeepStrictEqual(JSON.parse(made?.text ?? ''), {
    storage_keys: { html: 'j/segments/1', data: 'j/segments/1' },
    storage_slices: { html: { offset: 7, length: 30, encoding: 'gzip' } },
  });
});

test('an item without an end of its own has none', () => {
  for (const status of ['pending', 'queued', 'in_progress', 'skipped', 'cancelled'] as const) {
    assert.equal(itemManifest(itemOf({ status, attempts: [ENDED] })), null, status);
  }
});

test('its name is the id where that is a safe file name, and a second name is only its own', () => {
  const [plain, apart] = itemManifestNames('503-51-079A', sha256);
  assert.equal(plain, 'manifests/items/503-51-079A.json');
  assert.match(apart, /^manifests\/items\/503-51-079a~[0-9a-f]{32}\.json$/);
  for (const id of ['a/b', 'é', 'con', 'x'.repeat(100)]) {
    const [first, second] = itemManifestNames(id, sha256);
    assert.equal(first, second, id);
  }
});

test('whatever the ids are, names are safe keys and no two items share one', () => {
  fc.assert(
    fc.property(anyText(150), anyText(150), (one, other) => {
      fc.pre(one !== other);
      const [first, firstApart] = itemManifestNames(one, sha256);
      const [second, secondApart] = itemManifestNames(other, sha256);
      for (const name of [first, firstApart, second, secondApart]) assert.ok(isSafeKey(name), name);
      assert.notEqual(first, second);
      assert.notEqual(firstApart.toLowerCase(), secondApart.toLowerCase());
      // No item's own name is a name of another item, on any disk.
      assert.notEqual(first.toLowerCase(), secondApart.toLowerCase());
    }),
  );
});

test('a manifest belongs to the item that it names, and one that cannot be read may belong to any item', () => {
  assert.ok(isManifestOf('{"item_id":"a"}', 'a'));
  assert.ok(!isManifestOf('{"item_id":"A"}', 'a'));
  for (const torn of ['', '{"item_', 'null', '[]', '7']) assert.ok(isManifestOf(torn, 'a'), torn);
});
