import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';
import { bytesOf, jobOfItems, jobOfList } from './export-support.ts';

/** Lists and objects as LIST and STRUCT columns of Parquet. */

const BILL = {
  type: 'object',
  properties: {
    year: { type: 'integer' },
    paid: { type: 'boolean' },
    parts: { type: 'array', items: { type: 'string' } },
  },
  additionalProperties: false,
};
const SCRAPER = {
  input: {},
  output: {
    type: 'object',
    properties: {
      bills: { type: 'array', items: BILL },
      owner: { type: 'object', properties: { name: { type: 'string' }, city: { type: ['string', 'null'] } } },
    },
  },
};

async function read(data: readonly unknown[], scraper: typeof SCRAPER | null) {
  const { parts } = jobOfList(data.map((value) => ({ json: JSON.stringify(value), input: {} })));
  const file = Uint8Array.from(await bytesOf(parts, { format: 'parquet', scraper })).buffer;
  return { file, rows: await parquetReadObjects({ file }) };
}

/** Readers leave out what is null, or call it undefined. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

test('lists and objects have the types of the schema, down to their leaves', async () => {
  const { file } = await read([], SCRAPER);
  const [bills, owner] = parquetSchema(parquetMetadata(file)).children.slice(8);
  assert.deepEqual(
    [bills?.element.converted_type, bills?.element.logical_type, bills?.children[0]?.element.repetition_type],
    ['LIST', { type: 'LIST' }, 'REPEATED'],
  );
  const entry = bills?.children[0]?.children[0];
  assert.deepEqual(
    entry?.children.map(({ element: { name, type } }) => [name, type]),
    [
      ['year', 'DOUBLE'],
      ['paid', 'BOOLEAN'],
      ['parts', undefined],
    ],
  );
  assert.deepEqual(
    owner?.children.map(({ element: { name, converted_type: type } }) => [name, type]),
    [
      ['name', 'UTF8'],
      ['city', 'UTF8'],
    ],
  );
});

test('nested values come back as they were: empty lists, missing fields and nulls inside', async () => {
  const data = [
    {
      bills: [
        { year: 2024, paid: true, parts: ['a', 'b'] },
        { year: 2025, paid: null, parts: [] },
      ],
      owner: { name: 'S', city: null },
    },
    { bills: [], owner: null },
    { bills: null, owner: { name: null, city: 'X' } },
    { bills: [null, { year: 1, paid: false, parts: null }] },
    {},
  ];
  const { rows } = await read(data, SCRAPER);
  assert.deepEqual(
    rows.map((row) => plain([row['bills'], row['owner'], row['more']])),
    [
      [data[0]?.bills, data[0]?.owner, null],
      [[], null, null],
      [null, data[2]?.owner, null],
      [data[3]?.bills, null, null],
      [null, null, null],
    ],
  );
});

test('a value that does not fit its type is in the last column, whole', async () => {
  const odd = [
    { bills: [{ year: 'last' }] },
    { bills: [{ year: 1, fee: 2 }] },
    { bills: 'none' },
    { owner: { name: '\ud800' } },
    { owner: ['a'] },
  ];
  const { rows } = await read(odd, SCRAPER);
  assert.deepEqual(
    rows.map((row) => [row['bills'] ?? null, row['owner'] ?? null, JSON.parse(String(row['more']))]),
    odd.map((data) => [null, null, { data }]),
  );
});

test('without a schema, the first results determine the types', async () => {
  const { rows } = await read([{ sales: [{ price: 1 }] }, { sales: [{ price: 2.5, deed: 'D' }] }], null);
  assert.deepEqual(
    rows.map((row) => plain(row['sales'])),
    [[{ price: 1, deed: null }], [{ price: 2.5, deed: 'D' }]],
  );
});

test('fields named like parts of an object are ordinary fields', async () => {
  const hostile = JSON.parse('{"a":{"__proto__":1,"constructor":"c","toString":true}}');
  const { rows } = await read([hostile, JSON.parse('{"a":{"constructor":"d"}}')], null);
  const { constructor: text, toString: flag } = rows[1]?.['a'] ?? {};
  assert.deepEqual([text, flag ?? null], ['d', null]);
});

test('whatever the data are, a reader finds every value in them', async () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const value = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 3 }),
    fc.array(fc.record({ a: leaf, b: fc.array(leaf, { maxLength: 2 }) }, { requiredKeys: [] }), { maxLength: 3 }),
    fc.record({ x: leaf, y: fc.record({ z: leaf }) }, { requiredKeys: [] }),
  );
  const job = fc.array(fc.record({ f: value, g: value }, { requiredKeys: [] }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(job, async (data) => {
      const { rows } = await read(data, null);
      for (const [at, given] of data.entries()) {
        const row = rows[at] ?? {};
        const more = row['more'] === undefined || row['more'] === null ? {} : JSON.parse(String(row['more'])).data;
        for (const field of ['f', 'g'] as const) {
          const found = field in more ? more[field] : parsedLeaves(row[field] ?? null, given[field] ?? null);
          assert.deepEqual(withoutNulls(found), withoutNulls(given[field] ?? null));
        }
      }
    }),
    { numRuns: 100 },
  );
});

/** Leaves without a certain type are JSON: undone where the value was something else. */
function parsedLeaves(found: unknown, given: unknown): unknown {
  if (typeof found === 'string' && found !== given) return JSON.parse(found);
  if (typeof found === 'string' && typeof given === 'string') return given;
  if (Array.isArray(found) && Array.isArray(given))
    return found.map((each, at) => parsedLeaves(each, given[at] ?? null));
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return found;
  const fields = (given ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(found).map(([name, each]) => [name, parsedLeaves(each, fields[name] ?? null)]),
  );
}

/** Parquet does not tell a field that is null from one that is missing; its reader calls some nulls undefined. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null && each !== undefined)
      .map(([name, each]) => [name, withoutNulls(each)]),
  );
}

test('nested rows of several row groups come back in their order', async () => {
  const { parts } = jobOfItems(6000, (place) => ({
    json: JSON.stringify({
      bills: Array.from({ length: place % 3 }, (_, at) => ({ year: place, paid: at === 0, parts: [] })),
    }),
    input: {},
  }));
  const file = Uint8Array.from(await bytesOf(parts, { format: 'parquet', scraper: SCRAPER })).buffer;
  assert.ok(parquetMetadata(file).row_groups.length > 1);
  const rows = await parquetReadObjects({ file, columns: ['item_id', 'bills'] });
  assert.equal(rows.length, 6000);
  for (const [place, { item_id: id, bills }] of rows.entries()) {
    assert.deepEqual([id, (bills as unknown[]).length], [`p-${place}`, place % 3]);
  }
});
