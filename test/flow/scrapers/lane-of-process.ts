import { definePlainScraper, z } from 'trawl/scraper';

/** Fails in every process but those that `--lane browser` was given to. */
const scraper = definePlainScraper({
  id: 'lane-of-process',
  name: 'A scraper of the browser lane',
  version: '1.0.0',
  description: 'For tests of lanes.',
  input: z.object({}),
  async scrape({ itemId }) {
    if (process.argv.at(-1) !== 'browser') throw new Error(`it was run by ${process.argv.join(' ')}`);
    const bytes = new TextEncoder().encode(JSON.stringify({ itemId }));
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
});

export default { ...scraper, lane: 'browser' } as const;
