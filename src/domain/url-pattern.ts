import type { ItemInput } from './item.ts';

/**
 * An address with its particulars replaced, so that all items that ended at the same kind of page have the same
 * pattern: `county.example/parcel/#?year`. Parts that contain a digit are particulars, and so are parts of the item's
 * input; query names stay, without their values. No query value is part of it, so no token in one is either.
 */
export function urlPattern(url: string, input: ItemInput): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === '') return null;
  const own = new Set(inputTexts(input).map(comparable));
  const segments = parsed.pathname.split('/').filter((segment) => segment !== '');
  const path = segments.slice(0, MOST_SEGMENTS).map((segment) => blurred(segment, own));
  if (segments.length > MOST_SEGMENTS) path.push('…');
  const names = [...new Set([...parsed.searchParams.keys()].map((name) => blurred(name, own)))].sort();
  const query = names.length === 0 ? '' : `?${names.slice(0, MOST_NAMES).join('&')}`;
  return `${parsed.host}/${path.join('/')}${query}`.slice(0, MAX_LENGTH).toWellFormed();
}

/**
 * Whether two patterns describe the same kind of page: a part that is a particular in one may have any text in the
 * other, because an id need not contain a digit.
 */
export function isSamePlace(one: string | null, other: string | null): boolean {
  if (one === other) return true;
  if (one === null || other === null) return false;
  const [ours, theirs] = [partsOf(one), partsOf(other)];
  return (
    ours.query === theirs.query &&
    ours.segments.length === theirs.segments.length &&
    ours.segments.every((segment, index) => isSameSegment(segment, theirs.segments[index], index))
  );
}

const PARTICULAR = '#';
const MOST_SEGMENTS = 6;
const MOST_NAMES = 6;
const MAX_LENGTH = 120;
const LONGEST_WORD = 40;

function blurred(escaped: string, own: ReadonlySet<string>): string {
  // Sessions follow a semicolon: /search;jsessionid=…
  const text = unescaped(escaped.split(';', 1)[0] ?? '');
  const isWord = /^[\p{L}_.~()-]+$/u.test(text) && text.length <= LONGEST_WORD && !own.has(comparable(text));
  return isWord ? text : PARTICULAR;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `200-14-030` and `20014030` are the same parcel. */
function comparable(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\d]+/gu, '');
}

/** Short texts, such as a state, also occur as names of routes. */
const SHORTEST_OWN = 3;

function inputTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length < SHORTEST_OWN ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(inputTexts) : [];
}

function partsOf(pattern: string): { readonly segments: readonly string[]; readonly query: string } {
  const [path = '', query = ''] = pattern.split('?', 2);
  return { segments: path.split('/'), query };
}

/** The first segment is the host, which is never a particular. */
function isSameSegment(one: string, other: string | undefined, index: number): boolean {
  return one === other || (index > 0 && (one === PARTICULAR || other === PARTICULAR));
}
