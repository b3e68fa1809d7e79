import { Cookie, CookieJar } from 'tough-cookie';
import type { CookieBook } from '../../egress/web.ts';

/** The minimum that browsers keep (RFC 6265 §6.1); a site that needs more does not work in them either. */
const MAX_PER_DOMAIN = 50;
const MAX_COOKIE_LENGTH = 4096;
/** Redirects lead through other domains, each of which may set its share. */
const MAX_COOKIES = 300;

/**
 * The cookies of one try of an item: its own session. Parallel items never share one, because sites keep the chosen
 * parcel in it; a retry begins a new one, because a stale session is a common reason to retry.
 */
export class VisitCookies implements CookieBook {
  /** Created with the first cookie: most document sites set none. */
  #jar: CookieJar | null = null;
  readonly #known = new Map<string, Set<string>>();
  #count = 0;

  /** The same cookies, which then go their own way. */
  copy(): VisitCookies {
    const copy = new VisitCookies();
    copy.#jar = this.#jar?.cloneSync() ?? null;
    for (const [domain, names] of this.#known) copy.#known.set(domain, new Set(names));
    copy.#count = this.#count;
    return copy;
  }

  header(url: string): string | null {
    return this.#jar?.getCookieStringSync(url) || null;
  }

  /** A broken, too large or surplus one is ignored, as browsers do. */
  keep(url: string, setCookie: readonly string[]): void {
    for (const line of setCookie) {
      const cookie = line.length <= MAX_COOKIE_LENGTH ? Cookie.parse(line, { loose: true }) : undefined;
      if (cookie === undefined || !isSendable(cookie)) continue;
      const place = this.#placeFor(cookie, new URL(url).hostname);
      if (place === null) continue;
      this.#jar ??= new CookieJar(undefined, { looseMode: true, rejectPublicSuffixes: true });
      const kept = this.#jar.setCookieSync(cookie, url, { ignoreError: true, loose: true });
      if (kept === undefined || place.names.has(place.name)) continue;
      place.names.add(place.name);
      this.#count += 1;
    }
  }

  #placeFor(cookie: Cookie, host: string): { readonly names: Set<string>; readonly name: string } | null {
    const domain = cookie.domain ?? host;
    const name = `${cookie.path ?? ''};${cookie.key}`;
    const names = this.#known.get(domain) ?? new Set();
    if (!names.has(name) && (names.size >= MAX_PER_DOMAIN || this.#count >= MAX_COOKIES)) return null;
    // A refused domain must not leave a set behind for each of its names.
    if (names.size === 0 && this.#known.size < MAX_COOKIES) this.#known.set(domain, names);
    return { names, name };
  }
}

/** A value that a header cannot carry would fail every later request of the session. */
function isSendable({ key, value }: Cookie): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  return key + value !== '' && !/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(key + value);
}
