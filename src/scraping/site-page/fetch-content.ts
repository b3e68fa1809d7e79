import { type CachedPage, NO_VALIDATORS, type Validators } from '../../domain/cached-page.ts';
import { readLlmsTxt } from '../../domain/llms-txt.ts';
import { htmlSelector } from '../../domain/site-selector.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Page } from '../http/page.ts';
import { toMarkdown } from '../markdown/to-markdown.ts';
import { fail } from '../scrape-failure.ts';
import { isMarkdown, markdownUrl, offerOf, type SiteHabits, titleOfMarkdown } from './markdown-offers.ts';
import type { ReadContent } from './page-data.ts';
import type { WantedPage } from './page-input.ts';

/** The result of requesting a page over HTTP. */
export type Fetched =
  | { readonly kind: 'content'; readonly content: ReadContent }
  /** The cached content is still current. */
  | { readonly kind: 'same'; readonly validators: Validators }
  /** There is a page, but its content is not in the HTML. */
  | { readonly kind: 'bare' };

export interface FetchDeps {
  readonly http: HttpClient;
  readonly habits: SiteHabits;
  /** Whether links are asked for. */
  readonly withLinks: boolean;
}

/** Markdown if available, otherwise HTML: a server without Markdown ignores the first. */
const WANTED = 'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.5';
export const HTML_ONLY = 'text/html, application/xhtml+xml;q=0.9, */*;q=0.5';

/** Reads a page over HTTP: the site's own Markdown if it has some, otherwise the content of the HTML. */
export async function fetchContent(deps: FetchDeps, wanted: WantedPage, cached: CachedPage | null): Promise<Fetched> {
  const { habits, withLinks } = deps;
  const { site, url } = wanted;
  const offer = offerOf(site, habits);
  // If the cached content came from there, its validators mean something only there.
  const isAside = cached !== null && cached.url === markdownUrl(url);
  if (offer === 'suffix' || (offer === 'unknown' && isAside)) {
    const found = await fetchMarkdown(deps, markdownUrl(url), isAside ? cached : null);
    if (found !== null) return found;
  }
  const known = isAside ? null : cached;
  const page = await ask(deps, url, offer === 'none' || offer === 'suffix' ? HTML_ONLY : WANTED, known);
  if (page.status === 304) return { kind: 'same', validators: validatorsOf(page) };
  if (isMarkdown(page.headers['content-type'], page.url, page.body)) {
    if (offer === 'unknown') habits.offer = 'accept';
    return markdownContent(page, url, withLinks);
  }
  if (offer === 'unknown') {
    habits.offer = 'none';
    const found = await fetchMarkdown(deps, markdownUrl(url), null);
    if (found !== null) {
      habits.offer = 'suffix';
      return found;
    }
  }
  return htmlContent(page, wanted, withLinks);
}

/** Null if the site has no Markdown there. */
async function fetchMarkdown(deps: FetchDeps, url: string, cached: CachedPage | null): Promise<Fetched | null> {
  const page = await ask(deps, url, 'text/markdown, text/plain;q=0.9', cached, [400, 403, 404, 406, 410, 500, 501]);
  if (page.status === 304) return { kind: 'same', validators: validatorsOf(page) };
  if (page.status !== 200 || !isMarkdown(page.headers['content-type'], page.url, page.body)) return null;
  return page.body.trim() === '' ? null : markdownContent(page, url, deps.withLinks);
}

async function ask(
  { http }: FetchDeps,
  url: string,
  accept: string,
  cached: Validators | null,
  expected: readonly number[] = [],
): Promise<Page> {
  const headers: Record<string, string> = { accept };
  if (cached?.etag) headers['if-none-match'] = cached.etag;
  if (cached?.lastModified) headers['if-modified-since'] = cached.lastModified;
  const isConditional = headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined;
  const expectStatus = isConditional ? [304, ...expected] : expected;
  return await http.get(url, { headers, expectStatus });
}

function validatorsOf({ headers }: Page): Validators {
  return { etag: headers['etag'] ?? null, lastModified: headers['last-modified'] ?? null };
}

function markdownContent(page: Page, url: string, withLinks: boolean): Fetched {
  const markdown = page.body.replaceAll('\r\n', '\n').trim();
  const content = { markdown: markdown === '' ? '' : `${markdown}\n`, title: titleOfMarkdown(markdown), url };
  const links = withLinks ? (readLlmsTxt(markdown, page.url)?.urls ?? []) : [];
  return { kind: 'content', content: { ...content, source: 'markdown', validators: validatorsOf(page), links } };
}

function htmlContent(page: Page, { site, url }: WantedPage, withLinks: boolean): Fetched {
  const selector = cssOf(site.config.content.selector);
  const html = page.body;
  const converted = toMarkdown(html, { url: page.url, ...(selector === undefined ? {} : { selector }) });
  const { markdown, title } = converted;
  if (markdown.trim() === '' || (selector === undefined && isShell(markdown, html))) return { kind: 'bare' };
  const validators = page.status === 200 ? validatorsOf(page) : NO_VALIDATORS;
  return {
    kind: 'content',
    content: {
      ...{ markdown, title: title === '' ? null : title, url, source: 'html', validators },
      // Read at once or never: `converted` holds the whole document, which must not live as long as the item.
      links: withLinks ? converted.links : [],
    },
  };
}

const FEW_WORDS = 20;

/** A page made by scripts has a few words to say without them, such as that it needs them. */
function isShell(markdown: string, html: string): boolean {
  const words = markdown.split(/\s+/, FEW_WORDS + 1).filter((word) => word !== '').length;
  return (
    words < FEW_WORDS && /<script\b/i.test(html) && /\bjavascript\b|<div id="(?:root|app|__next)">\s*</i.test(html)
  );
}

/** A selector of a site as the HTML parser understands it. */
function cssOf(selector: string | undefined): string | undefined {
  if (selector === undefined) return undefined;
  const found = htmlSelector(selector);
  return 'css' in found ? found.css : fail('structure_changed', found.problem);
}
