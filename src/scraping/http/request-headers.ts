import { getPublicSuffix } from 'tough-cookie';
import type { Identity } from './identity.ts';

/** What a request is for: browsers say so in their headers. */
export type Purpose = 'page' | 'json';

export interface Wanted {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly purpose: Purpose;
  /** The page that leads there; null for none. */
  readonly from: string | null;
  readonly contentType: string | null;
  /** The author's own headers, which take precedence. */
  readonly extra: Readonly<Record<string, string>>;
}

/**
 * The headers that the browser of this identity sends, in its order, which some sites check. What Chromium sends was
 * compared with a real one (test/browser/identity.test.ts).
 */
export function headersFor(identity: Identity, wanted: Wanted): Record<string, string> {
  const values = valuesFor(identity, wanted);
  const headers: Record<string, string> = {};
  for (const name of orderFor(identity, wanted.purpose)) {
    const value = values[name];
    if (value !== undefined) headers[name] = value;
  }
  for (const [name, value] of Object.entries(wanted.extra)) headers[ownName(name)] = value;
  return headers;
}

function valuesFor(identity: Identity, { url, method, purpose, contentType, from: page }: Wanted) {
  const from = page === null ? null : URL.parse(page);
  const isSameOrigin = from !== null && from.origin === url.origin;
  const isPage = purpose === 'page';
  // Over plain HTTP, browsers reveal less.
  const isSecure = url.protocol === 'https:';
  const values: Record<string, string | undefined> = {
    ...(isSecure ? identity.clientHints : {}),
    'user-agent': identity.userAgent,
    accept: isPage ? identity.acceptPage : 'application/json, text/plain, */*',
    'accept-language': identity.acceptLanguage,
    'accept-encoding': isSecure ? 'gzip, deflate, br, zstd' : 'gzip, deflate',
    'content-type': contentType ?? undefined,
    referer: from === null ? undefined : refererFor(from, url),
  };
  if (isPage) values['upgrade-insecure-requests'] = '1';
  if (method === 'POST' || (!isPage && from !== null && !isSameOrigin)) values['origin'] = (from ?? url).origin;
  if (isSecure) {
    values['sec-fetch-site'] = from === null ? (isPage ? 'none' : 'same-origin') : siteOf(from, url);
    values['sec-fetch-mode'] = isPage ? 'navigate' : 'cors';
    if (isPage) values['sec-fetch-user'] = '?1';
    values['sec-fetch-dest'] = isPage ? 'document' : 'empty';
  }
  return values;
}

const FETCH = ['sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-user', 'sec-fetch-dest'];
const CHROMIUM_PAGE = [
  ...['sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'upgrade-insecure-requests', 'content-type', 'user-agent'],
  ...['origin', 'accept', ...FETCH, 'referer', 'accept-encoding', 'accept-language'],
];
const CHROMIUM_JSON = [
  ...[
    'sec-ch-ua-platform',
    'user-agent',
    'accept',
    'sec-ch-ua',
    'content-type',
    'sec-ch-ua-mobile',
    'origin',
    ...FETCH,
  ],
  ...['referer', 'accept-encoding', 'accept-language'],
];
const FIREFOX = [
  ...['user-agent', 'accept', 'accept-language', 'accept-encoding', 'content-type', 'origin', 'referer'],
  ...['upgrade-insecure-requests', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'],
];

function orderFor({ userAgent }: Identity, purpose: Purpose): readonly string[] {
  if (userAgent.includes('Firefox/')) return FIREFOX;
  return purpose === 'page' ? CHROMIUM_PAGE : CHROMIUM_JSON;
}

/** Another origin only learns which origin we come from, and one without TLS learns nothing of one with it. */
function refererFor(from: URL, to: URL): string | undefined {
  if (from.origin === to.origin) return withoutFragment(from);
  return from.protocol === 'https:' && to.protocol === 'http:' ? undefined : `${from.origin}/`;
}

function siteOf(from: URL, to: URL): string {
  if (from.origin === to.origin) return 'same-origin';
  return from.protocol === to.protocol && siteName(from) === siteName(to) ? 'same-site' : 'cross-site';
}

/** The registrable part of a name. Addresses, and names that are suffixes themselves, have none. */
function siteName({ hostname }: URL): string {
  return getPublicSuffix(hostname, { allowSpecialUseDomain: true, ignoreError: true }) ?? hostname;
}

const NOT_THE_AUTHORS = ['host', 'connection', 'content-length', 'transfer-encoding', 'cookie'];

function ownName(name: string): string {
  const lower = name.toLowerCase();
  if (NOT_THE_AUTHORS.includes(lower)) throw new Error(`the header ${lower} must not be set by a scraper`);
  return lower;
}

/** User and password are removed, too. */
function withoutFragment(url: URL): string {
  return `${url.origin}${url.pathname}${url.search}`;
}
