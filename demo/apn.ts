/** Parcel numbers, `101-23-045`: book, map and item, and a letter where a parcel was split off another. */

const FIRST_BOOK = 101;
const BOOKS = 899;
const MAPS = 99;
const ITEMS = 150;
const SPLIT_LETTERS = 'ABCDEFGH';

/** As many parcels as there are numbers for. */
export const MOST_PARCELS = BOOKS * MAPS * ITEMS;

/** The number of the nth parcel, from 0. Different for each n, whatever the seed. */
export function apnOf(n: number): string {
  if (!Number.isInteger(n) || n < 0 || n >= MOST_PARCELS) throw new RangeError(`there is no parcel ${n}`);
  const item = n % ITEMS;
  const map = Math.floor(n / ITEMS) % MAPS;
  const book = Math.floor(n / (ITEMS * MAPS));
  return `${FIRST_BOOK + book}-${digits(map + 1, 2)}-${digits(item + 1, 3)}${splitOf(n)}`;
}

/** Which parcel has this number, written with or without dashes; null for none. */
export function numberOf(apn: string): number | null {
  const [, book, map, item] = /^(\d{3})-?(\d{2})-?(\d{3})[A-Za-z]?$/.exec(apn) ?? [];
  if (book === undefined || map === undefined || item === undefined) return null;
  if (Number(item) > ITEMS) return null;
  const n = (Number(book) - FIRST_BOOK) * MAPS * ITEMS + (Number(map) - 1) * ITEMS + Number(item) - 1;
  if (n < 0 || n >= MOST_PARCELS) return null;
  return plain(apnOf(n)) === plain(apn) ? n : null;
}

/** Parcels of `total` whose number begins like this, at most `most`; `101-23` and `10123` are the same beginning. */
export function startingWith(beginning: string, total: number, most: number): number[] {
  const wanted = plain(beginning);
  const [, book, map] = /^(\d{3})(\d{2})/.exec(wanted) ?? [];
  if (book === undefined || map === undefined) return [];
  const first = (Number(book) - FIRST_BOOK) * MAPS * ITEMS + (Number(map) - 1) * ITEMS;
  const found: number[] = [];
  for (let n = Math.max(0, first); n < Math.min(first + ITEMS, total) && found.length < most; n += 1) {
    if (plain(apnOf(n)).startsWith(wanted)) found.push(n);
  }
  return found;
}

function splitOf(n: number): string {
  return n % 17 === 5 ? (SPLIT_LETTERS[Math.floor(n / 17) % SPLIT_LETTERS.length] ?? '') : '';
}

function plain(apn: string): string {
  return apn.replaceAll('-', '').trim().toUpperCase();
}

function digits(number: number, length: number): string {
  return String(number).padStart(length, '0');
}
