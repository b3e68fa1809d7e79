import { signed, tidy } from './parse-values.ts';

/** Currencies whose countries write `1,234.50`. */
const POINT_CODES = [
  ...['USD', 'CAD', 'MXN', 'GBP', 'JPY', 'CNY', 'AUD', 'NZD', 'INR', 'KRW', 'SGD', 'HKD', 'ZAR', 'ILS'],
];
/**
 * Currencies whose countries write `1.234,50`, `1 234,50` or `1'234.50`. English pages write them with a decimal point,
 * too.
 */
const COMMA_CODES = ['EUR', 'CHF', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK', 'HUF', 'RON', 'BGN', 'BRL'];

/**
 * The codes that may accompany a sign, as in `$5.00 USD`. Codes that are English words (ALL, TOP, TRY) are left out.
 */
const SIGNS: Readonly<Record<string, readonly string[]>> = {
  $: ['USD', 'CAD', 'MXN', 'AUD', 'NZD', 'SGD', 'HKD'],
  US$: ['USD'],
  '€': ['EUR'],
  '£': ['GBP'],
  '¥': ['JPY', 'CNY'],
  '￥': ['JPY', 'CNY'],
};

const CURRENCY = String.raw`(US ?\$|[$€£¥￥]|usd|${[...POINT_CODES, ...COMMA_CODES].join('|')})?`;
/** A minus may be before the currency, after it, or at the end; brackets inside the currency or around it. */
const MONEY = new RegExp(
  String.raw`^([+-])? ?(\()? ?${CURRENCY} ?(\()? ?([+-])? ?(\d(?:[\d.,'’ ]*\d)?|\.\d+) ?(-)? ?(\))? ?${CURRENCY} ?(-)? ?(\))?$`,
);

/**
 * An amount of money, without its currency: `$1,129.60`, `($12.50)`, `-$12.50`, `12.50-`, `USD 12`, `1.234,50 EUR`.
 * Null also if the separators can be read in two ways, as in `1.234 €`.
 */
export function parseMoney(text: string): number | null {
  const match = MONEY.exec(tidy(text));
  if (match === null) return null;
  const [, before, outer, prefix, inner, middle, digits = '', after, close, suffix, last, end] = match;
  if (!isOneCurrency(prefix, suffix) || (close !== undefined && end !== undefined)) return null;
  const plain = plainAmount(digits, currencyOf(prefix ?? suffix));
  return plain === null ? null : signed(plain, [before, middle, after, last], [outer, inner], close ?? end);
}

type Currency = 'none' | 'point' | 'comma';

function currencyOf(written: string | undefined): Currency {
  if (written === undefined) return 'none';
  return written === '€' || COMMA_CODES.includes(written) ? 'comma' : 'point';
}

/** If there are two, one is the sign and the other its code. */
function isOneCurrency(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return true;
  const names = [one, other].map((name) => name.replace(' ', '').toUpperCase());
  return names.some((sign, index) => SIGNS[sign]?.includes(names[1 - index] ?? '') ?? false);
}

const AMERICAN = /^(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$|^\.\d+$/;
/** A comma after a point is never American, whatever the currency. */
const EUROPEAN = /^\d{1,3}(?:\.\d{3})+,\d+$/;
/** Neither are two points; but without a currency it may be a parcel number. */
const EUROPEAN_GROUPS = /^\d{1,3}(?:\.\d{3}){2,}$/;
/** `1.234` and `1,234`: a thousand, or one and a bit. A group never follows a zero. */
const AMBIGUOUS = /^[1-9]\d{0,2}[.,]\d{3}$/;
const DECIMAL_COMMA = /^\d+,\d+$/;
const SPACED = /^\d{1,3}(?:([ '’])\d{3})(?:\1\d{3})*(?:[.,]\d{1,2})?$/;

/** The digits with a decimal point and nothing else; null if they are not an amount, or might be two different ones. */
function plainAmount(digits: string, currency: Currency): string | null {
  // Checked first, because nearly all amounts are written like this.
  if (currency !== 'comma' && AMERICAN.test(digits)) return digits.replaceAll(',', '');
  if (EUROPEAN.test(digits)) return withPoint(digits);
  if (currency !== 'none' && EUROPEAN_GROUPS.test(digits)) return digits.replaceAll('.', '');
  if (currency === 'comma') {
    if (AMBIGUOUS.test(digits)) return null;
    if (DECIMAL_COMMA.test(digits)) return withPoint(digits);
    if (SPACED.test(digits)) return digits.replaceAll(/[ '’]/g, '').replace(',', '.');
    if (AMERICAN.test(digits)) return digits.replaceAll(',', '');
  }
  return null;
}

function withPoint(digits: string): string {
  return digits.replaceAll('.', '').replace(',', '.');
}
