import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MIN_SECRET_LENGTH, maskedSecrets, parseSecrets, SecretBook } from '../../src/domain/secrets.ts';

const VALUE = 'pa55/wörd+"x"&<7>';
const book = new SecretBook(new Map([['county_key', VALUE]]));

test('a secret is masked as it is, in a URL, a form, JSON, HTML and Base64', () => {
  const url = new URL('https://county.test/');
  url.searchParams.set('key', VALUE);
  const base64 = Buffer.from(VALUE).toString('base64').replaceAll('=', '');
  for (const text of [
    VALUE,
    encodeURIComponent(VALUE),
    encodeURIComponent(VALUE).toLowerCase().replaceAll('pa55', 'pa55'),
    url.search,
    'q=pa55%2Fw%F6rd%2B%22x%22%26%3C7%3E&page=1',
    JSON.stringify({ key: VALUE }),
    'pa55/wörd+&quot;x&quot;&amp;&lt;7&gt;',
    base64,
    Buffer.from(VALUE).toString('base64url'),
  ]) {
    const masked = book.mask(`before ${text} after`);
    assert.match(masked, /^before .*\*\*\*county_key\*\*\*.* after$/, text);
    assert.ok(!masked.includes('rd+') && !masked.includes('rd%2'), masked);
  }
});

test('the password of a Basic header is masked, whatever the name before it', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), (user) => {
      const header = `Basic ${Buffer.from(`${user}:${VALUE}`).toString('base64')}`;
      const masked = book.mask(header);
      const left = Buffer.from(masked.slice(6).replaceAll(/\*+county_key\*+/g, ' '), 'base64').toString();
      assert.match(masked, /\*\*\*county_key\*\*\*/);
      assert.ok(!left.includes('wörd'), left);
    }),
  );
});

test('of a secret that is part of another, the longer one is masked first', () => {
  const both = new SecretBook(
    new Map([
      ['short', 'abcdef'],
      ['long', 'abcdef-123'],
    ]),
  );
  assert.equal(both.mask('abcdef-123 abcdef'), '***long*** ***short***');
});

test('a text without a secret stays as it is', () => {
  fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => assert.equal(book.mask(text), text)));
});

test('a file has lines or a JSON object, in any case of letters', () => {
  const expected = [
    ['county_key', 'abc=def'],
    ['login', 'p q r s'],
  ];
  for (const text of [
    '# keys\nCOUNTY_KEY = abc=def\n\nlogin="p q r s"\r\n',
    '{ "county_key": "abc=def", "Login": "p q r s" }',
  ]) {
    assert.deepEqual([...parseSecrets(text).values], expected);
    assert.deepEqual(parseSecrets(text).problems, []);
  }
});

test('what cannot be a secret is named, and its value is not repeated', () => {
  const { values, problems } = parseSecrets('county-key=abcdefgh\nshort=abc\nhunter2000\ngood=abcdef\naHVudGVy==');
  assert.deepEqual([...values.keys()], ['good']);
  assert.deepEqual(
    problems.map((problem) => problem.split(':')[0]),
    ['line 1', 'line 2', 'line 3', 'line 5'],
  );
  assert.doesNotMatch(problems.join(), /abc|hunter|aHVudGVy/i);
  assert.match(problems.join(), new RegExp(`at least ${MIN_SECRET_LENGTH} characters`));
  for (const text of ['{ "a": 1 }', '{ nothing', '{"list": ["abcdef"]}']) {
    assert.deepEqual(parseSecrets(text).problems, ['is not a JSON object with texts as values']);
  }
});

test('offline every secret has its mask as its value, so that requests are as they were recorded', () => {
  const secrets = maskedSecrets();
  const value = secrets.find('county_key') ?? '';
  assert.equal(value, '***county_key***');
  const url = new URL('https://county.test/path');
  url.searchParams.set('key', value);
  assert.equal(secrets.mask(url.href), 'https://county.test/path?key=***county_key***');
  assert.equal(secrets.mask(`Basic ${btoa(value)}`), 'Basic ***county_key***');
});
