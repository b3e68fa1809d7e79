import { isRecord } from '../../../domain/is-record.ts';

/**
 * The type of a column. Lists and structs are native types in Parquet; in CSV they are JSON. `json` is for values
 * without a certain type.
 */
export type ColumnType =
  | 'text'
  | 'number'
  | 'boolean'
  | 'json'
  | { readonly list: ColumnType }
  | { readonly struct: ReadonlyMap<string, ColumnType> };

/** The type while values are still being examined: null for what has only been null so far. */
export type SeenType =
  | 'text'
  | 'number'
  | 'boolean'
  | 'json'
  | { readonly list: SeenType | null }
  | { readonly struct: ReadonlyMap<string, SeenType | null> };

/** Every leaf is a column of the file, and deeper nesting is rarely tabular. */
export const MAX_LEAVES = 200;
export const MAX_NESTING = 6;

/** The type of a column that would hold this value. */
export function typeOf(value: unknown, depth = 0): SeenType | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return 'text';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  if (depth >= MAX_NESTING) return 'json';
  if (Array.isArray(value)) {
    let list: SeenType | null = null;
    for (const element of value) list = agree(list, typeOf(element, depth + 1));
    return { list };
  }
  if (!isRecord(value)) return 'json';
  const entries = Object.entries(value);
  if (entries.length > MAX_LEAVES) return 'json';
  return { struct: new Map(entries.map(([name, field]) => [name, typeOf(field, depth + 1)])) };
}

/** The type that fits both: fields of structs are joined; `json` if they cannot be joined. */
export function agree(one: SeenType | null, other: SeenType | null): SeenType | null {
  if (one === null) return other;
  if (other === null || one === other) return one;
  if (typeof one === 'string' || typeof other === 'string') return 'json';
  if ('list' in one) return 'list' in other ? { list: agree(one.list, other.list) } : 'json';
  if ('list' in other) return 'json';
  const struct = new Map(one.struct);
  for (const [name, type] of other.struct) struct.set(name, agree(struct.get(name) ?? null, type));
  return struct.size > MAX_LEAVES ? 'json' : { struct };
}

/** The final type of a column, after all relevant values were examined. */
export function settle(seen: SeenType | null): ColumnType {
  const type = settled(seen);
  return countLeaves(type) > MAX_LEAVES ? 'json' : type;
}

function settled(seen: SeenType | null): ColumnType {
  if (seen === null) return 'json';
  if (typeof seen === 'string') return seen;
  // A list that was always empty may contain anything.
  if ('list' in seen) return seen.list === null ? 'json' : { list: settled(seen.list) };
  return structOf(Array.from(seen.struct, ([name, field]) => [name, settled(field)] as const));
}

/** A struct needs a field, and every field a name that a file can represent. */
export function structOf(fields: readonly (readonly [string, ColumnType])[]): ColumnType {
  const isNamed = fields.every(([name]) => name !== '' && name.isWellFormed());
  return fields.length > 0 && isNamed ? { struct: new Map(fields) } : 'json';
}

export function countLeaves(type: ColumnType): number {
  if (typeof type === 'string') return 1;
  if ('list' in type) return countLeaves(type.list);
  let leaves = 0;
  for (const field of type.struct.values()) leaves += countLeaves(field);
  return leaves;
}

export function isSameType(one: ColumnType, other: ColumnType): boolean {
  if (one === other) return true;
  if (typeof one === 'string' || typeof other === 'string') return false;
  if ('list' in one) return 'list' in other && isSameType(one.list, other.list);
  if ('list' in other || one.struct.size !== other.struct.size) return false;
  return [...one.struct].every(([name, type]) => {
    const same = other.struct.get(name);
    return same !== undefined && isSameType(type, same);
  });
}
