import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type ByteRange, type ResultAddress, SliceBeyondEnd } from '../../../src/domain/result-address.ts';
import type { ResultStore } from '../../../src/ports/result-store.ts';
import type { AddCase } from '../suite.ts';
import { bytes, KEEP, KEY, noise, REPLACE, same, sha256 } from './bytes.ts';
import type { StoreParts } from './open-cases.ts';

/** What the port promises of slices: many artifacts in one object. */
export function sliceCases(add: AddCase<StoreParts>): void {
  add('what a put answers is an address to read by', async ({ store }) => {
    const stored = await store.put(KEY, bytes('<p>'), { ...KEEP, encoding: 'gzip' });
    assert.ok(same(await store.get(stored), bytes('<p>')));
    assert.ok(same(await opened(store, stored, { start: 1, end: 2 }), bytes('p')));
  });

  add('an artifact that is a slice of a larger object is read exactly, and its hash checks', async ({ store }) => {
    const artifacts = [noise(10, 1), bytes(''), noise(200_000, 2), bytes('<p>ü</p>'), noise(70_000, 3)];
    for (const kept of ['identity', 'gzip'] as const) {
      const { segment, addresses } = packed(artifacts, kept);
      await store.put(KEY, segment, { ...REPLACE, encoding: kept });
      for (const [index, at] of addresses.entries()) {
        const artifact = artifacts[index] ?? bytes('');
        const read = await store.get(at);
        assert.ok(read !== null && same(read, artifact), `slice ${index}, kept ${kept}`);
        assert.equal(sha256(read), sha256(artifact));
        assert.ok(same(await opened(store, at, null), artifact), `slice ${index}, kept ${kept}`);
      }
    }
  });

  add('ranges are counted within a slice, and never reach beyond it', async ({ store }) => {
    const artifact = noise(100_000, 2);
    for (const encoding of ['identity', 'gzip'] as const) {
      const { segment, addresses } = packed([noise(1000, 1), artifact, noise(1000, 3)], 'identity', encoding);
      await store.put(KEY, segment, REPLACE);
      const [, at = { key: KEY }] = addresses;
      const size = artifact.length;
      const ranges: readonly (readonly [number, number])[] = [
        ...([
          [0, size],
          [0, 1],
          [0, 0],
          [5, 3],
          [size - 1, size],
          [70_000, 70_001],
          [1, size - 1],
        ] as const),
        ...([
          [0, size + 500],
          [size - 1, size + 1],
          [size, size + 10],
          [size + 1, size + 10],
          [size, size],
        ] as const),
      ];
      for (const [start, end] of ranges) {
        const expected = artifact.subarray(start, Math.max(start, end));
        assert.ok(same(await opened(store, at, { start, end }), expected), `${encoding} ${start}-${end}`);
      }
    }
  });

  add(
    'a slice without a length goes to the end of its object, and one without an offset begins at its start',
    async ({ store }) => {
      await store.put(KEY, bytes('0123456789'), KEEP);
      assert.ok(same(await store.get({ key: KEY, offset: 7 }), bytes('789')));
      assert.ok(same(await store.get({ key: KEY, offset: 10 }), bytes('')));
      assert.ok(same(await store.get({ key: KEY, length: 3 }), bytes('012')));
      assert.ok(same(await opened(store, { key: KEY, offset: 7 }, { start: 1, end: 9 }), bytes('89')));
      assert.ok(same(await store.get({ key: KEY }), bytes('0123456789')));
    },
  );

  add('how a whole body is kept the store knows, whatever its address says', async ({ store }) => {
    await store.put(KEY, bytes('plain'), KEEP);
    assert.ok(same(await store.get({ key: KEY, encoding: 'gzip' }), bytes('plain')));
    assert.ok(same(await opened(store, { key: KEY, encoding: 'gzip' }, null), bytes('plain')));
  });

  add('a store that is asked for a slice beyond the end of its object says so', async ({ store }) => {
    const body = bytes('0123456789');
    for (const encoding of ['identity', 'gzip'] as const) {
      await store.put(KEY, body, { ...REPLACE, encoding });
      const beyond = [{ offset: 0, length: 11 }, { offset: 10, length: 1 }, { offset: 11 }, { offset: 20, length: 0 }];
      for (const slice of beyond) {
        for (const how of ['identity', 'gzip'] as const) {
          const at = { key: KEY, ...slice, encoding: how };
          await assert.rejects(store.get(at), SliceBeyondEnd, JSON.stringify(at));
          await assert.rejects(store.open(at, null), SliceBeyondEnd, JSON.stringify(at));
          await assert.rejects(store.open(at, { start: 0, end: 1 }), SliceBeyondEnd, JSON.stringify(at));
        }
      }
    }
  });

  add('a slice that is not what its address says is an error, and never other bytes', async ({ store }) => {
    await store.put(KEY, bytes('0123456789'), KEEP);
    const at: ResultAddress = { key: KEY, offset: 2, length: 4, encoding: 'gzip' };
    await assert.rejects(store.get(at));
    await assert.rejects(async () => opened(store, at, null));
  });

  add('under a key with nothing there are no slices', async ({ store }) => {
    assert.equal(await store.get({ key: KEY, offset: 0, length: 1 }), null);
    assert.equal(await store.open({ key: KEY, offset: 0, length: 1 }, null), null);
    assert.equal(await store.get({ key: KEY }), null);
  });

  add('an address that no slice can have is refused', async ({ store }) => {
    await store.put(KEY, bytes('x'), KEEP);
    for (const place of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 1]) {
      for (const at of [
        { key: KEY, offset: place, length: 1 },
        { key: KEY, offset: 0, length: place },
      ]) {
        await assert.rejects(async () => store.get(at), RangeError);
        await assert.rejects(async () => store.open(at, null), RangeError);
      }
    }
    await assert.rejects(async () => store.get({ key: '../x', offset: 0, length: 1 }));
    await assert.rejects(async () => store.open({ key: 'a//b' }, null));
  });

  add('whatever is packed into one object comes back, whole and by range', async ({ store }) => {
    const artifact = fc.record({
      body: fc.uint8Array({ maxLength: 300 }),
      encoding: fc.constantFrom('identity' as const, 'gzip' as const),
    });
    const range = fc.record({ start: fc.nat(400), end: fc.nat(400) });
    const kept = fc.constantFrom('identity' as const, 'gzip' as const);
    await fc.assert(
      fc.asyncProperty(fc.array(artifact, { minLength: 1, maxLength: 6 }), kept, range, async (all, how, part) => {
        const { segment, addresses } = packedEach(all);
        await store.put(KEY, segment, { ...REPLACE, encoding: how });
        for (const [index, at] of addresses.entries()) {
          const body = all[index]?.body ?? bytes('');
          assert.ok(same(await store.get(at), body));
          const expected = body.subarray(part.start, Math.max(part.start, part.end));
          assert.ok(same(await opened(store, at, part), expected));
        }
      }),
      { numRuns: 20 },
    );
  });
}

/** Some in the encoding in which the whole is not kept, so that the two cannot be mistaken for each other. */
function packed(
  artifacts: readonly Uint8Array[],
  kept: 'identity' | 'gzip',
  encoding: 'identity' | 'gzip' = kept === 'gzip' ? 'identity' : 'gzip',
) {
  return packedEach(artifacts.map((body, index) => ({ body, encoding: index % 2 === 1 ? encoding : kept })));
}

function packedEach(all: readonly { readonly body: Uint8Array; readonly encoding: 'identity' | 'gzip' }[]) {
  const parts = all.map(({ body, encoding }) => (encoding === 'gzip' ? gzipSync(body) : body));
  let offset = 0;
  const addresses = parts.map((part, index): ResultAddress => {
    const at = { key: KEY, offset, length: part.length, encoding: all[index]?.encoding ?? 'identity' };
    offset += part.length;
    return at;
  });
  return { segment: new Uint8Array(Buffer.concat(parts)), addresses };
}

async function opened(store: ResultStore, at: ResultAddress, range: ByteRange | null): Promise<Uint8Array> {
  const body = await store.open(at, range);
  assert.ok(body, at.key);
  return Buffer.concat(await Array.fromAsync(body));
}
