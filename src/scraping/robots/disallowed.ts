/**
 * The robots.txt of a site does not allow a scraper's request. It is thrown like a ScrapeFailure; but nothing went
 * wrong, and the item is skipped.
 */
export class Disallowed extends Error {
  readonly url: string;

  constructor(url: string, line: number | null) {
    super(`the robots.txt of the site disallows ${url}${line === null ? '' : ` (line ${line})`}`);
    this.name = 'Disallowed';
    this.url = url;
  }
}
