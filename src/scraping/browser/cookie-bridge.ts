import type { BrowserContext } from 'playwright-core';
import { Cookie } from 'tough-cookie';
import type { CookieBook, Visit, Web, WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';

type BrowserCookie = Awaited<ReturnType<BrowserContext['cookies']>>[number];

/**
 * The web of a browser scraper's HTTP client: both are one visitor, so each has the cookies of the other. Those of the
 * browser are looked up before a request, and those that an answer sets are given to the browser.
 */
export class CookieBridge implements Web {
  readonly #web: Web;
  #context: BrowserContext | null = null;

  constructor(web: Web) {
    this.#web = web;
  }

  /** From here on there is a browser. */
  attach(context: BrowserContext): void {
    this.#context = context;
  }

  async send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed> {
    const context = this.#context;
    if (context === null) return this.#web.send(request, visit);
    copyCookies(await context.cookies(), visit.cookies);
    const given: { readonly url: string; readonly line: string }[] = [];
    const cookies: CookieBook = {
      header: (url) => visit.cookies.header(url),
      keep: (url, lines) => {
        visit.cookies.keep(url, lines);
        for (const line of lines) given.push({ url, line });
      },
    };
    const end = await this.#web.send(request, { ...visit, cookies });
    const known = given.flatMap(({ url, line }) => browserCookie(url, line));
    if (known.length > 0) await context.addCookies(known);
    return end;
  }
}

/** Puts the cookies of a browser into a book. */
export function copyCookies(cookies: readonly BrowserCookie[], book: CookieBook): void {
  for (const cookie of cookies) {
    const host = cookie.domain.replace(/^\./, '');
    book.keep(`${cookie.secure ? 'https' : 'http'}://${host}${cookie.path}`, [cookieLine(cookie)]);
  }
}

/** As a server would have set it. */
function cookieLine({ name, value, domain, path, expires, httpOnly, secure, sameSite }: BrowserCookie): string {
  const parts = [`${name}=${value}`, `Path=${path}`];
  // With a dot it also applies to subdomains.
  if (domain.startsWith('.')) parts.push(`Domain=${domain.slice(1)}`);
  if (expires > 0) parts.push(`Expires=${new Date(expires * 1000).toUTCString()}`);
  if (httpOnly) parts.push('HttpOnly');
  if (secure) parts.push('Secure');
  parts.push(`SameSite=${sameSite}`);
  return parts.join('; ');
}

type NewCookie = Parameters<BrowserContext['addCookies']>[0][number];

function browserCookie(url: string, line: string): NewCookie[] {
  const cookie = Cookie.parse(line, { loose: true });
  const at = URL.parse(url);
  if (cookie === undefined || at === null) return [];
  const { key: name, value, domain, path, secure, httpOnly } = cookie;
  const expires = cookie.expiryTime();
  const sameSite = sameSiteOf(cookie.sameSite);
  return [
    {
      ...{ name, value, secure, httpOnly },
      domain: domain === null ? at.hostname : `.${domain.replace(/^\./, '')}`,
      path: path ?? '/',
      ...(expires !== undefined && expires !== Number.POSITIVE_INFINITY && { expires: expires / 1000 }),
      ...(sameSite !== null && { sameSite }),
    },
  ];
}

function sameSiteOf(text: string | undefined): 'Strict' | 'Lax' | 'None' | null {
  switch (text?.toLowerCase()) {
    case 'strict':
      return 'Strict';
    case 'lax':
      return 'Lax';
    case 'none':
      return 'None';
    default:
      return null;
  }
}
