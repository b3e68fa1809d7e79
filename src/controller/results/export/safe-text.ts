/**
 * Text of a site must not become a formula of whoever opens the file in a spreadsheet program. A text that begins with
 * `=`, `+`, `-`, `@` or their full-width and small forms, also behind white space or what cannot be seen, or with a tab
 * or a line break, gets an apostrophe in front; plain numbers such as `-12.50` and `+1` do not. One that begins so
 * behind apostrophes of its own gets one more: whoever takes one apostrophe away from such a cell has the text as it was.
 */
export function safeText(text: string): string {
  return BEGINS_FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
}

const BEGINS_FORMULA = /^'*(?:[\t\r\n]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const PLAIN_NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
