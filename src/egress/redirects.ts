import { type Failure, failure } from '../domain/failure.ts';
import type { WebRequest } from './web.ts';

/**
 * What follows an answer that points elsewhere. Whether that place may be visited is decided there, as for any other.
 */
type NextHop =
  | { readonly kind: 'follow'; readonly request: WebRequest }
  | { readonly kind: 'failed'; readonly failure: Failure };

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function isRedirect(status: number): boolean {
  return STATUSES.has(status);
}

/**
 * As browsers do: a redirected form answer is fetched by GET; 307 and 308 repeat method and body, to another origin as
 * well. Anything that may be a credential stays with the origin it was meant for.
 */
export function nextHop(request: WebRequest, url: string, status: number, location: string | undefined): NextHop {
  if (location === undefined || location === '') {
    return failed(`status ${status} has no Location header`);
  }
  const from = new URL(url);
  const to = URL.parse(utf8(location), url);
  if (to === null) return failed(`status ${status} points at "${location.slice(0, SHOWN_LENGTH)}", which is not a URL`);

  const becomesGet = status === 303 ? request.method !== 'HEAD' : status < 303 && request.method === 'POST';
  const isElsewhere = to.origin !== from.origin;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (becomesGet && (name.startsWith('content-') || name === 'origin')) continue;
    if (isElsewhere && !isHarmless(name)) continue;
    const kept = isElsewhere && name === 'referer' ? refererElsewhere(value, to) : value;
    if (kept !== null) headers[name] = kept;
  }
  return {
    kind: 'follow',
    request: {
      method: becomesGet ? 'GET' : request.method,
      url: to.href,
      headers,
      body: becomesGet ? null : request.body,
    },
  };
}

const SHOWN_LENGTH = 200;

/** Headers that any site may see. All others (Authorization, X-Api-Key, a token's) may be credentials. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'accept-language', 'user-agent', 'referer', 'origin', 'range'],
  ...['cache-control', 'dnt', 'priority', 'upgrade-insecure-requests'],
]);

function isHarmless(name: string): boolean {
  return HARMLESS.has(name) || name.startsWith('content-') || name.startsWith('sec-');
}

/** A path may be a secret, and what was encrypted must not be sent in plain text. */
function refererElsewhere(referer: string, to: URL): string | null {
  const from = URL.parse(referer);
  if (from === null || (from.protocol === 'https:' && to.protocol !== 'https:')) return null;
  return `${from.origin}/`;
}

/** Headers are read as Latin-1, but servers write the names of their pages in UTF-8, as browsers expect it. */
function utf8(latin1: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  if (/^[\x00-\x7f]*$/.test(latin1)) return latin1;
  const text = Buffer.from(latin1, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? latin1 : text;
}

function failed(message: string): NextHop {
  return { kind: 'failed', failure: failure('navigation_failed', message) };
}
