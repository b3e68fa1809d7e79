/** Only texts with one of these characters are looked at more closely. */
const SPECIAL = /[\\`*_[\]<&~]/;
const EACH_SPECIAL = /[\\`*[\]<&~]|_+/g;
const WORD_CHARACTER = /[\p{L}\p{N}]/u;
const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/;
const AFTER_LESS_THAN = /[A-Za-z/!?]/;
const REFERENCE = /&(?:#|[A-Za-z][A-Za-z0-9]{1,31};)/y;

/**
 * Text that would begin a heading, a quote, a list, a rule, or the line under a heading or a table's head, at the start
 * of a line.
 */
const BLOCK_START = /^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}[.)](?=\s|$)|=+\s*$|[|:-][|:\s-]*$)/;

/**
 * Writes running text so that Markdown shows it literally. Characters are escaped only where they would mean something:
 * `snake_case`, `a < b` and `list[0]` stay readable. `before` is the last character written.
 */
export function escapeText(text: string, before: string, isInLink: boolean): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(EACH_SPECIAL, (special, at: number) => {
    const previous = at > 0 ? (text[at - 1] ?? '') : before;
    const next = text[at + special.length] ?? '';
    return needsEscape(special, previous, next, text, at, isInLink) ? escapeAll(special) : special;
  });
}

function needsEscape(
  special: string,
  previous: string,
  next: string,
  text: string,
  at: number,
  isInLink: boolean,
): boolean {
  switch (special[0]) {
    case '\\':
      return next === '' || ASCII_PUNCTUATION.test(next);
    case '_':
      return !(isWordCharacter(previous) && isWordCharacter(next));
    case '[':
      // Without a definition brackets are plain text; ours define nothing but footnotes.
      return isInLink || next === '^' || next === '';
    case ']':
      return isInLink || next === '' || next === '(' || next === '[' || next === ':';
    case '<':
      return next === '' || AFTER_LESS_THAN.test(next);
    case '&':
      REFERENCE.lastIndex = at;
      return next === '' || REFERENCE.test(text);
    case '~':
      // A single one strikes nothing out: `~/.profile` stays.
      return next === '~' || next === '' || (previous !== '' && previous !== ' ');
    default:
      return true;
  }
}

/** Escapes what would begin a block, at the start of each line of a paragraph. */
export function escapeLineStarts(paragraph: string): string {
  if (!paragraph.includes('\n')) return escapeLineStart(paragraph);
  return paragraph.split('\n').map(escapeLineStart).join('\n');
}

function escapeLineStart(line: string): string {
  if (!BLOCK_START.test(line)) return line;
  // A backslash before a digit is only a backslash: the character after the number is escaped.
  const digits = /^\d+/.exec(line)?.[0] ?? '';
  return `${digits}\\${line.slice(digits.length)}`;
}

export function isWordCharacter(character: string): boolean {
  return character !== '' && WORD_CHARACTER.test(character);
}

function escapeAll(special: string): string {
  return special.length === 1 ? `\\${special}` : special.replaceAll('_', '\\_');
}
