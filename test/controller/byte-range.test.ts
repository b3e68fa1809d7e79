import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AskedRange, askedRange } from '../../src/controller/results/byte-range.ts';
import { anyText } from '../support/any-text.ts';
import { sized } from '../support/sized.ts';

const WHOLE = { kind: 'whole' };
const NOT_THERE = { kind: 'unsatisfiable' };
const part = (start: number, end: number) => ({ kind: 'part', range: { start, end } });

test('a range is parsed as RFC 9110 defines it', () => {
  const cases: readonly [header: string, size: number, expected: object][] = [
    ['bytes=0-0', 10, part(0, 1)],
    ['bytes=0-9', 10, part(0, 10)],
    ['bytes=3-5', 10, part(3, 6)],
    ['bytes=9-9', 10, part(9, 10)],
    ['bytes=9-', 10, part(9, 10)],
    ['bytes=0-', 10, part(0, 10)],
    ['bytes=5-100', 10, part(5, 10)],
    ['bytes=5-99999999999999999999999', 10, part(5, 10)],
    ['bytes=-1', 10, part(9, 10)],
    ['bytes=-10', 10, part(0, 10)],
    ['bytes=-100', 10, part(0, 10)],
    ['bytes=00-002', 10, part(0, 3)],
    ['BYTES=1-2', 10, part(1, 3)],
    [' bytes= 1-2 ,, ', 10, part(1, 3)],
    ['bytes=10-', 10, NOT_THERE],
    ['bytes=10-12', 10, NOT_THERE],
    ['bytes=9007199254740993-9007199254740993', 10, NOT_THERE],
    ['bytes=-0', 10, NOT_THERE],
    ['bytes=0-', 0, NOT_THERE],
    ['bytes=0-0', 0, NOT_THERE],
    ['bytes=-5', 0, WHOLE],
  ];
  for (const [header, size, expected] of cases) {
    assert.deepEqual(askedRange(header, size), expected, `${header} of ${size}`);
  }
});

test('an invalid range, or more than one range, is answered with the whole body', () => {
  const no = [
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=,',
    'bytes=5-3',
    'bytes=a-b',
    'bytes=1',
    'bytes=1--2',
    'bytes=-1-2',
  ];
  no.push('items=0-1', 'bytes:0-1', 'bytes 0-1', 'bytes=0-1,3-4', 'bytes=0-1, -1', 'bytes=+1-2', 'bytes=1.5-2');
  no.push('bytes=1 - 2', 'bytes=0x1-2', 'bytes=1e0-2', `bytes=0-${'9'.repeat(10_000)}`, 'bytes=٠-١');
  for (const header of no) {
    assert.deepEqual(askedRange(header, 10), WHOLE, JSON.stringify(header.slice(0, 50)));
  }
  assert.deepEqual(askedRange(undefined, 10), WHOLE);
});

const sizes = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.maxSafeNat());
const places = fc.oneof(fc.integer({ min: 0, max: 25 }), fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 10n ** 30n }));

function isWithin(asked: AskedRange, size: number): boolean {
  if (asked.kind !== 'part') return true;
  const { start, end } = asked.range;
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 <= start && start < end && end <= size;
}

test('any header can be parsed, and the resulting part is within the body', () => {
  const like = fc.string({ unit: fc.constantFrom(...'bytes=0123456789-, \t'), maxLength: 40 });
  const headers = fc.oneof(
    anyText(),
    like,
    like.map((text) => `bytes=${text}`),
  );
  fc.assert(
    fc.property(headers, sizes, (header, size) => isWithin(askedRange(header, size), size)),
    { numRuns: sized({ quick: 300, slow: 2000 }) },
  );
});

test('a single valid range yields every byte of it that exists', () => {
  fc.assert(
    fc.property(places, places, sizes, (first, last, size) => {
      const asked = askedRange(`bytes=${first}-${last}`, size);
      assert.ok(isWithin(asked, size));
      if (Number(last) < Number(first)) assert.equal(asked.kind, 'whole');
      else if (Number(first) >= size) assert.equal(asked.kind, 'unsatisfiable');
      else assert.deepEqual(asked, part(Number(first), Math.min(Number(last) + 1, size)));
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});

test('a suffix range yields no more bytes than there are', () => {
  fc.assert(
    fc.property(places, sizes, (length, size) => {
      const asked = askedRange(`bytes=-${length}`, size);
      assert.ok(isWithin(asked, size));
      if (Number(length) === 0) assert.equal(asked.kind, 'unsatisfiable');
      else if (size === 0) assert.equal(asked.kind, 'whole');
      else assert.deepEqual(asked, part(Math.max(0, size - Number(length)), size));
    }),
    { numRuns: sized({ quick: 300, slow: 1000 }) },
  );
});
