/**
 * Values as pages write them. Each parser takes any text and returns the value, or null: a text that only looks like a
 * value (`12,34,5`, 2/30/2025) is rejected, because a wrong number in the results is worse than a missing one.
 */

/** No value is longer, and no pattern below is ever tried on more. */
const MAX_LENGTH = 64;

/** More would be rounded: a float represents 15 digits exactly. */
const MAX_DIGITS = 15;

const DIGITS = String.raw`((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)`;
const NUMBER = new RegExp(`^([+-])? ?(\\()? ?([+-])? ?${DIGITS} ?(\\))? ?(-)?$`);

/** `1,234.5`, `-3`, `(3)`, `3-`. */
export function parseNumber(text: string): number | null {
  const match = NUMBER.exec(tidy(text));
  if (match === null) return null;
  const [, before, open, inner, digits = '', close, after] = match;
  return signed(digits, [before, inner, after], [open], close);
}

/** `10.00%` is 10. Without the sign it is null: 0.1 might mean a tenth of a percent or ten of them. */
export function parsePercent(text: string): number | null {
  const tidied = tidy(text);
  const [, open = '', number, close = ''] =
    /^(\(?)([^%()]*)% ?(\)?)$/.exec(tidied) ?? /^(\()([^%()]*)(\)) ?%$/.exec(tidied) ?? [];
  return number === undefined ? null : parseNumber(`${open}${number}${close}`);
}

/** At most one sign; brackets are one, and come in pairs. */
export function signed(
  digits: string,
  signs: readonly (string | undefined)[],
  opened: readonly (string | undefined)[],
  closed: string | undefined,
): number | null {
  const given = signs.filter((sign) => sign !== undefined);
  const brackets = opened.filter((bracket) => bracket !== undefined).length;
  if (brackets !== (closed === undefined ? 0 : 1) || given.length + brackets > 1) return null;
  const plain = digits.replaceAll(',', '');
  if (plain.replace('.', '').replace(/^0+/, '').length > MAX_DIGITS) return null;
  const value = Number(plain);
  return (brackets === 1 || given[0] === '-') && value !== 0 ? -value : value;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const LONG_MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july'],
  ...['august', 'september', 'october', 'november', 'december'],
];

/** Two-digit years from 50 to 99 are in the last century. Property records reach back, bills a few years ahead. */
const FIRST_YEAR_OF_LAST_CENTURY = 50;

const TIME = String.raw`(?:(?: at)?[ T,]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,7})?)?(?: ?[AP]\.?M\.?)?(?: ?(?:Z|[A-Z]{3,4}|[+-]\d{2}:?\d{2}))?)?`;
const WEEKDAY = '(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[.,]? )?';
const YEAR = String.raw`(\d{4}|\d{2})`;
const MONTH = String.raw`([a-z]{3,9})\.?`;
const DAY = String.raw`(\d{1,2})(?:st|nd|rd|th)?`;

const YEAR_FIRST = new RegExp(`^(\\d{4})([-/])(\\d{1,2})\\2(\\d{1,2})${TIME}$`, 'i');
const MONTH_FIRST = new RegExp(`^${WEEKDAY}(\\d{1,2})([-/])(\\d{1,2})\\2${YEAR}${TIME}$`, 'i');
const MONTH_NAME_FIRST = new RegExp(`^${WEEKDAY}${MONTH} ${DAY},? ${YEAR}${TIME}$`, 'i');
const DAY_FIRST = new RegExp(`^${WEEKDAY}${DAY}([- ])${MONTH},?\\2${YEAR}${TIME}$`, 'i');

/**
 * Parses `1/5/2025` (the month comes first), `2025-01-05`, `January 5, 2025`, `Jan 5 2025` and `5-Jan-25` into
 * 'YYYY-MM-DD'. A time of day after it is ignored, and the date taken as it is written, whatever the zone.
 */
export function parseDate(text: string): string | null {
  const tidied = tidy(text);
  let match = YEAR_FIRST.exec(tidied);
  if (match) return isoDate(match[1], Number(match[3]), Number(match[4]));
  match = MONTH_FIRST.exec(tidied);
  if (match) return isoDate(match[4], Number(match[1]), Number(match[3]));
  match = MONTH_NAME_FIRST.exec(tidied);
  if (match) return isoDate(match[3], monthNamed(match[1]), Number(match[2]));
  match = DAY_FIRST.exec(tidied);
  if (match) return isoDate(match[4], monthNamed(match[3]), Number(match[1]));
  return null;
}

function isoDate(writtenYear: string | undefined, month: number, day: number): string | null {
  const year = fullYear(writtenYear ?? '');
  const date = new Date(Date.UTC(year, month - 1, day));
  // The calendar turns February 30 into March 2. Some software writes years like 0001 for "none".
  if (year < 1000 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  return date.toISOString().slice(0, 10);
}

function fullYear(written: string): number {
  const year = Number(written);
  if (written.length > 2) return year;
  return year < FIRST_YEAR_OF_LAST_CENTURY ? 2000 + year : 1900 + year;
}

/** 1 to 12; 0 for no month. */
function monthNamed(written = ''): number {
  const name = written.toLowerCase();
  return (name === 'sept' ? 9 : 0) || MONTHS.indexOf(name) + 1 || LONG_MONTHS.indexOf(name) + 1;
}

/** One kind of space, one kind of minus. */
export function tidy(text: string): string {
  if (text.length > MAX_LENGTH * 4) return '';
  const tidied = text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\u2212\ufe63\uff0d]/g, '-');
  return tidied.length > MAX_LENGTH ? '' : tidied;
}
