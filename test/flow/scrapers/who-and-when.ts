import { definePlainScraper, z } from 'trawl/scraper';

let steps = 0;

/** Keeps which process ran an item, and as which of that process's steps it began and ended. */
export default definePlainScraper({
  id: 'who-and-when',
  name: 'Who and when',
  version: '1.0.0',
  description: 'For tests of batches.',
  input: z.object({}),
  async scrape({ sleep }) {
    steps += 1;
    const begun = steps;
    await sleep(10);
    steps += 1;
    const bytes = new TextEncoder().encode(JSON.stringify({ pid: process.pid, begun, ended: steps }));
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
});
