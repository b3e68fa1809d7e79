/** What a placeholder can do to its value. Each takes and answers a text; none can fail but `date` and `split`. */

export interface FilterCall {
  readonly name: FilterName;
  readonly args: readonly string[];
}

interface Filter {
  readonly args: readonly [least: number, most: number];
  readonly example: string;
  readonly about: string;
  /** Null where the value does not have what is asked for. */
  apply(value: string, args: readonly string[]): string | null;
}

export const FILTERS = {
  digits: filter(0, 0, 'digits', 'only the digits', (value) => value.replace(/\D+/g, '')),
  upper: filter(0, 0, 'upper', 'in upper case', (value) => value.toUpperCase()),
  lower: filter(0, 0, 'lower', 'in lower case', (value) => value.toLowerCase()),
  trim: filter(0, 0, 'trim', 'without white space at both ends', (value) => value.trim()),
  replace: filter(
    1,
    2,
    'replace:-,/',
    'every first text replaced by the second, which may be missing',
    (value, [from = '', to = '']) => value.split(from).join(to),
  ),
  slice: filter(
    1,
    2,
    'slice:0,3',
    'from the first place up to the second; negative places count from the end',
    (value, [from, to]) => value.slice(Number(from), to === undefined ? undefined : Number(to)),
  ),
  split: filter(
    2,
    2,
    'split:-,0',
    'the part with this number, counted from 0',
    (value, [separator = '', index]) => value.split(separator).at(Number(index)) ?? null,
  ),
  date: filter(
    1,
    1,
    'date:MM/DD/YYYY',
    'a date (2025-01-31 or 1/31/2025) written with YYYY, YY, MM, M, DD and D',
    (value, [format = '']) => formatDate(value, format),
  ),
  default: filter(1, 1, 'default:none', 'used where the value is missing or empty', (value) => value),
  raw: filter(0, 0, 'raw', 'in a URL: not encoded', (value) => value),
} as const satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** Null if the call can be carried out. */
export function findFilterProblem({ name, args }: FilterCall): string | null {
  const [least, most] = FILTERS[name].args;
  if (args.length < least || args.length > most) {
    return `takes ${least === most ? least : `${least} to ${most}`} arguments, as in ${FILTERS[name].example}`;
  }
  if ((name === 'replace' || name === 'split') && args[0] === '') return 'needs a text to look for';
  const places = name === 'slice' ? args : name === 'split' ? args.slice(1) : [];
  if (!places.every((place) => /^-?\d{1,6}$/.test(place))) return `needs whole numbers, as in ${FILTERS[name].example}`;
  return null;
}

export function applyFilter({ name, args }: FilterCall, value: string): string | null {
  return FILTERS[name].apply(value, args);
}

function formatDate(value: string, format: string): string | null {
  const [, y1, m1, d1] = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:T.*)?$/.exec(value.trim()) ?? [];
  const [, m2, d2, y2] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(value.trim()) ?? [];
  const [year, month, day] = [y1 ?? y2, m1 ?? m2, d1 ?? d2].map(Number);
  if (year === undefined || month === undefined || day === undefined || Number.isNaN(year)) return null;
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const written: Record<string, string> = {
    YYYY: String(year).padStart(4, '0'),
    YY: String(year % 100).padStart(2, '0'),
    MM: String(month).padStart(2, '0'),
    M: String(month),
    DD: String(day).padStart(2, '0'),
    D: String(day),
  };
  return format.replace(/YYYY|YY|MM|M|DD|D/g, (token) => written[token] ?? token);
}

function filter(least: number, most: number, example: string, about: string, apply: Filter['apply']): Filter {
  return { args: [least, most], example, about, apply };
}
