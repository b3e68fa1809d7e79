const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it may stand in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '') : text;
}

/** By hand and from tables: toLocaleString and padStart would take longer than the rest of a page. */
const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));
const THREE_DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));

/** `1,234,567` */
export function thousands(number: number): string {
  if (number < 1000) return String(number);
  return `${thousands(Math.floor(number / 1000))},${THREE_DIGITS[number % 1000]}`;
}

/** `$1,234.56`, and `($1,234.56)` below zero. */
export function dollars(cents: number): string {
  const absolute = Math.abs(cents);
  const text = `$${thousands(Math.floor(absolute / 100))}.${TWO_DIGITS[absolute % 100]}`;
  return cents < 0 ? `(${text})` : text;
}

export function wholeDollars(amount: number): string {
  return `$${thousands(amount)}`;
}

/** Ten-thousandths as `1.2345`. */
export function rate(tenThousandths: number): string {
  const rest = tenThousandths % 10_000;
  return `${Math.floor(tenThousandths / 10_000)}.${TWO_DIGITS[Math.floor(rest / 100)]}${TWO_DIGITS[rest % 100]}`;
}

/** Hundredths of a percent as `10.00%`. */
export function percent(hundredths: number): string {
  return `${Math.floor(hundredths / 100)}.${TWO_DIGITS[hundredths % 100]}%`;
}

/** `2025-10-01` as `10/1/2025`. */
export function date(iso: string): string {
  const month = iso[5] === '0' ? iso[6] : iso.slice(5, 7);
  const day = iso[8] === '0' ? iso[9] : iso.slice(8, 10);
  return `${month}/${day}/${iso.slice(0, 4)}`;
}
