import type { ScrapeFailure } from '../scrape-failure.ts';
import type { PageDocument } from './page-document.ts';
import { parseHtml } from './parse-html.ts';
import { Reader } from './reader.ts';

/** A page that was fetched some time ago. What it lacks, the scraper did not expect: the page was right at its time. */
export class StoredPage extends Reader {
  override readonly url: string;
  readonly body: string;
  #parsed: PageDocument | null = null;

  constructor(body: string, url: string) {
    super();
    this.body = body;
    this.url = url;
  }

  override get document(): PageDocument {
    this.#parsed ??= parseHtml(this.body);
    return this.#parsed;
  }

  protected override absent(what: string): ScrapeFailure {
    return this.notOnPage(what);
  }
}
