import { PROTOTYPE_NAMES } from './limits.ts';
import { FILTERS, type FilterCall, findFilterProblem } from './template-filters.ts';

/**
 * Texts with placeholders: `{{input.apn | digits | slice:0,3}}`. A placeholder names a value of the item's input, a value
 * that an earlier step read (`vars`), or the place in a loop (`row`), and filters that change it. There are no expressions:
 * rendering looks values up and never evaluates anything. `\{{` stands for two braces.
 */
export type TemplatePart =
  | { readonly kind: 'literal'; readonly text: string }
  | {
      readonly kind: 'placeholder';
      /** As it is written, for messages. */
      readonly source: string;
      readonly root: TemplateRoot;
      /** At least one name; `input.owner.name` has two. */
      readonly path: readonly string[];
      readonly filters: readonly FilterCall[];
    };

export type Placeholder = Extract<TemplatePart, { kind: 'placeholder' }>;

const TEMPLATE_ROOTS = ['input', 'vars', 'row'] as const;
type TemplateRoot = (typeof TEMPLATE_ROOTS)[number];

export class TemplateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TemplateError';
  }
}

const MAX_PLACEHOLDERS = 50;
const MAX_FILTERS = 10;

/** Throws a TemplateError that quotes the placeholder. */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let literal = '';
  let count = 0;
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('\\{{', at)) {
      literal += '{{';
      at += 3;
    } else if (text.startsWith('{{', at)) {
      const end = findEnd(text, at + 2);
      if (end < 0) throw new TemplateError(`${quote(text.slice(at))} is not closed by }}`);
      if (literal !== '') parts.push({ kind: 'literal', text: literal });
      literal = '';
      count += 1;
      if (count > MAX_PLACEHOLDERS) throw new TemplateError(`there are more than ${MAX_PLACEHOLDERS} placeholders`);
      parts.push(parsePlaceholder(text.slice(at, end + 2)));
      at = end + 2;
    } else {
      literal += text[at];
      at += 1;
    }
  }
  if (literal !== '') parts.push({ kind: 'literal', text: literal });
  return parts;
}

export function hasPlaceholder(text: string): boolean {
  return text.includes('{{');
}

/** With an `x` for each placeholder: to check what is around them. Unreadable ones stay. */
export function maskPlaceholders(text: string): string {
  try {
    return parseTemplate(text)
      .map((part) => (part.kind === 'literal' ? part.text : 'x'))
      .join('');
  } catch {
    return text;
  }
}

function parsePlaceholder(whole: string): Placeholder {
  const [name = '', ...calls] = splitOutsideQuotes(whole.slice(2, -2), '|').map((part) => part.trim());
  const [root = '', ...path] = name.split('.');
  if (!isRoot(root) || path.length === 0) {
    throw new TemplateError(`${quote(whole)} must name a value: {{input.NAME}}, {{vars.NAME}} or {{row.number}}`);
  }
  for (const part of path) {
    if (!/^[A-Za-z0-9_$][\w$-]*$/.test(part) || part.length > 100) {
      throw new TemplateError(`${quote(whole)}: ${quote(part)} is not a name`);
    }
    if (PROTOTYPE_NAMES.has(part)) throw new TemplateError(`${quote(whole)}: ${quote(part)} cannot be read`);
  }
  if (path.length > 10) throw new TemplateError(`${quote(whole)} has more than 10 names`);
  if (root === 'row' && !(path.length === 1 && (path[0] === 'index' || path[0] === 'number'))) {
    throw new TemplateError(`${quote(whole)}: a row has index (from 0) and number (from 1)`);
  }
  if (calls.length > MAX_FILTERS) throw new TemplateError(`${quote(whole)} has more than ${MAX_FILTERS} filters`);
  return { kind: 'placeholder', source: whole, root, path, filters: calls.map((call) => parseFilter(call, whole)) };
}

function parseFilter(call: string, whole: string): FilterCall {
  const [, name = '', args] = /^(\w*)\s*(?::(.*))?$/s.exec(call) ?? [];
  if (!Object.hasOwn(FILTERS, name)) {
    throw new TemplateError(
      `${quote(whole)}: there is no filter ${quote(name || call)}; there are ${Object.keys(FILTERS).join(', ')}`,
    );
  }
  const filter: FilterCall = {
    name: name as FilterCall['name'],
    args: args === undefined ? [] : splitOutsideQuotes(args, ',').map(unquote),
  };
  const problem = findFilterProblem(filter);
  if (problem !== null) throw new TemplateError(`${quote(whole)}: the filter ${name} ${problem}`);
  return filter;
}

function isRoot(name: string): name is TemplateRoot {
  return (TEMPLATE_ROOTS as readonly string[]).includes(name);
}

/** Where `}}` is, outside of quotation marks; -1 if nowhere. */
function findEnd(text: string, from: number): number {
  let quoted: string | null = null;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quoted !== null) quoted = character === quoted ? null : quoted;
    else if (text.startsWith('}}', at)) return at;
    else if (character === '"' || character === "'") quoted = character;
  }
  return -1;
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts = [''];
  let quoted: string | null = null;
  for (const character of text) {
    if (quoted === null && character === separator) {
      parts.push('');
      continue;
    }
    if (quoted !== null) quoted = character === quoted ? null : quoted;
    else if (character === '"' || character === "'") quoted = character;
    parts[parts.length - 1] += character;
  }
  return parts;
}

/** `" a"` is a blank and an a; without quotation marks, blanks around an argument do not count. */
function unquote(argument: string): string {
  const trimmed = argument.trim();
  return /^(["']).*\1$/s.test(trimmed) && trimmed.length > 1 ? trimmed.slice(1, -1) : trimmed;
}

function quote(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
