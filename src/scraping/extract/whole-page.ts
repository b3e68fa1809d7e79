import type { CheerioAPI } from 'cheerio';
import type { PageDocument } from './page-document.ts';
import { cheerioOf, parseHtml } from './parse-html.ts';
import { Reader } from './reader.ts';

/** A page as a whole, parsed on first use. */
export abstract class WholePage extends Reader {
  #parsed: PageDocument | null = null;
  #cheerio: CheerioAPI | null = null;

  /** The source, decoded. */
  abstract get body(): string;

  override get document(): PageDocument {
    this.#parsed ??= parseHtml(this.body);
    return this.#parsed;
  }

  override get $(): CheerioAPI {
    this.#cheerio ??= cheerioOf(this.document);
    return this.#cheerio;
  }

  /**
   * Releases the parsed page, when nothing more is expected to be read; a later read parses it again. Whatever waited
   * for this page has been moved to the old generation of V8's heap meanwhile, and a page that an old object refers to
   * counts as in use until the next full collection, even if nothing needs that object any more. Most parsed pages were
   * copied, marked and swept because of that: a fifth of the cost of a page.
   */
  letGo(): void {
    this.#parsed = null;
    this.#cheerio = null;
  }
}
