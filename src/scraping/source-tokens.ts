/**
 * The words, texts and signs of a TypeScript source, comments left out: as much as it takes to read a few facts without
 * running the file. It is no parser. Where it is misled (a regular expression in an unusual place), whoever reads on
 * finds no sense in the rest, and asks the real parser.
 */
export type SourceToken =
  | { readonly kind: 'word'; readonly text: string }
  /** `value` is null for one with a hole in it: `${…}`. */
  | { readonly kind: 'text'; readonly value: string | null }
  | { readonly kind: 'sign'; readonly text: string }
  | { readonly kind: 'pattern' };

/** Null when a text, a comment or a pattern does not end. */
export function tokensOf(source: string): readonly SourceToken[] | null {
  const tokens: SourceToken[] = [];
  let at = 0;
  while (at < source.length) {
    const end = endOfGap(source, at);
    if (end === null) return null;
    if (end > at) {
      at = end;
      continue;
    }
    const next = tokenAt(source, at, tokens.at(-1));
    if (next === null) return null;
    tokens.push(next.token);
    at = next.end;
  }
  return tokens;
}

const SPACE = /\s+/y;
const WORD = /[\p{ID_Start}$_#@\d][\p{ID_Continue}$]*/uy;

/** After blanks or one comment; the same place when there is neither; null for a comment without an end. */
function endOfGap(source: string, at: number): number | null {
  SPACE.lastIndex = at;
  if (SPACE.test(source)) return SPACE.lastIndex;
  if (source.startsWith('//', at) || (at === 0 && source.startsWith('#!'))) {
    const end = source.indexOf('\n', at);
    return end < 0 ? source.length : end;
  }
  if (!source.startsWith('/*', at)) return at;
  const end = source.indexOf('*/', at + 2);
  return end < 0 ? null : end + 2;
}

interface Read {
  readonly token: SourceToken;
  readonly end: number;
}

function tokenAt(source: string, at: number, before: SourceToken | undefined): Read | null {
  const sign = source[at] ?? '';
  if (sign === "'" || sign === '"') return quoted(source, at, sign);
  if (sign === '`') return template(source, at);
  if (sign === '/' && isPatternAfter(before)) return pattern(source, at);
  WORD.lastIndex = at;
  if (WORD.test(source)) {
    return { token: { kind: 'word', text: source.slice(at, WORD.lastIndex) }, end: WORD.lastIndex };
  }
  const text = source.startsWith('...', at) ? '...' : sign;
  return { token: { kind: 'sign', text }, end: at + text.length };
}

function quoted(source: string, at: number, quote: string): Read | null {
  for (let end = at + 1; end < source.length && source[end] !== '\n'; end += 1) {
    if (source[end] === '\\') end += 1;
    else if (source[end] === quote) {
      return { token: { kind: 'text', value: unescaped(source.slice(at + 1, end)) }, end: end + 1 };
    }
  }
  return null;
}

function template(source: string, at: number): Read | null {
  let hasHole = false;
  for (let end = at + 1; end < source.length; end += 1) {
    if (source[end] === '\\') end += 1;
    else if (source[end] === '`') {
      const value = hasHole ? null : unescaped(source.slice(at + 1, end));
      return { token: { kind: 'text', value }, end: end + 1 };
    } else if (source.startsWith('${', end)) {
      hasHole = true;
      const after = endOfHole(source, end + 2);
      if (after === null) return null;
      end = after - 1;
    }
  }
  return null;
}

/** Past the brace that closes the hole of a template. */
function endOfHole(source: string, from: number): number | null {
  let depth = 1;
  let before: SourceToken | undefined;
  for (let at = from; at < source.length; ) {
    const gap = endOfGap(source, at);
    if (gap === null) return null;
    if (gap > at) {
      at = gap;
      continue;
    }
    const next = tokenAt(source, at, before);
    if (next === null) return null;
    before = next.token;
    at = next.end;
    if (before.kind !== 'sign') continue;
    if (before.text === '{') depth += 1;
    if (before.text === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return null;
}

const BEFORE_A_PATTERN = ['return', 'typeof', 'case', 'in', 'of', 'void', 'delete', 'throw', 'await', 'else', 'do'];

/** Behind a value a slash divides. */
function isPatternAfter(before: SourceToken | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === 'word') return BEFORE_A_PATTERN.includes(before.text);
  return before.kind === 'sign' && ![')', ']', '}'].includes(before.text);
}

function pattern(source: string, at: number): Read | null {
  let inClass = false;
  for (let end = at + 1; end < source.length && source[end] !== '\n'; end += 1) {
    if (source[end] === '\\') end += 1;
    else if (source[end] === '[') inClass = true;
    else if (source[end] === ']') inClass = false;
    else if (source[end] === '/' && !inClass) return { token: { kind: 'pattern' }, end: end + 1 };
  }
  return null;
}

/** Null for escapes that are rare in names and descriptions: the file is then read by importing it. */
function unescaped(text: string): string | null {
  if (!text.includes('\\')) return text;
  if (/\\[^nt'"`\\$]/.test(text.replaceAll('\\\\', ''))) return null;
  return text.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign === 't' ? '\t' : sign));
}
