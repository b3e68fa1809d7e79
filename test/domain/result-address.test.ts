import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cutRange,
  cutWithin,
  isSameAddress,
  locateSlice,
  parseAddress,
  SliceBeyondEnd,
  sliceFields,
} from '../../src/domain/result-address.ts';

test('a key alone is the address of all that is under it, and so is an address without offset and length', () => {
  assert.deepEqual(parseAddress('a/b'), { key: 'a/b', slice: null });
  assert.deepEqual(parseAddress({ key: 'a/b', encoding: 'gzip' }), { key: 'a/b', slice: null });
});

test('a slice has a start, an end or that of its body, and an encoding', () => {
  const slice = (at: object) => parseAddress({ key: 'k', ...at }).slice;
  assert.deepEqual(slice({ offset: 3, length: 4 }), { start: 3, end: 7, encoding: 'identity' });
  assert.deepEqual(slice({ offset: 3, encoding: 'gzip' }), { start: 3, end: null, encoding: 'gzip' });
  assert.deepEqual(slice({ length: 4 }), { start: 0, end: 4, encoding: 'identity' });
});

test('whatever is asked for within a slice is in it, and what is there of it comes whole', () => {
  const place = fc.nat(60);
  fc.assert(
    fc.property(place, place, place, place, fc.nat(100), (offset, length, start, end, size) => {
      const { slice } = parseAddress({ key: 'k', offset, length });
      assert.ok(slice);
      if (offset + length > size) {
        assert.throws(() => locateSlice('k', slice, size), SliceBeyondEnd);
        return;
      }
      const within = locateSlice('k', slice, size);
      const body = Uint8Array.from({ length: size }, (_, index) => index);
      const cut = cutWithin(within, { start, end });
      const expected = body.subarray(offset, offset + length).subarray(start, Math.max(start, end));
      assert.deepEqual(body.subarray(cut.start, cut.end), expected);
      assert.ok(within.start <= cut.start && cut.start <= cut.end && cut.end <= within.end);
    }),
  );
});

test('positions that no body has are refused', () => {
  for (const place of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => parseAddress({ key: 'k', offset: place }), RangeError);
    assert.throws(() => parseAddress({ key: 'k', length: place }), RangeError);
    assert.throws(() => cutRange({ start: place, end: 1 }, 10), RangeError);
  }
  assert.throws(() => parseAddress({ key: 'k', offset: Number.MAX_SAFE_INTEGER, length: 1 }), RangeError);
});

test('two slices of one object are two addresses, and a whole body has no fields of a slice', () => {
  assert.ok(isSameAddress({ key: 'k', offset: 1, length: 2 }, { key: 'k', offset: 1, length: 2, encoding: 'gzip' }));
  assert.ok(!isSameAddress({ key: 'k', offset: 1, length: 2 }, { key: 'k', offset: 3, length: 2 }));
  assert.ok(!isSameAddress({ key: 'k' }, { key: 'k', offset: 0 }));
  assert.deepEqual(Object.keys(sliceFields({ offset: undefined, length: undefined })), []);
  assert.deepEqual(sliceFields({ offset: 0, length: 5 }), { offset: 0, length: 5 });
});
