import type { ScrapeFailure } from '../scrape-failure.ts';
import { WholePage } from './whole-page.ts';

/**
 * A page that was fetched some time ago. What it lacks is something the scraper did not expect: the page was right at
 * its time.
 */
export class StoredPage extends WholePage {
  override readonly url: string;
  override readonly body: string;

  constructor(body: string, url: string) {
    super();
    this.body = body;
    this.url = url;
  }

  protected override absent(what: string): ScrapeFailure {
    return this.notOnPage(what);
  }
}
