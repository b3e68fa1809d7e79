/**
 * A site's text must not become a formula when a user opens the file in a spreadsheet program. A text that begins with
 * `=`, `+`, `-`, `@` or their full-width and small forms, even after white space or invisible characters, or with a tab
 * or a line break, gets an apostrophe in front; plain numbers such as `-12.50` and `+1` do not. If such a text already
 * begins with apostrophes, it gets one more: removing one apostrophe from such a cell restores the text.
 */
export function safeText(text: string): string {
  return BEGINS_FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
}

const BEGINS_FORMULA = /^'*(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const PLAIN_NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
