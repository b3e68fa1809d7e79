import { hasPlaceholder, type Placeholder, parseTemplate, TemplateError, type TemplatePart } from './template.ts';
import { applyFilter } from './template-filters.ts';

/** What placeholders can name. `row` is present inside of a `forEach` or `repeat`. */
export interface TemplateValues {
  readonly input: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly row?: { readonly index: number; readonly number: number };
}

/** What a value has to become at its place, so that it stays a value there. */
export type Escape = (value: string, placeholder: Placeholder, isFirst: boolean) => string;

/** A value that is missing is a TemplateError that names the placeholder, unless it has a `default`. */
export function renderTemplate(text: string, values: TemplateValues, write: Escape = asIs): string {
  if (!hasPlaceholder(text)) return text;
  return recallParts(text)
    .map((part, index) => (part.kind === 'literal' ? part.text : write(readValue(part, values), part, index === 0)))
    .join('');
}

/** In a URL, values are encoded, unless they are its beginning or say `raw`. */
export const IN_URL: Escape = (value, { filters }, isFirst) =>
  isFirst || filters.some(({ name }) => name === 'raw') ? value : encodeURIComponent(value.toWellFormed());

export const IN_PATTERN: Escape = (value) => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A backslash before them works in quoted strings of CSS and outside. */
export const IN_CSS: Escape = (value) =>
  value.replace(/["'\\[\](){}<>|~+,;:.#*=^$!&@%/`?]/g, '\\$&').replace(/\s+/g, ' ');

/** XPath has no way to write a quotation mark inside of its own kind. */
export const IN_XPATH: Escape = (value, { source }) => {
  if (/["']/.test(value))
    throw new TemplateError(`${source} has a quotation mark, which an XPath selector cannot contain`);
  return value;
};

export const asIs: Escape = (value) => value;

function readValue(placeholder: Placeholder, values: TemplateValues): string {
  const { source, root, path, filters } = placeholder;
  let text = asText(lookUp(values[root], path), source);
  for (const call of filters) {
    if (call.name === 'default') text = text === null || text === '' ? (call.args[0] ?? '') : text;
    else if (text !== null) text = applyFilter(call, text);
  }
  if (text === null) throw new TemplateError(`${source} has no value`);
  return text;
}

/** Own fields only: nothing that every object has by its prototype. */
function lookUp(from: unknown, path: readonly string[]): unknown {
  let value = from;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function asText(value: unknown, source: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TemplateError(`${source} is ${Array.isArray(value) ? 'a list' : 'an object'}, not a text or a number`);
}

/** A recording is rendered a million times: each of its texts is read once. */
function recallParts(text: string): readonly TemplatePart[] {
  const known = PARTS.get(text);
  if (known !== undefined) return known;
  const parts = parseTemplate(text);
  if (PARTS.size >= MAX_KNOWN) PARTS.clear();
  PARTS.set(text, parts);
  return parts;
}

const MAX_KNOWN = 5_000;
const PARTS = new Map<string, readonly TemplatePart[]>();
