import type { CheerioAPI } from 'cheerio';
import { resolveBaseUrl } from '../extract/base-url.ts';
import type { PageDocument } from '../extract/page-document.ts';
import type { ScrapeFailure } from '../scrape-failure.ts';
import type { AnswerOptions } from './answer-options.ts';
import type { DocumentOptions, WebDocument } from './web-document.ts';

/** What a click on a page asks for. */
export interface PageRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly content: { readonly contentType: string; readonly body: Uint8Array } | null;
  /** The page that leads there; null for none. */
  readonly from: string | null;
}

/** Carries out what pages and their forms ask for. `P` is the kind of page that comes back. */
export interface Requester<P> {
  open(request: PageRequest, options: AnswerOptions): Promise<P>;
  download(request: PageRequest, options: AnswerOptions & DocumentOptions): Promise<WebDocument>;
  /** Null if it cannot be fetched and no other try would follow. */
  downloadOptional(request: PageRequest, options: AnswerOptions & DocumentOptions): Promise<WebDocument | null>;
}

/** The page that contains a form. */
export interface FormPlace {
  readonly document: PageDocument;
  readonly $: CheerioAPI;
  readonly url: string;
  /** What the page came in, by any of its names. */
  readonly charset: string;
  missing(what: string): ScrapeFailure;
}

/** The absolute address of a link on a page, by its `<base>` if it has one; null if it is not an address. */
export function addressOn({ document, url }: Pick<FormPlace, 'document' | 'url'>, named: string): URL | null {
  return URL.parse(named.trim(), resolveBaseUrl(document, url));
}
