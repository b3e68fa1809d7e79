import { isPageName, MAX_PAGES } from '../../domain/artifact.ts';
import { Reader } from '../extract/reader.ts';
import { StoredPage } from '../extract/stored-page.ts';
import type { PageToParse } from '../kept-pages.ts';
import { fail } from '../scrape-failure.ts';
import type { ProducedArtifact } from '../scraper.ts';
import { Page } from './page.ts';

/**
 * By name: pages, answers of `http.json`, or texts and values that the scraper made itself. Null values are left out.
 */
export type ReturnedPages = Readonly<Record<string, unknown>>;

export interface NamedPage {
  readonly name: string;
  readonly page: PageToParse;
  readonly extension: 'html' | 'json';
}

/** Where the pages were asked for. */
interface Asked {
  readonly lastPage: { readonly url: string } | null;
  /** The answer that this value was read from; null for any other value. */
  jsonAnswer(value: object): { readonly body: string; readonly url: string } | null;
}

/** Limit for all pages of an item: a re-extraction has them in memory at the same time. */
const MAX_TOTAL_BYTES = 32 << 20;

/** The pages in the form in which they are stored and passed to `parse`. */
export function namedPages(given: unknown, asked: Asked, pageBytes: number): readonly NamedPage[] {
  if (given === undefined || given === null) return [];
  if (typeof given !== 'object' || Array.isArray(given) || given instanceof Reader) {
    return fail('unexpected', 'pages must be an object with a page for each name: { taxes: page }');
  }
  const pages = Object.entries(given).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    if (!isPageName(name)) {
      const rule = 'lower-case letters, digits, - and _, at most 32, and a letter first';
      return fail('unexpected', `"${name.slice(0, 64)}" cannot be the name of a page: ${rule}`);
    }
    return [namedPage(name, value, asked)];
  });
  if (pages.length > MAX_PAGES) return fail('too_large', `${pages.length} pages, over ${MAX_PAGES}`);
  let total = 0;
  for (const { name, page } of pages) {
    const size = Buffer.byteLength(page.body);
    total += size;
    if (size > pageBytes) return fail('too_large', `the page ${name} has ${size} bytes, over ${pageBytes}`);
    if (total > MAX_TOTAL_BYTES) return fail('too_large', `the pages have more than ${MAX_TOTAL_BYTES} bytes together`);
  }
  return pages;
}

function namedPage(name: string, value: unknown, asked: Asked): NamedPage {
  const madeAt = asked.lastPage?.url ?? 'about:blank';
  if (value instanceof Page && /\bjson\b/i.test(value.headers['content-type'] ?? '')) {
    return { name, page: value, extension: 'json' };
  }
  if (value instanceof Reader && 'body' in value && typeof value.body === 'string') {
    return { name, page: value as PageToParse, extension: 'html' };
  }
  if (typeof value === 'string') return { name, page: new StoredPage(value, madeAt), extension: 'html' };
  // As the site sent it: a schema may have dropped what a later parse will look for.
  const answer = typeof value === 'object' && value !== null ? asked.jsonAnswer(value) : null;
  const text = answer?.body ?? JSON.stringify(value);
  if (typeof text !== 'string') return fail('unexpected', `the page ${name} is neither a page, a text nor JSON`);
  return { name, page: new StoredPage(text, answer?.url ?? madeAt), extension: 'json' };
}

const MEDIA_TYPES = { html: 'text/html; charset=utf-8', json: 'application/json' } as const;

export function pageArtifact({ name, page, extension }: NamedPage): ProducedArtifact {
  return { kind: 'page', name, bytes: Buffer.from(page.body), extension, contentType: MEDIA_TYPES[extension] };
}
