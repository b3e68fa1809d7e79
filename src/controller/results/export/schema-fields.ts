import { isRecord } from '../../../domain/is-record.ts';
import {
  type ColumnType,
  countLeaves,
  isSameType,
  MAX_LEAVES,
  MAX_NESTING,
  settle,
  structOf,
  typeOf,
} from './column-types.ts';

/**
 * The top-level fields that a JSON Schema names, in its order, and the column type for each. Only certain types are
 * used: a field that may be a text or a number, or an object with arbitrary fields, is stored as JSON.
 */

/** Limit for nested references and alternatives, so that a recursive schema comes to an end. */
const MAX_DEPTH = 16;

export type Fields = ReadonlyMap<string, ColumnType>;

export function schemaFields(schema: object | null): Fields {
  const fields = new Map<string, ColumnType>();
  if (schema !== null) collect(schema, schema, fields, 0);
  return fields;
}

/** A field of several alternatives has the type that fits all of them. */
function collect(schema: unknown, root: object, fields: Map<string, ColumnType>, depth: number): void {
  const found = resolve(schema, root);
  if (found === null || depth > MAX_DEPTH) return;
  const properties = found['properties'];
  if (isRecord(properties)) {
    for (const [field, property] of Object.entries(properties)) {
      const type = new Column(root).type(property);
      const before = fields.get(field);
      fields.set(field, before === undefined || isSameType(before, type) ? type : 'json');
    }
  }
  for (const part of partsOf(found)) collect(part, root, fields, depth + 1);
}

/** Finds the type of one column. */
class Column {
  readonly #root: object;
  /** A schema with several references to itself would otherwise be walked almost forever. */
  #steps = 0;

  constructor(root: object) {
    this.#root = root;
  }

  type(schema: unknown): ColumnType {
    const type = this.#typeOf(schema, 0);
    return this.#steps > MAX_STEPS || countLeaves(type) > MAX_LEAVES ? 'json' : type;
  }

  #typeOf(schema: unknown, nesting: number): ColumnType {
    const types: ColumnType[] = [];
    this.#addTypes(schema, types, 0, nesting);
    const [type, ...others] = types;
    return type === undefined || !others.every((other) => isSameType(type, other)) ? 'json' : type;
  }

  #addTypes(schema: unknown, types: ColumnType[], depth: number, nesting: number): void {
    this.#steps += 1;
    const found = this.#steps > MAX_STEPS ? null : resolve(schema, this.#root);
    if (found === null || depth > MAX_DEPTH) {
      types.push('json');
      return;
    }
    const before = types.length;
    const named = found['type'];
    for (const name of Array.isArray(named) ? named : [named]) {
      if (typeof name === 'string' && name !== 'null') types.push(SCALARS[name] ?? this.#nested(name, found, nesting));
    }
    if (named !== undefined) return;
    const values = Array.isArray(found['enum']) ? found['enum'] : 'const' in found ? [found['const']] : [];
    for (const value of values) if (value !== null) types.push(settle(typeOf(value)));
    const parts = partsOf(found);
    for (const part of parts) this.#addTypes(part, types, depth + 1, nesting);
    const saysNothing = values.length === 0 && parts.length === 0;
    if (saysNothing && types.length === before) types.push('json');
  }

  #nested(name: string, schema: Readonly<Record<string, unknown>>, nesting: number): ColumnType {
    if (nesting >= MAX_NESTING) return 'json';
    const { items, properties, additionalProperties } = schema;
    if (name === 'array') return isRecord(items) ? { list: this.#typeOf(items, nesting + 1) } : 'json';
    // An object that may have other fields as well is not a struct.
    const isClosed = additionalProperties === undefined || additionalProperties === false;
    if (name !== 'object' || !isClosed || !isRecord(properties) || partsOf(schema).length > 0) return 'json';
    return structOf(
      Object.entries(properties).map(([field, property]) => [field, this.#typeOf(property, nesting + 1)] as const),
    );
  }
}

const MAX_STEPS = 2000;

const SCALARS: Readonly<Record<string, ColumnType>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};

/** The fields of the entries of a list. Entries that are not objects are a single, unnamed field. */
export function elementFields(output: object | null, list: string): Fields {
  const found = output === null ? null : listField(output, list);
  if (found === null || found === 'other') return new Map();
  const fields = schemaFields(found.items);
  if (fields.size > 0) return fields;
  const type = new Column(found.items).type(found.items);
  return type === 'json' ? new Map() : new Map([['', type]]);
}

/** The schema of the elements of a field, if it is certainly a list; null if there is no such field. */
export function listField(schema: object, field: string): { readonly items: object } | 'other' | null {
  const found = resolve(schema, schema);
  const properties = found?.['properties'];
  if (!isRecord(properties) || !Object.hasOwn(properties, field)) return null;
  const options = alternatives(properties[field], schema, 0);
  const lists = options.filter((option) => option['type'] === 'array');
  if (lists.length === 0) return 'other';
  const [items, ...others] = lists.map((list) => list['items']);
  // Definitions are needed to follow references from the elements.
  return {
    items: isRecord(items) && others.length === 0 ? { ...items, $defs: (schema as { $defs?: unknown }).$defs } : {},
  };
}

/** Alternatives of a schema other than null. */
function alternatives(schema: unknown, root: object, depth: number): readonly Readonly<Record<string, unknown>>[] {
  const found = resolve(schema, root);
  if (found === null || depth > MAX_DEPTH) return [{ type: 'array' }];
  if (found['type'] === 'null') return [];
  const parts = partsOf(found);
  if (parts.length > 0) return parts.flatMap((part) => alternatives(part, root, depth + 1));
  const named = found['type'];
  if (named === undefined) return [{ type: 'array' }];
  return Array.isArray(named) ? named.map((type) => ({ ...found, type })) : [found];
}

function partsOf(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap((name) => {
    const parts = schema[name];
    return Array.isArray(parts) ? parts : [];
  });
}

/** Follows references within the document; null if it is not a schema, or one that says nothing (`true`). */
function resolve(schema: unknown, root: object): Readonly<Record<string, unknown>> | null {
  let found = schema;
  for (let step = 0; step <= MAX_DEPTH; step += 1) {
    if (!isRecord(found)) return null;
    const reference = found['$ref'];
    if (typeof reference !== 'string') return found;
    found = targetOf(reference, root);
  }
  return null;
}

function targetOf(reference: string, root: object): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return null;
  let found: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : null;
  }
  return found;
}
