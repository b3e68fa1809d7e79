import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { schemaProblems } from '../../src/domain/schema-problems.ts';

test('a value that is missing, or matches none of several types, is reported with what was expected', () => {
  const input = z.strictObject({ apn: z.union([z.string(), z.number(), z.boolean()]), kind: z.enum(['a', 'b']) });
  const { error } = input.safeParse({ kind: 'c', parcel: '1' });
  assert.deepEqual(error && schemaProblems(error).map(({ path, message }) => `${path}: ${message}`), [
    'apn: Invalid input: expected string, number or boolean, received undefined',
    'kind: Invalid option: expected one of "a"|"b"',
    'parcel: there is no field "parcel"',
  ]);
});
