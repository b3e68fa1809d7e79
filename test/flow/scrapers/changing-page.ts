import { definePlainScraper, z } from 'trawl/scraper';

/** As most pages of the web are: there is a time, a token or a counter in them, and no two fetches give the same bytes. */
export default definePlainScraper({
  id: 'changing-page',
  name: 'A page that differs at each fetch',
  version: '1.0.0',
  description: 'For tests of restored backups.',
  input: z.object({}),
  async scrape({ itemId }) {
    const page = new TextEncoder().encode(`<p>${itemId}</p><!-- ${crypto.randomUUID()} -->`);
    const data = new TextEncoder().encode(JSON.stringify({ itemId }));
    return {
      kind: 'scraped',
      artifacts: [
        { kind: 'html', bytes: page, contentType: 'text/html', extension: 'html' },
        { kind: 'data', bytes: data, contentType: 'application/json', extension: 'json' },
      ],
    };
  },
});
