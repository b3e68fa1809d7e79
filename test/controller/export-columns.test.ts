import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { agree, settle, typeOf } from '../../src/controller/results/export/column-types.ts';
import { TablePlan } from '../../src/controller/results/export/columns.ts';
import { schemaFields } from '../../src/controller/results/export/schema-fields.ts';

const typesOf = (schema: object) => Object.fromEntries(schemaFields(schema));

const NOTHING_USED = { requests: 0, bytes_up: 0, bytes_down: 0 };

test('a column has the type of its field only where the schema leaves no doubt', () => {
  const schema = z.object({
    text: z.string(),
    date: z.iso.date().nullable(),
    kind: z.enum(['a', 'b']),
    literal: z.literal(3),
    whole: z.int().optional(),
    money: z.number().nullable(),
    paid: z.boolean().nullish(),
    either: z.union([z.string(), z.number()]),
    alike: z.union([z.literal('a'), z.string()]),
    list: z.array(z.string()),
    nested: z.object({ a: z.string() }),
    whatever: z.unknown(),
    nothing: z.null(),
  });
  assert.deepEqual(typesOf(z.toJSONSchema(schema)), {
    text: 'text',
    date: 'text',
    kind: 'text',
    literal: 'number',
    whole: 'number',
    money: 'number',
    paid: 'boolean',
    either: 'json',
    alike: 'text',
    list: { list: 'text' },
    nested: { struct: new Map([['a', 'text']]) },
    whatever: 'json',
    nothing: 'json',
  });
});

test('the fields of all alternatives are columns, with the type on which they agree', () => {
  const one = z.object({ kind: z.literal('one'), amount: z.number(), code: z.string() });
  const other = z.object({ kind: z.literal('other'), amount: z.number(), code: z.number(), extra: z.boolean() });
  assert.deepEqual(typesOf(z.toJSONSchema(z.discriminatedUnion('kind', [one, other]))), {
    kind: 'text',
    amount: 'number',
    code: 'json',
    extra: 'boolean',
  });
});

test('references are followed, and a schema that refers to itself comes to an end', () => {
  assert.deepEqual(
    typesOf({
      $ref: '#/$defs/root',
      $defs: {
        root: {
          properties: { a: { $ref: '#/$defs/a~1b' }, loop: { $ref: '#/$defs/loop' }, gone: { $ref: '#/nowhere' } },
          anyOf: [{ $ref: '#' }],
        },
        'a/b': { type: 'string' },
        loop: { $ref: '#/$defs/loop' },
      },
    }),
    { a: 'text', loop: 'json', gone: 'json' },
  );
});

test('a value that is not a schema names no fields', () => {
  for (const schema of [{}, { properties: [] }, { properties: null }, { anyOf: {} }, { $ref: 'http://x/y' }, []]) {
    assert.deepEqual(typesOf(schema), {});
  }
  assert.deepEqual(schemaFields(null).size, 0);
});

test('fields that were only seen have the type of their values', () => {
  const plan = new TablePlan({ input: {}, output: { properties: { known: { type: 'string' } } } });
  const row = { item_id: 'a', status: 'success', input: {}, error: null, ...NOTHING_USED } as const;
  plan.look({ ...row, data: { late: null, text: 'a', number: 1, mixed: 1, known: 5, never: null } });
  plan.look({ ...row, data: { late: true, text: null, number: 2.5, mixed: 'b', list: [1] } });
  plan.look({ ...row, data: ['no', 'fields'] });
  assert.deepEqual(
    plan
      .table()
      .columns.slice(8, -4)
      .map(({ name, type }) => [name, type]),
    [
      ['known', 'text'],
      ['late', 'boolean'],
      ['text', 'text'],
      ['number', 'number'],
      ['mixed', 'json'],
      ['never', 'json'],
      ['list', { list: 'number' }],
    ],
  );
});

test('there are at most a thousand columns of data, those of the schema before those that were seen', () => {
  const fields = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, true]));
  const namesOf = (known: number, seen: number) => {
    const plan = new TablePlan({ input: {}, output: { properties: fields(known, 'k') } });
    plan.look({ item_id: 'a', status: 'success', input: {}, error: null, ...NOTHING_USED, data: fields(seen, 's') });
    return plan.table().columns.map(({ name }) => name);
  };
  const last = ['html_path', 'screenshot_path', 'document_path', 'more'];
  assert.deepEqual(namesOf(1500, 5).slice(-6), ['k998', 'k999', ...last]);
  assert.deepEqual(namesOf(600, 2000).slice(-6), ['s398', 's399', ...last]);
  assert.deepEqual(namesOf(0, 2000).slice(-6), ['s998', 's999', ...last]);
});

test('nested fields have the type of the schema where it is certain, and end where it goes too deep', () => {
  const bill = z.object({
    year: z.int(),
    paid: z.array(z.number().nullable()).nullable(),
    note: z.string().optional(),
  });
  const tree: z.ZodType = z.object({
    name: z.string(),
    left: z.lazy(() => tree).nullable(),
    right: z.lazy(() => tree),
  });
  const types = typesOf(
    z.toJSONSchema(
      z.object({
        bills: z.array(bill).nullable(),
        loose: z.looseObject({ a: z.string() }),
        byYear: z.record(z.string(), z.number()),
        pair: z.tuple([z.string(), z.number()]),
        either: z.union([z.array(z.string()), z.array(z.number())]),
        wide: z.object(Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`f${at}`, z.string()]))),
        empty: z.object({}),
        tree,
      }),
    ),
  );
  const fields = [
    ['year', 'number'],
    ['paid', { list: 'number' }],
    ['note', 'text'],
  ] as const;
  assert.deepEqual(types, {
    bills: { list: { struct: new Map<string, unknown>(fields) } },
    ...{ loose: 'json', byYear: 'json', pair: 'json', either: 'json', wide: 'json', empty: 'json' },
    tree: types['tree'],
  });
  // It ends somewhere; the exact depth does not matter.
  assert.ok(JSON.stringify(types['tree']) !== undefined);
});

test('nested values that were only seen are joined, and differences within them are JSON', () => {
  const seen = [
    { a: 1, list: [] },
    { a: null, b: [{ c: 'x' }, { c: 2, d: true }, null], list: null },
    { a: 2, b: [], list: [] },
  ];
  const type = settle(seen.map((value) => typeOf(value)).reduce(agree, null));
  const entry = new Map([
    ['c', 'json'],
    ['d', 'boolean'],
  ]);
  assert.deepEqual(type, {
    struct: new Map<string, unknown>([
      ['a', 'number'],
      ['list', 'json'],
      ['b', { list: { struct: entry } }],
    ]),
  });
  assert.equal(settle(agree(typeOf([1]), typeOf({ a: 1 }))), 'json');
  assert.equal(settle(typeOf({ '': 1 })), 'json');
});
