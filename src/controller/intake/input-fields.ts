import { isRecord } from '../../domain/is-record.ts';
import type { CatalogScraper } from './scraper-catalog.ts';

/** The fields of a scraper's input, as needed to read the header of a list. */
export interface InputFields {
  readonly scraperId: string;
  readonly names: ReadonlySet<string>;
  readonly required: readonly string[];
  /** Whether an input with any other field is refused. */
  readonly isClosed: boolean;
  /** Patterns that values of fields must match. */
  readonly patterns: readonly RegExp[];
}

/** Null for an input that is not simply an object, such as one of several alternatives: its fields are uncertain. */
export function inputFields({ id, input: schema }: Pick<CatalogScraper, 'id' | 'input'>): InputFields | null {
  if (!isRecord(schema) || schema['type'] !== 'object' || !isRecord(schema['properties'])) return null;
  const { properties, required, additionalProperties } = schema;
  const names = Object.keys(properties);
  return {
    scraperId: id,
    names: new Set(names),
    required: Array.isArray(required) ? required.filter((name) => names.includes(name)) : [],
    isClosed: additionalProperties === false,
    patterns: Object.values(properties).flatMap(patternOf),
  };
}

function patternOf(property: unknown): readonly RegExp[] {
  if (!isRecord(property) || typeof property['pattern'] !== 'string') return [];
  try {
    return [new RegExp(property['pattern'], 'u')];
  } catch {
    return [];
  }
}
