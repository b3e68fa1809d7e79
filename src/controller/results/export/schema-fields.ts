import { isRecord } from '../../../domain/is-record.ts';

/**
 * The top-level fields that a JSON Schema names, in its order, and what a column for each can hold. Only what is certain
 * becomes a type of its own: a field that may be a text or a number, or that is nested, is kept as JSON.
 */
export type ColumnType = 'text' | 'number' | 'boolean' | 'json';

/** Limit for nested references and alternatives, so that a schema that refers to itself comes to an end. */
const MAX_DEPTH = 16;

export function schemaFields(schema: object | null): ReadonlyMap<string, ColumnType> {
  const fields = new Map<string, ColumnType>();
  if (schema !== null) collect(schema, schema, fields, 0);
  return fields;
}

/** A field that several alternatives name has the type on which they agree. */
function collect(schema: unknown, root: object, fields: Map<string, ColumnType>, depth: number): void {
  const found = resolve(schema, root);
  if (found === null || depth > MAX_DEPTH) return;
  const properties = found['properties'];
  if (isRecord(properties)) {
    for (const [field, property] of Object.entries(properties)) {
      const type = columnType(property, root);
      fields.set(field, (fields.get(field) ?? type) === type ? type : 'json');
    }
  }
  for (const part of partsOf(found)) collect(part, root, fields, depth + 1);
}

function columnType(schema: unknown, root: object): ColumnType {
  const types = new Set<ColumnType>();
  addTypes(schema, root, types, 0);
  const [type, ...others] = types;
  return type === undefined || others.length > 0 ? 'json' : type;
}

function addTypes(schema: unknown, root: object, types: Set<ColumnType>, depth: number): void {
  const found = resolve(schema, root);
  if (found === null || depth > MAX_DEPTH) {
    types.add('json');
    return;
  }
  const before = types.size;
  const named = found['type'];
  for (const name of Array.isArray(named) ? named : [named]) {
    if (typeof name === 'string' && name !== 'null') types.add(TYPE_OF[name] ?? 'json');
  }
  if (named !== undefined) return;
  const values = Array.isArray(found['enum']) ? found['enum'] : 'const' in found ? [found['const']] : [];
  for (const value of values) if (value !== null) types.add(typeOf(value));
  const parts = partsOf(found);
  for (const part of parts) addTypes(part, root, types, depth + 1);
  const saysNothing = values.length === 0 && parts.length === 0;
  if (saysNothing && types.size === before) types.add('json');
}

const TYPE_OF: Readonly<Record<string, ColumnType>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};

/** The type of a column that would hold this value. */
export function typeOf(value: unknown): ColumnType {
  return TYPE_OF[typeof value] ?? 'json';
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
