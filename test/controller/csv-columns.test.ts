import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { parseColumns } from '../../src/contract/item-columns.ts';
import { type ColumnRules, planColumns, UnreadableItems } from '../../src/controller/intake/csv-columns.ts';
import { inputFields } from '../../src/controller/intake/input-fields.ts';
import { jsonSchemaOf } from '../../src/scraping/describe-scraper.ts';

const PARID = z.string().regex(/^[\w-]+$/);

function rulesFor(input: z.ZodType, columns = '', isStrict = false): ColumnRules {
  const parsed = columns === '' ? { mapping: new Map() } : parseColumns(columns);
  assert.ok('mapping' in parsed, columns);
  return {
    mapping: parsed.mapping,
    input: inputFields({ id: 'county', input: jsonSchemaOf(input, 'input') }),
    isStrict,
  };
}

const COUNTY = z.strictObject({ parid: PARID, name: z.string().optional() });

/** The plan as text: `parid=1 | ignored: owner`. */
function planned(header: string, rules: ColumnRules): string {
  const { fields, ignored } = planColumns(header.split(','), rules);
  const used = fields.map(({ field, at }) => `${field}=${at + 1}`).join(' ');
  return ignored.length === 0 ? used : `${used} | ignored: ${ignored.join(', ')}`;
}

function refusal(header: string, rules: ColumnRules): string {
  try {
    return planned(header, rules);
  } catch (error) {
    assert.ok(error instanceof UnreadableItems, String(error));
    return error.message;
  }
}

test('a mapping says which column a field is read from, and other fields have columns of their own name', () => {
  assert.equal(planned('APN,Owner,item_id', rulesFor(COUNTY, 'parid=APN,name=Owner')), 'parid=1 name=2 item_id=3');
  assert.equal(planned('APN,name', rulesFor(COUNTY, 'parid=APN')), 'parid=1 name=2');
  // One column may be both the id and a field.
  assert.equal(planned('APN', rulesFor(COUNTY, 'parid=APN,item_id=APN')), 'parid=1 item_id=1');
  // A mapped field does not come from its own column as well.
  assert.equal(planned('APN,parid', rulesFor(COUNTY, 'parid=APN')), 'parid=1 | ignored: parid');
  assert.equal(planned(' APN ,x', rulesFor(z.looseObject({}), 'parid=APN')), 'parid=1 x=2');
});

test('columns that a strict scraper does not know are ignored, including nameless and duplicate ones', () => {
  assert.equal(planned('parid,owner,city', rulesFor(COUNTY)), 'parid=1 | ignored: owner, city');
  assert.equal(planned('owner,parid,owner,', rulesFor(COUNTY)), 'parid=2 | ignored: owner, owner, column 4');
  assert.equal(planned('parid,owner', rulesFor(z.object({ parid: PARID }))), 'parid=1 owner=2');
  assert.equal(planned('a,b', rulesFor(z.unknown())), 'a=1 b=2');
  assert.match(refusal('parid,parid', rulesFor(COUNTY)), /^two columns of the header have the name parid$/);
});

test('on request, columns that the scraper does not know are refused by name', () => {
  assert.equal(
    refusal('parid,owner,city', rulesFor(COUNTY, '', true)),
    'the scraper county does not know these columns: owner, city',
  );
  assert.equal(planned('parid,name', rulesFor(COUNTY, '', true)), 'parid=1 name=2');
});

test('a list without a header row is recognised, whatever its first row contains', () => {
  for (const row of ['200-14-030', 'R0001,SMITH', '12.50,SMITH', ',SMITH', 'A,A', 'https://a.test/1,x', '1/2/2025,x']) {
    assert.match(refusal(row, rulesFor(COUNTY)), /^it has no header row: its first row \(.*\) looks like data\./, row);
  }
  assert.match(refusal('200-14-030', rulesFor(z.object({ parid: z.string() }))), /knows parid$/);
  // Nothing is known of the fields, so that 2024 may well be a column.
  assert.equal(planned('2024,2025', rulesFor(z.looseObject({}))), '2024=1 2025=2');
  assert.equal(planned('parid,2024', rulesFor(COUNTY)), 'parid=1 | ignored: 2024');
});

test('a header without a field of the scraper is refused with a mapping to copy', () => {
  assert.equal(
    refusal('item_id,Owner,PAR_ID', rulesFor(COUNTY)),
    'none of its columns (item_id, Owner, PAR_ID) is a field of the scraper county (parid, name). ' +
      'Rename them, or say which column is which field, such as columns=parid=PAR_ID',
  );
  assert.match(refusal('apn', rulesFor(COUNTY)), /columns=parid=apn$/);
});

test('a mapping that names a missing column or an unknown field says what there is', () => {
  assert.equal(
    refusal('APN,Owner', rulesFor(COUNTY, 'parid=Apn')),
    'it has no column Apn for parid. Its columns: APN, Owner',
  );
  assert.equal(
    refusal('APN,Owner', rulesFor(COUNTY, 'pin=APN')),
    'columns: the scraper county has no field pin. Its fields: parid, name',
  );
  assert.match(refusal('APN,APN', rulesFor(COUNTY, 'parid=APN')), /two columns .* APN/);
});

test('pairs are separated by commas, and a pair in quotes may contain them', () => {
  const pairs = (text: string) => {
    const parsed = parseColumns(text);
    return 'mapping' in parsed ? Object.fromEntries(parsed.mapping) : parsed.problem;
  };
  assert.deepEqual(pairs('parid=APN, name = Owner Name '), { parid: 'APN', name: 'Owner Name' });
  assert.deepEqual(pairs('"name=Last, ""First""",a=b=c'), { name: 'Last, "First"', a: 'b=c' });
  for (const bad of ['', 'parid', 'parid=', '=APN', 'a=b,', 'a=b,,c=d', 'a=b,a=c', '"a=b', 'a="b"']) {
    assert.equal(typeof pairs(bad), 'string', bad);
  }
});
