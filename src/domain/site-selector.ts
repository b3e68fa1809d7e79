/**
 * Selectors of sites are those of Playwright: CSS, with `:has-text()`, or XPath. Without a browser, pages are searched by CSS
 * alone, which has `:has-text()` as well (`src/scraping/extract/has-text.ts`). XPath is translated as far as CSS can say the
 * same: steps, names, attributes, positions and text.
 */
export type HtmlSelector = { readonly css: string } | { readonly problem: string };

/** The selector for HTML that was fetched, or why there is none. */
export function htmlSelector(selector: string): HtmlSelector {
  const trimmed = selector.trim();
  const [, engine, rest] = /^(css|xpath|text|id|role|internal:[a-z-]+)=(.*)$/s.exec(trimmed) ?? [];
  const text = rest ?? trimmed;
  const isXPath = engine === 'xpath' || (engine === undefined && /^\(*(?:\/\/|\.\.)/.test(text));
  if (isXPath) return translated(selector, text);
  if (engine === 'id') return { css: `[id=${quoted(text)}]` };
  if (engine !== undefined && engine !== 'css') return needsBrowser(selector);
  if (
    /(?:^|\s)>>(?:\s|$)|:(?:visible|text|text-is|text-matches|nth-match|near|left-of|right-of|above|below)\b/.test(text)
  ) {
    return needsBrowser(selector);
  }
  return { css: text };
}

function needsBrowser(selector: string): HtmlSelector {
  return {
    problem: `the selector ${selector} works only in a browser: set the mode of the site to browser, or use CSS`,
  };
}

function translated(selector: string, xpath: string): HtmlSelector {
  // Of all matches the first is used, so that `(…)[1]` is the same as what is in the parentheses.
  const first = /^\((.*)\)\[1\]$/s.exec(xpath)?.[1] ?? xpath;
  const paths = splitOutside(first, '|').map((path) => pathCss(path.trim()));
  const known = paths.filter((path) => path !== null);
  return known.length === paths.length ? { css: known.join(', ') } : needsBrowser(selector);
}

const STEP = /^(\/\/?)(?:descendant::|child::)?(\*|[A-Za-z][\w-]*)((?:\[(?:[^[\]'"]|'[^']*'|"[^"]*")*\])*)/;

/** Null if CSS cannot say it. */
function pathCss(path: string): string | null {
  let css = '';
  let left = path.replace(/^\.(?=\/)/, '');
  while (left !== '') {
    const step = STEP.exec(left);
    if (step === null) return null;
    const [whole, axis, name = '*', predicates = ''] = step;
    // The root of a page has no parent that CSS knows.
    const combinator = css === '' ? (axis === '/' ? ':root' : '') : axis === '/' ? ' > ' : ' ';
    if (combinator === ':root' && name !== 'html') return null;
    const conditions = predicatesCss(predicates, name);
    if (conditions === null) return null;
    css += `${combinator === ':root' ? '' : combinator}${name}${conditions}`;
    left = left.slice(whole.length);
  }
  return css === '' ? null : css;
}

function predicatesCss(predicates: string, name: string): string | null {
  const found = [...predicates.matchAll(/\[((?:[^[\]'"]|'[^']*'|"[^"]*")*)\]/g)].map(([, inner = '']) => inner.trim());
  // A position counts what the conditions before it have left, and CSS counts all.
  if (found.slice(1).some((inner) => isPosition(inner))) return null;
  const parts = found.flatMap((inner) => splitOutside(inner, ' and ').map((each) => conditionCss(each.trim(), name)));
  return parts.some((part) => part === null) ? null : parts.join('');
}

function isPosition(inner: string): boolean {
  return /^\d+$|^last\(\)$|^position\(\)/.test(inner);
}

const TEXT = `('[^']*'|"[^"]*")`;
const ATTRIBUTE = '@([A-Za-z_][\\w:.-]*)';

function conditionCss(condition: string, name: string): string | null {
  const ofType = name === '*' ? 'child' : 'of-type';
  if (/^\d+$/.test(condition)) return `:nth-${ofType}(${condition})`;
  if (condition === 'last()') return `:last-${ofType}`;
  const match = (pattern: string) => new RegExp(`^${pattern}$`, 's').exec(condition);
  const has = match(ATTRIBUTE);
  if (has !== null) return `[${has[1]}]`;
  const equal = match(`${ATTRIBUTE}\\s*=\\s*${TEXT}`);
  if (equal !== null) return `[${equal[1]}=${quoted(unquoted(equal[2]))}]`;
  const part = match(`(contains|starts-with)\\(\\s*${ATTRIBUTE}\\s*,\\s*${TEXT}\\s*\\)`);
  if (part !== null) return `[${part[2]}${part[1] === 'contains' ? '*' : '^'}=${quoted(unquoted(part[3]))}]`;
  const text = match(`contains\\(\\s*\\.\\s*,\\s*${TEXT}\\s*\\)`);
  if (text !== null) return `:contains(${quoted(unquoted(text[1]))})`;
  const not = match('not\\((.*)\\)');
  const denied = not === null ? null : conditionCss(not[1]?.trim() ?? '', name);
  return denied === null ? null : `:not(${denied})`;
}

function unquoted(text: string | undefined): string {
  return text?.slice(1, -1) ?? '';
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Splits where the separator is neither in quotes nor in brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let quote = '';
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if ('[('.includes(character)) depth += 1;
    else if (')]'.includes(character)) depth -= 1;
    else if (depth === 0 && text.startsWith(separator, at)) {
      parts.push(text.slice(from, at));
      from = at + separator.length;
      at = from - 1;
    }
  }
  return [...parts, text.slice(from)];
}
