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
  /** The author's own, which win. */
  readonly extra: Readonly<Record<string, string>>;
}

/** The headers that the browser of this identity sends, in an order that it might have. */
export function headersFor(identity: Identity, wanted: Wanted): Record<string, string> {
  const { url, method, purpose, contentType } = wanted;
  const from = wanted.from === null ? null : URL.parse(wanted.from);
  const isSameOrigin = from !== null && from.origin === url.origin;
  const isPage = purpose === 'page';
  const headers: Record<string, string> = {};
  // Over plain HTTP, browsers keep these to themselves.
  const isSecure = url.protocol === 'https:';
  if (isSecure) Object.assign(headers, identity.clientHints);
  if (isPage) headers['upgrade-insecure-requests'] = '1';
  headers['user-agent'] = identity.userAgent;
  headers['accept'] = isPage ? identity.acceptPage : 'application/json, text/plain, */*';
  headers['accept-language'] = identity.acceptLanguage;
  headers['accept-encoding'] = 'gzip, deflate, br, zstd';
  if (contentType !== null) headers['content-type'] = contentType;
  if (method === 'POST') headers['origin'] = (from ?? url).origin;
  if (isSameOrigin) headers['referer'] = withoutFragment(from);
  if (isSecure) {
    headers['sec-fetch-site'] =
      from === null ? (isPage ? 'none' : 'same-origin') : isSameOrigin ? 'same-origin' : 'cross-site';
    headers['sec-fetch-mode'] = isPage ? 'navigate' : 'cors';
    if (isPage) headers['sec-fetch-user'] = '?1';
    headers['sec-fetch-dest'] = isPage ? 'document' : 'empty';
  }
  for (const [name, value] of Object.entries(wanted.extra)) headers[ownName(name)] = value;
  return headers;
}

const NOT_THE_AUTHORS = ['host', 'connection', 'content-length', 'transfer-encoding', 'cookie'];

function ownName(name: string): string {
  const lower = name.toLowerCase();
  if (NOT_THE_AUTHORS.includes(lower)) throw new Error(`the header ${lower} is not a scraper's to set`);
  return lower;
}

/** User and password stay at home, too. */
function withoutFragment(url: URL): string {
  return `${url.origin}${url.pathname}${url.search}`;
}
