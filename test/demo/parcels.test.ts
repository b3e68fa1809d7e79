import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startingWith } from '../../demo/apn.ts';
import { apnOf, MOST_PARCELS, numberOf, ownerOf, parcelOf } from '../../demo/parcels.ts';
import { TAX_YEARS } from '../../demo/tax-districts.ts';

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const parcels = (count: number) => Array.from({ length: count }, (_, n) => parcelOf(1, n));

test('a hundred thousand parcels have as many numbers, each of which leads back to its parcel', () => {
  const seen = new Set<string>();
  for (let n = 0; n < 100_000; n += 1) {
    const apn = apnOf(n);
    assert.match(apn, /^\d{3}-\d{2}-\d{3}[A-Z]?$/);
    assert.equal(numberOf(apn), n);
    seen.add(apn);
  }
  assert.equal(seen.size, 100_000);
  assert.ok(
    [...seen].some((apn) => /[A-Z]$/.test(apn)),
    'none was split',
  );
});

test('the last number is the last, and there is none beyond', () => {
  assert.equal(numberOf(apnOf(MOST_PARCELS - 1)), MOST_PARCELS - 1);
  for (const n of [-1, 0.5, MOST_PARCELS, Number.NaN]) assert.throws(() => apnOf(n), RangeError);
});

test('a number is read with and without dashes, and what is not a number leads nowhere', () => {
  assert.equal(numberOf('10101001'), 0);
  assert.equal(apnOf(5), '101-01-006A');
  assert.equal(numberOf('10101006a'), 5);
  for (const apn of ['101-01-006', '101-01-001A', '100-01-001', '101-00-001', '101-01-000', '101-01-151', '', 'x']) {
    assert.equal(numberOf(apn), null, apn);
  }
});

test('parcels are found by the beginning of their number, within the county and up to a limit', () => {
  assert.deepEqual(startingWith('101-01-00', 1000, 25), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(startingWith('10101', 3, 25), [0, 1, 2]);
  assert.equal(startingWith('10101', 1000, 25).length, 25);
  assert.deepEqual(startingWith('101-01-006', 1000, 25), [5]);
  for (const beginning of ['101', '', '10001', '10100', 'abcde'])
    assert.deepEqual(startingWith(beginning, 1000, 25), []);
});

test('the same seed gives the same parcel, another seed another one', () => {
  assert.deepEqual(parcelOf(1, 77), parcelOf(1, 77));
  assert.notDeepEqual(parcelOf(1, 77), { ...parcelOf(2, 77) });
  assert.equal(ownerOf(1, 77).owner, parcelOf(1, 77).owner);
});

test('amounts add up: districts to the bill of each year, instalments to the bill, paid and due to the total', () => {
  for (const { values, districts, bills, use } of parcels(2000)) {
    assert.deepEqual([values.map(({ year }) => year), bills.map(({ year }) => year)], [[...TAX_YEARS], [...TAX_YEARS]]);
    for (const { land, improvements, market, limited, assessed } of values) {
      assert.equal(land + improvements, market);
      assert.ok(limited <= market);
      assert.equal(assessed, Math.round((limited * use.ratio) / 10_000));
    }
    for (const [index, { totalCents, instalments, paidCents, dueCents }] of bills.entries()) {
      assert.equal(totalCents, sum(districts.map(({ cents }) => cents[index] ?? Number.NaN)));
      assert.equal(totalCents, sum(instalments.map(({ amountCents }) => amountCents)));
      assert.equal(paidCents, sum(instalments.map(({ payment }) => payment?.amountCents ?? 0)));
      assert.equal(dueCents, totalCents - paidCents);
    }
  }
});

test('the county has all sorts: companies and trusts, vacant land and exempt property, what is due and what is paid', () => {
  const all = parcels(2000);
  const has = (what: string, is: (parcel: (typeof all)[number]) => boolean) =>
    assert.ok(all.some(is), `none is ${what}`);
  has('of a company', ({ owner }) => owner.endsWith(' LLC'));
  has('of a trust', ({ coOwner }) => coOwner !== null);
  has('of somebody whose name is not plain ASCII', ({ owner }) => /Ñ|É|Í/.test(owner));
  has('of two people', ({ owner }) => owner.includes(' & '));
  has('vacant', ({ building, values }) => building === null && values.every(({ improvements }) => improvements === 0));
  has('exempt', ({ bills }) => bills.every(({ totalCents }) => totalCents === 0));
  has('paid', ({ bills }) => bills.every(({ totalCents, dueCents }) => totalCents > 0 && dueCents === 0));
  has('due', ({ bills }) => bills.some(({ dueCents }) => dueCents > 0));
  has('due in one piece', ({ bills }) =>
    bills.some(({ totalCents, instalments }) => totalCents > 0 && instalments.length === 1),
  );
  assert.ok(new Set(all.map(({ taxArea }) => taxArea)).size > 20, 'tax areas');
});
