/**
 * The text that a person would see of a page, roughly and without parsing: good enough to look for a sentence in it, or
 * to know that there is hardly any. It only moves forward, so that no page makes it slow.
 */
export function roughText(source: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < source.length) {
    const open = source.indexOf('<', at);
    if (open < 0) {
      parts.push(source.slice(at));
      break;
    }
    parts.push(source.slice(at, open), ' ');
    at = endOfMarkup(source, open);
  }
  return parts
    .join('')
    .replace(/&(?:nbsp|#160|#32);/gi, ' ')
    .replace(/&(?:rsquo|apos|#0?39|#8217);|’/gi, "'")
    .replace(/\s+/g, ' ')
    .trim();
}

/** The text of the first `<title>`; empty if there is none. */
export function titleOf(source: string): string {
  return contentOf(source, 'title') ?? '';
}

/** The text inside the first element of this name. */
export function contentOf(source: string, name: string): string | null {
  const start = firstOf(source, `<${name}`, `<${name.toUpperCase()}`);
  if (start < 0) return null;
  const open = source.indexOf('>', start);
  if (open < 0) return null;
  const close = firstOf(source, `</${name}`, `</${name.toUpperCase()}`, open);
  return roughText(source.slice(open + 1, close < 0 ? open + 1 + LONGEST_HEADING : close).slice(0, LONGEST_HEADING));
}

const LONGEST_HEADING = 500;

function firstOf(source: string, lower: string, upper: string, from = 0): number {
  const at = source.indexOf(lower, from);
  return at >= 0 ? at : source.indexOf(upper, from);
}

/** These contain no visible text, but may contain anything else. */
const UNSEEN = /(?:script|style|noscript|template|title)(?=[\s/>])/iy;

function endOfMarkup(source: string, open: number): number {
  if (source.startsWith('<!--', open)) return after(source, source.indexOf('-->', open + 4), 3);
  UNSEEN.lastIndex = open + 1;
  const name = UNSEEN.exec(source)?.[0];
  const end = after(source, source.indexOf('>', open), 1);
  if (name === undefined) return end;
  const closing = new RegExp(`</${name}`, 'gi');
  closing.lastIndex = end;
  const close = closing.exec(source);
  return close === null ? source.length : after(source, source.indexOf('>', close.index), 1);
}

function after(source: string, at: number, length: number): number {
  return at < 0 ? source.length : at + length;
}
