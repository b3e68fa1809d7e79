import { definePlainScraper, z } from 'trawl/scraper';
import { notesOf } from '../notes.ts';

/** Longer than a lease. */
const LONG_MS = 5000;

export default definePlainScraper({
  id: 'test-noted',
  name: 'Keeps its input',
  version: '1.0.0',
  description:
    'Every tenth item keeps a page, every fiftieth fails, and every 125th takes long when it is first tried.',
  input: z.object({ number: z.number() }),
  metadata: false,
  async scrape({ input: { number }, itemId, jobId, sleep }) {
    const notes = notesOf(jobId);
    const tries = await notes.begin(itemId);
    if (number % 125 === 3 && tries === 1) await sleep(LONG_MS);
    if (number % 50 === 7) {
      notes.ended.failed.add(itemId);
      return {
        kind: 'failed',
        failure: { type: 'no_results', message: `no parcel ${number}`, cause: null, retryAfterMs: null },
      };
    }
    notes.ended.success.add(itemId);
    if (number % 10 !== 0) return { kind: 'scraped', artifacts: [] };
    const bytes = new TextEncoder().encode(JSON.stringify({ number }));
    return {
      kind: 'scraped',
      artifacts: [{ kind: 'data', bytes, contentType: 'application/json', extension: 'json' }],
    };
  },
});
