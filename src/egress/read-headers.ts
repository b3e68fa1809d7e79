import { type Failure, failure } from '../domain/failure.ts';

/** The headers of an answer as callers see them, and its cookies, which they do not see. */
type HeadersRead =
  | {
      readonly kind: 'headers';
      readonly headers: Readonly<Record<string, string>>;
      readonly setCookie: readonly string[];
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Their size is limited by the parser, but a header can be as short as three bytes. */
const MAX_HEADERS = 256;

/** Browsers ignore longer ones. */
const MAX_COOKIE_LENGTH = 4096;

export function readHeaders(
  parsed: Readonly<Record<string, string | string[] | undefined>>,
  count: number,
): HeadersRead {
  if (count > MAX_HEADERS) {
    return {
      kind: 'failed',
      failure: failure('too_large', `the answer has ${count} headers, ${MAX_HEADERS} are the limit`),
    };
  }
  const headers: Record<string, string> = {};
  let setCookie: readonly string[] = NONE;
  for (const [name, value] of Object.entries(parsed)) {
    if (value === undefined) continue;
    if (name === 'set-cookie') {
      setCookie = (typeof value === 'string' ? [value] : value).filter(({ length }) => length <= MAX_COOKIE_LENGTH);
    } else headers[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return { kind: 'headers', headers, setCookie };
}

const NONE: readonly string[] = [];
