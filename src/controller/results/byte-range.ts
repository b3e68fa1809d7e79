import type { ByteRange } from '../../domain/result-address.ts';

/** What a `Range` header asks for: the whole body, an existing part that is not empty, or one that does not exist. */
export type AskedRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: ByteRange }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: AskedRange = { kind: 'whole' };
const UNSATISFIABLE: AskedRange = { kind: 'unsatisfiable' };

/**
 * Reads a `Range` header (RFC 9110, section 14). A header it does not understand is ignored, and so are several ranges
 * at once: answering them with the whole body is allowed, and asking for thousands of them is an attack.
 */
export function askedRange(header: string | undefined, size: number): AskedRange {
  const [, list = ''] = /^bytes=([\d\s,-]{1,200})$/i.exec(header?.trim() ?? '') ?? [];
  // A list may have empty entries.
  const [only, ...others] = list
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const found = only !== undefined && others.length === 0 ? /^(\d*)-(\d*)$/.exec(only) : null;
  if (found === null) return WHOLE;
  const [, first = '', last = ''] = found;
  if (first === '') return last === '' ? WHOLE : suffix(Number(last), size);
  // A number too long to be exact is beyond every body, and compares as such.
  const start = Number(first);
  if (last !== '' && Number(last) < start) return WHOLE;
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  return start < size ? { kind: 'part', range: { start, end } } : UNSATISFIABLE;
}

function suffix(length: number, size: number): AskedRange {
  if (length === 0) return UNSATISFIABLE;
  // The last bytes of an empty body are all of it, which `Content-Range` cannot express.
  if (size === 0) return WHOLE;
  return { kind: 'part', range: { start: Math.max(0, size - length), end: size } };
}
