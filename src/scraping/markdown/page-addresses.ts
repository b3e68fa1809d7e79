import { resolveBaseUrl } from '../extract/base-url.ts';
import type { PageDocument } from '../extract/page-document.ts';

/** What can be followed or viewed. `javascript:` and `data:` are left out: they would be long or harmful. */
const PROTOCOLS = new Set([
  'http:',
  'https:',
  'mailto:',
  'tel:',
  'ftp:',
  'ftps:',
  'news:',
  'irc:',
  'ircs:',
  'git:',
  'ssh:',
]);
/** Longer than servers accept. A base of a megabyte before each of a thousand links would be a gigabyte. */
const MAX_ADDRESS = 8192;

/**
 * A name beside the page, or a place on it, in letters that an address holds as they are. Nine in ten links of documentation
 * are like this, and need no parser, which would take a tenth of the time of the whole conversion.
 */
const PLAIN_NAME = /^[A-Za-z0-9_][\w-]*(?:[./][A-Za-z0-9_][\w-]*)*(?:#[\w.-]*)?$/;
const PLAIN_FRAGMENT = /^#[\w.-]+$/;

/** Makes addresses of a page absolute. */
export class PageAddresses {
  readonly #base: string;
  /** The base up to its last slash, and without its fragment; empty unless it is an ordinary address. */
  readonly #folder: string;
  readonly #page: string;

  constructor(document: PageDocument, url: string) {
    const base = resolveBaseUrl(document, url);
    this.#base = base.length <= MAX_ADDRESS ? base : url;
    const parsed = URL.parse(this.#base);
    const isOrdinary = parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:');
    this.#page = isOrdinary ? (parsed.href.split('#', 1)[0] ?? '') : '';
    this.#folder = isOrdinary ? (/^[^?]*\//.exec(this.#page)?.[0] ?? '') : '';
  }

  /** Null for an address that cannot be followed. */
  resolve(href: string | undefined): string | null {
    if (href === undefined || href.length > MAX_ADDRESS) return null;
    if (this.#folder !== '') {
      if (PLAIN_NAME.test(href)) return this.#folder + href;
      if (PLAIN_FRAGMENT.test(href)) return this.#page + href;
    }
    const url = URL.parse(href, this.#base);
    return url !== null && PROTOCOLS.has(url.protocol) ? url.href : null;
  }
}

/** As the destination of a link or an image. Parentheses must be balanced there. */
export function writeDestination(url: string): string {
  return /[()]/.test(url) && !/^[^()]*(?:\([^()]*\)[^()]*)*$/.test(url) ? `<${url}>` : url;
}
