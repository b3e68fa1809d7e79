import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeTally } from '../../src/controller/extraction/change-tally.ts';
import { type FieldDifference, fieldDifferences } from '../../src/controller/extraction/field-differences.ts';

/** `field kind before → after` */
function told(before: unknown, after: unknown): string[] {
  const text = ({ field, kind, ...values }: FieldDifference) =>
    `${field} ${kind} ${JSON.stringify(values.before)} → ${JSON.stringify(values.after)}`;
  return fieldDifferences(before, after).map(text);
}

test('a field is different, new or gone, and null counts as missing', () => {
  const before = { same: 1, owner: 'A', gone: 1, lost: 1, was: null };
  const after = { was: 2, lost: null, owner: 'B', same: 1, added: 0 };
  assert.deepEqual(told(before, after), [
    'owner changed "A" → "B"',
    'gone removed 1 → null',
    'lost removed 1 → null',
    'was added null → 2',
    'added added null → 0',
  ]);
  assert.deepEqual(told({ a: null }, {}), ['a changed null → null']);
  assert.deepEqual(told({ a: 1, b: 2 }, { b: 2, a: 1 }), [], 'the order of the fields says nothing');
});

test('nested fields have a path, and all values of a list are reported', () => {
  assert.deepEqual(told({ address: { city: 'X', zip: 1 } }, { address: { city: 'Y', zip: 1 } }), [
    'address.city changed "X" → "Y"',
  ]);
  const bills = (...amounts: number[]) => ({ bills: amounts.map((amount) => ({ year: 1, amount })) });
  assert.deepEqual(told(bills(1, 2), bills(1, 3)), ['bills[].amount changed [1,2] → [1,3]']);
  assert.deepEqual(told({ lines: ['a', 'b'] }, { lines: ['a'] }), ['lines[] changed ["a","b"] → ["a"]']);
  assert.deepEqual(told({ lines: ['a'] }, { lines: ['b'] }), ['lines[] changed ["a"] → ["b"]']);
});

test('a value that moved to another element of a list is different', () => {
  assert.deepEqual(told({ list: [{ a: 1, b: 1 }, { b: 2 }] }, { list: [{ b: 1 }, { a: 1, b: 2 }] }), [
    'list[].a changed [1] → [1]',
  ]);
});

test('a value that was empty and has fields now is reported by those fields alone', () => {
  for (const empty of [{ bills: null }, { bills: [] }, {}]) {
    assert.deepEqual(told(empty, { bills: [{ amount: 1 }] }), ['bills[].amount added null → [1]']);
    assert.deepEqual(told({ bills: [{ amount: 1 }] }, empty), ['bills[].amount removed [1] → null']);
  }
  assert.deepEqual(told({ owner: {} }, { owner: { name: 'A' } }), ['owner.name added null → "A"']);
  assert.deepEqual(told({ owner: 'A' }, { owner: { name: 'A' } }), [
    'owner removed "A" → null',
    'owner.name added null → "A"',
  ]);
  assert.deepEqual(told({ bills: null }, { bills: [] }), ['bills added null → []']);
});

test('data that are not an object are one field, and special names are ordinary names', () => {
  assert.deepEqual(told('a', 'b'), ['(whole) changed "a" → "b"']);
  assert.deepEqual(told(JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{"x":2}}')), [
    '__proto__.x changed 1 → 2',
  ]);
});

test('hostile data yield a bounded list: deep values are compared as a whole, long names are cut, excess fields become others', () => {
  const deep = (end: number) => JSON.parse(`${'{"a":'.repeat(100)}${end}${'}'.repeat(100)}`);
  assert.deepEqual(
    fieldDifferences(deep(1), deep(2)).map(({ field }) => field),
    [Array(20).fill('a').join('.')],
  );
  const long = 'n'.repeat(1000);
  assert.deepEqual(
    fieldDifferences({ [`${long}1`]: 1 }, { [`${long}2`]: 1 }).map(({ field }) => field.length),
    [200],
  );
  const many = (value: number) => Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, value]));
  const differences = fieldDifferences(many(1), many(2));
  assert.equal(differences.length, 1001);
  assert.equal(differences.at(-1)?.field, '(other)');
});

test('a tally counts items, not differences, and shows three of each field', () => {
  const tally = new ChangeTally();
  for (let index = 0; index < 5; index += 1) {
    tally.add(`item-${index}`, fieldDifferences({ a: 1, b: null, c: 1 }, { a: index, b: index, c: null }));
  }
  tally.add('same', []);
  const { compared, changed, fields } = tally.result();
  assert.deepEqual([compared, changed], [6, 5]);
  assert.deepEqual(
    fields.map(({ field, items, added, removed, examples }) => [field, items, added, removed, examples.length]),
    [
      ['b', 5, 5, 0, 3],
      ['c', 5, 0, 5, 3],
      ['a', 4, 0, 0, 3],
    ],
  );
  assert.deepEqual(fields[2]?.examples[1], { item_id: 'item-2', before: 1, after: 2 });
});

test('a tally is bounded: five hundred fields, one more for all others, and examples are cut', () => {
  const tally = new ChangeTally();
  const wide = (value: unknown) => Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`f${index}`, value]));
  for (const item of ['1', '2']) tally.add(item, fieldDifferences(wide('a'.repeat(1000)), wide(['b'.repeat(1000)])));
  const { fields } = tally.result();
  assert.equal(fields.length, 501);
  const other = fields.find(({ field }) => field === '(other)');
  assert.equal(other?.items, 2);
  for (const { examples } of fields) {
    for (const { before, after } of examples) assert.ok(JSON.stringify([before, after]).length < 700);
  }
});
