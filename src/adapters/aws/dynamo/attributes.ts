import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Names a row. */
export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** A row as the SDK represents it, with short functions to write and read one. */
export type Row = Readonly<Record<string, AttributeValue>>;

export function text(value: string): AttributeValue {
  return { S: value };
}

export function num(value: number): AttributeValue {
  return { N: String(value) };
}

export function bytes(value: Uint8Array): AttributeValue {
  return { B: value };
}

export function json(value: unknown): AttributeValue {
  return { S: JSON.stringify(value) };
}

export function textOf(row: Row, name: string): string {
  const value = row[name]?.S;
  if (value === undefined) throw malformed(row, name);
  return value;
}

export function maybeText(row: Row, name: string): string | null {
  return row[name]?.S ?? null;
}

export function numOf(row: Row, name: string): number {
  const value = row[name]?.N;
  if (value === undefined) throw malformed(row, name);
  return Number(value);
}

/** 0 if it was never written: a counter that is only added to begins with nothing. */
export function countOf(row: Row, name: string): number {
  return Number(row[name]?.N ?? 0);
}

export function bytesOf(row: Row, name: string): Uint8Array {
  const value = row[name]?.B;
  if (value === undefined) throw malformed(row, name);
  return value;
}

export function jsonOf<T>(row: Row, name: string): T {
  return JSON.parse(textOf(row, name));
}

function malformed(row: Row, name: string): Error {
  return new Error(`a row of the table has no ${name}: ${row['pk']?.S} ${row['sk']?.S}`);
}
