import { z } from 'zod';
import { errorMessage } from '../error-message.ts';
import { isRecord } from '../is-record.ts';
import { findPatternProblem } from './safe-pattern.ts';
import type { Placeholder } from './template.ts';

/** Schemas of a recording's input and data: JSON Schema as it is written, and zod as the engine checks with it. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What keeps the schema from being used; null if nothing does. */
export function findSchemaProblem(schema: JsonSchema): string | null {
  if (schema['type'] !== 'object') return 'must be the schema of an object: {"type": "object", …}';
  const problem = findUnsafePart(schema);
  if (problem !== null) return problem;
  try {
    z.fromJSONSchema(schema);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Call it with a schema that has no problem; others make it throw. */
export function compileSchema(schema: JsonSchema): z.ZodType {
  return z.fromJSONSchema(schema);
}

/** One field for each value of the input that placeholders name; others are allowed, as a list has more columns. */
export function deriveInputSchema(placeholders: Iterable<Placeholder>): JsonSchema {
  const root: Fields = new Map();
  for (const { root: from, path, filters } of placeholders) {
    if (from !== 'input') continue;
    const isRequired = !filters.some(({ name }) => name === 'default');
    let fields = root;
    for (const [index, name] of path.entries()) {
      const known = fields.get(name) ?? { isRequired: false, fields: new Map() };
      fields.set(name, { isRequired: known.isRequired || isRequired, fields: known.fields });
      if (index < path.length - 1) fields = known.fields;
    }
  }
  return asSchema(root);
}

type Fields = Map<string, { readonly isRequired: boolean; readonly fields: Fields }>;

function asSchema(fields: Fields): JsonSchema {
  const entries = [...fields];
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, { fields: inner }]) => [name, inner.size > 0 ? asSchema(inner) : VALUE]),
    ),
    required: entries.filter(([, { isRequired }]) => isRequired).map(([name]) => name),
  };
}

/** A list of items says "2024" in CSV and 2024 in JSON; both are written into the page as text. */
const VALUE = { type: ['string', 'number', 'boolean'] };

/** Patterns are tried on values of others, so the rules of `safe-pattern.ts` hold for them too. References can loop. */
function findUnsafePart(part: unknown): string | null {
  if (Array.isArray(part)) return firstOf(part.map(findUnsafePart));
  if (!isRecord(part)) return null;
  const { pattern, patternProperties } = part;
  if ('$ref' in part || '$dynamicRef' in part) return '$ref is not supported here: write the schema in full';
  if (patternProperties !== undefined) return 'patternProperties is not supported here';
  if (typeof pattern === 'string') {
    const problem = findPatternProblem(pattern);
    if (problem !== null) return `the pattern ${JSON.stringify(pattern.slice(0, 100))} ${problem}`;
  }
  return firstOf(Object.values(part).map(findUnsafePart));
}

function firstOf(problems: readonly (string | null)[]): string | null {
  return problems.find((problem) => problem !== null) ?? null;
}
