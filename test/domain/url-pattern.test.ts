import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSamePlace, urlPattern } from '../../src/domain/url-pattern.ts';
import { anyText } from './builders.ts';

const pattern = (url: string, input = {}) => urlPattern(url, input);

test('what contains a digit is a particular, and so are the values of a query', () => {
  assert.equal(pattern('https://county.test/parcel/200-14-030?year=2026&apn=x'), 'county.test/parcel/#?apn&year');
  assert.equal(pattern('https://county.test/Tax/Detail.aspx'), 'county.test/Tax/Detail.aspx');
  assert.equal(pattern('http://county.test:8080'), 'county.test:8080/');
});

test('what the input contains is a particular, however it is written', () => {
  const input = { owner: 'De la Cruz', where: { county: 'Kern' }, state: 'az' };
  assert.equal(pattern('https://county.test/az/kern/de-la-cruz/sales', input), 'county.test/az/#/#/sales');
});

test('sessions, escaped texts and very long words are particulars', () => {
  assert.equal(pattern('https://county.test/search;jsessionid=A1B2'), 'county.test/search');
  assert.equal(pattern('https://county.test/(S(abc))/x'), 'county.test/(S(abc))/x');
  assert.equal(pattern('https://county.test/O%27Brien%20%26%20Sons'), 'county.test/#');
  assert.equal(pattern(`https://county.test/${'x'.repeat(41)}`), 'county.test/#');
  assert.equal(pattern('https://county.test/a/b/c/d/e/f/g/h'), 'county.test/a/b/c/d/e/f/…');
});

test('what is not an address has no pattern', () => {
  for (const url of ['', 'parcel/7', 'about:blank', 'https://']) assert.equal(pattern(url), null);
});

test('a particular is the same place as any text, and two texts are two places', () => {
  assert.ok(isSamePlace('county.test/parcel/#', 'county.test/parcel/ABC'));
  assert.ok(!isSamePlace('county.test/parcel/ABC', 'county.test/parcel/DEF'));
  assert.ok(!isSamePlace('county.test/parcel/#', 'county.test/parcel/#/taxes'));
  assert.ok(!isSamePlace('county.test/#', 'other.test/#'));
  assert.ok(!isSamePlace('county.test/#?a', 'county.test/#?b'));
  assert.ok(!isSamePlace('county.test/', null));
  assert.ok(isSamePlace(null, null));
});

test('no address, however odd, makes a pattern that is long, broken or of several lines', () => {
  fc.assert(
    fc.property(anyText(300), anyText(40), (path, value) => {
      const found = pattern(`https://county.test/${path}`, { value });
      assert.ok(found === null || (found.length <= 120 && found.isWellFormed() && !/[\n@]/.test(found)), `${found}`);
    }),
  );
});
