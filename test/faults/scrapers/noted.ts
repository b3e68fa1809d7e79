import { definePlainScraper, z } from 'trawl/scraper';

/** By job and item: all workers of a test run in one process. */
const tried = new Set<string>();

/** Longer than a lease. */
const LONG_MS = 5000;

export default definePlainScraper({
  id: 'test-noted',
  name: 'Keeps its input',
  version: '1.0.0',
  description:
    'Every tenth item keeps a page, every fiftieth fails, and every 125th takes long when it is first tried.',
  input: z.object({ number: z.number() }),
  async scrape({ input: { number }, itemId, jobId, sleep }) {
    const name = `${jobId}/${itemId}`;
    const isFirst = !tried.has(name);
    tried.add(name);
    if (number % 125 === 3 && isFirst) await sleep(LONG_MS);
    if (number % 50 === 7) {
      return {
        kind: 'failed',
        failure: { type: 'no_results', message: `no parcel ${number}`, cause: null, retryAfterMs: null },
      };
    }
    if (number % 10 !== 0) return { kind: 'scraped', artifacts: [] };
    const bytes = new TextEncoder().encode(JSON.stringify({ number }));
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
});
