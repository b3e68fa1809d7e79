import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { hasPlaceholder, maskPlaceholders } from './template.ts';

/**
 * How a step finds its element: alternatives, tried in order. Each is a text with a prefix that says what it means, or a
 * list of such texts that descends through shadow roots, from the outermost host to the element.
 */
export const SELECTOR_PREFIXES = {
  aria: 'accessible name, as the Chrome Recorder writes it: `aria/Search`, `aria/Search[role="button"]`',
  role: 'role and accessible name: `role/button[name="Search"]`',
  text: 'innermost element with this text: `text/Search`',
  label: 'form control with this label: `label/Parcel number`',
  testid: '`data-testid`: `testid/search-button`',
  css: 'CSS: `css/#search`; a text without any prefix is CSS, too',
  xpath: 'XPath: `xpath///*[@id="search"]`',
  pierce: 'CSS that also looks into open shadow roots: `pierce/#search`',
} as const;

type SelectorKind = keyof typeof SELECTOR_PREFIXES;

/** One selector, read. */
export type SelectorPart =
  | { readonly kind: 'aria'; readonly name: string; readonly role: string | null }
  | { readonly kind: 'role'; readonly role: string; readonly name: string | null }
  | { readonly kind: 'text' | 'label' | 'testid' | 'css' | 'xpath' | 'pierce'; readonly value: string };

const one = z.string().min(1).max(LIMITS.selector).superRefine(noteProblem);

const ALTERNATIVE = z
  .union([
    one.describe('A selector such as `#search`, `text/Search` or `role/button[name="Search"]`.'),
    z.array(one).min(1).max(20).describe('A path through shadow roots: each selector is looked for in the one before.'),
  ])
  .meta({ id: 'Selector' });
export type Alternative = z.output<typeof ALTERNATIVE>;

export const SELECTORS = z
  .array(ALTERNATIVE)
  .min(1)
  .max(LIMITS.alternatives)
  .meta({ id: 'Selectors', description: 'Alternatives, tried in order; the first that matches is used.' });
export type Selectors = z.output<typeof SELECTORS>;

/** The element of the innermost `forEach`. Not a CSS selector, so it cannot be mistaken for one. */
export const ROW = '@row';

export const WITHIN = z
  .union([z.literal(ROW).describe('The row of the innermost forEach.'), SELECTORS])
  .meta({ id: 'Within', description: 'Looks only inside this element.' });
export type Within = z.output<typeof WITHIN>;

export const FRAME = z
  .array(z.union([z.int().min(0).max(1_000), one]))
  .min(1)
  .max(10)
  .meta({
    id: 'Frame',
    description:
      'The frame, as a path from the page: each entry is an index among the child frames or a selector of the iframe.',
  });
export type Frame = z.output<typeof FRAME>;

/** The fields by which a step, a condition or a field finds its element. */
export const TARGET = {
  selectors: SELECTORS,
  frame: FRAME.optional(),
  within: WITHIN.optional(),
};

export interface Target {
  readonly selectors: Selectors;
  readonly frame?: Frame | undefined;
  readonly within?: Within | undefined;
}

/** The parts of an alternative, outermost first. Throws for a selector that cannot be read. */
export function parseAlternative(alternative: Alternative): readonly SelectorPart[] {
  return (typeof alternative === 'string' ? [alternative] : alternative).map(parseSelector);
}

export function parseSelector(text: string): SelectorPart {
  const [, prefix = '', rest = text] = PREFIXED.exec(text) ?? [];
  const kind = (prefix || 'css') as SelectorKind;
  if (rest.trim() === '') throw new Error(`the selector ${quote(text)} is empty`);
  if (kind === 'aria') {
    const [, name = '', role] = /^(.*?)\[role=["']([\w-]+)["']\]$/s.exec(rest) ?? [];
    return role === undefined ? { kind, name: rest, role: null } : { kind, name, role };
  }
  if (kind === 'role') {
    const [, role, , name] = /^([\w-]+)(?:\[name=(["'])(.*)\2\])?$/s.exec(rest) ?? [];
    if (role === undefined) throw new Error(`the selector ${quote(text)} must look like role/button[name="Search"]`);
    return { kind, role, name: name ?? null };
  }
  const problem =
    kind === 'css' || kind === 'pierce' ? findCssProblem(rest) : kind === 'xpath' ? findBracketProblem(rest) : null;
  if (problem !== null) throw new Error(`the selector ${quote(text)} ${problem}`);
  return { kind, value: rest };
}

/** As a person would name the element: `"Search"`, `#search`. */
export function describeSelectors([first = '']: Selectors): string {
  const last = typeof first === 'string' ? first : (first.at(-1) ?? '');
  const [, prefix, rest = ''] = PREFIXED.exec(last) ?? [];
  if (prefix === 'aria') return quote(rest.replace(/\[role=.*\]$/s, '') || rest);
  if (prefix === 'text' || prefix === 'label') return quote(rest);
  if (prefix === 'role') {
    const [, role = rest, , name] = /^([\w-]+)(?:\[name=(["'])(.*)\2\])?$/s.exec(rest) ?? [];
    return name === undefined ? role : `${role} ${quote(name)}`;
  }
  return prefix === 'css' || prefix === 'pierce' || prefix === 'testid' ? clip(rest) : clip(last);
}

const PREFIXED = new RegExp(`^(${Object.keys(SELECTOR_PREFIXES).join('|')})/(.*)$`, 's');

function noteProblem(text: string, context: z.RefinementCtx): void {
  try {
    parseSelector(hasPlaceholder(text) ? maskPlaceholders(text) : text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
  }
}

/** What no CSS parser would accept. The engine has the last word; this is to find mistakes without one. */
function findCssProblem(css: string): string | null {
  const bare = withoutStrings(css);
  if (/[{};]|<!--|\/\*/.test(bare)) return 'is not CSS: it contains one of { } ; or a comment';
  if (/^\s*[>+~,]/.test(bare)) return 'begins with a combinator or a comma';
  if (/[>+~,]\s*$/.test(bare)) return 'ends with a combinator or a comma';
  if (/[>+~,]\s*[>+~,]/.test(bare.replace(/\[[^\]]*\]/g, '[]'))) return 'has two combinators or commas in a row';
  if (/(?:^|[^\\])[.#](?=[\s.#>+~,:[)]|$)/.test(bare.replace(/\[[^\]]*\]/g, '[]')))
    return 'has a . or # without a name';
  if (/\[\s*\]/.test(bare) || /\(\s*\)/.test(bare)) return 'has empty brackets';
  if (/^[@!$%^&=]/.test(bare.trim())) return 'is not CSS';
  return findBracketProblem(css);
}

function findBracketProblem(text: string): string | null {
  const bare = withoutStrings(text);
  if (/["']/.test(bare)) return 'has a quotation mark that is not closed';
  const open: string[] = [];
  for (const character of bare) {
    if (character === '(' || character === '[') open.push(character);
    const opening = character === ')' ? '(' : character === ']' ? '[' : null;
    if (opening !== null && open.pop() !== opening) return `has a ${character} that was not opened`;
  }
  const last = open.pop();
  return last === undefined ? null : `has a ${last} that is not closed`;
}

/** Strings become one letter, escaped characters a letter each. */
function withoutStrings(text: string): string {
  return text.replace(/\\[0-9a-fA-F]{1,6} ?|\\./gs, 'x').replace(/"[^"]*"|'[^']*'/g, 'x');
}

function quote(text: string): string {
  return JSON.stringify(clip(text));
}

function clip(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
