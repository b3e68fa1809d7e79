/** Characters that mean something in HTML, by their codes. */

const TAB = 9;
const NEW_LINE = 10;
const FORM_FEED = 12;
const RETURN = 13;
const SPACE = 32;
export const EXCLAMATION = 33;
export const QUOTE = 34;
export const APOSTROPHE = 39;
export const DASH = 45;
export const SLASH = 47;
export const EQUALS = 61;
export const GREATER = 62;
export const QUESTION = 63;
export const BRACKET = 91;

export function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

export function isSpace(code: number): boolean {
  return code === SPACE || code === NEW_LINE || code === TAB || code === FORM_FEED || code === RETURN;
}

/** Also at the end of the page, where the code is not a number. */
export function endsName(code: number): boolean {
  return code === GREATER || code === SLASH || isSpace(code) || Number.isNaN(code);
}

export function endsAttributeName(code: number): boolean {
  return code === EQUALS || endsName(code);
}
