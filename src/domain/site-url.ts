/** The longest accepted address: longer ones are mistakes or attacks. */
export const MAX_PAGE_URL = 2000;

/** An address in the form that is matched against sites. */
export interface PageUrl {
  /** Without query, fragment, doubled slashes and trailing slash: `https://example.com/Path`. */
  readonly page: string;
  /** Includes the `?`; empty for none. Pages with different queries are different pages. */
  readonly query: string;
  /**
   * The URL to request: as given, including a trailing slash, but normalised by the URL standard and without fragment.
   */
  readonly href: string;
}

/**
 * Puts scheme and host in lower case; the default scheme is https. Null if it is not the address of a page: another
 * scheme, credentials in it, or too long.
 */
export function parsePageUrl(text: string): PageUrl | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > MAX_PAGE_URL) return null;
  const url = URL.parse(withScheme(trimmed));
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  if (url.username !== '' || url.password !== '') return null;
  url.hash = '';
  if (url.href.length > MAX_PAGE_URL) return null;
  const path = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
  return { page: `${url.origin}${path}`, query: url.search, href: url.href };
}

/** The address that all pages of a site begin with, in the form used for comparing; null if a site cannot have it. */
export function siteBase(text: string): string | null {
  const parsed = parsePageUrl(text);
  return parsed === null || parsed.query !== '' || /[?#]/.test(text) ? null : parsed.page;
}

/** Only `://` marks a scheme: `localhost:8080/x` has none. */
function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return text.startsWith('//') ? `https:${text}` : `https://${text}`;
}
