import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Row } from './attributes.ts';

/** Size of a row as DynamoDB counts it: names and values; a write is billed per started kilobyte. */
export function rowBytes(row: Row): number {
  let sum = 0;
  for (const [name, value] of Object.entries(row)) sum += Buffer.byteLength(name) + valueBytes(value);
  return sum;
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.byteLength;
  // Two digits to a byte, and one for sign and exponent.
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  if (value.L !== undefined) return value.L.reduce((sum, each) => sum + 1 + valueBytes(each), LIST_BYTES);
  if (value.M !== undefined) return LIST_BYTES + Object.keys(value.M).length + rowBytes(value.M);
  if (value.SS !== undefined) return value.SS.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  if (value.NS !== undefined) return value.NS.reduce((sum, each) => sum + valueBytes({ N: each }), 0);
  if (value.BS !== undefined) return value.BS.reduce((sum, each) => sum + each.byteLength, 0);
  return 1;
}

const LIST_BYTES = 3;
