import fc from 'fast-check';
import { anyText } from '../../support/any-text.ts';

/** Values that programs stumble over: boundaries, other types, texts with a meaning somewhere else. */
export const NAUGHTY_TEXTS: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../../../etc/passwd',
  '..\\..\\windows\\system32',
  '%2e%2e%2f%2e%2e%2f',
  '/etc/passwd',
  'file:///etc/passwd',
  'C:\\con',
  'nul',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\ufeff',
  '\u202egnp.exe',
  'İıſK',
  '😀'.repeat(50),
  'é',
  'e\u0301',
  "' OR '1'='1",
  "'; DROP TABLE jobs; --",
  '%24%7Bjndi:ldap://127.0.0.1/a%7D',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '\r\nSet-Cookie: a=b',
  '\r\n\r\nHTTP/1.1 200 OK',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  'true',
  '-1',
  '0',
  '1e309',
  '9007199254740993',
  '0x10',
  '1_000',
  '١٢٣',
  '=1+1',
  '@SUM(A1)',
  'x'.repeat(199),
  'x'.repeat(201),
  'y'.repeat(1001),
  'z'.repeat(5000),
  'W10',
  'WyJqb2JzICIsIjEiXQ',
  Buffer.from('["jobs ","-1"]').toString('base64url'),
  Buffer.from('["items x  ","999999999999999999999"]').toString('base64url'),
];

export const naughtyText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NAUGHTY_TEXTS) },
  { weight: 1, arbitrary: anyText({ maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }) },
);

const naughtyNumber = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    -1,
    1,
    0.5,
    1e21,
    -1e21,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    -(2 ** 53),
    1e-320,
    1.797e308,
    86_400,
    86_401,
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);

/** Any JSON value, with names that mean something to JavaScript. */
export const naughtyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'naughty' },
    naughtyText,
    naughtyNumber,
    fc.constantFrom(null, true, false, [], {}, [[]], { length: -1 }),
    fc.array(tie('value'), { maxLength: 4, depthIdentifier: 'naughty' }),
    fc
      .array(fc.tuple(naughtyText, tie('value')), { maxLength: 4, depthIdentifier: 'naughty' })
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;

/** JSON that is very deep, very wide, or not JSON at all. */
export const naughtyJson = fc.oneof(
  { weight: 4, arbitrary: naughtyValue.map((value) => JSON.stringify(value) ?? 'null') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '[', '"', '{"a":', '[1,]', '{"a":1,"a":2}', 'nul', '\u0000', '{]', '\ufeff{}'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}'),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 20_000 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  },
);
