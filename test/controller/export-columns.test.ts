import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { TablePlan } from '../../src/controller/results/export/columns.ts';
import { schemaFields } from '../../src/controller/results/export/schema-fields.ts';

const typesOf = (schema: object) => Object.fromEntries(schemaFields(schema));

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
    list: 'json',
    nested: 'json',
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

test('what is no schema names no fields', () => {
  for (const schema of [{}, { properties: [] }, { properties: null }, { anyOf: {} }, { $ref: 'http://x/y' }, []]) {
    assert.deepEqual(typesOf(schema), {});
  }
  assert.deepEqual(schemaFields(null).size, 0);
});

test('fields that were only seen have the type of their values', () => {
  const plan = new TablePlan({ input: {}, output: { properties: { known: { type: 'string' } } } });
  const row = { item_id: 'a', status: 'success', input: {}, error: null } as const;
  plan.look({ ...row, data: { late: null, text: 'a', number: 1, mixed: 1, known: 5, never: null } });
  plan.look({ ...row, data: { late: true, text: null, number: 2.5, mixed: 'b', list: [1] } });
  plan.look({ ...row, data: ['no', 'fields'] });
  assert.deepEqual(
    plan
      .table()
      .columns.slice(5)
      .map(({ name, type }) => `${name} ${type}`),
    ['known text', 'late boolean', 'text text', 'number number', 'mixed json', 'never json', 'list json', 'more text'],
  );
});

test('there are a thousand columns of data at the most, those of the schema before those that were seen', () => {
  const fields = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, true]));
  const namesOf = (known: number, seen: number) => {
    const plan = new TablePlan({ input: {}, output: { properties: fields(known, 'k') } });
    plan.look({ item_id: 'a', status: 'success', input: {}, error: null, data: fields(seen, 's') });
    return plan.table().columns.map(({ name }) => name);
  };
  assert.deepEqual(namesOf(1500, 5).slice(-3), ['k998', 'k999', 'more']);
  assert.deepEqual(namesOf(600, 2000).slice(-3), ['s398', 's399', 'more']);
  assert.deepEqual(namesOf(0, 2000).slice(-3), ['s998', 's999', 'more']);
});
