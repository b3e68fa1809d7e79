import type { ScraperKind } from './scraper.ts';
import { type SourceToken, tokensOf } from './source-tokens.ts';

/** What a scraper's file says of it. */
export interface ScraperSummary {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly kind: ScraperKind;
  /** Null when they cannot be known without running the file. */
  readonly hosts: readonly string[] | null;
}

/** `helper`: the file exports no default, so that it is there for others. `unclear`: only importing it can tell. */
export type Scanned =
  | { readonly kind: 'scraper'; readonly summary: ScraperSummary }
  | { readonly kind: 'helper' }
  | { readonly kind: 'unclear' };

/**
 * Reads `export default define…Scraper({ id: '…', … })` off the source, without importing it: hundreds of scrapers must
 * not make a slow start, and one that is broken must not break the others. Only plain texts are taken at their word.
 */
export function scanScraper(source: string): Scanned {
  const tokens = tokensOf(source);
  if (tokens === null) return UNCLEAR;
  const start = tokens.findIndex((token, at) => isWord(token, 'export') && isWord(tokens[at + 1], 'default'));
  if (start < 0) return exportsDefaultOtherwise(tokens) ? UNCLEAR : { kind: 'helper' };
  const callee = tokens[start + 2];
  const kind = callee?.kind === 'word' && Object.hasOwn(KINDS, callee.text) ? KINDS[callee.text] : undefined;
  if (kind === undefined || !isSign(tokens[start + 3], '(') || !isSign(tokens[start + 4], '{')) return UNCLEAR;
  if (!isBalanced(tokens)) return UNCLEAR;

  const fields = fieldsFrom(tokens, start + 5);
  if (fields === null) return UNCLEAR;
  const [id, name, version, description] = ['id', 'name', 'version', 'description'].map((field) =>
    textOf(fields.get(field)),
  );
  if (!id || name == null || version == null || description == null) return UNCLEAR;
  const hosts = kind === 'plain' ? [] : textsOf(fields.get('hosts'));
  return { kind: 'scraper', summary: { id, name, version, description, kind, hosts } };
}

const UNCLEAR: Scanned = { kind: 'unclear' };

const KINDS: Readonly<Record<string, ScraperKind>> = {
  defineHttpScraper: 'http',
  defineBrowserScraper: 'browser',
  definePlainScraper: 'plain',
};

/** `export { scraper as default }`, `export { default } from …`; not `.default(…)`, nor the `default:` of a switch. */
function exportsDefaultOtherwise(tokens: readonly SourceToken[]): boolean {
  return tokens.some(
    (token, at) => isWord(token, 'default') && !isSign(tokens[at - 1], '.') && !isSign(tokens[at + 1], ':'),
  );
}

/** The tokens of each field's value, by the field's name; null when fields come from elsewhere, or one comes twice. */
function fieldsFrom(tokens: readonly SourceToken[], start: number): Map<string, SourceToken[]> | null {
  const fields = new Map<string, SourceToken[]>();
  let value: SourceToken[] = [];
  let depth = 1;
  let isFieldStart = true;
  for (let at = start; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) return null;
    if (isFieldStart && depth === 1) {
      if (isSign(token, '...') || isSign(token, '[')) return null;
      const name = token.kind === 'word' ? token.text : token.kind === 'text' ? token.value : null;
      if (name !== null) {
        if (fields.has(name)) return null;
        // What stands there without a colon, a method or a name alone, is no text.
        value = [];
        fields.set(name, value);
        isFieldStart = false;
        if (isSign(tokens[at + 1], ':')) at += 1;
        else value.push(token);
        continue;
      }
    }
    depth += depthChange(token);
    if (depth === 0) return fields;
    if (depth === 1 && isSign(token, ',')) isFieldStart = true;
    else value.push(token);
  }
  return null;
}

/** `'…'`, or `'…' + '…'`. */
function textOf(value: readonly SourceToken[] | undefined): string | null {
  if (value === undefined || value.length % 2 === 0) return null;
  let text = '';
  for (const [at, token] of value.entries()) {
    if (at % 2 === 1) {
      if (!isSign(token, '+')) return null;
    } else {
      if (token.kind !== 'text' || token.value === null) return null;
      text += token.value;
    }
  }
  return text;
}

/** `['…', '…']` */
function textsOf(value: readonly SourceToken[] | undefined): string[] | null {
  if (value === undefined || !isSign(value[0], '[') || !isSign(value.at(-1), ']')) return null;
  const texts: string[] = [];
  for (const token of value.slice(1, -1)) {
    if (isSign(token, ',')) continue;
    if (token.kind !== 'text' || token.value === null) return null;
    texts.push(token.value);
  }
  return texts;
}

/** A file that is cut off, or has a bracket too many, cannot be run: its import says where. */
function isBalanced(tokens: readonly SourceToken[]): boolean {
  const open: string[] = [];
  for (const token of tokens) {
    if (token.kind !== 'sign') continue;
    const closing = PAIRS[token.text];
    if (closing !== undefined) open.push(closing);
    else if (')]}'.includes(token.text) && open.pop() !== token.text) return false;
  }
  return open.length === 0;
}

const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

function depthChange(token: SourceToken): number {
  if (token.kind !== 'sign') return 0;
  if (token.text in PAIRS) return 1;
  return ')]}'.includes(token.text) ? -1 : 0;
}

function isWord(token: SourceToken | undefined, text: string): boolean {
  return token?.kind === 'word' && token.text === text;
}

function isSign(token: SourceToken | undefined, text: string): boolean {
  return token?.kind === 'sign' && token.text === text;
}
