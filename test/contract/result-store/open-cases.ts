import assert from 'node:assert/strict';
import type { ByteRange } from '../../../src/domain/result-address.ts';
import type { ResultStore } from '../../../src/ports/result-store.ts';
import type { AddCase } from '../suite.ts';
import { bytes, KEEP, KEY, noise, REPLACE, same } from './bytes.ts';

export interface StoreParts {
  readonly store: ResultStore;
}

/** What the port promises of `open`. */
export function openCases(add: AddCase<StoreParts>): void {
  add('a body is opened whole or by range, in decoded bytes, however it is kept', async ({ store }) => {
    const body = noise(300_000);
    const bodies = { short: body.subarray(0, 10), long: body };
    for (const encoding of ['identity', 'gzip'] as const) {
      for (const [name, whole] of Object.entries(bodies)) {
        const [key, size] = [`job-1/items/${name}/${encoding}.bin`, whole.length];
        await store.put(key, whole, { ...KEEP, encoding });
        assert.ok(same(await opened(store, key, null), whole), key);
        const ranges = [
          ...[0, 1, 2, 5, size - 1, size].map((end) => [0, end] as const),
          ...[size - 1, size - 3, 1, 7].map((start) => [start, size] as const),
          ...[size, size + 1, size - 2, 0].map((start) => [start, size + 1_000_000] as const),
          ...[0, 3, size].map((place) => [place, place] as const),
          [5, 3] as const,
        ];
        for (const [start, end] of ranges) {
          const expected = whole.subarray(start, Math.max(start, end));
          assert.ok(same(await opened(store, key, { start, end }), expected), `${key} ${start}-${end}`);
        }
      }
    }
  });

  add('an empty body is opened as one of no pieces', async ({ store }) => {
    for (const encoding of ['identity', 'gzip'] as const) {
      await store.put(KEY, bytes(''), { ...REPLACE, encoding });
      assert.deepEqual(await pieces(store, KEY, null), []);
      assert.deepEqual(await pieces(store, KEY, { start: 0, end: 9 }), []);
    }
  });

  add('under a key with nothing there is nothing to open', async ({ store }) => {
    assert.equal(await store.open(KEY, null), null);
    await store.put(KEY, bytes('x'), KEEP);
    assert.equal(await store.open('job-1/items/p-0', null), null);
    assert.equal(await store.open(`${KEY}/more`, { start: 0, end: 1 }), null);
    await store.removeAll('job-1/');
    assert.equal(await store.open(KEY, null), null);
  });

  add('an invalid range is refused', async ({ store }) => {
    await store.put(KEY, bytes('x'), KEEP);
    for (const place of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(store.open(KEY, { start: place, end: 10 }), RangeError);
      await assert.rejects(store.open(KEY, { start: 0, end: place }), RangeError);
      await assert.rejects(store.open('nobody/x', { start: 0, end: place }), RangeError);
    }
  });

  add('a large body arrives in pieces, none of them large', async ({ store }) => {
    const body = noise(8 << 20);
    for (const encoding of ['identity', 'gzip'] as const) {
      await store.put(KEY, body, { ...REPLACE, encoding });
      const got = await pieces(store, KEY, null);
      assert.ok(got.length >= 8 && got.every(({ length }) => length > 0 && length <= 1 << 20), `${got.length} pieces`);
      assert.ok(same(Buffer.concat(got), body));
      const [start, end] = [1_000_001, 7_000_003];
      assert.ok(same(await opened(store, KEY, { start, end }), body.subarray(start, end)));
    }
  });

  add('an opened body may be read twice, left in the middle, or not at all', async ({ store }) => {
    const body = noise(500_000);
    await store.put(KEY, body, KEEP);
    const open = await store.open(KEY, null);
    assert.ok(open);
    for await (const piece of open) {
      assert.ok(piece.length < body.length);
      piece.fill(0);
      break;
    }
    assert.ok(same(Buffer.concat(await Array.fromAsync(open)), body));
    assert.ok(same(Buffer.concat(await Array.fromAsync(open)), body));
    await store.open(KEY, null);
    assert.ok(same(await store.get(KEY), body));
  });

  add('a body that is replaced or removed while it is read is the old one, or an error', async ({ store }) => {
    const [old, young] = [noise(500_000, 1), noise(500_000, 2)];
    const changes = [
      () => store.put(KEY, young, REPLACE),
      () => store.put(KEY, young, { ...REPLACE, encoding: 'gzip' }),
      () => store.put(KEY, old.subarray(0, 10), REPLACE),
      () => store.removeAll('job-1/'),
    ];
    for (const change of changes) {
      for (const encoding of ['identity', 'gzip'] as const) {
        for (const before of [0, 1, 3]) {
          await store.put(KEY, old, { ...REPLACE, encoding });
          const body = await store.open(KEY, null);
          assert.ok(body);
          const got = await readAround(body, before, change);
          assert.ok(got === 'error' || same(got, old), `${encoding}, after ${before} pieces`);
        }
      }
    }
  });
}

async function pieces(store: ResultStore, key: string, range: ByteRange | null): Promise<Uint8Array[]> {
  const body = await store.open(key, range);
  assert.ok(body, key);
  return Array.fromAsync(body);
}

async function opened(store: ResultStore, key: string, range: ByteRange | null): Promise<Uint8Array> {
  return Buffer.concat(await pieces(store, key, range));
}

/** Reads some pieces, lets something happen, and reads on. */
async function readAround(
  body: AsyncIterable<Uint8Array>,
  before: number,
  change: () => Promise<unknown>,
): Promise<Uint8Array | 'error'> {
  const got: Uint8Array[] = [];
  if (before === 0) await change();
  try {
    for await (const piece of body) if (got.push(piece) === before) await change();
    return Buffer.concat(got);
  } catch {
    return 'error';
  }
}
