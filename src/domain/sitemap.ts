import { parsePageUrl } from './site-url.ts';

/** The protocol allows this many addresses in one sitemap. */
export const MAX_SITEMAP_URLS = 50_000;
/** The protocol allows 50 MB, but no known site comes near that. */
export const MAX_SITEMAP_BYTES = 20 << 20;
const MAX_ROBOTS_SITEMAPS = 100;

/** `index`: its addresses are those of further sitemaps. */
export interface Sitemap {
  readonly kind: 'pages' | 'index';
  /** Normalised, each once, in order. */
  readonly urls: readonly string[];
}

/** Reads XML as described by sitemaps.org, or a list of addresses, one per line. Null if it is something else. */
export function readSitemap(text: string): Sitemap | null {
  const isIndex = /<sitemapindex[\s>]/i.test(text.slice(0, HEAD));
  if (isIndex || /<urlset[\s>]/i.test(text.slice(0, HEAD))) {
    return { kind: isIndex ? 'index' : 'pages', urls: different(locations(text)) };
  }
  const lines = text.replace(/^\ufeff/, '').trimStart();
  return /^https?:\/\//i.test(lines) ? { kind: 'pages', urls: different(lines.split(/\r?\n/)) } : null;
}

/** Comments and style sheets may come before the first element. */
const HEAD = 4096;

/** The sitemaps that a robots.txt names, in order. */
export function robotsSitemaps(text: string, origin: string): readonly string[] {
  const found = new Set<string>();
  for (const [, value = ''] of text.matchAll(/^[ \t]*sitemap[ \t]*:[ \t]*(\S+)/gim)) {
    const url = URL.parse(value, origin);
    if (url !== null && parsePageUrl(url.href) !== null) found.add(url.href);
    if (found.size === MAX_ROBOTS_SITEMAPS) break;
  }
  return [...found];
}

/** Addresses of images and videos (`<image:loc>`) are not pages. */
function* locations(text: string): Generator<string> {
  for (const [, location = ''] of text.matchAll(/<loc(?:\s[^>]*)?>\s*(?:<!\[CDATA\[)?\s*([^<\]]+)/gi)) {
    yield withoutEntities(location);
  }
}

function different(addresses: Iterable<string>): readonly string[] {
  const urls = new Set<string>();
  for (const address of addresses) {
    const isWhole = /^\s*https?:\/\//i.test(address);
    const parsed = isWhole ? parsePageUrl(address) : null;
    if (parsed !== null) urls.add(parsed.href);
    if (urls.size === MAX_SITEMAP_URLS) break;
  }
  return [...urls];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? entity;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
  });
}
