/** The longest address that is accepted: longer ones are mistakes, or attacks. */
export const MAX_PAGE_URL = 2000;

/** An address as sites are matched with it. */
export interface PageUrl {
  /** Without query, fragment, doubled slashes and a slash at the end: `https://example.com/Path`. */
  readonly page: string;
  /** With its `?`; empty for none. Pages that differ in it are different pages. */
  readonly query: string;
  /** What to request: as it was given, slash at the end included, but in the form of the URL standard and without fragment. */
  readonly href: string;
}

/**
 * Scheme and host in lower case, https where there is no scheme. Null if it is not an address of a page: another scheme,
 * a user or password in it, too long.
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

/** The address that all pages of a site begin with, as pages are compared with it; null if a site cannot have it. */
export function siteBase(text: string): string | null {
  const parsed = parsePageUrl(text);
  return parsed === null || parsed.query !== '' || /[?#]/.test(text) ? null : parsed.page;
}

/** Only `://` tells a scheme: `localhost:8080/x` has none. */
function withScheme(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return text.startsWith('//') ? `https:${text}` : `https://${text}`;
}
