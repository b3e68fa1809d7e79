import fc from 'fast-check';

/**
 * Text of any code points, half of them ASCII, which shrinks towards letters. The same as `fc.string({ unit: 'binary' })`,
 * which takes a second to make: it looks at every code point first.
 */
export function anyText({ maxLength }: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: fc.oneof(ASCII, ABOVE), ...(maxLength === undefined ? {} : { maxLength }) });
}

const ASCII = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 });
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;
const ABOVE = fc
  .integer({ min: 0x80, max: 0x10ffff })
  .filter((point) => point < FIRST_SURROGATE || point > LAST_SURROGATE)
  .map((point) => String.fromCodePoint(point));
